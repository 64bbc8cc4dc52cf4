// Texts that are read in a few steps, and what looks like them, against the oracle: what narrow
// types print, digits alone, and one digit, a point and digits. Every text stands at the end of its
// column and before others.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/option_sets.h"
#include "core/source_codes.h"
#include "oracle/cast.h"
#include "text/text_batch.h"

namespace tensorcast::testing {
namespace {

// What stands behind a text, if anything does: too few characters to read eight at a time, digits,
// and characters that are none.
constexpr std::string_view kBehind[] = {"", "9999999", "99999999", "xxxxxxxxxxxxxxxx"};

class QuickTexts : public ::testing::TestWithParam<DataType> {
 protected:
  void SetUp() override { to_ = FindType(GetParam()); }

  // In bulk, as only there texts are read quickly.
  void Expect(const std::string& text, const CastOptions& options) const {
    const oracle::Parsed expected = oracle::CastText(
        oracle::ReadText(text), oracle::RowOf(static_cast<int>(to_->type)), ToOracle(options));
    CastPlan plan;
    ASSERT_TRUE(CastPlan::Bind(DataType::kString, to_->type, options, &plan).ok());
    for (const std::string_view behind : kBehind) {
      // A vector has no room that is not its own, so that the sanitizer sees what reads beyond it.
      std::vector<char> bytes(text.begin(), text.end());
      bytes.insert(bytes.end(), behind.begin(), behind.end());
      bytes.shrink_to_fit();
      const std::vector<std::uint64_t> offsets = {0, text.size()};
      std::vector<std::byte> element(8);
      const Status status = plan.Parse({offsets, bytes}, 0, element, 0, 1);
      ASSERT_EQ(status.code(), ToStatus(expected.error))
          << Quoted(text) << " before " << Quoted(behind) << " to " << to_->name << ", "
          << Describe(options);
      if (!status.ok()) continue;
      ASSERT_EQ(detail::LoadCode(element.data(), 0, to_->bits), expected.code)
          << Quoted(text) << " before " << Quoted(behind) << " to " << to_->name << ", "
          << Describe(options);
    }
  }

  // A text, and what it is with one character more, fewer or another.
  void ExpectNear(const std::string& text) const {
    using namespace std::string_view_literals;
    Expect(text, {});
    for (const char c : "/:0.e- \0\xB5\xFF"sv) {
      Expect(text + c, {});
      Expect(c + text, {});
      for (std::size_t i = 0; i < text.size(); ++i) {
        std::string other = text;
        other[i] = c;
        Expect(other, {});
      }
    }
    if (!text.empty()) Expect(text.substr(1), {});
    Expect(std::string(7, '\0') + text, {});
    Expect(text + std::string(7, '\0'), {});
    Expect(text + std::string(7, '\xFF'), {});
  }

  const TypeInfo* to_ = nullptr;
};

// The texts of every code of eight bits and fewer, to its own type and to every other.
TEST_P(QuickTexts, OfNarrowTypes) {
  for (const TypeInfo& from : Types()) {
    if (from.bits > 8 || from.type == DataType::kString) continue;
    for (const StringStyle style : {StringStyle::kNumpy, StringStyle::kOrt}) {
      CastOptions printing;
      printing.string_style = style;
      const std::size_t count = std::size_t{1} << from.bits;
      std::vector<std::byte> codes(*StorageBytes(from.type, count));
      for (std::size_t code = 0; code < count; ++code) {
        detail::StoreCode(codes.data(), code, from.bits, code);
      }
      const std::vector<std::string> texts = Printed(from.type, codes, count, printing, {});
      for (const CastOptions& options : TextOptionSets(*to_)) {
        const std::size_t step = from.type == to_->type ? 1 : Sampled() ? 17 : 3;
        for (std::size_t i = 0; i < count; i += step) Expect(texts[i], options);
      }
      if (HasFatalFailure()) return;
      if (from.type != to_->type) continue;
      for (std::size_t i = 0; i < count; i += Sampled() ? 11 : 1) ExpectNear(texts[i]);
      if (HasFatalFailure()) return;
    }
  }
}

// Integers about the ends of every word of eight digits and of every type's range.
TEST_P(QuickTexts, OfDigits) {
  const std::string_view digits = "123456789012345678901234";
  for (std::size_t size = 0; size <= digits.size(); ++size) {
    for (const std::string sign : {"", "-", "+"})
      ExpectNear(sign + std::string(digits.substr(0, size)));
    Expect(std::string(size, '0'), {});
    Expect(std::string(size, '9'), {});
    if (HasFatalFailure()) return;
  }
  for (const std::string text : {"127",
                                 "128",
                                 "129",
                                 "255",
                                 "256",
                                 "257",
                                 "32767",
                                 "32768",
                                 "65535",
                                 "65536",
                                 "2147483647",
                                 "2147483648",
                                 "4294967295",
                                 "4294967296",
                                 "9223372036854775807",
                                 "9223372036854775808",
                                 "9223372036854775809",
                                 "18446744073709551615",
                                 "18446744073709551616",
                                 "18446744073709551620",
                                 "19999999999999999999",
                                 "00000000000000000007"}) {
    for (const std::string sign : {"", "-", "+"}) {
      for (const CastOptions& options : TextOptionSets(*to_)) Expect(sign + text, options);
    }
  }
}

TEST_P(QuickTexts, OfFractions) {
  const std::string_view digits = "028456789012345678901234";
  for (const std::string units : {"0", "9", "-1", "+3", "", "-", "12", "x"}) {
    for (std::size_t size = 0; size <= digits.size(); ++size) {
      const std::string text = units + "." + std::string(digits.substr(0, size));
      if (units == "-1" || size % 8 < 2) ExpectNear(text);
      for (const CastOptions& options : TextOptionSets(*to_)) Expect(text, options);
      Expect(units + "." + std::string(size, '0'), {});
      Expect(units + "." + std::string(size, '9'), {});
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, QuickTexts, ::testing::ValuesIn(FixedWidthDataTypes()),
                         TypeParameterName);

}  // namespace
}  // namespace tensorcast::testing
