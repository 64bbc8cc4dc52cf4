// A block at a time: decoded by the library's own cast, divided cell by cell, encoded by a cast
// that rounds once, and, where measured, looked at again while it is in the first-level cache.
//
// In float32 by lanes, except from float64 and where a scale is out of the ordinary: a product with
// the scale's inverse is off by two units at most, so that it is on the right side of every tie
// that is not as near as that. What is as near is divided in float64 (see cell_codes.cc). A scale
// that is a power of two gives the quotient itself.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/quantiser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "core/failure.h"
#include "core/fp_environment.h"
#include "core/loss.h"
#include "core/route.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

CastOptions OptionsOf(DataType element) {
  CastOptions options;
  if (element == DataType::kInt8) options.integer_overflow = IntegerOverflow::kSaturate;
  return options;
}

bool IsSource(DataType type) {
  const TypeInfo* const row = FindType(type);
  return row != nullptr && row->is_float() && row->has_zero;
}

constexpr std::uint64_t kQuantisedAtOnce = 2048;  // elements done at once in lanes
constexpr std::uint64_t kLeastOfSteps = 512;      // of a cell, for which finding steps pays
constexpr std::uint64_t kLeastOfNibbles = 4096;   // of a call, for which it does

TieBits TiesOf(const TypeInfo* element) {
  if (!element->is_float()) return {};
  const int cut = 23 - element->mantissa_bits;
  const TypeLimits limits = detail::LimitsOf(*element);
  const auto bits_of = [](double value) {
    return static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  };
  // A quotient just below half of the least value rounds to zero, as do all below it.
  return {static_cast<std::uint32_t>(detail::LowMask(cut)), std::uint32_t{1} << (cut - 1),
          bits_of(limits.least_positive / 4), static_cast<float>(limits.least_normal)};
}

}  // namespace

Quantiser::Quantiser(DataType source, const Scaling& scaling, ScaleRule rule,
                     const Partition& partition, Target target)
    : source_(source),
      scaling_(CheckedWritten(scaling, rule)),
      rule_(rule),
      partition_(partition),
      target_(target),
      quotients_(scaling, source != DataType::kFloat64),
      values_(scaling, Rounding::kNearest) {
  if (!IsSource(source)) {
    throw core::Failure(StatusCode::kInvalidType, "scaled tensors are made of floats, not of " +
                                                      std::string(TypeName(source)));
  }
  const auto bind = [&](DataType from, DataType to, CastPlan* plan) {
    Require(CastPlan::Bind(from, to, OptionsOf(scaling.element), plan, target));
  };
  bind(source, DataType::kFloat64, &value_of_source_);
  bind(DataType::kFloat64, scaling.element, &code_of_value_);
  bind(scaling.element, DataType::kFloat64, &value_of_code_);
  if (source == DataType::kFloat64) return;
  scales_.emplace(scaling, rule, target);
  bind(source, DataType::kFloat32, &float_of_source_);
  const TypeInfo& element = detail::Row(scaling.element);
  ties_ = TiesOf(&element);
  if (partition.block_columns >= kLeastCell) lanes_ = FindCellLanes(target);
  if (lanes_ != nullptr && source == DataType::kBfloat16) {
    const bool is_e4m3 = scaling.element == DataType::kFloat8E4M3FN;
    takes_powers_ = lanes_->encode_under_powers != nullptr &&
                    (is_e4m3 || scaling.element == DataType::kFloat8E5M2);
    has_steps_ = lanes_->find_steps != nullptr && is_e4m3 && scaling.global_use == Factor::kNone;
    // Their scales have four bits at most.
    has_nibble_steps_ =
        lanes_->find_nibble_steps != nullptr && scaling.element == DataType::kFloat4E2M1;
  }
  bind(DataType::kFloat32, scaling.element, &code_of_quotient_);
  if (lanes_ == nullptr || !element.is_float() ||
      !core::OddIsExact(detail::Row(DataType::kBfloat16), element)) {
    return;
  }
  divides_to_halves_ = lanes_->divide_to_halves != nullptr;
  multiplies_to_halves_ = lanes_->multiply_to_halves != nullptr;
  bind(DataType::kBfloat16, scaling.element, &code_of_half_);
}

