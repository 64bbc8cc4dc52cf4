// A number written in decimal: what a text says, before any type is asked.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_DECIMAL_H_
#define TENSORCAST_SRC_TEXT_DECIMAL_H_

#include <compare>
#include <cstdint>
#include <string_view>

namespace tensorcast::text {

struct Decimal {
  enum class Kind : std::uint8_t { kNotANumber, kFinite, kInfinity, kNan, kTrue, kFalse };
  Kind kind = Kind::kNotANumber;
  bool negative = false;
  // Of a finite number d.ddd x 10^exponent: its digits from the first to the last that is not 0,
  // with at most one point among them, which has no meaning here; empty for zero.
  std::string_view digits;
  // A finite number as it is written, without its sign.
  std::string_view number;
  // Beyond +-10^17 it is no longer exact, and no number needs it to be.
  std::int64_t exponent = 0;

  bool is_zero() const { return digits.empty(); }
};

// Reads a whole text by the grammar of docs/semantics.md, blanks around it included. Takes time in
// proportion to the text, whatever it says.
Decimal ScanDecimal(std::string_view text);

// Orders two finite magnitudes exactly.
std::strong_ordering CompareMagnitudes(const Decimal& a, const Decimal& b);

// Compares a finite decimal's magnitude with a finite double >= 0, exactly.
std::strong_ordering CompareMagnitude(const Decimal& decimal, double value);

// The double nearest to the magnitude of a finite decimal, ties to even; Inf where it overflows.
// (std::from_chars does the digits.)
double NearestDouble(const Decimal& decimal);
float NearestFloat(const Decimal& decimal);

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_DECIMAL_H_
