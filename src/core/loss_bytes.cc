// A loss meter as bytes. One walk over the fields serves writing and reading, so that both have one
// order; what is read is held against what measuring can leave.
//
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "core/fp_environment.h"
#include "core/little_endian.h"
#include "core/loss.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {
namespace {

// "TCLM" and the version of the layout.
constexpr std::uint32_t kMagic = 0x4D4C4354;
constexpr std::uint32_t kVersion = 1;

constexpr std::size_t kExampleBytes = 3 * 8;
constexpr std::size_t kSumBytes = sizeof(SumOfMagnitudes::Words) + 4;
constexpr std::size_t kSavedBytes = 2 * 4 + 3 * 4 + 6 + 2 +                 // types and options
                                    8 + kLossKinds * (8 + kExampleBytes) +  // counts
                                    2 * (8 + 8 + kExampleBytes) +           // maxima
                                    3 * 8 +                                 // of the sources
                                    2 * (kSumBytes + kLossSums * 8) + 8;    // sums, the open block

// Walks over bytes: reads the fields from them, or writes the fields to them.
template <bool kReads> class Walk {
 public:
  using Byte = std::conditional_t<kReads, const std::byte, std::byte>;
  explicit Walk(Byte* at) : at_(at) {}

  // Writes the number, or gives the one that stands in its place.
  template <class Unsigned> Unsigned Number(Unsigned value) {
    Byte* const at = std::exchange(at_, at_ + sizeof(Unsigned));
    if constexpr (kReads) return static_cast<Unsigned>(LoadLittle(at, sizeof(Unsigned)));
    if constexpr (!kReads) StoreLittle(at, value, sizeof(Unsigned));
    return value;
  }
  void Take(std::uint64_t& value) { value = Number(value); }
  void Take(double& value) {
    value = std::bit_cast<double>(Number(std::bit_cast<std::uint64_t>(value)));
  }
  void Take(DataType& type) {
    type = static_cast<DataType>(Number(static_cast<std::uint32_t>(type)));
  }
  void Take(LossExample& example) {
    Take(example.index);
    Take(example.source_code);
    Take(example.result_code);
  }
  // The following give whether what they took can be.
  template <class Option> bool Take(Option& option, int last) {
    const auto value = Number(static_cast<std::uint8_t>(option));
    option = static_cast<Option>(value);
    return value <= last;
  }
  bool Take(SumOfMagnitudes& sum) {
    SumOfMagnitudes::Words words = sum.words();
    for (std::uint64_t& word : words) Take(word);
    const auto infinite = Number(std::uint32_t{sum.infinite()});
    sum = SumOfMagnitudes(words, infinite != 0);
    return infinite <= 1;
  }
  // Types and options, without which there is no LossState to fill.
  bool TakeKind(DataType& from, DataType& to, CastOptions& options) {
    Take(from);
    Take(to);
    const bool saturate = Take(options.saturate, 1);
    const bool round_mode = Take(options.round_mode, 2);
    const bool integer_overflow = Take(options.integer_overflow, 1);
    const bool fnuz_infinity = Take(options.fnuz_infinity, 1);
    const bool finite_only_nan = Take(options.finite_only_nan, 1);
    const bool string_style = Take(options.string_style, 1);
    return saturate && round_mode && integer_overflow && fnuz_infinity && finite_only_nan &&
           string_style;
  }
  bool TakeGathered(LossState& state) {
    Take(state.from);
    Take(state.elements);
    for (std::uint64_t& count : state.counts) Take(count);
    for (LossExample& example : state.first) Take(example);
    Take(state.compared);
    Take(state.max_abs_error);
    Take(state.max_abs_example);
    Take(state.compared_nonzero);
    Take(state.max_rel_error);
    Take(state.max_rel_example);
    Take(state.finite);
    Take(state.amax);
    Take(state.smallest_nonzero);
    const bool squares = Take(state.squares);
    const bool errors = Take(state.errors);
    for (double& sum : state.open_squares) Take(sum);
    for (double& sum : state.open_errors) Take(sum);
    Take(state.next_index);
    return squares && errors;
  }

 private:
  Byte* at_;
};

bool IsMeasured(DataType type) {
  const TypeInfo* const row = FindType(type);
  return row != nullptr && row->bits != 0;
}

// Whether the codes of an example are of the types'; several sources have the widest.
bool HasCodesOf(const LossExample& example, DataType from, DataType to) {
  const auto fits = [](std::uint64_t code, int bits) { return bits == 64 || code >> bits == 0; };
  const TypeInfo* const source = FindType(from);
  return fits(example.source_code, source != nullptr ? source->bits : 64) &&
         fits(example.result_code, FindType(to)->bits);
}

// Not NaN, not below zero.
bool IsMagnitude(double value) { return value >= 0; }

// Whether measuring can leave this.
bool IsPossible(const LossState& state) {
  if (state.from != DataType::kUndefined && !IsMeasured(state.from)) return false;
  std::uint64_t rest = state.elements;
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    const std::uint64_t count = state.counts[kind];
    if (count > state.elements) return false;
    if (count != 0 && !HasCodesOf(state.first[kind], state.from, state.to)) return false;
    if (kind >= kLossPartition) continue;
    if (count > rest) return false;
    rest -= count;
  }
  if (rest != 0) return false;
  if (state.finite > state.elements || state.compared > state.finite ||
      state.compared_nonzero > state.compared) {
    return false;
  }
  const auto is_maximum = [&](std::uint64_t count, double maximum, const LossExample& example) {
    return count == 0 ? maximum == -1
                      : IsMagnitude(maximum) && HasCodesOf(example, state.from, state.to);
  };
  if (!is_maximum(state.compared, state.max_abs_error, state.max_abs_example) ||
      !is_maximum(state.compared_nonzero, state.max_rel_error, state.max_rel_example)) {
    return false;
  }
  if (!std::isfinite(state.amax) || !IsMagnitude(state.amax) ||
      !IsMagnitude(state.smallest_nonzero) || state.smallest_nonzero > state.amax) {
    return false;
  }
  for (std::size_t i = 0; i < kLossSums; ++i) {
    if (!IsMagnitude(state.open_squares[i]) || !IsMagnitude(state.open_errors[i])) return false;
  }
  return true;
}

}  // namespace
}  // namespace tensorcast::core

