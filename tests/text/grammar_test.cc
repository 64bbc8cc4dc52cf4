// What is a number and what is not, as literals, to a floating type, an integer and bool.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include "core/option_sets.h"
#include "oracle/text.h"
#include "tensorcast/tensorcast.hpp"
#include "text/text_batch.h"

namespace tensorcast::testing {
namespace {

using namespace std::string_view_literals;

struct Accepted {
  std::string_view text;
  double value;
};
const Accepted kAccepted[] = {
    {"0"sv, 0.0},
    {"-0"sv, -0.0},
    {"1"sv, 1.0},
    {"+1"sv, 1.0},
    {"-1"sv, -1.0},
    {"1."sv, 1.0},
    {"-1.e0"sv, -1.0},
    {".5"sv, 0.5},
    {"+.5"sv, 0.5},
    {"-.5e1"sv, -5.0},
    {"00012"sv, 12.0},
    {"1e2"sv, 100.0},
    {"1E2"sv, 100.0},
    {"1e+2"sv, 100.0},
    {"1e-2"sv, 0.01},
    {"1e002"sv, 100.0},
    {"1e-000000000000000000000000002"sv, 0.01},
    {" 1"sv, 1.0},
    {"1 "sv, 1.0},
    {"\t\n\v\f\r 1.5\r\f\v\n\t "sv, 1.5},
    {"0000000000000000000000000000000000000000000000000000000000000000000000000000000001"sv, 1.0},
    {"0.00000000000000000000000000000000000000000000000000000000000000000000000001e74"sv, 1.0},
    {"10000000000000000000000000000000000000000000000000000000000000000000000000000e-76"sv, 1.0},
};

const std::string_view kRefused[] = {
    ""sv,
    " "sv,
    "\t\n\v\f\r"sv,
    "+"sv,
    "-"sv,
    "."sv,
    "+."sv,
    "-."sv,
    "e"sv,
    "e5"sv,
    ".e5"sv,
    "+e5"sv,
    "1e"sv,
    "1e+"sv,
    "1e-"sv,
    "1e +5"sv,
    "1 e5"sv,
    "1e5 5"sv,
    "1e5.0"sv,
    "1e.5"sv,
    "1e5e5"sv,
    "1.2.3"sv,
    "1..2"sv,
    "..1"sv,
    "--1"sv,
    "++1"sv,
    "+-1"sv,
    "- 1"sv,
    "+ 1"sv,
    "1-"sv,
    "1+1"sv,
    "1 2"sv,
    "1,5"sv,
    "1,000"sv,
    "1'000"sv,
    "1_000"sv,
    "_1"sv,
    "1_"sv,
    "1e1_0"sv,
    // Other languages' numbers.
    "0x1p0"sv,
    "0x10"sv,
    "0X1.8P3"sv,
    "0b1"sv,
    "0o7"sv,
    "1f"sv,
    "1.0f"sv,
    "1L"sv,
    "1d5"sv,
    "1p3"sv,
    "1e5f"sv,
    "#1"sv,
    "$1"sv,
    "1%"sv,
    "1/2"sv,
    "(1)"sv,
    "1j"sv,
    "'1'"sv,
    "\"1\""sv,
    // Words.
    "in"sv,
    "infi"sv,
    "infinit"sv,
    "infinityx"sv,
    "infinity1"sv,
    "inff"sv,
    "i nf"sv,
    "inf."sv,
    "infe5"sv,
    "1inf"sv,
    "1.#INF"sv,
    "1.#QNAN"sv,
    "na"sv,
    "nann"sv,
    "nan()"sv,
    "nan(0x1)"sv,
    "qnan"sv,
    "nan0"sv,
    "1nan"sv,
    "+ inf"sv,
    "--inf"sv,
    "+-nan"sv,
    "NaN."sv,
    "null"sv,
    "None"sv,
    "yes"sv,
    "no"sv,
    "on"sv,
    "t"sv,
    "f"sv,
    "y"sv,
    "truee"sv,
    "tru"sv,
    "fals"sv,
    "falsee"sv,
    "+true"sv,
    "-false"sv,
    "true1"sv,
    "true false"sv,
    "INFINITY!"sv,
    "\xC4\xB1nf"sv,  // dotless i
    "\xC5\xBFnan"sv,
    // NUL is no white space and ends nothing.
    "\0"sv,
    "1\0"sv,
    "\0001"sv,
    "1\0002"sv,
    "nan\0"sv,
    "1e5\0"sv,
    // Digits, spaces, signs and points of other scripts.
    "\xD9\xA1"sv,
    "\xEF\xBC\x91"sv,
    "\xE0\xA5\xA7"sv,
    "1\xC2\xB2"sv,
    "\xC2\xBD"sv,
    "\xE2\x88\x92"
    "1"sv,
    "\xC2\xA0"
    "1"sv,
    "1\xC2\xA0"sv,
    "\xE2\x80\x83"
    "1"sv,
    "\xE3\x80\x80"
    "1"sv,
    "\xEF\xBB\xBF"
    "1"sv,
    "1\xC2\xB7"
    "5"sv,
    "\xE2\x88\x9E"sv,
    "\x85"
    "1"sv,
    "1\x1C"sv,
    "1\x1F"sv,
    "\x08"
    "1"sv,
    "\x7F"
    "1"sv,
    // Bytes that are no UTF-8.
    "\xFF"sv,
    "1\xFF"sv,
    "\xFF"
    "1"sv,
    "\x80"sv,
    "1\x80"
    "2"sv,
    "\xC3"sv,
    "nan\xC3"sv,
    "\xED\xA0\x80"sv,
};

TEST(Grammar, Accepts) {
  for (const Accepted& accepted : kAccepted) {
    std::uint64_t code = 0;
    ASSERT_TRUE(ParseValue(accepted.text, DataType::kFloat64, &code).ok()) << accepted.text;
    EXPECT_EQ(code, std::bit_cast<std::uint64_t>(accepted.value)) << accepted.text;
    ASSERT_TRUE(ParseValue(accepted.text, DataType::kInt32, &code).ok()) << accepted.text;
    EXPECT_EQ(code, static_cast<std::uint32_t>(static_cast<std::int32_t>(accepted.value)))
        << accepted.text;
    ASSERT_TRUE(ParseValue(accepted.text, DataType::kBool, &code).ok()) << accepted.text;
    EXPECT_EQ(code, accepted.value != 0 ? 1u : 0u) << accepted.text;
  }
}

TEST(Grammar, Refuses) {
  for (const std::string_view text : kRefused) {
    for (const TypeInfo& to : FixedWidthTypes()) {
      std::uint64_t code = 0;
      EXPECT_EQ(ParseValue(text, to.type, &code).code(), StatusCode::kNotANumber)
          << Quoted(text) << " to " << to.name;
    }
    // So the oracle, which was checked against the grammar as a regular expression.
    EXPECT_TRUE(oracle::ReadText(text).is == oracle::Text::Is::kNotANumber) << Quoted(text);
  }
}

TEST(Grammar, WordsOfBool) {
  for (const std::string_view text : {"true"sv, "TRUE"sv, "True"sv, "tRuE"sv, " true\n"sv}) {
    std::uint64_t code = 0;
    EXPECT_TRUE(ParseValue(text, DataType::kBool, &code).ok()) << text;
    EXPECT_EQ(code, 1u) << text;
    for (const TypeInfo& to : FixedWidthTypes()) {
      if (to.type == DataType::kBool) continue;
      EXPECT_EQ(ParseValue(text, to.type, &code).code(), StatusCode::kNotANumber) << to.name;
    }
  }
  for (const std::string_view text : {"false"sv, "FALSE"sv, "False"sv, "fAlSe"sv, "\tfalse "sv}) {
    std::uint64_t code = 1;
    EXPECT_TRUE(ParseValue(text, DataType::kBool, &code).ok()) << text;
    EXPECT_EQ(code, 0u) << text;
  }
}

// Every byte in front of a number, behind it and in its middle: only those of the grammar pass.
TEST(Grammar, EveryByteBesideANumber) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    const bool digit = byte >= '0' && byte <= '9';
    const bool space = byte == ' ' || (byte >= '\t' && byte <= '\r');
    const bool sign = byte == '+' || byte == '-';
    std::uint64_t code = 0;
    const auto accepts = [&](const std::string& text) {
      return ParseValue(text, DataType::kFloat32, &code).ok();
    };
    EXPECT_EQ(accepts(one + "1"), digit || space || sign || byte == '.') << byte;
    EXPECT_EQ(accepts("1" + one), digit || space || byte == '.') << byte;
    EXPECT_EQ(accepts("1" + one + "2"), digit || byte == '.' || byte == 'e' || byte == 'E') << byte;
    EXPECT_EQ(accepts("1e2" + one), digit || space) << byte;
    EXPECT_EQ(accepts("1e" + one + "2"), digit || sign) << byte;
    EXPECT_EQ(accepts("nan" + one), space) << byte;
    EXPECT_EQ(accepts(one + "inf"), space || sign) << byte;
    EXPECT_EQ(accepts(one), digit) << byte;
  }
}

}  // namespace
}  // namespace tensorcast::testing
