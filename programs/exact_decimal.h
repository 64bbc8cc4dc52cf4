// Decimal numbers of any length, exact: what a text says beside what a type stores.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_EXACT_DECIMAL_H_
#define TENSORCAST_PROGRAMS_EXACT_DECIMAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tensorcast::tool {

class ExactDecimal {
 public:
  ExactDecimal() = default;  // 0

  static ExactDecimal FromUnsigned(std::uint64_t value);
  // Every digit of a finite double.
  static ExactDecimal FromDouble(double value);
  // A decimal number as docs/semantics.md reads one, which `text` is known to be: not nan, not inf.
  static ExactDecimal FromText(std::string_view text);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }  // of -0 too
  // Exponents of 10^15 and more are cut there: such a number compares right, but is not itself.
  bool is_clamped() const { return clamped_; }
  ExactDecimal Negated() const;
  ExactDecimal Magnitude() const;

  // Below, equal to or above zero, as *this is less than, equal to or greater than `other`.
  int Compare(const ExactDecimal& other) const;

  // *this - other. Exact, but where the operands lie more than 2^18 digits apart: then *exact
  // becomes false, and the result is the operand of greater magnitude.
  ExactDecimal Minus(const ExactDecimal& other, bool* exact) const;

  // *this / other, neither clamped and `other` not 0, rounded to `digits` digits, ties to even.
  ExactDecimal Over(const ExactDecimal& other, std::size_t digits) const;

  // Rounded to `digits` significant digits, ties to even.
  ExactDecimal Rounded(std::size_t digits) const;

  // All digits; positional from 10^-4 to below 10^`whole_digits`, else d.ddde-XX.
  std::string Text(int whole_digits = 21) const;

 private:
  void Normalise();
  std::string DigitsFrom(std::int64_t point, std::size_t size) const;

  // 0.DIGITS x 10^point, no zero at either end of the digits; zero has none.
  std::string digits_;
  std::int64_t point_ = 0;
  bool negative_ = false;
  bool clamped_ = false;
};

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_EXACT_DECIMAL_H_
