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

constexpr Uint128 PowerOf5(int n) {
  Uint128 power = 1;
  for (; n > 0; --n) power *= 5;
  return power;
}

// value x 2^unit in units of 10^scale is value x numerator / denominator.
struct Ratio {
  Ratio(int unit, int scale)
      : numerator(PowerOf5(std::max(0, -scale)) << std::max(0, unit - scale)),
        denominator(PowerOf5(std::max(0, scale)) << std::max(0, scale - unit)) {}
  Uint128 numerator;
  Uint128 denominator;
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

// For significands of at most 11 bits and exponents no wider than bfloat16's: five digits at most,
// and every product below fits 128 bits. Such a value is m x 2^e; what reads back to it lies within
// half a unit of m on either side, a quarter below where m is the least of its binade.
Digits ShortestOfNarrow(const detail::Unpacked& value, const TypeInfo& type) {
  const std::uint64_t m = value.significand;
  const int unit = value.exponent - 2;  // a quarter of m's unit
  const bool binade_begins = m == std::uint64_t{1} << type.mantissa_bits &&
                             value.exponent > 1 - type.bias - type.mantissa_bits;
  const std::uint64_t low = 4 * m - (binade_begins ? 1 : 2);
  const std::uint64_t high = 4 * m + 2;
  const bool ends_count = m % 2 == 0;  // a tie goes to the even significand

  // The decimals with fewest digits are those of the largest unit 10^scale that has any. Begin with
  // one above the value: 0.30103 is a little more than log10 of 2.
  const int bits = unit + 64 - std::countl_zero(high);
  int scale = static_cast<int>(std::floor(bits * 0.30103)) + 1;
  for (;; --scale) {
    const Ratio ratio(unit, scale);
    const Uint128 low_scaled = low * ratio.numerator;
    const Uint128 high_scaled = high * ratio.numerator;
    auto least = static_cast<std::uint64_t>(low_scaled / ratio.denominator);
    if (!ends_count || low_scaled % ratio.denominator != 0) ++least;
    auto most = static_cast<std::uint64_t>(high_scaled / ratio.denominator);
    if (!ends_count && high_scaled % ratio.denominator == 0) --most;
    if (least > most || most == 0) continue;
    const Uint128 value_scaled = 4 * m * ratio.numerator;
    auto nearest = static_cast<std::uint64_t>(value_scaled / ratio.denominator);
    const Uint128 twice_rest = value_scaled % ratio.denominator * 2;
    if (twice_rest > ratio.denominator || (twice_rest == ratio.denominator && nearest % 2 != 0)) {
      ++nearest;
    }
    return DigitsOf(std::clamp(nearest, least, most), scale);
  }
}

}  // namespace

Digits ShortestDigits(const detail::Unpacked& value, const TypeInfo& type) {
  if (type.type == DataType::kFloat64) {
    return DigitsOfLibrary(std::ldexp(static_cast<double>(value.significand), value.exponent));
  }
  if (type.type == DataType::kFloat32 || !type.has_zero) {
    return DigitsOfLibrary(std::ldexp(static_cast<float>(value.significand), value.exponent));
  }
  return ShortestOfNarrow(value, type);
}

}  // namespace tensorcast::text
