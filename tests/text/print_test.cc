// Codes to texts in both styles, one by one and in bulk, against the oracle; float64 and float32
// are read back by the C library.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/option_sets.h"
#include "core/source_codes.h"
#include "core/thread_executor.h"
#include "oracle/packing.h"
#include "text/text_batch.h"

namespace tensorcast::testing {
namespace {

// Every code of a narrow type; of a wide one every power of two with its neighbours, in both signs,
// limits, random codes of all sizes, and of integers runs of everyday ones.
std::vector<std::uint64_t> CodesOf(const TypeInfo& from) {
  std::vector<std::uint64_t> codes;
  std::mt19937_64 random(static_cast<std::uint64_t>(from.type));
  if (from.bits <= 16) {
    const std::uint64_t step = Sampled() && from.bits == 16 ? 11 : 1;
    for (std::uint64_t code = 0; code < 1ull << from.bits; code += step) codes.push_back(code);
    return codes;
  }
  const oracle::Row& row = oracle::RowOf(static_cast<int>(from.type));
  const auto add = [&](std::uint64_t code) {
    for (std::uint64_t beside = 0; beside < 3; ++beside) {
      const std::uint64_t near = code + beside - 1;
      codes.push_back(near & row.mask());
      codes.push_back((from.is_float() ? near ^ row.minus : 0 - near) & row.mask());
    }
  };
  if (from.is_float()) {
    const std::uint64_t binade = 1ull << from.mantissa_bits;
    const std::uint64_t step = (Sampled() ? 23 : 1) * binade;
    for (std::uint64_t code = 0; code <= row.infinity; code += step) add(code);
    add(row.infinity);
    add(row.nan);
    // Everyday values, many of them with few digits.
    for (std::size_t i = 0; i < Scaled(20000); ++i) {
      const double value = static_cast<double>(random() % 2000000) /
                           static_cast<double>(i % 2 == 0 ? 1000 : 1 + random() % 100000);
      codes.push_back(from.bits == 64 ? std::bit_cast<std::uint64_t>(value)
                                      : std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    }
    // Powers of ten: where the layout turns and few digits do.
    for (int power = -30; power <= 38; ++power) {
      const std::string text = "1e" + std::to_string(power);
      add(from.bits == 64 ? std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr))
                          : std::bit_cast<std::uint32_t>(std::strtof(text.c_str(), nullptr)));
    }
  } else {
    for (int bit = 0; bit < from.bits; ++bit) add(1ull << bit);
    for (std::uint64_t power = 1; power < UINT64_MAX / 10; power *= 10) add(power);
    // Long runs of eight digits and fewer, with few of nine between them.
    for (std::size_t i = 0; i < Scaled(20000); ++i) {
      const std::uint64_t magnitude = random() % (1ull << 28) >> random() % 28;
      codes.push_back((random() % 2 == 0 ? magnitude : 0 - magnitude) & row.mask());
    }
  }
  for (std::size_t i = 0; i < Scaled(30000); ++i) {
    codes.push_back((from.is_float() ? random() : random() >> random() % 64) & row.mask());
  }
  return codes;
}

class Print : public ::testing::TestWithParam<DataType> {};

TEST_P(Print, IsTheOracles) {
  const TypeInfo& from = *FindType(GetParam());
  const oracle::Row& row = oracle::RowOf(static_cast<int>(from.type));
  const std::vector<std::uint64_t> codes = CodesOf(from);
  const std::vector<std::byte> source = oracle::Pack(codes, from.bits);
  for (const StringStyle style : {StringStyle::kNumpy, StringStyle::kOrt}) {
    CastOptions options;
    options.string_style = style;
    options.saturate = false;  // has no say
    const std::vector<std::string> texts = Printed(from.type, source, codes.size(), options);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::string expected = oracle::PrintText(
          row, style == StringStyle::kOrt ? oracle::TextStyle::kOrt : oracle::TextStyle::kNumpy,
          codes[i]);
      ASSERT_EQ(texts[i], expected) << from.name << " " << std::hex << codes[i];
      ASSERT_LE(expected.size(), kLongestPrinted);
      char buffer[kLongestPrinted];
      std::string_view text;
      ASSERT_TRUE(PrintValue(from.type, codes[i], buffer, &text, options).ok());
      ASSERT_EQ(text, expected) << from.name << " " << std::hex << codes[i];
      ASSERT_EQ(text.data(), static_cast<const char*>(buffer));
    }
  }
}

