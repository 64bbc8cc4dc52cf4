// Eight decimal digits at a time, in the bytes of a word: the first digit in the lowest byte.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_DIGIT_BYTES_H_
#define TENSORCAST_SRC_TEXT_DIGIT_BYTES_H_

#include <bit>
#include <cstdint>
#include <cstring>

namespace tensorcast::text {

inline constexpr std::uint64_t kZeros = 0x3030303030303030;  // eight '0'

inline std::uint64_t LoadEight(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return std::endian::native == std::endian::big ? __builtin_bswap64(word) : word;
}
inline void StoreEight(char* at, std::uint64_t word) {
  if (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  std::memcpy(at, &word, sizeof(word));
}

// The eight digits, 0 to 9, of a number below 10^8.
constexpr std::uint64_t ToDigitBytes(std::uint64_t number) {
  const std::uint64_t fours = number / 10000 | number % 10000 << 32;
  const std::uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007F0000007F;
  const std::uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
  const std::uint64_t tens = (twos * 103 >> 10) & 0x000F000F000F000F;
  return tens | (twos - 10 * tens) << 8;
}

// The number that eight digits, 0 to 9, make.
constexpr std::uint64_t FromDigitBytes(std::uint64_t digits) {
  const std::uint64_t twos = digits * 10 + (digits >> 8);  // in every other byte
  constexpr std::uint64_t kBytes = 0x000000FF000000FF;
  return ((twos & kBytes) * (100 + (std::uint64_t{1000000} << 32)) +
          (twos >> 16 & kBytes) * (1 + (std::uint64_t{10000} << 32))) >>
         32;
}

// Of eight characters ^ kZeros: the top bit of the first that is no digit; 0 where all are digits.
constexpr std::uint64_t OtherThanDigits(std::uint64_t word) {
  // A byte of 10 and more sets its top bit, and may disturb those behind it alone.
  return ((word + 0x7676767676767676) | word) & 0x8080808080808080;
}
// How many are, from the first on.
constexpr int LeadingDigits(std::uint64_t word) {
  return std::countr_zero(OtherThanDigits(word)) / 8;  // 64 of none
}

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_DIGIT_BYTES_H_
