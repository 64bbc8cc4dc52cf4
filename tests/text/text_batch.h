// A column of texts as the library takes it, and what the oracle makes of one.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_TEXT_TEXT_BATCH_H_
#define TENSORCAST_TESTS_TEXT_TEXT_BATCH_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/text.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {

// Owns the offsets and bytes of some texts; `before` bytes lie in front of the first.
class TextBatch {
 public:
  explicit TextBatch(std::span<const std::string> texts, std::size_t before = 0);
  Strings view() const { return {offsets_, bytes_}; }

 private:
  std::vector<std::uint64_t> offsets_;
  std::string bytes_;
};

// What the library printed, or a failed expectation: PrintedStringBytes, then PrintStrings.
std::vector<std::string> Printed(DataType from, std::span<const std::byte> source, std::uint64_t n,
                                 const CastOptions& options, const RunOptions& run = {});

// The options to try for texts to a type: those of a floating source, as that is what a text is.
std::vector<CastOptions> TextOptionSets(const TypeInfo& to);

std::vector<oracle::Text> ReadTexts(std::span<const std::string> texts);
StatusCode ToStatus(oracle::TextError error);

// The text in quotes, its far end cut off.
std::string Quoted(std::string_view text);

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_TEXT_TEXT_BATCH_H_
