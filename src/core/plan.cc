// Binding: the one place where types and options choose kernels.
//
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <new>

#include "core/brief_stages.h"
#include "core/fp_environment.h"
#include "core/kernels.h"
#include "core/route.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

namespace {

// The largest float not above x: a bound of the form v <= x keeps its meaning in float32.
float FloorToFloat(double x) {
  const auto nearest = std::bit_cast<float>(static_cast<std::uint32_t>(
      CastBits(DataType::kFloat64, DataType::kFloat32, std::bit_cast<std::uint64_t>(x))));
  return static_cast<double>(nearest) > x
             ? std::nextafterf(nearest, -std::numeric_limits<float>::infinity())
             : nearest;
}

EncodeArgs MakeEncodeArgs(const TypeInfo& from, const TypeInfo& to, const CastOptions& options) {
  EncodeArgs args;
  if (to.is_float() && to.has_zero && to.bits <= 16) {
    const auto magnitude = [&](bool infinite) {
      return static_cast<std::uint32_t>(detail::OverflowResult(to, false, infinite, options));
    };
    args.nan_positive = static_cast<std::uint32_t>(detail::NanResult(to, false, options));
    args.nan_negative = static_cast<std::uint32_t>(detail::NanResult(to, true, options));
    args.overflow = magnitude(false);
    args.infinity = magnitude(true);
    if (to.bits <= 8) {
      const int mantissa_bits = detail::Row(DataType::kBfloat16).mantissa_bits;
      args.narrow_most = (args.overflow << (mantissa_bits - to.mantissa_bits)) +
                         (static_cast<std::uint32_t>(127 - to.bias) << mantissa_bits);
    }
  }
  if (to.is_float() && !to.has_zero) {
    const std::uint32_t nan = static_cast<std::uint32_t>(detail::MagnitudeMask(to));
    const bool saturate = options.saturate;
    const detail::RangeEnd next = detail::NextPowerFrom(options.round_mode);
    const auto set = [&](std::uint32_t unit, std::uint32_t* bias, std::uint32_t* least) {
      // Added to the bits it carries into the exponent from there on.
      *bias = static_cast<std::uint32_t>((2 - next.at) * unit) - (next.itself ? 0 : 1);
      // The same of 2^-127, the subnormal of half a unit, which is code 0.
      *least = static_cast<std::uint32_t>(next.at * unit / 2) - (next.itself ? 1 : 0);
    };
    set(1u << 23, &args.e8m0_bias, &args.e8m0_least);
    set(1u << 7, &args.e8m0_bias16, &args.e8m0_least16);
    args.e8m0_below = saturate ? 0 : nan;
    args.e8m0_above = saturate ? nan - 1 : nan;
  }
  if (to.is_integer()) {
    if (from.is_float() && options.integer_overflow == IntegerOverflow::kSaturate) {
      const detail::RangeEnds ends = detail::EndsOfRange(to, options.round_mode);
      args.saturates = true;
      args.high64 = detail::FirstBeyond(ends.high, true);
      args.low64 = detail::FirstBeyond(ends.low, false);
      args.high32 = static_cast<float>(args.high64);  // 2^k or 2^k - 1/2: exact
      args.low32 = FloorToFloat(args.low64);
      args.high_code = detail::GreatestInteger(to);
      args.low_code = detail::LeastInteger(to);
    }
  }
  return args;
}

// Where nothing is packed the direct stage is a stage like others.
void SetDirect(Stage stage, bool floating, Bound* bound) {
  bound->direct = stage;
  bound->direct_floating = floating;
  if (bound->unpack == nullptr && bound->pack == nullptr) {
    bound->first = stage;
    bound->second = nullptr;
    bound->floating = floating;
  }
}

// A table serves narrow codes best, once it has been filled: that takes as long as some thousand
// elements.
constexpr std::uint64_t kLeastForTable = 4096;

// Integers of whole bytes are moved by instructions of their own, and zeros and ones are chosen.
bool WantsTable(const TypeInfo& from, const TypeInfo& to) {
  if (from.type == DataType::kBool && to.bits >= 16) return false;
  return from.bits < 8 || (from.bits == 8 && ChooseRoute(from, to) != Route::kInteger);
}

void BindTable(const CastOptions& options, std::uint64_t n, Bound* bound) {
  if (bound->first == nullptr || !WantsTable(*bound->from, *bound->to)) return;
  const FpEnvironment environment;
  const CodeTable* table = FindCodeTable(*bound->from, *bound->to, options, n >= kLeastForTable);
  if (table == nullptr) return;
  bound->args.table = table;
  const Stage stage = bound->kernels->table_stage(bound->from->bits, bound->to->bits, *table);
  if (stage != nullptr) SetDirect(stage, false, bound);
}

void BindStages(Bound* bound) {
  const Kernels& kernels = *bound->kernels;
  const auto from = static_cast<std::size_t>(detail::RowIndex(bound->from->type));
  const auto to = static_cast<std::size_t>(detail::RowIndex(bound->to->type));
  bound->unpack = kernels.unpack[from];
  bound->pack = kernels.pack[to];
  bound->source_value = kernels.value_f64[from];
  bound->result_value = kernels.value_f64[to];
  const auto set = [&](Stage decode, Stage encode) {
    bound->floating = true;
    bound->first = decode != nullptr ? decode : encode;
    bound->second = decode != nullptr ? encode : nullptr;
  };
  switch (ChooseRoute(*bound->from, *bound->to)) {
    case Route::kIdentity: break;
    case Route::kInteger: bound->first = kernels.integer[from][to]; break;
    case Route::kFloat32: set(kernels.decode_f32[from], kernels.encode_f32[to]); break;
    case Route::kOddFloat32: set(kernels.decode_odd_f32[from], kernels.encode_f32[to]); break;
    case Route::kFloat64: set(kernels.decode_f64[from], kernels.encode_f64[to]); break;
    case Route::kOddFloat64: set(kernels.decode_odd_f64[from], kernels.encode_f64[to]); break;
  }
  if (bound->first != nullptr && bound->second == nullptr && bound->unpack == nullptr &&
      bound->pack == nullptr) {
    SetDirect(bound->first, bound->floating && kernels.needs_environment[from][to], bound);
  }
  if (kernels.direct[from][to] != nullptr) {
    SetDirect(kernels.direct[from][to], kernels.needs_environment[from][to], bound);
  }
}

}  // namespace
}  // namespace tensorcast::core

