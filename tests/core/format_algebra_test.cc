// The algebra of formats against the oracle: limits, where a value leaves the range, and which type
// holds every value of another, by trying every code.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

#include "oracle/cast.h"
#include "oracle/types.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const oracle::Row& OracleRow(const TypeInfo& row) {
  return oracle::RowOf(static_cast<int>(row.type));
}

oracle::RoundingMode OracleMode(RoundingMode mode) {
  return mode == RoundingMode::kUp     ? oracle::RoundingMode::kUp
         : mode == RoundingMode::kDown ? oracle::RoundingMode::kDown
                                       : oracle::RoundingMode::kNearest;
}

bool SameValue(const oracle::Value& x, const oracle::Value& y) {
  if (x.is != y.is) return false;
  if (x.is == oracle::Value::Is::kNan) return true;
  if (x.negative != y.negative) return false;
  return x.is == oracle::Value::Is::kInfinite ||
         oracle::Compare(x.digits, x.exponent, y.digits, y.exponent) == 0;
}

// Whether every code of `inner`, cast by the oracle, is its own value in `outer`.
bool HoldsEveryCode(const oracle::Row& outer, const oracle::Row& inner) {
  for (std::uint64_t code = 0; code <= inner.mask(); ++code) {
    const oracle::Value x = oracle::Decode(inner, code);
    const std::uint64_t result = oracle::Cast(inner, outer, {}, code);
    if (!SameValue(x, oracle::Decode(outer, result))) return false;
  }
  return true;
}

TEST(FormatAlgebra, ContainsIsWhatEveryCodeSays) {
  std::ptrdiff_t pairs = 0;
  for (const TypeInfo& inner : Types()) {
    if (inner.bits == 0 || inner.bits > 16) continue;
    for (const TypeInfo& outer : Types()) {
      if (outer.bits == 0) continue;
      ++pairs;
      EXPECT_EQ(Contains(outer.type, inner.type),
                HoldsEveryCode(OracleRow(outer), OracleRow(inner)))
          << inner.name << " in " << outer.name;
    }
  }
  const auto inner_types = std::count_if(oracle::kRows.begin(), oracle::kRows.end(),
                                         [](const oracle::Row& row) { return row.bits <= 16; });
  EXPECT_EQ(pairs, inner_types * std::ssize(oracle::kRows));
}

// Of the wider types: no narrower type holds one, and among them what the widths say.
TEST(FormatAlgebra, ContainsOfWideTypes) {
  for (const TypeInfo& inner : Types()) {
    if (inner.bits <= 16) continue;
    for (const TypeInfo& outer : Types()) {
      if (outer.bits == 0) continue;
      bool holds = outer.type == inner.type;
      const auto is = [&](DataType from, DataType to) {
        holds = holds || (inner.type == from && outer.type == to);
      };
      is(DataType::kFloat32, DataType::kFloat64);
      is(DataType::kInt32, DataType::kFloat64);
      is(DataType::kUint32, DataType::kFloat64);
      is(DataType::kInt32, DataType::kInt64);
      is(DataType::kUint32, DataType::kInt64);
      is(DataType::kUint32, DataType::kUint64);
      EXPECT_EQ(Contains(outer.type, inner.type), holds) << inner.name << " in " << outer.name;
    }
  }
}

TEST(FormatAlgebra, StringsAndUnknownTypesHoldThemselvesAtMost) {
  EXPECT_TRUE(Contains(DataType::kString, DataType::kString));
  EXPECT_FALSE(Contains(DataType::kString, DataType::kBool));
  EXPECT_FALSE(Contains(DataType::kFloat64, DataType::kString));
  EXPECT_FALSE(Contains(DataType::kUndefined, DataType::kUndefined));
  EXPECT_FALSE(Contains(static_cast<DataType>(14), DataType::kBool));
}

double OracleValue(const oracle::Row& row, std::uint64_t code) {
  const oracle::Value value = oracle::Decode(row, code);
  const double magnitude = std::ldexp(static_cast<double>(value.digits), value.exponent);
  return value.negative ? -magnitude : magnitude;
}

