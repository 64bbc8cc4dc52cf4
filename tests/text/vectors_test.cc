// The published string vectors, on the library.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "oracle/published_texts.h"
#include "tensorcast/tensorcast.hpp"
#include "text/text_batch.h"

namespace tensorcast::testing {
namespace {

CastOptions FromOracle(const oracle::Options& options) {
  CastOptions result;
  if (!options.saturate) result.saturate = false;
  if (options.round_mode == oracle::RoundingMode::kDown) result.round_mode = RoundingMode::kDown;
  if (options.round_mode == oracle::RoundingMode::kNearest)
    result.round_mode = RoundingMode::kNearest;
  if (options.integer_saturate) result.integer_overflow = IntegerOverflow::kSaturate;
  if (options.fnuz_infinity_nan) result.fnuz_infinity = FnuzInfinity::kNan;
  if (options.finite_only_max) result.finite_only_nan = FiniteOnlyNan::kMax;
  return result;
}

TEST(Vectors, Parse) {
  for (const oracle::PublishedParse& vector : oracle::kPublishedParses) {
    const auto to = static_cast<DataType>(vector.to);
    std::uint64_t code = 0;
    const Status status = ParseValue(vector.text, to, &code, FromOracle(vector.options));
    EXPECT_EQ(status.code(), ToStatus(vector.error)) << vector.text << " to " << TypeName(to);
    if (status.ok()) {
      EXPECT_EQ(code, vector.expected) << std::hex << vector.text << " to " << TypeName(to);
    }
  }
}

TEST(Vectors, Print) {
  for (const oracle::PublishedPrint& vector : oracle::kPublishedPrints) {
    const auto from = static_cast<DataType>(vector.from);
    char buffer[kLongestPrinted];
    std::string_view text;
    ASSERT_TRUE(PrintValue(from, vector.code, buffer, &text).ok());
    EXPECT_EQ(text, vector.numpy) << TypeName(from);
    CastOptions options;
    options.string_style = StringStyle::kOrt;
    ASSERT_TRUE(PrintValue(from, vector.code, buffer, &text, options).ok());
    EXPECT_EQ(text, vector.ort) << TypeName(from);
  }
}

}  // namespace
}  // namespace tensorcast::testing