namespace tensorcast {
inline namespace TENSORCAST_ABI {

Status CastPlan::Bind(DataType from, DataType to, const CastOptions& options, CastPlan* plan,
                      Target target) {
  return BindFor(UINT64_MAX, from, to, options, plan, target);
}

// n: about how many elements the plan will cast.
Status CastPlan::BindFor(std::uint64_t n, DataType from, DataType to, const CastOptions& options,
                         CastPlan* plan, Target target) {
  static_assert(sizeof(core::Bound) <= sizeof(CastPlan::bound_));
  static_assert(std::is_trivially_copyable_v<core::Bound>);
  if (plan == nullptr) return Status(StatusCode::kNullPointer);
  const TypeInfo* from_row = FindType(from);
  const TypeInfo* to_row = FindType(to);
  if (from_row == nullptr || to_row == nullptr) return Status(StatusCode::kInvalidType);
  if (!IsValid(options)) return Status(StatusCode::kInvalidOption);
  const core::Kernels* kernels = core::FindKernels(target);
  if (kernels == nullptr) return Status(StatusCode::kTargetUnavailable);

  plan->from_ = from;
  plan->to_ = to;
  plan->options_ = options;
  auto* bound = new (plan->bound_) core::Bound;
  bound->kernels = kernels;
  bound->from = from_row;
  bound->to = to_row;
  bound->from_bits = static_cast<std::uint32_t>(from_row->bits);
  bound->to_bits = static_cast<std::uint32_t>(to_row->bits);
  if (from == DataType::kString || to == DataType::kString) return Status();  // src/text runs it
  {
    const core::FpEnvironment environment;
    bound->args = core::MakeEncodeArgs(*from_row, *to_row, options);
    bound->args.options = options;
  }
  core::BindStages(bound);
  if (kernels->table_stage == nullptr) return Status();  // the scalar target has no stages
  core::BindTable(options, n, bound);
  const core::BriefStage brief = core::FindBriefStage(*bound);
  bound->brief = brief.stage != nullptr ? brief.stage : bound->direct;  // for no elements
  bound->brief_most = brief.most;
  if (bound->direct != nullptr) {
    bound->short_end = core::kShortRun + 1;
  } else if (brief.stage != nullptr) {
    bound->short_end = brief.most + 1;
  }
  return Status();
}

Target CastPlan::target() const {
  return from_ == DataType::kUndefined ? Target::kBest : bound()->kernels->target;
}

std::span<const Target> Targets() {
  static const auto targets = [] {
    struct {
      Target list[std::size(detail::kTargetTable)] = {};
      std::size_t size = 0;
    } found;
    for (const core::Kernels* kernels : core::AllKernels())
      found.list[found.size++] = kernels->target;
    return found;
  }();
  return {targets.list, targets.size};
}

std::optional<Target> ParseTarget(std::string_view name) {
  for (const detail::TargetRow& row : detail::kTargetTable) {
    if (row.name == name) return row.target;
  }
  return std::nullopt;
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
