// Sums of doubles and of products against rational numbers.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/exact_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "oracle/scaled.h"
#include "oracle/types.h"

namespace tensorcast::core {
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
  SumOfProducts sum;
  for (const Product& each : products) sum.AddProduct(each.a, each.b);
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

// Of the same terms, in one sum and merged from two.
void CompareMagnitudes(const std::vector<double>& terms) {
  SumOfMagnitudes sum, parts[2];
  mpq_class exact = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    sum.Add(terms[i]);
    parts[i % 2].Add(terms[i]);
    exact += oracle::NumberOf(terms[i]).magnitude;
  }
  const oracle::Row& row = oracle::RowOf(11);
  const oracle::NearestCode nearest = oracle::Nearest(row, exact);
  EXPECT_EQ(BitsOf(sum.Nearest()), nearest.beyond ? row.infinity : nearest.code);
  parts[0].Add(parts[1]);
  EXPECT_EQ(parts[0].words(), sum.words());
}

TEST(ExactSum, MagnitudesAtTheEdges) {
  const double most = Limits::max(), least = Limits::denorm_min(), normal = Limits::min();
  const double half = std::ldexp(most, -53) / 2;  // beside the largest: a little less than half
  for (const std::vector<double>& terms : std::vector<std::vector<double>>{
           {},
           {0, 0},
           {least},
           {least, least, least},
           {normal, least},
           {normal - least, least},
           {normal - least, normal - least},
           {1, 0x1p-53},
           {1, 0x1p-53, least},
           {1 + Limits::epsilon(), 0x1p-53},
           {most, least},
           {most, half},
           {most, 0x1p970, 0},
           {most, 0x1p969, 0x1p969},
           {most, 0x1p970 - 0x1p917},
           std::vector<double>(5000, most),
       }) {
    CompareMagnitudes(terms);
  }
  SumOfMagnitudes sum, other;
  other.Add(Limits::infinity());
  EXPECT_TRUE(other.infinite());
  sum.Add(1);
  sum.Add(other);
  EXPECT_EQ(sum.Nearest(), Limits::infinity());
}

TEST(ExactSum, RandomMagnitudes) {
  std::mt19937_64 random(20261123);
  for (const int spread : {4, 60, 500, 1000}) {
    for (int i = 0; i < 1000; ++i) {
      std::vector<double> terms;
      for (std::uint64_t n = random() % 40 + 1; n != 0; --n) {
        terms.push_back(std::ldexp(
            static_cast<double>(random() >> 11),
            static_cast<int>(random() % static_cast<unsigned>(2 * spread)) - spread - 60));
      }
      CompareMagnitudes(terms);
    }
  }
}

// Bit 1101, and every one above the headroom, is no sign here.
TEST(ExactSum, MagnitudesHaveNoSign) {
  SumOfMagnitudes::Words words{};
  words.back() = ~std::uint64_t{0};
  EXPECT_EQ(SumOfMagnitudes(words, false).Nearest(), Limits::infinity());
}

}  // namespace
}  // namespace tensorcast::core
