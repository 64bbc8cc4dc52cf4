// ExactDecimal against GMP's rationals and MPFR's printing: every digit, difference, quotient.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/source_codes.h"
#include "oracle/rational.h"
#include "tensorcast/explain.hpp"

namespace tensorcast::testing {

using oracle::IsRounded;
using oracle::RationalOf;

namespace {

// Doubles of every binade, the limits among them.
std::vector<double> Doubles() {
  std::vector<double> values = {0x1p-1074,
                                std::numeric_limits<double>::min(),
                                std::numeric_limits<double>::max(),
                                0.1,
                                1,
                                1e21,
                                9.5367431640625e-7};
  std::mt19937_64 random(11);
  for (int exponent = -1074; exponent < 1024; exponent += Sampled() ? 97 : 7) {
    const double digits = static_cast<double>(random() >> 11 | std::uint64_t{1} << 52);
    values.push_back(std::ldexp(digits, exponent < -1022 ? exponent - 20 : exponent - 52));
    values.push_back(-std::ldexp(1.0, exponent));
  }
  return values;
}

// All digits of a double as MPFR prints them.
std::string PrintedByMpfr(double value) {
  mpfr_t x;
  mpfr_init2(x, 53);
  mpfr_set_d(x, value, MPFR_RNDN);
  char* text = nullptr;
  mpfr_asprintf(&text, "%.1100Rf", x);
  std::string printed = text;
  mpfr_free_str(text);
  mpfr_clear(x);
  printed.resize(printed.find_last_not_of('0') + 1);
  if (printed.back() == '.') printed.pop_back();
  return printed;
}

// Decimals of up to 40 digits, some alike but for the last.
std::vector<std::string> Decimals() {
  std::vector<std::string> texts = {"0",   "-0",      "1",     "-1",     "0.5", "999",  "9.995",
                                    "1e3", "1000.00", "-1e-7", "0.0001", "1e5", "0.25", "0.35"};
  std::mt19937 random(12);
  for (int i = 0; i < 60; ++i) {
    std::string digits(1 + random() % 40, '0');
    for (char& digit : digits) {
      digit = static_cast<char>('0' + (random() % 3 == 0 ? 9 : random() % 10));
    }
    const int exponent = static_cast<int>(random() % 60) - 30;
    texts.push_back((random() % 2 == 0 ? "-" : "") + digits + "e" + std::to_string(exponent));
    texts.push_back(digits + "1e" + std::to_string(exponent - 1));
  }
  return texts;
}

TEST(ExactDecimal, DoublesHaveMpfrsDigits) {
  for (const double value : Doubles()) {
    const std::string expected = PrintedByMpfr(value);
    const ExactDecimal decimal = ExactDecimal::FromDouble(value);
    const std::string text = decimal.Text(400);
    EXPECT_EQ(RationalOf(text), RationalOf(expected)) << expected;
    // Positional texts are MPFR's letter for letter.
    if (text.find('e') == std::string::npos) {
      EXPECT_EQ(text, expected);
    }
  }
}

TEST(ExactDecimal, UnsignedIntegers) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{10},
                                    std::uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(ExactDecimal::FromUnsigned(value).Text(), std::to_string(value));
  }
}

TEST(ExactDecimal, ComparesAndSubtractsAsRationalsDo) {
  const std::vector<std::string> texts = Decimals();
  for (const std::string& a : texts) {
    for (const std::string& b : texts) {
      const mpq_class x = RationalOf(a), y = RationalOf(b);
      const ExactDecimal decimal = ExactDecimal::FromText(a);
      const ExactDecimal other = ExactDecimal::FromText(b);
      const int order = decimal.Compare(other);
      EXPECT_EQ((order > 0) - (order < 0), (x > y) - (x < y)) << a << " and " << b;
      bool exact = true;
      EXPECT_EQ(RationalOf(decimal.Minus(other, &exact).Text()), mpq_class(x - y))
          << a << " - " << b;
      EXPECT_TRUE(exact);
    }
  }
}

TEST(ExactDecimal, QuotientsAreRoundedOnce) {
  const std::vector<std::string> texts = Decimals();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t j = i % 3; j < texts.size(); j += 3) {
      const mpq_class x = RationalOf(texts[i]), y = RationalOf(texts[j]);
      if (y == 0) continue;
      const ExactDecimal quotient =
          ExactDecimal::FromText(texts[i]).Over(ExactDecimal::FromText(texts[j]), 17);
      EXPECT_TRUE(IsRounded(x / y, RationalOf(quotient.Text()), 17))
          << texts[i] << " / " << texts[j] << " = " << quotient.Text();
    }
  }
}

TEST(ExactDecimal, RoundsTiesToEven) {
  for (const std::string& text : Decimals()) {
    for (const unsigned digits : {1u, 2u, 3u, 17u}) {
      const std::string rounded = ExactDecimal::FromText(text).Rounded(digits).Text();
      EXPECT_TRUE(IsRounded(RationalOf(text), RationalOf(rounded), digits))
          << text << " to " << digits << ": " << rounded;
    }
  }
}

TEST(ExactDecimal, FarOperandsAreSaidToBeInexact) {
  bool exact = true;
  const ExactDecimal one = ExactDecimal::FromText("1");
  const ExactDecimal tiny = ExactDecimal::FromText("1e-300000");
  EXPECT_EQ(tiny.Minus(one, &exact).Text(), "-1");
  EXPECT_FALSE(exact);
  EXPECT_FALSE(ExactDecimal::FromText("1e999999999999999").is_clamped());
  EXPECT_TRUE(ExactDecimal::FromText("1e1000000000000000").is_clamped());
  EXPECT_FALSE(ExactDecimal::FromText("0e1000000000000000").is_clamped());
}

TEST(ExactDecimal, Texts) {
  const auto text = [](const char* number, int whole_digits = 21) {
    return ExactDecimal::FromText(number).Text(whole_digits);
  };
  EXPECT_EQ(text("-0"), "-0");
  EXPECT_EQ(text("0.0001"), "0.0001");
  EXPECT_EQ(text("0.00001"), "1e-05");
  EXPECT_EQ(text("123456", 6), "123456");
  EXPECT_EQ(text("1234567", 6), "1.234567e+06");
  EXPECT_EQ(text("1e300"), "1e+300");
}

}  // namespace
}  // namespace tensorcast::testing