namespace tensorcast {
inline namespace TENSORCAST_ABI {

std::size_t LossMeter::SavedBytes() { return core::kSavedBytes; }

Status LossMeter::Save(std::span<std::byte> bytes) const {
  if (bytes.size() < core::kSavedBytes) return Status(StatusCode::kBufferTooSmall);
  core::LossState state = *state_;
  // What was never found has no example: the bytes are those of what was gathered alone.
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    if (state.counts[kind] == 0) state.first[kind] = {};
  }
  core::Walk<false> writer(bytes.data());
  writer.Number(core::kMagic);
  writer.Number(core::kVersion);
  writer.TakeKind(state.run_from, state.to, state.options);
  writer.Number(std::uint16_t{0});
  writer.TakeGathered(state);
  return Status();
}

Status LossMeter::Load(std::span<const std::byte> bytes) {
  const Status bad(StatusCode::kBadFile);
  if (bytes.size() != core::kSavedBytes) return bad;
  core::Walk<true> reader(bytes.data());
  if (reader.Number(core::kMagic) != core::kMagic) return bad;
  if (reader.Number(core::kVersion) != core::kVersion) return bad;
  DataType from = DataType::kUndefined;
  DataType to = DataType::kUndefined;
  CastOptions options;
  if (!reader.TakeKind(from, to, options)) return bad;
  if (reader.Number(std::uint16_t{0}) != 0) return bad;
  if (!core::IsMeasured(from) || !core::IsMeasured(to)) return bad;
  const core::FpEnvironment environment;
  auto state = std::make_unique<core::LossState>(from, to, options);
  if (!reader.TakeGathered(*state) || !core::IsPossible(*state)) return bad;
  state_ = std::move(state);
  return Status();
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
