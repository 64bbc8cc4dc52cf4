// Classifies pairs by their types' kinds and widths, and makes input values.
//
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_pair.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>

namespace tensorcast::tool {
namespace {

bool IsNarrowFloat(const TypeInfo& row) { return row.is_float() && row.bits <= 8; }
bool IsHalf(const TypeInfo& row) { return row.is_float() && row.bits == 16; }
bool IsIntegral(const TypeInfo& row) {
  return row.is_integer() || row.type_class == TypeClass::kBool;
}

bool IsMoveLike(const TypeInfo& from, const TypeInfo& to) {
  if (from.type == to.type) return true;
  if (IsIntegral(from)) {
    if (IsIntegral(to) || to.bits >= 32) return true;
    if (IsHalf(to)) return from.bits <= 16;
    return false;
  }
  const auto is = [&](DataType a, DataType b) { return from.type == a && to.type == b; };
  return is(DataType::kFloat16, DataType::kFloat32) || is(DataType::kFloat32, DataType::kFloat16) ||
         is(DataType::kBfloat16, DataType::kFloat32) ||
         is(DataType::kFloat32, DataType::kFloat64) || is(DataType::kFloat64, DataType::kFloat32);
}

bool IsLight(const TypeInfo& from, const TypeInfo& to) {
  if (!from.is_float()) return false;
  if (from.type == DataType::kFloat32 && to.type == DataType::kBfloat16) return true;
  if (IsHalf(from) && IsHalf(to)) return true;
  if (IsNarrowFloat(from) && to.is_float() && to.bits >= 16) return true;
  if (IsIntegral(to)) return to.bits <= 32 || from.type == DataType::kFloat64;
  return false;
}

// A small fast generator (splitmix64); quality hardly matters here.
class Random {
 public:
  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_ = 1;
};

// The exponents of the values: normal and finite in both types, and within an integer's range.
struct Exponents {
  int least;
  int most;
};

Exponents CommonExponents(const TypeInfo& from, const TypeInfo& to) {
  const auto normal = [](const TypeInfo& row) {
    return Exponents{1 - row.bias, (1 << row.exponent_bits) - 2 - row.bias};
  };
  const Exponents ours = normal(from);
  const int digits = to.type_class == TypeClass::kBool ? 1 : to.bits - (to.has_sign ? 1 : 0);
  const Exponents theirs = to.is_float() ? normal(to) : Exponents{-3, digits - 1};
  const int least = std::max(ours.least, theirs.least);
  return {least, std::max(least, std::min(ours.most, theirs.most))};
}

std::uint64_t Code(const TypeInfo& from, const TypeInfo& to, const Exponents& exponents,
                   std::uint64_t random) {
  if (from.type_class == TypeClass::kBool) return random & 1;
  if (!from.is_float()) return random;
  const std::uint64_t mantissa_mask = (std::uint64_t{1} << from.mantissa_bits) - 1;
  const bool with_sign = from.has_sign && to.has_sign;
  const std::uint64_t sign = with_sign ? (random >> 63) << (from.bits - 1) : 0;
  const auto count = static_cast<std::uint64_t>(exponents.most - exponents.least + 1);
  const auto exponent =
      static_cast<std::uint64_t>(exponents.least + from.bias) + (random >> 52 & 0x7FF) % count;
  return sign | exponent << from.mantissa_bits | (random & mantissa_mask);
}

// A pattern longer than any predictor remembers, repeated.
constexpr std::size_t kPattern = std::size_t{6} << 20;

void RepeatPattern(std::span<std::byte> bytes, std::size_t made) {
  for (std::size_t done = made; done < bytes.size(); done += made) {
    std::memcpy(&bytes[done], bytes.data(), std::min(made, bytes.size() - done));
  }
}

}  // namespace

PairClass ClassOf(const TypeInfo& from, const TypeInfo& to) {
  if (IsMoveLike(from, to)) return PairClass::kMoveLike;
  if (IsLight(from, to)) return PairClass::kLight;
  if (IsNarrowFloat(to) && from.bits <= (IsIntegral(from) ? 16 : 32)) return PairClass::kRoundTo8;
  if (IsHalf(to) && (from.type == DataType::kFloat64 || (from.is_integer() && from.bits >= 32))) {
    return PairClass::kWideToNarrow;
  }
  return PairClass::kRare;
}

double CacheGoal(const TypeInfo& from, const TypeInfo& to, Target target) {
  // By class, from A on.
  constexpr double kAvx3Goals[] = {0.90, 0.80, 0.40, 0.70, 0.30};
  constexpr double kAvx2Goals[] = {0.80, 0.45, 0.25, 0.50, 0.20};
  const PairClass pair = ClassOf(from, to);
  const auto place = static_cast<std::size_t>(pair) - 'A';
  if (target == Target::kAvx3 || target == Target::kAvx3Dl) return kAvx3Goals[place];
  if (target != Target::kAvx2) return 0;
  // AVX2 has no conversion of integers of 64 bits.
  const bool is_wide = pair == PairClass::kMoveLike && from.is_integer() && from.bits == 64;
  return is_wide && to.is_float() ? 0.45 : kAvx2Goals[place];
}

double MemoryGoal(const TypeInfo& from, const TypeInfo& to) {
  constexpr double kGoals[] = {0.95, 0.95, 0.95, 0.95, 0.80};
  return kGoals[static_cast<std::size_t>(ClassOf(from, to)) - 'A'];
}

void FillWithValues(const TypeInfo& from, const TypeInfo& to, std::span<std::byte> bytes) {
  const Exponents exponents = CommonExponents(from, to);
  const std::size_t made = std::min(bytes.size(), kPattern);
  Random random;
  if (from.bits < 8) {
    // Every code of the packed types is finite.
    for (std::size_t i = 0; i < made; ++i) bytes[i] = static_cast<std::byte>(random.Next());
  } else {
    const auto width = static_cast<std::size_t>(from.bits / 8);
    for (std::size_t i = 0; i + width <= made; i += width) {
      const std::uint64_t code =
          Code(from, to, exponents, random.Next());  // the machine is little-endian
      std::memcpy(&bytes[i], &code, width);
    }
  }
  RepeatPattern(bytes, made);
}

void FillWithWeights(const TypeInfo& from, std::span<std::byte> bytes) {
  const auto width = static_cast<std::size_t>(from.bits / 8);
  const std::size_t made = std::min(bytes.size(), kPattern) / width * width;
  Random random;
  const auto uniform = [&random] {
    return static_cast<double>((random.Next() >> 11) + 1) * 0x1p-53;
  };
  for (std::size_t i = 0; i < made; i += width) {  // Box and Muller's
    const double weight =
        0.02 * std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    const std::uint64_t code =
        CastBits(DataType::kFloat64, from.type, std::bit_cast<std::uint64_t>(weight));
    std::memcpy(&bytes[i], &code, width);
  }
  RepeatPattern(bytes, made);
}

}  // namespace tensorcast::tool
