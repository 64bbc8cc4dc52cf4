// Texts to every type under every option set, one by one and in bulk, against the oracle; to
// float64 and float32 against the C library too.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <vector>

#include "core/option_sets.h"
#include "core/source_codes.h"
#include "oracle/packing.h"
#include "text/planted_texts.h"
#include "text/text_batch.h"

namespace tensorcast::testing {
namespace {

// One by one; returns those that are read, with their codes.
struct Read {
  std::vector<std::string> texts;
  std::vector<std::uint64_t> codes;
};

void ParseEach(const std::vector<std::string>& texts, const std::vector<oracle::Text>& meanings,
               const TypeInfo& to, const CastOptions& options, Read* read) {
  const oracle::Row& row = oracle::RowOf(static_cast<int>(to.type));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const oracle::Parsed expected = oracle::CastText(meanings[i], row, ToOracle(options));
    std::uint64_t code = 0;
    const Status status = ParseValue(texts[i], to.type, &code, options);
    ASSERT_EQ(status.code(), ToStatus(expected.error))
        << Quoted(texts[i]) << " to " << to.name << ", " << Describe(options);
    if (!status.ok()) continue;
    ASSERT_EQ(code, expected.code)
        << std::hex << Quoted(texts[i]) << " to " << to.name << ", " << Describe(options);
    read->texts.push_back(texts[i]);
    read->codes.push_back(expected.code);
  }
}

void ParseAll(const std::vector<std::string>& texts, const TypeInfo& to) {
  const std::vector<oracle::Text> meanings = ReadTexts(texts);
  for (const CastOptions& options : TextOptionSets(to)) {
    Read read;
    ParseEach(texts, meanings, to, options, &read);
    if (::testing::Test::HasFatalFailure()) return;
    ASSERT_FALSE(read.texts.empty());
    std::vector<std::byte> destination(*StorageBytes(to.type, read.texts.size()), std::byte{0xFF});
    const TextBatch batch(read.texts);
    ASSERT_TRUE(ParseStrings(batch.view(), to.type, destination, options).ok()) << to.name;
    ASSERT_EQ(destination, oracle::Pack(read.codes, to.bits))
        << to.name << ", " << Describe(options);
  }
}

class Parse : public ::testing::TestWithParam<DataType> {};

TEST_P(Parse, PlantedTexts) {
  const TypeInfo& to = *FindType(GetParam());
  ParseAll(PlantedTexts(to), to);
}

TEST_P(Parse, TextsOfEveryType) { ParseAll(CommonTexts(), *FindType(GetParam())); }

// A hundred thousand digits: integers, fractions, a midpoint with a digit at its far end.
TEST_P(Parse, ManyDigits) {
  std::vector<std::string> texts;
  for (const std::size_t count : {1000u, 10000u, 100000u}) {
    const std::string zeros(count, '0');
    const std::string nines(count, '9');
    for (const std::string head : {"464.", "1.", "0.5", "1.000000059604644775390625", "61440.",
                                   "1.25", "18446744073709551615.", "9223372036854775808."}) {
      texts.push_back(head + zeros);
      texts.push_back(head + zeros + "1");
      texts.push_back("-" + head + nines);
      texts.push_back(head + zeros + "1e" + std::to_string(count / 2));
    }
    texts.push_back(nines);
    texts.push_back(nines + "e-" + std::to_string(count - 1));
    texts.push_back("0." + zeros + "15e" + std::to_string(count + 2));
  }
  ParseAll(texts, *FindType(GetParam()));
}

// What stands behind a text in its column has no say: neither makes it a number nor another one.
TEST_P(Parse, TextsThatTouch) {
  const TypeInfo& to = *FindType(GetParam());
  const std::vector<std::string> behind = {
      "5", "05.25e1", ".5", "e1", "-7", "+7", "12345678901234567890"};
  const auto touching = [&](const std::string& text) {
    std::vector<std::string> texts;
    for (const std::string& next : behind) texts.insert(texts.end(), {text, next});
    texts.emplace_back(kLongestPrinted, ' ');  // to be read behind
    return texts;
  };
  std::vector<std::byte> code(8);
  for (const std::string text : {"", "-", "+", ".", "-.", "1e", "1e+", "1.5e", "0x", "1.2.", "--1",
                                 "e", "1_", "12345678x", "1e1.", "tru"}) {
    const TextBatch batch(touching(text));
    CastPlan plan;
    ASSERT_TRUE(CastPlan::Bind(DataType::kString, to.type, {}, &plan).ok());
    for (std::size_t i = 0; i < 2 * behind.size(); i += 2) {
      EXPECT_EQ(plan.Parse(batch.view(), i, code, 0, 1).code(), StatusCode::kNotANumber)
          << Quoted(text) << " before " << Quoted(behind[i / 2]) << " to " << to.name;
    }
  }
  for (const std::string text :
       {"1", "0", "-0", "+1", "1.", "1.5", "0.0625", "1e0", "100e-2", "00000000000000000000001",
        "0.00000000000000000000001e23", "0.99999999999999999999", "1.00000000000000000001"}) {
    const oracle::Parsed expected = oracle::CastText(
        oracle::ReadText(text), oracle::RowOf(static_cast<int>(to.type)), ToOracle({}));
    const TextBatch batch(touching(text));
    CastPlan plan;
    ASSERT_TRUE(CastPlan::Bind(DataType::kString, to.type, {}, &plan).ok());
    for (std::size_t i = 0; i < 2 * behind.size(); i += 2) {
      ASSERT_TRUE(plan.Parse(batch.view(), i, code, 0, 1).ok()) << Quoted(text);
      EXPECT_EQ(detail::LoadCode(code.data(), 0, to.bits), expected.code)
          << Quoted(text) << " before " << Quoted(behind[i / 2]) << " to " << to.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Parse, ::testing::ValuesIn(FixedWidthDataTypes()),
                         TypeParameterName);

// The C library's own reading, of other code than the oracle's.
TEST(ParseFloats, AreTheCLibrarys) {
  std::vector<std::string> texts = CommonTexts();
  for (const DataType type : {DataType::kFloat64, DataType::kFloat32}) {
    const std::vector<std::string> planted = PlantedTexts(*FindType(type));
    texts.insert(texts.end(), planted.begin(), planted.end());
  }
  long compared = 0;
  for (const std::string& text : texts) {
    std::uint64_t wide = 0;
    std::uint64_t single = 0;
    if (!ParseValue(text, DataType::kFloat64, &wide).ok()) continue;
    ASSERT_TRUE(ParseValue(text, DataType::kFloat32, &single).ok()) << Quoted(text);
    ASSERT_EQ(wide, std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)))
        << Quoted(text);
    ASSERT_EQ(single, std::bit_cast<std::uint32_t>(std::strtof(text.c_str(), nullptr)))
        << Quoted(text);
    ++compared;
  }
  EXPECT_GT(compared, static_cast<long>(Scaled(50000)));
}

}  // namespace
}  // namespace tensorcast::testing
