// float32 and float64 by std::to_chars; the narrow types in exact 128-bit integers.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/shortest.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace tensorcast::text {
namespace {

__extension__ using Uint128 = unsigned __int128;

// Reads d.ddde+xx.
template <class Float> Digits DigitsOfLibrary(Float value) {
  char buffer[32];
  const char* const end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  Digits digits;
  const char* at = buffer;
  for (; *at != 'e'; ++at) {
    if (*at != '.') digits.digit[digits.count++] = *at;
  }
  at += at[1] == '+' ? 2 : 1;  // from_chars takes '-' and no '+'
  std::from_chars(at, end, digits.exponent);
  while (digits.count > 1 && digits.digit[digits.count - 1] == '0') --digits.count;
  return digits;
}

// value x 2^unit in units of 10^scale is value x numerator / denominator.
template <class Uint> struct Ratio {
  Ratio(int unit, int scale)
      : numerator(PowerOf5(std::max(0, -scale)) << std::max(0, unit - scale)),
        denominator(PowerOf5(std::max(0, scale)) << std::max(0, scale - unit)) {}

  static Uint PowerOf5(int n) {
    Uint power = 1;
    for (; n > 0; --n) power *= 5;
    return power;
  }

  Uint numerator;
  Uint denominator;
};

Digits DigitsOf(std::uint64_t decimal, int scale) {
  char reversed[Digits::kMost];
  Digits digits;
  for (; decimal != 0; decimal /= 10) {
    reversed[digits.count++] = static_cast<char>('0' + decimal % 10);
  }
  std::reverse_copy(reversed, reversed + digits.count, digits.digit);
  digits.exponent = scale + digits.count - 1;
  return digits;
}

// What reads back to a value, in quarters of its unit: from low to high.
struct Interval {
  std::uint64_t low;
  std::uint64_t value;
  std::uint64_t high;
  bool has_ends;
  int unit;  // the quarter is 2^unit
};

// The multiple of 10^scale within the interval that is nearest to the value, of two the even one;
// 0 where there is none.
template <class Uint> std::uint64_t MultipleNearest(const Interval& interval, int scale) {
  const Ratio<Uint> ratio(interval.unit, scale);
  const Uint low = interval.low * ratio.numerator;
  const Uint high = interval.high * ratio.numerator;
  auto least = static_cast<std::uint64_t>(low / ratio.denominator);
  if (!interval.has_ends || low % ratio.denominator != 0) ++least;
  auto most = static_cast<std::uint64_t>(high / ratio.denominator);
  if (!interval.has_ends && high % ratio.denominator == 0) --most;
  if (least > most) return 0;
  const Uint value = interval.value * ratio.numerator;
  auto nearest = static_cast<std::uint64_t>(value / ratio.denominator);
  const Uint twice_rest = value % ratio.denominator * 2;
  if (twice_rest > ratio.denominator || (twice_rest == ratio.denominator && nearest % 2 != 0)) {
    ++nearest;
  }
  return std::clamp(nearest, least, most);
}

// The decimals with fewest digits are those of the largest power of ten that has any in the
// interval. Uint holds the interval times every ratio on the way.
template <class Uint> Digits FewestDigits(const Interval& interval) {
  // Begin with a power above the value: 0.30103 is a little more than log10 of 2.
  const int bits = interval.unit + 64 - std::countl_zero(interval.high);
  int scale = static_cast<int>(std::floor(bits * 0.30103)) + 1;
  std::uint64_t decimal = MultipleNearest<Uint>(interval, scale);
  while (decimal == 0) decimal = MultipleNearest<Uint>(interval, --scale);
  // No other power of ten has as few digits, but where 10^scale itself was found: from 1 to 9 times
  // the power below are one digit too, and may be nearer.
  if (decimal == 1) {
    const std::uint64_t below = MultipleNearest<Uint>(interval, scale - 1);
    if (below < 10) return DigitsOf(below, scale - 1);
  }
  return DigitsOf(decimal, scale);
}

// For significands of at most 11 bits: five digits at most. What reads back to m x 2^e lies within
// half a unit of m on either side, a quarter below where m is the least of its binade; an end of
// that belongs to it where m is even.
Digits ShortestOfNarrow(const detail::Unpacked& value, const TypeInfo& type) {
  const std::uint64_t m = value.significand;
  const bool binade_begins = m == std::uint64_t{1} << type.mantissa_bits &&
                             value.exponent > 1 - type.bias - type.mantissa_bits;
  const Interval interval = {.low = 4 * m - (binade_begins ? 1 : 2),
                             .value = 4 * m,
                             .high = 4 * m + 2,
                             .has_ends = m % 2 == 0,
                             .unit = value.exponent - 2};
  // 5^17 x 2^13 and 5^12 x 2^21 fit 64 bits; bfloat16's 5^45 x 2^10 and 2^88 x 5^39 fit 128.
  return interval.unit >= -40 && interval.unit <= 20 ? FewestDigits<std::uint64_t>(interval)
                                                     : FewestDigits<Uint128>(interval);
}

}  // namespace

double Magnitude(const detail::Unpacked& value) {
  // The product is exact, as a double has it.
  return static_cast<double>(value.significand) * detail::PowerOfTwo(value.exponent);
}

Digits ShortestDigits(const detail::Unpacked& value, const TypeInfo& type) {
  if (type.type == DataType::kFloat64) return DigitsOfLibrary(Magnitude(value));
  if (type.type == DataType::kFloat32 || !type.has_zero) {
    return DigitsOfLibrary(static_cast<float>(Magnitude(value)));
  }
  return ShortestOfNarrow(value, type);
}

std::string ShortestText(double value) {
  char text[32];  // "-2.2250738585072014e-308"
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

}  // namespace tensorcast::text
