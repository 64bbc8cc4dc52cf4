// Holds the oracle against the published vectors, and its search against its guess.
//
// SPDX-License-Identifier: Apache-2.0
#include "oracle/published_vectors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace {

TEST(PublishedVectors, OracleAgrees) {
  for (const oracle::PublishedVector& v : oracle::kPublishedVectors) {
    const oracle::Row& from = oracle::RowOf(v.from);
    const oracle::Row& to = oracle::RowOf(v.to);
    EXPECT_EQ(oracle::Cast(from, to, v.options, v.input), v.expected)
        << std::hex << from.name << " " << v.input << " -> " << to.name;
  }
}

// The edges of the table, as semantics.md section 1 prints them.
TEST(Table, LargestAndLeast) {
  struct Edge {
    int id;
    double largest, least;
  };
  const Edge edges[] = {{10, 65504, 0x1p-24},
                        {16, 0x1.FEp127, 0x1p-133},
                        {17, 448, 0x1p-9},
                        {18, 240, 0x1p-10},
                        {19, 57344, 0x1p-16},
                        {20, 57344, 0x1p-17},
                        {23, 6, 0.5},
                        {27, 7.5, 0.125},
                        {28, 28, 0.0625},
                        {1, 0x1.FFFFFEp127, 0x1p-149},
                        {11, 0x1.FFFFFFFFFFFFFp1023, 0x1p-1074}};
  for (const Edge& edge : edges) {
    const oracle::Row& row = oracle::RowOf(edge.id);
    const oracle::Value top = oracle::Decode(row, row.largest);
    EXPECT_EQ(std::ldexp(static_cast<double>(top.digits), top.exponent), edge.largest) << row.name;
    const oracle::Value bottom = oracle::Decode(row, 1);
    EXPECT_EQ(std::ldexp(static_cast<double>(bottom.digits), bottom.exponent), edge.least)
        << row.name;
  }
  const oracle::Value e8m0 = oracle::Decode(oracle::RowOf(24), 0);
  EXPECT_EQ(std::ldexp(static_cast<double>(e8m0.digits), e8m0.exponent), 0x1p-127);
}

// Codes of a floating type ascend with their magnitude: the law SearchFloor rests on.
TEST(Table, CodesAscend) {
  for (const oracle::Row& row : oracle::kRows) {
    if (!row.floating() || row.bits > 16) continue;
    for (std::uint64_t code = 0; code < row.largest; ++code) {
      const oracle::Value a = oracle::Decode(row, code);
      const oracle::Value b = oracle::Decode(row, code + 1);
      ASSERT_EQ(oracle::Compare(a.digits, a.exponent, b.digits, b.exponent), -1)
          << row.name << " " << code;
    }
  }
}

// What a value rounds to must be nearest among all codes, by looking at all of them.
TEST(Rounding, NearestOfAllCodes) {
  std::mt19937_64 random(1);
  for (const oracle::Row& row : oracle::kRows) {
    if (row.kind != oracle::Kind::kFloating || row.bits > 8) continue;
    const int top_exponent = oracle::Decode(row, row.largest).exponent + row.precision;
    for (int trial = 0; trial < 2000; ++trial) {
      // Values on the grid of an eighth of the least: ties and their neighbours are frequent.
      oracle::Value value;
      value.exponent = row.least - 3;
      const int length = 1 + static_cast<int>(random() % (top_exponent - value.exponent - 1));
      value.digits = (random() >> (64 - length)) & (trial % 2 != 0 ? ~0ull : ~0ull << (length / 2));
      const oracle::Rounded rounded =
          oracle::RoundFinite(row, true, value, oracle::RoundingMode::kUp);
      // |value - code| on the same grid, all exact in 128 bits.
      const auto distance = [&](std::uint64_t code) {
        const oracle::Value v = oracle::Decode(row, code);
        const __int128 there = static_cast<__int128>(v.digits) << (v.exponent - value.exponent);
        const __int128 d = there - static_cast<__int128>(value.digits);
        return d < 0 ? -d : d;
      };
      std::uint64_t best = 0;
      for (std::uint64_t code = 1; code <= row.largest; ++code) {
        const __int128 d = distance(code);
        if (d < distance(best) || (d == distance(best) && code % 2 == 0)) best = code;
      }
      if (rounded.inside) {
        ASSERT_EQ(rounded.code, best) << row.name << " digits " << value.digits;
      } else {
        ASSERT_EQ(best, row.largest) << row.name << " digits " << value.digits;
      }
    }
  }
}

}  // namespace
