// What checks the oracle of the string casts: the published vectors; the C library's strtod, strtof
// and printf; the standard library's shortest digits and regular expressions.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <regex>
#include <string>

#include "oracle/published_texts.h"
#include "oracle/text.h"

namespace oracle {
namespace {

TEST(PublishedTexts, Parse) {
  for (const PublishedParse& vector : kPublishedParses) {
    const Parsed parsed = ParseText(vector.text, RowOf(vector.to), vector.options);
    EXPECT_EQ(parsed.error, vector.error) << vector.text << " to " << RowOf(vector.to).name;
    if (vector.error == TextError::kNone) {
      EXPECT_EQ(parsed.code, vector.expected)
          << std::hex << vector.text << " to " << RowOf(vector.to).name;
    }
  }
}

TEST(PublishedTexts, Print) {
  for (const PublishedPrint& vector : kPublishedPrints) {
    const Row& from = RowOf(vector.from);
    EXPECT_EQ(PrintText(from, TextStyle::kNumpy, vector.code), vector.numpy) << from.name;
    EXPECT_EQ(PrintText(from, TextStyle::kOrt, vector.code), vector.ort) << from.name;
  }
}

// Every string of up to five of these characters, against the grammar as it is written down.
TEST(Grammar, IsTheRegularExpression) {
  const std::string alphabet = "+-.eE05 \n";
  const std::regex number(
      "[ \\t\\n\\v\\f\\r]*[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?"
      "[ \\t\\n\\v\\f\\r]*");
  long accepted = 0;
  std::string text;
  const auto visit = [&](const auto& self, int length) -> void {
    const bool expected = std::regex_match(text, number);
    accepted += expected ? 1 : 0;
    ASSERT_EQ(ReadText(text).is == Text::Is::kFinite, expected) << '"' << text << '"';
    if (length == 0) return;
    for (const char c : alphabet) {
      text.push_back(c);
      self(self, length - 1);
      text.pop_back();
    }
  };
  visit(visit, 5);
  EXPECT_GT(accepted, 1000);
}

std::string RandomText(std::mt19937_64& random) {
  std::string text = random() % 4 == 0 ? "-" : "";
  const int digits = 1 + static_cast<int>(random() % (random() % 8 == 0 ? 900 : 25));
  const int point = static_cast<int>(random() % static_cast<unsigned>(digits + 1));
  for (int i = 0; i < digits; ++i) {
    if (i == point) text += '.';
    text += static_cast<char>('0' + random() % 10);
  }
  if (random() % 4 != 0) text += "e" + std::to_string(static_cast<int>(random() % 700) - 350);
  return text;
}

TEST(Parse, AgreesWithTheCLibrary) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 40000; ++i) {
    const std::string text = RandomText(random);
    const double wide = std::strtod(text.c_str(), nullptr);
    const float single = std::strtof(text.c_str(), nullptr);
    ASSERT_EQ(ParseText(text, RowOf(11), {}).code, std::bit_cast<std::uint64_t>(wide)) << text;
    ASSERT_EQ(ParseText(text, RowOf(1), {}).code, std::bit_cast<std::uint32_t>(single)) << text;
  }
}

double ToDouble(const Row& row, std::uint64_t code) {
  const Value value = Decode(row, code);
  const double magnitude = std::ldexp(static_cast<double>(value.digits), value.exponent);
  return value.negative ? -magnitude : magnitude;
}

TEST(Print, EightDigitsAreTheCLibrarys) {
  std::mt19937_64 random(12);
  for (const Row& row : kRows) {
    if (!row.floating()) continue;
    for (int i = 0; i < 6000; ++i) {
      const std::uint64_t code = row.bits <= 8 ? static_cast<std::uint64_t>(i) : random();
      if (row.bits <= 8 && (code & row.mask()) != code) break;
      if (Decode(row, code).is != Value::Is::kFinite) continue;
      char text[64];
      std::snprintf(text, sizeof text, "%.8g", ToDouble(row, code));
      ASSERT_EQ(PrintText(row, TextStyle::kOrt, code), text) << row.name;
    }
  }
}

// The digits of a scientific text: "1.5e+10" has 15.
std::string Digits(std::string_view text) {
  std::string digits;
  for (const char c : text.substr(0, text.find('e'))) {
    if (c >= '0' && c <= '9') digits += c;
  }
  digits.erase(0, digits.find_first_not_of('0'));
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return digits;
}

template <class Float> void CheckShortest(const Row& row, std::uint64_t code) {
  const auto value = static_cast<Float>(ToDouble(row, code));
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string text = PrintText(row, TextStyle::kNumpy, code);
  ASSERT_EQ(Digits(text), Digits({buffer, end})) << text;
  ASSERT_EQ(ParseText(text, row, {}).code, code) << text;
}

TEST(Print, ShortestDigitsAreTheStandardLibrarys) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t wide = random() & 0x7FFFFFFFFFFFFFFF;
    const std::uint64_t single = random() & 0x7FFFFFFF;
    if (wide > 0 && wide < RowOf(11).infinity) CheckShortest<double>(RowOf(11), wide);
    if (single > 0 && single < RowOf(1).infinity) CheckShortest<float>(RowOf(1), single);
  }
  for (std::uint64_t exponent = 0; exponent < 2047; ++exponent) {
    CheckShortest<double>(RowOf(11), std::max<std::uint64_t>(exponent << 52, 1));
    if (exponent < 255) {
      CheckShortest<float>(RowOf(1), std::max<std::uint64_t>(exponent << 23, 1));
    }
  }
}

// Of every code of the narrow types: what is printed reads back, by the cast without saturation,
// unless it lies beyond the largest value.
TEST(Print, ReadsBack) {
  for (const Row& row : kRows) {
    if (row.kind != Kind::kFloating || row.bits > 16) continue;
    for (std::uint64_t code = 0; code <= row.largest; ++code) {
      const std::string text = PrintText(row, TextStyle::kNumpy, code);
      const Parsed parsed = ParseText(text, row, {});
      ASSERT_EQ(parsed.error, TextError::kNone) << text;
      ASSERT_EQ(parsed.code, code) << row.name << " " << text;
      if (row.minus_zero) {
        ASSERT_EQ(ParseText("-" + text, row, {}).code, code | row.minus) << row.name << " " << text;
      }
    }
  }
}

TEST(ExactDecimal, IsTheCLibrarys) {
  std::mt19937_64 random(14);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t code = random() & 0x7FEFFFFFFFFFFFFF;
    const Value value = Decode(RowOf(11), code);
    std::string text(1500, ' ');
    const int size =
        std::snprintf(text.data(), text.size(), "%.1080f", std::bit_cast<double>(code));
    text.resize(static_cast<std::size_t>(size));
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    ASSERT_EQ(ExactDecimal(mpz_class(value.digits), value.exponent), text);
  }
}

}  // namespace
}  // namespace oracle