void Quantiser::GatherAmax(std::span<const std::byte> x, std::uint64_t x_first, std::uint64_t first,
                           std::uint64_t n, std::uint64_t first_cell,
                           std::span<double> amax) const {
  RequireStretch(partition_, first, n, first_cell, amax.size());
  const core::FpEnvironment environment;
  if (lanes_ != nullptr) return GatherInLanes(x, x_first, first, n, first_cell, amax);
  alignas(64) double values[kBlock];
  ForEachBlock(first, n, [&](std::uint64_t done, std::uint64_t some) {
    Require(value_of_source_.Run(x, x_first + done, std::as_writable_bytes(std::span(values)), 0,
                                 some));
    ForEachRun(partition_, first + done, some,
               [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
                 double& known = amax[cell - first_cell];
                 known = LargestFinite(values + at, length, known);
               });
  });
}

// Magnitudes are compared as integers, in the source's own bits where they are 16 or 32.
void Quantiser::GatherInLanes(std::span<const std::byte> x, std::uint64_t x_first,
                              std::uint64_t first, std::uint64_t n, std::uint64_t first_cell,
                              std::span<double> amax) const {
  const TypeInfo& row = *FindType(source_);
  RequireHeld(x.size() * 8 / static_cast<unsigned>(row.bits), x_first, n);
  const bool is_half = row.bits == 16, is_float = source_ == DataType::kFloat32;
  // Where a float32's magnitude has a source's bits, and what its exponents are less by.
  const int shift = !is_half ? 0 : source_ == DataType::kFloat16 ? 13 : 16;
  const double unit = source_ == DataType::kFloat16 ? 0x1p112 : 1;
  alignas(64) float decoded[kQuantisedAtOnce];
  std::uint32_t found[kQuantisedAtOnce / kLeastCell];
  for (std::uint64_t done = 0; done < n; done += kQuantisedAtOnce) {
    const std::uint64_t some = std::min(n - done, kQuantisedAtOnce);
    const std::size_t bytes = is_half ? 2 : 4;
    const std::byte* values = x.data() + (x_first + done) * bytes;
    if (!is_half && !is_float) {
      Require(float_of_source_.Run(x, x_first + done, std::as_writable_bytes(std::span(decoded)), 0,
                                   some));
      values = reinterpret_cast<const std::byte*>(decoded);
    }
    const auto take = [&](std::uint64_t at, std::size_t cells, std::size_t width, double* known) {
      if (is_half) {
        const auto infinity =
            static_cast<std::uint16_t>(detail::LowMask(row.exponent_bits) << row.mantissa_bits);
        lanes_->largest_16(values + at * bytes, cells, width, infinity, found);
      } else {
        lanes_->largest_32(values + at * bytes, cells, width, found);
      }
      lanes_->raise_to(found, cells, shift, unit, known);
    };
    ForEachRunOfCells(
        partition_, first + done, some,
        [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length, const CellsInOrder& order) {
          double* known = &amax[cell - first_cell];
          const std::uint64_t end = at + length;
          // The rest of a cell, whole ones, the beginning of one.
          std::uint64_t width =
              order.log2_width < 40 ? std::uint64_t{1} << order.log2_width : length + order.skipped;
          std::uint64_t part = std::min(end - at, width - order.skipped);
          while (at < end) {
            const std::uint64_t whole = part == width ? (end - at) / width : 1;
            if (part >= kLeastCell) {
              take(at, whole, part, known);
            } else {
              alignas(64) std::byte few[4 * kLeastCell] = {};
              std::memcpy(few, values + at * bytes, part * bytes);
              const std::byte* const all = std::exchange(values, few);
              take(0, 1, kLeastCell, known);
              values = all;
            }
            at += part * whole;
            known += whole;
            part = std::min(end - at, width);
          }
        });
  }
}

