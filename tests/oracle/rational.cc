// Reads decimals digit by digit and rounds by comparing with the two neighbours.
//
// SPDX-License-Identifier: Apache-2.0
#include "oracle/rational.h"

#include <cstdlib>

namespace oracle {
namespace {

mpq_class PowerOf(unsigned base, long exponent) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), base, static_cast<unsigned long>(std::labs(exponent)));
  return exponent < 0 ? mpq_class(1) / power : mpq_class(power);
}

}  // namespace

mpq_class RationalOf(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  const std::size_t letter = text.find_first_of("eE");
  long exponent = letter == std::string_view::npos
                      ? 0
                      : std::strtol(std::string(text.substr(letter + 1)).c_str(), nullptr, 10);
  std::string digits;
  bool fraction = false;
  for (const char c : text.substr(0, letter)) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    digits += c;
    if (fraction) --exponent;
  }
  mpq_class value = mpq_class(mpz_class(digits, 10)) * PowerOf(10, exponent);
  value.canonicalize();
  return negative ? mpq_class(-value) : value;
}

mpq_class RationalOf(const Value& value) {
  mpq_class magnitude = mpq_class(mpz_class(value.digits)) * PowerOf(2, value.exponent);
  magnitude.canonicalize();
  return value.negative ? mpq_class(-magnitude) : magnitude;
}

bool IsRounded(const mpq_class& exact, const mpq_class& rounded, unsigned digits) {
  const mpq_class magnitude = abs(exact);
  if (magnitude == 0) return rounded == 0;
  // The unit u of the last digit: 10^(digits - 1) u <= magnitude < 10^digits u; first a guess.
  long last = static_cast<long>(mpz_sizeinbase(magnitude.get_num().get_mpz_t(), 10)) -
              static_cast<long>(mpz_sizeinbase(magnitude.get_den().get_mpz_t(), 10)) -
              static_cast<long>(digits);
  while (magnitude >= PowerOf(10, last + static_cast<long>(digits))) ++last;
  while (magnitude < PowerOf(10, last + static_cast<long>(digits) - 1)) --last;
  mpq_class units = magnitude / PowerOf(10, last);
  units.canonicalize();
  mpz_class whole = units.get_num() / units.get_den();
  const mpq_class rest = units - whole;
  const mpq_class half(1, 2);
  if (rest > half || (rest == half && mpz_odd_p(whole.get_mpz_t()) != 0)) ++whole;
  const mpq_class expected = mpq_class(whole) * PowerOf(10, last);
  return abs(rounded) == expected && sgn(rounded) == sgn(exact);
}

}  // namespace oracle