// A long column, which may be printed in another way than a short one: of the narrow types every
// code many times, on one thread and on three.
TEST_P(Print, LongColumns) {
  const TypeInfo& from = *FindType(GetParam());
  const oracle::Row& row = oracle::RowOf(static_cast<int>(from.type));
  const std::vector<std::uint64_t> some = CodesOf(from);
  std::vector<std::uint64_t> codes;
  for (std::size_t i = 0; i < Scaled(20000) + 11; ++i)
    codes.push_back(some[i * 7919 % some.size()]);
  const std::vector<std::byte> source = oracle::Pack(codes, from.bits);
  ThreadExecutor three(3);
  for (const StringStyle style : {StringStyle::kNumpy, StringStyle::kOrt}) {
    CastOptions options;
    options.string_style = style;
    std::vector<std::string> expected;
    for (const std::uint64_t code : codes) {
      expected.push_back(oracle::PrintText(
          row, style == StringStyle::kOrt ? oracle::TextStyle::kOrt : oracle::TextStyle::kNumpy,
          code));
    }
    EXPECT_TRUE(Printed(from.type, source, codes.size(), options) == expected) << from.name;
    RunOptions run;
    run.executor = &three;
    EXPECT_TRUE(Printed(from.type, source, codes.size(), options, run) == expected) << from.name;
  }
}

// Every finite value comes back from its own text, by our parser. To e8m0 by the nearest: it prints
// as float32 does, and 2^-127 is a little less than its text.
TEST_P(Print, IsReadBack) {
  const TypeInfo& type = *FindType(GetParam());
  const oracle::Row& row = oracle::RowOf(static_cast<int>(type.type));
  std::vector<std::uint64_t> codes;
  for (const std::uint64_t code : CodesOf(type)) {
    if (oracle::Decode(row, code).is == oracle::Value::Is::kFinite) codes.push_back(code);
  }
  const std::vector<std::byte> source = oracle::Pack(codes, type.bits);
  const TextBatch batch(Printed(type.type, source, codes.size(), {}));
  std::vector<std::byte> back(source.size());
  CastOptions options;
  options.round_mode = RoundingMode::kNearest;
  ASSERT_TRUE(ParseStrings(batch.view(), type.type, back, options).ok());
  if (type.type == DataType::kBool) {  // any byte but 0 prints as True, and that reads as 1
    for (std::uint64_t& code : codes) code = code != 0 ? 1 : 0;
  }
  EXPECT_EQ(back, oracle::Pack(codes, type.bits));
}

INSTANTIATE_TEST_SUITE_P(Types, Print, ::testing::ValuesIn(FixedWidthDataTypes()),
                         TypeParameterName);

TEST(PrintFloats, TheCLibraryReadsThemBack) {
  const std::vector<std::uint64_t> wide = CodesOf(*FindType(DataType::kFloat64));
  std::vector<std::string> texts =
      Printed(DataType::kFloat64, oracle::Pack(wide, 64), wide.size(), {});
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (texts[i] == "nan") continue;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(std::strtod(texts[i].c_str(), nullptr)), wide[i])
        << texts[i];
  }
  const std::vector<std::uint64_t> single = CodesOf(*FindType(DataType::kFloat32));
  texts = Printed(DataType::kFloat32, oracle::Pack(single, 32), single.size(), {});
  for (std::size_t i = 0; i < single.size(); ++i) {
    if (texts[i] == "nan") continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(std::strtof(texts[i].c_str(), nullptr)), single[i])
        << texts[i];
  }
}

}  // namespace
}  // namespace tensorcast::testing
