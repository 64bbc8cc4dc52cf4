// What explain prints: the table of all types, and the drawing of one code.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_EXPLAIN_TEXT_H_
#define TENSORCAST_PROGRAMS_DISPLAY_EXPLAIN_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tensorcast/explain.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// A code's bits by field; of integers and bool all in `significand`.
struct BitFields {
  std::string sign;
  std::string exponent;
  std::string significand;

  // The fields that are not empty, with blanks between them.
  std::string Text() const;
};
BitFields FieldsOf(const TypeInfo& row, std::uint64_t code);

// "0x1D", with all digits of the type.
std::string HexText(const TypeInfo& row, std::uint64_t code);

// One value in several types: a row for each, at most 100 columns wide.
std::string ExplainTable(const ExplainSource& source, const std::vector<Explanation>& types);

// One value in one type, every part named.
std::string ExplainDrawing(const ExplainSource& source, const Explanation& type);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_EXPLAIN_TEXT_H_
