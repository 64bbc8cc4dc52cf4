// The lemma under the routes through an intermediate: to round to odd into it and then to the
// destination is to round once. On the oracle's integers alone; no cast of the library runs here.
//
// Between two neighbouring codes a rounding has three cases (below, at and above the midpoint), so
// trying the quarters of every gap, and points a little beside them, tries every case there is.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "core/source_codes.h"
#include "oracle/cast.h"

namespace tensorcast::testing {
namespace {

using oracle::Row;
using oracle::Value;

Value Positive(std::uint64_t digits, int exponent) {
  Value value;
  value.digits = digits;
  value.exponent = exponent;
  return value;
}

// Truncated, with the last bit set where that lost something; beyond the range the largest, whose
// last bit is set.
Value RoundToOdd(const Row& through, const Value& value) {
  std::uint64_t code = oracle::SearchFloor(through, value);
  const Value floor = oracle::Decode(through, code);
  if (oracle::Compare(value.digits, value.exponent, floor.digits, floor.exponent) != 0) code |= 1;
  return oracle::Decode(through, code);
}

Value RoundToEven(const Row& through, const Value& value) {
  const oracle::Rounded rounded =
      oracle::RoundFinite(through, true, value, oracle::RoundingMode::kUp);
  return oracle::Decode(through, rounded.inside ? rounded.code : through.largest);
}

// The quarters of the gap above a code and points beside them, near and very near.
void AddGap(const Row& to, std::uint64_t code, std::vector<Value>& values) {
  const Value v = oracle::Decode(to, code);
  for (std::uint64_t quarter = 0; quarter < 4; ++quarter) {
    const std::uint64_t digits = 4 * v.digits + quarter;
    const int exponent = v.exponent - 2;
    if (digits != 0) values.push_back(Positive(digits, exponent));
    for (const int far : {3, 12, 24, 33, 60 - static_cast<int>(std::bit_width(digits))}) {
      if (far < 1 || std::bit_width(digits) + far > 62) continue;
      values.push_back(Positive((digits << far) + 1, exponent - far));
      if (digits != 0) values.push_back(Positive((digits << far) - 1, exponent - far));
    }
  }
}

// Every gap of a destination of at most 16 bits, a sample of a wider one's, and both far ends.
std::vector<Value> EveryCase(const Row& to) {
  std::vector<Value> values;
  if (to.bits <= 16) {
    const std::uint64_t step = Sampled() && to.bits == 16 ? 17 : 1;
    for (std::uint64_t code = 0; code <= to.largest; code += step) AddGap(to, code, values);
  } else {
    std::mt19937_64 random(9);
    for (std::size_t i = 0; i < Scaled(20000); ++i) AddGap(to, random() % (to.largest + 1), values);
    for (std::uint64_t i = 0; i < 50; ++i) {
      AddGap(to, i, values);                                      // subnormals
      AddGap(to, (1ull << (to.precision - 1)) - 25 + i, values);  // their end
    }
  }
  AddGap(to, to.largest, values);
  for (const int exponent : {-1074, -1000, -200, -150, -149, 127, 128, 129, 200, 900}) {
    for (const std::uint64_t digits : {1ull, 3ull, (1ull << 53) - 1, (1ull << 24) + 1}) {
      values.push_back(Positive(digits, exponent));
    }
  }
  return values;
}

// How many values come out otherwise through `first`, and then `second` where there is one.
template <class Step>
std::size_t CountDifferences(const Row& to, const std::vector<Value>& values,
                             oracle::RoundingMode mode, Step through) {
  std::size_t different = 0;
  for (const Value& value : values) {
    const oracle::Rounded once = oracle::RoundFinite(to, true, value, mode);
    const oracle::Rounded twice = oracle::RoundFinite(to, true, through(value), mode);
    if (once.inside != twice.inside || (once.inside && once.code != twice.code)) ++different;
  }
  return different;
}

std::vector<oracle::RoundingMode> ModesOf(const Row& to) {
  if (to.kind != oracle::Kind::kPowerOfTwo) return {oracle::RoundingMode::kUp};
  return {oracle::RoundingMode::kUp, oracle::RoundingMode::kDown, oracle::RoundingMode::kNearest};
}

TEST(OddThroughFloat32, EqualsOneRounding) {
  const Row& float32 = oracle::RowOf(1);
  const Row& float64 = oracle::RowOf(11);
  for (const Row& to : oracle::kRows) {
    if (!to.floating() || to.bits > 16) continue;
    const std::vector<Value> values = EveryCase(to);
    for (const oracle::RoundingMode mode : ModesOf(to)) {
      EXPECT_EQ(CountDifferences(to, values, mode,
                                 [&](const Value& v) { return RoundToOdd(float32, v); }),
                0u)
          << to.name;
      // 64-bit integers come through float64 first: odd after odd is odd.
      EXPECT_EQ(CountDifferences(
                    to, values, mode,
                    [&](const Value& v) { return RoundToOdd(float32, RoundToOdd(float64, v)); }),
                0u)
          << to.name;
      // The test has teeth: the usual rounding on the way is found out for every type.
      EXPECT_GT(CountDifferences(to, values, mode,
                                 [&](const Value& v) { return RoundToEven(float32, v); }),
                0u)
          << to.name;
    }
  }
}

TEST(OddThroughFloat64, EqualsOneRoundingToFloat32) {
  const Row& float32 = oracle::RowOf(1);
  const Row& float64 = oracle::RowOf(11);
  const std::vector<Value> values = EveryCase(float32);
  EXPECT_EQ(CountDifferences(float32, values, oracle::RoundingMode::kUp,
                             [&](const Value& v) { return RoundToOdd(float64, v); }),
            0u);
  EXPECT_GT(CountDifferences(float32, values, oracle::RoundingMode::kUp,
                             [&](const Value& v) { return RoundToEven(float64, v); }),
            0u);
}

// Two spare bits, of precision and of range below, are enough, and one is not: what OddIsExact in
// src/core/route.h demands is what is needed.
TEST(SpareBits, TwoAreEnoughAndOneIsNot) {
  for (const Row& to : oracle::kRows) {
    if (to.kind != oracle::Kind::kFloating || to.bits > 16) continue;
    const std::vector<Value> values = EveryCase(to);
    const auto differences = [&](int spare_precision, int spare_range) {
      Row through = oracle::RowOf(11);
      through.precision = to.precision + spare_precision;
      through.least = to.least - spare_range;
      const std::uint64_t binade = 1ull << (through.precision - 1);
      through.largest = 400 * binade - 1;
      return CountDifferences(to, values, oracle::RoundingMode::kUp,
                              [&](const Value& v) { return RoundToOdd(through, v); });
    };
    EXPECT_EQ(differences(2, 2), 0u) << to.name;
    EXPECT_GT(differences(1, 1), 0u) << to.name;
  }
}

}  // namespace
}  // namespace tensorcast::testing
