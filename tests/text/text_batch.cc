// Columns of texts; see text_batch.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/text_batch.h"

#include <gtest/gtest.h>

#include "core/option_sets.h"

namespace tensorcast::testing {

TextBatch::TextBatch(std::span<const std::string> texts, std::size_t before)
    : bytes_(before, '9') {  // what is read of it by mistake is a number
  offsets_.push_back(before);
  for (const std::string& text : texts) {
    bytes_ += text;
    offsets_.push_back(bytes_.size());
  }
}

std::vector<std::string> Printed(DataType from, std::span<const std::byte> source, std::uint64_t n,
                                 const CastOptions& options, const RunOptions& run) {
  std::uint64_t size = 0;
  EXPECT_TRUE(PrintedStringBytes(from, source, n, &size, options, run).ok());
  std::string bytes(size, '\x7F');
  std::vector<std::uint64_t> offsets(n + 1, UINT64_MAX);
  EXPECT_TRUE(PrintStrings(from, source, n, offsets, bytes, options, run).ok());
  std::vector<std::string> texts;
  EXPECT_EQ(offsets.front(), 0u);
  EXPECT_EQ(offsets.back(), size);
  for (std::uint64_t i = 0; i < n; ++i) {
    if (offsets[i] > offsets[i + 1] || offsets[i + 1] > size) {
      ADD_FAILURE() << "offsets " << offsets[i] << " and " << offsets[i + 1] << " at " << i;
      return std::vector<std::string>(n);
    }
    texts.emplace_back(bytes, offsets[i], offsets[i + 1] - offsets[i]);
  }
  return texts;
}

std::vector<CastOptions> TextOptionSets(const TypeInfo& to) {
  // float64 to itself has no options, and neither have texts to float64.
  return OptionSets(*FindType(DataType::kFloat64), to);
}

std::vector<oracle::Text> ReadTexts(std::span<const std::string> texts) {
  std::vector<oracle::Text> read;
  read.reserve(texts.size());
  for (const std::string& text : texts) read.push_back(oracle::ReadText(text));
  return read;
}

StatusCode ToStatus(oracle::TextError error) {
  switch (error) {
    case oracle::TextError::kNone: break;
    case oracle::TextError::kNotANumber: return StatusCode::kNotANumber;
    case oracle::TextError::kNotAnInteger: return StatusCode::kNotAnInteger;
  }
  return StatusCode::kOk;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  quoted += text.substr(0, 300);
  quoted += text.size() > 300 ? "...\" of " + std::to_string(text.size()) + " bytes" : "\"";
  return quoted;
}

}  // namespace tensorcast::testing
