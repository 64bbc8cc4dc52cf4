// Codes to texts; see text.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "oracle/text.h"

namespace oracle {
namespace {

mpq_class TwoTo(int exponent) {
  const mpz_class power = mpz_class(1) << static_cast<unsigned>(std::abs(exponent));
  return exponent >= 0 ? mpq_class(power) : mpq_class(1, power);
}

mpq_class TenTo(int exponent) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(std::abs(exponent)));
  return exponent >= 0 ? mpq_class(power) : mpq_class(1, power);
}

mpz_class Floor(const mpq_class& x) {
  mpz_class whole;
  mpz_fdiv_q(whole.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return whole;
}

// 10^k <= x < 10^(k + 1), for x > 0: no value of ours needs more than 400 steps.
int DecimalExponent(const mpq_class& x) {
  int k = 0;
  mpq_class power = 1;
  for (; power * 10 <= x; ++k) power *= 10;
  for (; power > x; --k) power /= 10;
  return k;
}

// digits * 10^(exponent - (number of digits - 1)): the first digit is that of 10^exponent.
struct Decimal {
  std::string digits;
  int exponent;
};

Decimal Normalised(const mpz_class& digits, int scale) {  // digits * 10^scale
  Decimal result = {digits.get_str(), 0};
  result.exponent = static_cast<int>(result.digits.size()) - 1 + scale;
  while (result.digits.size() > 1 && result.digits.back() == '0') result.digits.pop_back();
  return result;
}

// Where a value's neighbours in its type begin to be meant.
struct Interval {
  mpq_class low, high;
  bool closed;  // its ends read back to the value: ties go to an even significand
};

Interval ReadsBack(const Row& row, const Value& value) {
  // The unit of the value's own significand, and the one below: half of it where the value is the
  // first of its binade, but for the least binade of normals, below which the unit stays.
  const mpq_class unit = TwoTo(value.exponent);
  const bool first = value.digits == 1ull << (row.precision - 1) && value.exponent > row.least;
  const mpq_class below = first ? unit / 2 : unit;
  const mpq_class x = unit * mpz_class(value.digits);
  return {x - below / 2, x + unit / 2, value.digits % 2 == 0};
}

Decimal Shortest(const mpq_class& x, const Interval& interval) {
  const int k = DecimalExponent(x);
  const auto inside = [&](const mpq_class& y) {
    return interval.closed ? interval.low <= y && y <= interval.high
                           : interval.low < y && y < interval.high;
  };
  for (int count = 1;; ++count) {
    const int scale = k - (count - 1);
    const mpq_class unit = TenTo(scale);
    const mpz_class down = Floor(x / unit);
    const mpz_class up = down + 1;
    const bool down_inside = inside(down * unit);
    const bool up_inside = inside(up * unit);
    if (!down_inside && !up_inside) continue;
    if (!up_inside) return Normalised(down, scale);
    if (!down_inside) return Normalised(up, scale);
    const int nearer = cmp(mpq_class(x - down * unit), mpq_class(up * unit - x));
    const bool even = mpz_even_p(down.get_mpz_t()) != 0;
    return Normalised(nearer < 0 || (nearer == 0 && even) ? down : up, scale);
  }
}

Decimal EightDigits(const mpq_class& x) {
  const int scale = DecimalExponent(x) - 7;
  const mpq_class scaled = x / TenTo(scale);
  mpz_class whole = Floor(scaled);
  const int half = cmp(mpq_class((scaled - whole) * 2), mpq_class(1));
  if (half > 0 || (half == 0 && mpz_odd_p(whole.get_mpz_t()) != 0)) ++whole;
  return Normalised(whole, scale);
}

// Without ".0"; the caller knows whether it wants one.
std::string Positional(const Decimal& d) {
  const int after = static_cast<int>(d.digits.size()) - 1;
  if (d.exponent < 0) {
    std::string text = "0.";
    text.append(static_cast<std::size_t>(-d.exponent - 1), '0');
    return text + d.digits;
  }
  if (d.exponent >= after) {
    return d.digits + std::string(static_cast<std::size_t>(d.exponent - after), '0');
  }
  const auto point = static_cast<std::size_t>(d.exponent) + 1;
  return d.digits.substr(0, point) + "." + d.digits.substr(point);
}

std::string Scientific(const Decimal& d) {
  std::string text = d.digits.substr(0, 1);
  if (d.digits.size() > 1) text.append(".").append(d.digits, 1);
  const int exponent = std::abs(d.exponent);
  text += d.exponent < 0 ? "e-" : "e+";
  if (exponent < 10) text += '0';
  text += std::to_string(exponent);
  return text;
}

std::string NumpyText(const Row& row, const Value& value) {
  if (value.zero()) return "0.0";
  const mpq_class x = TwoTo(value.exponent) * mpz_class(value.digits);
  const Decimal shortest = Shortest(x, ReadsBack(row, value));
  if (x < TenTo(-4) || x >= TenTo(16)) return Scientific(shortest);
  std::string text = Positional(shortest);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string OrtText(const Value& value) {
  if (value.zero()) return "0";
  const Decimal eight = EightDigits(TwoTo(value.exponent) * mpz_class(value.digits));
  return eight.exponent < -4 || eight.exponent >= 8 ? Scientific(eight) : Positional(eight);
}

}  // namespace

std::string PrintText(const Row& from, TextStyle style, std::uint64_t code) {
  const bool ort = style == TextStyle::kOrt;
  const Value value = Decode(from, code);
  if (from.kind == Kind::kBoolean) {
    if (ort) return value.zero() ? "0" : "1";
    return value.zero() ? "False" : "True";
  }
  const std::string sign(value.negative ? 1 : 0, '-');
  if (from.integer()) return sign + std::to_string(value.digits);
  switch (value.is) {
    case Value::Is::kNan: return ort ? "NaN" : "nan";
    case Value::Is::kInfinite: return sign + (ort ? "INF" : "inf");
    case Value::Is::kFinite: break;
  }
  if (ort) return sign + OrtText(value);
  if (from.kind != Kind::kPowerOfTwo) return sign + NumpyText(from, value);
  // As the float32 of the same value, which has all of these: 2^-149 to 2^127 are its own.
  const Row& single = RowOf(1);
  return sign + NumpyText(single, Decode(single, SearchFloor(single, value)));
}

std::string ExactDecimal(const mpz_class& digits, int exponent) {
  if (exponent >= 0) return mpz_class(digits << static_cast<unsigned>(exponent)).get_str();
  // digits / 2^k is digits * 5^k / 10^k.
  const auto places = static_cast<std::size_t>(-exponent);
  mpz_class fives;
  mpz_ui_pow_ui(fives.get_mpz_t(), 5, places);
  std::string text = mpz_class(digits * fives).get_str();
  if (text.size() <= places) text = std::string(places + 1 - text.size(), '0') + text;
  text = text.substr(0, text.size() - places) + "." + text.substr(text.size() - places);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace oracle
