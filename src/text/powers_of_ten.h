// The powers of ten that reading and printing floats need, cut to 128 bits, and products with them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_POWERS_OF_TEN_H_
#define TENSORCAST_SRC_TEXT_POWERS_OF_TEN_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tensorcast::text {

__extension__ using Uint128 = unsigned __int128;

// 10^n where it fits 64 bits.
inline constexpr std::size_t kSmallPowers = 20;
inline constexpr auto kTenTo = [] {
  std::array<std::uint64_t, kSmallPowers> powers{};
  std::uint64_t power = 1;
  for (std::uint64_t& each : powers) {
    each = power;
    power *= 10;
  }
  return powers;
}();

// How many decimal digits a number has; 0 has one.
constexpr int DigitCount(std::uint64_t number) {
  number |= 1;
  const auto least = static_cast<std::size_t>(std::bit_width(number) * 1233 >> 12);
  return static_cast<int>(least) + (number >= kTenTo[least] ? 1 : 0);
}

// floor(log2(10^n)), floor(log10(2^n)) and floor(log10(3/4 x 2^n)), for |n| up to 1100.
constexpr int FloorLog2OfPowerOfTen(int n) { return n * 1741647 >> 19; }
constexpr int FloorLog10OfPowerOfTwo(int n) { return n * 1262611 >> 22; }
constexpr int FloorLog10OfThreeQuarters(int n) { return (n * 1262611 - 524031) >> 22; }

// 10^n is `digits` x 2^(FloorLog2OfPowerOfTen(n) - 127), where that is exact; else a little more,
// by less than one unit. The top bit is set.
inline constexpr int kLeastPower = -342;
inline constexpr int kMostPower = 331;
constexpr bool IsExactPower(int n) { return n >= 0 && n <= 55; }  // 5^55 has 128 bits
struct Power {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  constexpr Uint128 digits() const { return Uint128{high} << 64 | low; }
};
extern const std::array<Power, kMostPower - kLeastPower + 1> kPowers;
inline const Power& PowerOfTen(int n) { return kPowers[static_cast<std::size_t>(n - kLeastPower)]; }

// significand x 10^n, cut to 64 bits: significand x 2^exponent, the top bit set. Where bits were
// cut that are not all zero, the last bit is set ("rounded to odd"), so that one more rounding to
// 62 bits and fewer, of whatever mode, is right.
struct Product {
  std::uint64_t significand;
  int exponent;
  bool is_known;  // false where 128 bits of the power of ten do not say
};

// The same where the power is 10^-n, n below kSmallPowers, and the result needs no rounding: the
// decimals that are binary numbers, of which a power cut to 128 bits cannot say it. Else unknown.
inline Product DividedExactly(std::uint64_t significand, int n) {
  const std::uint64_t power_of_five = kTenTo[static_cast<std::size_t>(n)] >> n;
  const std::uint64_t quotient = significand / power_of_five;
  const int zeros = std::countl_zero(quotient | 1);
  return {.significand = quotient << zeros,
          .exponent = -n - zeros,
          .is_known = quotient * power_of_five == significand};
}

// Of a significand other than 0.
inline Product TimesPowerOfTen(std::uint64_t significand, int n) {
  const Power& power = PowerOfTen(n);
  const int zeros = std::countl_zero(significand);
  significand <<= zeros;
  // 192 bits: high, middle, low. The true product is larger by less than 2^64 where the power was
  // cut, which reaches `high` only through a middle of ones.
  const Uint128 lower = Uint128{significand} * power.low;
  const Uint128 upper = Uint128{significand} * power.high + static_cast<std::uint64_t>(lower >> 64);
  const auto high = static_cast<std::uint64_t>(upper >> 64);
  const auto middle = static_cast<std::uint64_t>(upper);
  const int shift = high >> 63 == 0 ? 1 : 0;
  const bool is_cut =
      !IsExactPower(n) || (middle << shift | static_cast<std::uint64_t>(lower)) != 0;
  const bool is_known = IsExactPower(n) || middle << 1 != UINT64_MAX - 1;
  if (!is_known && n < 0 && n > -static_cast<int>(kSmallPowers)) {
    return DividedExactly(significand >> zeros, -n);
  }
  return {.significand = static_cast<std::uint64_t>(upper << shift >> 64) | (is_cut ? 1U : 0U),
          .exponent = FloorLog2OfPowerOfTen(n) + 1 - zeros - shift,
          .is_known = is_known};
}

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_POWERS_OF_TEN_H_