double Quantiser::GlobalScale(double amax, double most) const {
  const core::FpEnvironment environment;
  return GlobalScaleOf(scaling_, amax, most);
}

void Quantiser::Scales(std::span<const double> amax, double global,
                       std::span<double> scales) const {
  if (scales.size() < amax.size()) Require(Status(StatusCode::kBufferTooSmall));
  const core::FpEnvironment environment;
  if (scales_) return scales_->Run(amax.data(), global, scales.data(), amax.size());
  for (std::size_t i = 0; i < amax.size(); ++i) {
    scales[i] = CellScaleOf(scaling_, rule_, amax[i], global);
  }
}

void Quantiser::Encode(std::span<const std::byte> x, std::uint64_t x_first, std::uint64_t first,
                       std::uint64_t n, const CellScales& scales, std::span<std::byte> codes,
                       std::uint64_t codes_first, LossMeter* loss) const {
  RequireStretch(partition_, first, n, scales.first, scales.scales.size());
  if (n == 0) return;
  const core::FpEnvironment environment;
  const CellRange cells = partition_.CellsOf(first, n);
  std::unique_ptr<float[]> factors;
  std::unique_ptr<double[]> divisors;
  const double numerator = scaling_.global_use == Factor::kDivides ? scales.global : 1;
  bool fits = false, exact = scaling_.global_use == Factor::kNone;
  if (lanes_ != nullptr) {
    const auto count = static_cast<std::size_t>(cells.count);
    factors = std::make_unique_for_overwrite<float[]>(count);
    divisors = std::make_unique_for_overwrite<double[]>(count);
    const double* const some = scales.scales.data() + (cells.first - scales.first);
    const double global = scaling_.global_use == Factor::kMultiplies ? scales.global : 1;
    const auto is_power = [](double scale) {
      return (std::bit_cast<std::uint64_t>(scale) & detail::LowMask(52)) == 0;
    };
    exact = exact &&
            (scaling_.scale == DataType::kFloat8E8M0 || std::all_of(some, some + count, is_power));
    // What a quotient of is a normal float32 that is twice off by half a unit; of a power of two,
    // any that float32 has.
    const double most = exact ? 0x1p127 : 0x1p100, least = exact ? 0x1p-128 : 0x1p-100;
    fits = lanes_->factors_of(some, count, global, numerator, least, most, factors.get(),
                              divisors.get());
  }
  std::unique_ptr<CodeSteps[]> steps;
  const bool under_powers = takes_powers_ && exact && fits;
  if (has_steps_ && !under_powers && fits && n / cells.count >= kLeastOfSteps) {
    steps = std::make_unique_for_overwrite<CodeSteps[]>(static_cast<std::size_t>(cells.count));
    if (!lanes_->find_steps(divisors.get(), static_cast<std::size_t>(cells.count), steps.get())) {
      steps.reset();
    }
  }
  NibbleSteps nibble_steps[kSignificands];
  const bool has_nibble_steps = has_nibble_steps_ && fits && n >= kLeastOfNibbles;
  if (has_nibble_steps) {
    const double global = scaling_.global_use == Factor::kMultiplies ? scales.global : 1;
    lanes_->find_nibble_steps(global, numerator, nibble_steps);
  }
  std::optional<KnownCells> known;
  if (loss != nullptr) known.emplace(quotients_, values_, scales.global);
  const Call call = {x,
                     x_first,
                     first,
                     scales,
                     factors.get(),
                     divisors.get(),
                     numerator,
                     cells.first,
                     exact,
                     fits,
                     under_powers,
                     steps.get(),
                     has_nibble_steps ? nibble_steps : nullptr,
                     codes,
                     codes_first};
  if (lanes_ != nullptr && loss == nullptr) {
    for (std::uint64_t done = 0; done < n; done += kQuantisedAtOnce) {
      EncodeInFloat(call, done, std::min(n - done, kQuantisedAtOnce));
    }
    return;
  }
  ForEachBlock(first, n, [&](std::uint64_t done, std::uint64_t some) {
    if (lanes_ != nullptr) {
      EncodeInFloat(call, done, some);
    } else {
      EncodeInDouble(call, done, some);
    }
    if (loss != nullptr) Measure(call, done, some, *known, loss);
  });
}

