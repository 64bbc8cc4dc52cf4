// Sums of products against rational numbers.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/exact_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "oracle/scaled.h"
#include "oracle/types.h"

namespace tensorcast::graph {
namespace {

using Limits = std::numeric_limits<double>;

struct Product {
  double a;
  double b;
};

mpq_class Exact(const std::vector<Product>& products) {
  mpq_class sum = 0;
  for (const Product& each : products) {
    const oracle::Number product =
        oracle::Times(oracle::NumberOf(each.a), oracle::NumberOf(each.b));
    sum += product.negative ? mpq_class(-product.magnitude) : product.magnitude;
  }
  return sum;
}

std::uint64_t BitsOf(double value) { return std::bit_cast<std::uint64_t>(value); }

void Compare(const std::vector<Product>& products) {
  ExactSum sum;
  for (const Product& each : products) sum.Add(each.a, each.b);
  const mpq_class exact = Exact(products);
  const mpq_class magnitude = abs(exact);
  const oracle::Row& row = oracle::RowOf(11);
  const std::uint64_t sign = exact < 0 ? row.minus : 0;
  const oracle::NearestCode nearest = oracle::Nearest(row, magnitude);
  EXPECT_EQ(BitsOf(sum.Nearest()), (nearest.beyond ? row.infinity : nearest.code) | sign);
  const double odd = sum.Odd();
  ASSERT_TRUE(std::isfinite(odd));
  const std::uint64_t code = BitsOf(std::fabs(odd));
  EXPECT_EQ(std::signbit(odd), exact < 0);
  const auto value = [&](std::uint64_t bits) {
    return oracle::NumberOf(std::bit_cast<double>(bits)).magnitude;
  };
  if (value(code) == magnitude) return;
  EXPECT_EQ(code & 1, 1u);
  EXPECT_TRUE(code == row.largest ? magnitude > value(code)
                                  : value(code - 1) < magnitude && magnitude < value(code + 1));
}

TEST(ExactSum, EdgesOfTheRange) {
  const double most = Limits::max(), least = Limits::denorm_min(), normal = Limits::min();
  for (const std::vector<Product>& products : std::vector<std::vector<Product>>{
           {{0, 0}},
           {{1, 1}, {-1, 1}},
           {{least, least}},
           {{-least, least}},
           {{least, 0.5}},
           {{least, 1.5}},
           {{least, 1}, {least, least}},
           {{normal, 1}, {-least, 0.5}},
           {{normal, 1}, {-least, 1}, {least, 0.5}, {least, least}},
           {{most, most}},
           {{most, most}, {-most, most}, {least, least}},
           {{most, 1}, {Limits::epsilon() * most, 0.25}},
           {{-most, 1}, {-1, 0x1p970}},
           {{-most, 1}, {-1, 0x1p969}},
           {{1, 1}, {0x1p-53, 1}},
           {{1, 1}, {0x1p-53, 1}, {least, least}},
           {{1, 1}, {0x1p-53, 1}, {-least, least}},
           {{1 + Limits::epsilon(), 1}, {0x1p-53, 1}},
       }) {
    Compare(products);
  }
}

TEST(ExactSum, RandomSums) {
  std::mt19937_64 random(20261122);
  const auto any = [&](int spread) {
    const double fraction =
        std::ldexp(static_cast<double>(random() >> 11), -53) * (random() % 2 == 0 ? 1 : -1);
    return std::ldexp(fraction,
                      static_cast<int>(random() % static_cast<unsigned>(2 * spread)) - spread);
  };
  for (const int spread : {4, 60, 500, 1000}) {
    for (int i = 0; i < 2000; ++i) {
      std::vector<Product> products;
      for (std::uint64_t n = random() % 5 + 1; n != 0; --n) {
        products.push_back({any(spread), any(spread)});
        // Cancellation, of all of it or all but the end.
        if (random() % 4 == 0) products.push_back({-products.back().a, products.back().b});
      }
      Compare(products);
    }
  }
}

TEST(ExactSum, ClearsWhatItHeld) {
  ExactSum sum;
  sum.Add(-3, 5);
  sum.Clear();
  sum.Add(2, 4);
  EXPECT_EQ(sum.Nearest(), 8);
}

}  // namespace
}  // namespace tensorcast::graph