TEST(FormatAlgebra, LimitsAreThoseOfTheCodes) {
  for (const TypeInfo& row : Types()) {
    if (row.bits == 0) continue;
    SCOPED_TRACE(row.name);
    const oracle::Row& other = OracleRow(row);
    const TypeLimits limits = LimitsOf(row.type);
    if (!other.floating()) {
      const bool is_signed = other.kind == oracle::Kind::kSigned;
      const double span = std::ldexp(1.0, is_signed ? row.bits - 1 : row.bits);
      const bool is_bool = other.kind == oracle::Kind::kBoolean;
      EXPECT_EQ(limits.greatest, is_bool ? 1 : span - 1);
      EXPECT_EQ(limits.lowest, is_signed ? -span : 0);
      EXPECT_EQ(limits.least_normal, 1);
      EXPECT_EQ(limits.least_positive, 1);
      continue;
    }
    EXPECT_EQ(limits.greatest, OracleValue(other, other.largest));
    EXPECT_EQ(limits.lowest,
              other.minus != 0 ? -OracleValue(other, other.largest) : OracleValue(other, 0));
    EXPECT_EQ(limits.least_positive, std::ldexp(1.0, other.least));
    // A normal number has all the digits of the precision: from there on.
    EXPECT_EQ(limits.least_normal, std::ldexp(1.0, other.least + other.precision - 1));
  }
}

// The first double beyond is outside by the oracle's rounding, its neighbour inwards is inside.
TEST(FormatAlgebra, EndsOfTheRangeAreWhereTheOracleLeavesIt) {
  const oracle::Row& f64 = oracle::RowOf(11);
  for (const TypeInfo& row : Types()) {
    if (row.bits == 0) continue;
    for (const RoundingMode mode :
         {RoundingMode::kUp, RoundingMode::kDown, RoundingMode::kNearest}) {
      SCOPED_TRACE(::testing::Message() << row.name << " " << static_cast<int>(mode));
      const detail::RangeEnds ends = detail::EndsOfRange(row, mode);
      ASSERT_EQ(ends.bounded, row.type != DataType::kFloat64 && row.type_class != TypeClass::kBool);
      if (!ends.bounded) continue;
      const oracle::Row& other = OracleRow(row);
      const auto inside = [&](double x) {
        // float8e8m0 judges its range before it rounds; the end here is that of the rounded value,
        // which the oracle finds one binade further in.
        const bool of_powers = other.kind == oracle::Kind::kPowerOfTwo;
        if (of_powers) x = x > 1 ? x / 2 : x * 2;
        const oracle::Value value = oracle::Decode(f64, std::bit_cast<std::uint64_t>(x));
        if (of_powers) {
          const oracle::Rounded rounded = oracle::RoundFinite(other, true, value, OracleMode(mode));
          return rounded.inside && (x > 1 ? rounded.code < other.largest : rounded.code > 0);
        }
        if (other.integer()) {
          return oracle::Fits(other, value.negative, oracle::ToWhole(other, value));
        }
        return oracle::RoundFinite(other, true, value, OracleMode(mode)).inside;
      };
      const double high = detail::FirstBeyond(ends.high, true);
      const double low = detail::FirstBeyond(ends.low, false);
      EXPECT_FALSE(inside(high)) << high;
      EXPECT_TRUE(inside(std::nextafter(high, -kInfinity))) << high;
      EXPECT_FALSE(inside(low)) << low;
      EXPECT_TRUE(inside(std::nextafter(low, kInfinity))) << low;
    }
  }
}

// The ends of 64-bit integers, which no double tells apart, as sums of two.
TEST(FormatAlgebra, EndsOfWideIntegersAreExact) {
  const detail::RangeEnds ends =
      detail::EndsOfRange(*FindType(DataType::kInt64), RoundingMode::kUp);
  EXPECT_EQ(ends.low.at, -0x1p63);
  EXPECT_EQ(ends.low.further, -1);
  EXPECT_TRUE(ends.low.itself);
  EXPECT_EQ(ends.high.at, 0x1p63);
  EXPECT_EQ(ends.high.further, 0);
}

static_assert(Contains(DataType::kFloat32, DataType::kBfloat16));
static_assert(LimitsOf(DataType::kFloat16).greatest == 65504);

}  // namespace
}  // namespace tensorcast