bool Quantiser::EncodeFromHalves(const Call& call, std::uint64_t done, std::uint64_t n) const {
  if (!call.under_powers && call.steps == nullptr && call.nibble_steps == nullptr) return false;
  const std::uint64_t in_byte = scaling_.element == DataType::kFloat4E2M1 ? 2 : 1;
  RequireHeld(call.x.size() / 2, call.x_first, done + n);
  RequireHeld(call.codes.size() * in_byte, call.codes_first, done + n);
  const std::uint64_t first_code = call.codes_first + done;
  bool is_done = first_code % in_byte == 0;
  ForEachRunOfCells(
      partition_, call.first + done, n,
      [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length, const CellsInOrder& order) {
        if (!is_done || (at | length | order.skipped) % in_byte != 0) {
          is_done = false;
          return;
        }
        const std::byte* const x = call.x.data() + (call.x_first + done + at) * 2;
        std::byte* const codes = call.codes.data() + (first_code + at) / in_byte;
        const std::uint64_t skipped = cell - call.first_cell;
        if (call.under_powers) {
          is_done = lanes_->encode_under_powers(x, codes, length, scaling_.element,
                                                call.factors + skipped, order);
        } else if (call.steps != nullptr) {
          is_done = lanes_->encode_by_steps(x, codes, length, call.steps + skipped, order);
        } else {
          is_done = lanes_->encode_by_nibble_steps(
              x, codes, length, call.nibble_steps,
              call.scales.scales.data() + (cell - call.scales.first), order);
        }
      });
  return is_done;
}

// A quotient that is far too small or too large for the element type is zero or the limit, however
// it is rounded on the way.
void Quantiser::EncodeInFloat(const Call& call, std::uint64_t done, std::uint64_t n) const {
  if (EncodeFromHalves(call, done, n)) return;
  alignas(64) float decoded[kQuantisedAtOnce], quotients[kQuantisedAtOnce];
  const std::byte* x = reinterpret_cast<const std::byte*>(decoded);
  const std::span<std::byte> room = std::as_writable_bytes(std::span(decoded));
  // What lanes read by themselves, if it is there.
  const bool is_half = source_ == DataType::kBfloat16;
  const std::uint64_t bytes = is_half ? 2 : sizeof(float);
  if (is_half || source_ == DataType::kFloat32) {
    RequireHeld(call.x.size() / bytes, call.x_first, done + n);
    x = call.x.data() + (call.x_first + done) * bytes;
  } else {
    Require(float_of_source_.Run(call.x, call.x_first + done, room, 0, n));
  }
  const bool integer = scaling_.element == DataType::kInt8;
  std::byte* codes = nullptr;  // of integers
  if (integer) {
    RequireHeld(call.codes.size(), call.codes_first, done + n);
    codes = call.codes.data() + (call.codes_first + done);
  }
  const bool in_halves = call.exact ? multiplies_to_halves_ : divides_to_halves_;
  bool is_float = true;
  ForEachRunOfCells(
      partition_, call.first + done, n,
      [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length, const CellsInOrder& order) {
        const float* const factors = call.factors + (cell - call.first_cell);
        const std::uint64_t count = ((order.skipped + length - 1) >> order.log2_width) + 1;
        for (std::uint64_t i = 0; !call.fits && i < count; ++i) {
          is_float &= factors[i] == factors[i];
        }
        if (!is_float) return;
        const std::byte* const from = x + at * bytes;
        float* const to = quotients + at;
        std::byte* const half_to = reinterpret_cast<std::byte*>(quotients) + at * 2;
        if (call.exact && !integer) {
          if (in_halves) {
            return lanes_->multiply_to_halves(from, is_half, half_to, length, factors, order);
          }
          (is_half ? lanes_->multiply_bfloat16 : lanes_->multiply)(
              from, reinterpret_cast<std::byte*>(to), length, factors, order);
          return;
        }
        const std::uint64_t skipped = cell - call.first_cell;
        const Divisors by = {factors, call.divisors + skipped, call.numerator};
        if (integer) {
          lanes_->divide_to_integers(from, is_half, codes + at, length, by, order, -127);
        } else if (in_halves) {
          lanes_->divide_to_halves(from, is_half, half_to, length, by, order, ties_);
        } else {
          lanes_->divide(from, is_half, to, length, by, order, ties_);
        }
      });
  if (!is_float) return EncodeInDouble(call, done, n);
  if (integer) return;
  const CastPlan& code_of = in_halves ? code_of_half_ : code_of_quotient_;
  Require(
      code_of.Run(std::as_bytes(std::span(quotients)), 0, call.codes, call.codes_first + done, n));
}

