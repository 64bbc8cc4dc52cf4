// Raffaello Giulietti's Schubfach ("The Schubfach way to render doubles", 2020), for every type: it
// asks for nothing but a significand of at most 53 bits and an exponent within float64's.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/shortest.h"

#include <charconv>

#include "text/powers_of_ten.h"

namespace tensorcast::text {
namespace {

// significand x power / 2^128, rounded to odd. `power` is 10^n rounded up to 128 bits; the paper
// shows that where the product seems whole but for less than 2 units of the 64 bits behind it, it
// is whole.
std::uint64_t RoundedToOdd(Uint128 power, std::uint64_t significand) {
  const Uint128 lower = Uint128{significand} * static_cast<std::uint64_t>(power);
  const Uint128 upper = Uint128{significand} * static_cast<std::uint64_t>(power >> 64) +
                        static_cast<std::uint64_t>(lower >> 64);
  return static_cast<std::uint64_t>(upper >> 64) |
         (static_cast<std::uint64_t>(upper) > 1 ? std::uint64_t{1} : 0);
}

}  // namespace

ShortDecimal ShortestDecimal(std::uint64_t significand, int exponent, bool begins_binade) {
  // In quarters of the value's unit: what reads back to it lies from low to high, with both ends
  // where the significand is even.
  const std::uint64_t low = 4 * significand - (begins_binade ? 1 : 2);
  const std::uint64_t value = 4 * significand;
  const std::uint64_t high = 4 * significand + 2;
  const std::uint64_t open_ends = significand & 1;
  // 10^scale is the largest power of ten of which a multiple lies between them for sure. All three
  // become quarters of 10^scale.
  const int scale =
      begins_binade ? FloorLog10OfThreeQuarters(exponent) : FloorLog10OfPowerOfTwo(exponent);
  const Uint128 power = PowerOfTen(-scale).digits() + (IsExactPower(-scale) ? 0 : 1);
  const int shift = exponent + FloorLog2OfPowerOfTen(-scale) + 1;
  const std::uint64_t scaled_low = RoundedToOdd(power, low << shift) + open_ends;
  const std::uint64_t scaled_value = RoundedToOdd(power, value << shift);
  const std::uint64_t scaled_high = RoundedToOdd(power, high << shift) - open_ends;

  // The multiple of 10^scale below the value or the one above: the one that lies between the ends,
  // of two the nearer, of two equally near the even one. In bits, since no branch could be
  // foretold.
  const std::uint64_t digits = scaled_value / 4;
  const std::uint64_t rest = scaled_value % 4;
  const unsigned below = scaled_low <= 4 * digits;
  const unsigned above = 4 * digits + 4 <= scaled_high;
  const unsigned nearer_above = (rest + (digits & 1)) > 2;
  const std::uint64_t nearest = digits + ((above & ~below) | (above & below & nearer_above));
  // A multiple of 10^(scale + 1) has fewer digits; there is one at most. Below 10 both have one
  // digit, and the nearer one is wanted.
  const std::uint64_t tens = digits / 10;
  const unsigned ten_below = scaled_low <= 40 * tens;
  const unsigned ten_above = 40 * tens + 40 <= scaled_high;
  const unsigned is_tens = (ten_below ^ ten_above) & (digits >= 10 ? 1U : 0U);
  const std::uint64_t mask = std::uint64_t{0} - is_tens;
  return {nearest ^ ((nearest ^ (tens + ten_above)) & mask), scale + static_cast<int>(is_tens)};
}

std::string ShortestText(double value) {
  char text[32];  // "-2.2250738585072014e-308"
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

}  // namespace tensorcast::text
