// A loss meter as bytes. One walk over the fields serves writing and reading, so that both have one
// order; what is read is held against what measuring can leave.
//
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
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

class Writer {
 public:
  explicit Writer(std::byte* at) : at_(at) {}
  template <class Unsigned> bool Number(Unsigned value) {
    StoreLittle(at_, value, sizeof value);
    at_ += sizeof value;
    return true;
  }
  bool Take(std::uint64_t value) { return Number(value); }
  bool Take(double value) { return Number(std::bit_cast<std::uint64_t>(value)); }
  bool Take(DataType type) {
    return Number(static_cast<std::uint32_t>(static_cast<std::int32_t>(type)));
  }
  template <class Option> bool TakeOption(Option option, int) {
    return Number(static_cast<std::uint8_t>(option));
  }
  bool Take(const SumOfMagnitudes& sum) {
    for (const std::uint64_t word : sum.words()) Number(word);
    return Number(std::uint32_t{sum.infinite()});
  }

 private:
  std::byte* at_;
};

class Reader {
 public:
  explicit Reader(const std::byte* at) : at_(at) {}
  template <class Unsigned> Unsigned Number() {
    const std::byte* const at = std::exchange(at_, at_ + sizeof(Unsigned));
    return static_cast<Unsigned>(LoadLittle(at, sizeof(Unsigned)));
  }
  bool Take(std::uint64_t& value) {
    value = Number<std::uint64_t>();
    return true;
  }
  bool Take(double& value) {
    value = std::bit_cast<double>(Number<std::uint64_t>());
    return true;
  }
  bool Take(DataType& type) {
    type = static_cast<DataType>(static_cast<std::int32_t>(Number<std::uint32_t>()));
    return true;
  }
  template <class Option> bool TakeOption(Option& option, int last) {
    const auto value = Number<std::uint8_t>();
    option = static_cast<Option>(value);
    return value <= last;
  }
  bool Take(SumOfMagnitudes& sum) {
    SumOfMagnitudes::Words words;
    for (std::uint64_t& word : words) word = Number<std::uint64_t>();
    const auto infinite = Number<std::uint32_t>();
    sum = SumOfMagnitudes(words, infinite != 0);
    return infinite <= 1;
  }

 private:
  const std::byte* at_;
};

template <class Bytes, class Example> void WalkExample(Bytes& bytes, Example& example) {
  bytes.Take(example.index);
  bytes.Take(example.source_code);
  bytes.Take(example.result_code);
}

// Types and options, without which there is no LossState to fill.
template <class Bytes, class Type, class Options>
bool WalkKind(Bytes& bytes, Type& from, Type& to, Options& options) {
  bytes.Take(from);
  bytes.Take(to);
  const bool saturate = bytes.TakeOption(options.saturate, 1);
  const bool round_mode = bytes.TakeOption(options.round_mode, 2);
  const bool integer_overflow = bytes.TakeOption(options.integer_overflow, 1);
  const bool fnuz_infinity = bytes.TakeOption(options.fnuz_infinity, 1);
  const bool finite_only_nan = bytes.TakeOption(options.finite_only_nan, 1);
  const bool string_style = bytes.TakeOption(options.string_style, 1);
  return saturate && round_mode && integer_overflow && fnuz_infinity && finite_only_nan &&
         string_style;
}

template <class Bytes, class State> bool WalkGathered(Bytes& bytes, State& state) {
  bytes.Take(state.elements_from);
  bytes.Take(state.elements);
  for (auto& count : state.counts) bytes.Take(count);
  for (auto& example : state.first) WalkExample(bytes, example);
  bytes.Take(state.compared);
  bytes.Take(state.max_abs_error);
  WalkExample(bytes, state.max_abs_example);
  bytes.Take(state.compared_nonzero);
  bytes.Take(state.max_rel_error);
  WalkExample(bytes, state.max_rel_example);
  bytes.Take(state.finite);
  bytes.Take(state.amax);
  bytes.Take(state.smallest_nonzero);
  const bool squares = bytes.Take(state.squares);
  const bool errors = bytes.Take(state.errors);
  for (auto& sum : state.open_squares) bytes.Take(sum);
  for (auto& sum : state.open_errors) bytes.Take(sum);
  bytes.Take(state.next_index);
  return squares && errors;
}

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
  if (state.elements_from != DataType::kUndefined && !IsMeasured(state.elements_from)) return false;
  std::uint64_t rest = state.elements;
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    const std::uint64_t count = state.counts[kind];
    if (count > state.elements) return false;
    if (count != 0 && !HasCodesOf(state.first[kind], state.elements_from, state.to)) return false;
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
                      : IsMagnitude(maximum) && HasCodesOf(example, state.elements_from, state.to);
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
  core::Writer writer(bytes.data());
  writer.Number(core::kMagic);
  writer.Number(core::kVersion);
  core::WalkKind(writer, state.from, state.to, state.options);
  writer.Number(std::uint16_t{0});
  core::WalkGathered(writer, state);
  return Status();
}

Status LossMeter::Load(std::span<const std::byte> bytes) {
  const Status bad(StatusCode::kBadFile);
  if (bytes.size() != core::kSavedBytes) return bad;
  core::Reader reader(bytes.data());
  if (reader.Number<std::uint32_t>() != core::kMagic) return bad;
  if (reader.Number<std::uint32_t>() != core::kVersion) return bad;
  DataType from = DataType::kUndefined;
  DataType to = DataType::kUndefined;
  CastOptions options;
  if (!core::WalkKind(reader, from, to, options)) return bad;
  if (reader.Number<std::uint16_t>() != 0) return bad;
  if (!core::IsMeasured(from) || !core::IsMeasured(to)) return bad;
  const core::FpEnvironment environment;
  auto state = std::make_unique<core::LossState>(from, to, options);
  if (!core::WalkGathered(reader, *state) || !core::IsPossible(*state)) return bad;
  state_ = std::move(state);
  return Status();
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