void Quantiser::EncodeInDouble(const Call& call, std::uint64_t done, std::uint64_t n) const {
  alignas(64) double values[kBlock], quotients[kBlock];
  for (const std::uint64_t end = done + n; done < end;) {
    const std::uint64_t some = std::min(end - done, kBlock);
    Require(value_of_source_.Run(call.x, call.x_first + done,
                                 std::as_writable_bytes(std::span(values)), 0, some));
    ForEachRun(partition_, call.first + done, some,
               [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
                 quotients_.Run(values + at, quotients + at, length,
                                call.scales.scales[cell - call.scales.first], call.scales.global);
               });
    Require(code_of_value_.Run(std::as_bytes(std::span(quotients)), 0, call.codes,
                               call.codes_first + done, some));
    done += some;
  }
}

// What a block of the tensor's own lost.
void Quantiser::Measure(const Call& call, std::uint64_t done, std::uint64_t n, KnownCells& known,
                        LossMeter* loss) const {
  alignas(64) double values[kBlock];
  alignas(64) double results[kBlock];
  core::ScaledResults::Cell cells[kBlock];
  core::ScaledResults::Cell* next = cells;
  const auto scale_of = [&call](std::uint64_t cell) {
    return call.scales.scales[cell - call.scales.first];
  };
  ForEachRun(partition_, call.first + done, n,
             [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
               *next = known.Of(scale_of(cell));
               next++->end = at + length;
             });
  const core::ScaledResults scaled = {results, cells, true};
  const core::LossView view = {
      FindType(source_), FindType(scaling_.element), call.x.data(), call.x_first + done,
      call.codes.data(), call.codes_first + done,    &scaled};
  if (core::MeasureScaledCodes(*loss, view, n, call.first + done, target_)) return;
  const auto bytes_of = [](double* block) {
    return std::as_writable_bytes(std::span<double>(block, kBlock));
  };
  Require(value_of_source_.Run(call.x, call.x_first + done, bytes_of(values), 0, n));
  Require(value_of_code_.Run(call.codes, call.codes_first + done, bytes_of(results), 0, n));
  ForEachRun(partition_, call.first + done, n,
             [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
               values_.Run(results + at, results + at, length, scale_of(cell), call.scales.global,
                           0);
             });
  Require(core::MeasureScaled(*loss, view, values, n, call.first + done, target_));
}

LossMeter Quantiser::Meter() const {
  return LossMeter(source_, scaling_.element, OptionsOf(scaling_.element));
}

}  // namespace tensorcast::scale
