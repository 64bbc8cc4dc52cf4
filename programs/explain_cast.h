// What one value becomes in one type, and what that loses, worked out exactly.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_EXPLAIN_CAST_H_
#define TENSORCAST_PROGRAMS_EXPLAIN_CAST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exact_decimal.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// A code's value, or a text's.
struct ExactValue {
  enum class Kind : std::uint8_t { kFinite, kInfinity, kNan };
  Kind kind = Kind::kFinite;
  bool negative = false;
  ExactDecimal decimal;  // where finite

  bool is_finite() const { return kind == Kind::kFinite; }
  bool is_nan() const { return kind == Kind::kNan; }
};

// What is cast: a decimal text, or a code of a type.
struct ExplainSource {
  DataType type = DataType::kString;  // of `code`; kString: `text` counts
  std::uint64_t code = 0;
  std::string text;
  ExactValue value;

  bool is_text() const { return type == DataType::kString; }
};

// The source that `text` names: a decimal number, or with a type, a code of it in hexadecimal,
// binary or decimal. Throws io::Error (arguments).
ExplainSource ParseExplainSource(const std::string& text, std::optional<DataType> bits_of);

// The bare result of a cast.
struct CastResult {
  Status status;           // not ok: a text that the type has no result for
  std::uint64_t code = 0;  // of a fixed-width type
  std::string text;        // of string

  friend bool operator==(const CastResult&, const CastResult&) = default;
};

// The result under other options, changed one at a time.
struct OtherResult {
  std::string option;  // as a flag spells it: "round-mode"
  std::string value;
  CastResult result;
  std::optional<Loss> loss;
};

struct Explanation {
  DataType to = DataType::kUndefined;
  CastResult result;
  ExactValue value;          // of the result; a string's where it reads as a number
  std::optional<Loss> loss;  // of the partition; none for a string and where there is no result
  bool to_subnormal = false;
  bool zero_sign_lost = false;
  bool undefined = false;
  // Codes of the next lesser and the next greater value, Inf included, where there are any.
  std::optional<std::uint64_t> below;
  std::optional<std::uint64_t> above;
  std::optional<double> ulp;  // the unit in the last place of the value stored
  // |source - value| where both are finite, and over |source| and over the ulp.
  std::optional<ExactDecimal> error;
  bool error_is_exact = true;
  std::optional<ExactDecimal> relative_error;  // to 17 digits
  std::optional<ExactDecimal> error_in_ulps;   // to 17 digits
  std::vector<OtherResult> others;             // those that differ
};

Explanation ExplainCast(const ExplainSource& source, DataType to, const CastOptions& options);

// The exact value of a code.
ExactValue ValueOf(DataType type, std::uint64_t code);

// The fewest digits that name a code's value among its type's, as PrintValue gives them.
std::string ShortestText(DataType type, std::uint64_t code);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_EXPLAIN_CAST_H_
