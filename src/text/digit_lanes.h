// The digits of eight integers at once, two in each vector of 16 bytes where there are such.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_DIGIT_LANES_H_
#define TENSORCAST_SRC_TEXT_DIGIT_LANES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "tensorcast/detail/packing.hpp"
#include "text/digit_bytes.h"

namespace tensorcast::text {

// Below 10^8, and with no bit of a larger number in it.
inline constexpr std::uint64_t kFewDigits = std::uint64_t{1} << 26;

// The magnitude of a signed integer of so many bits.
constexpr std::uint64_t MagnitudeOf(std::uint64_t code, int bits) {
  // In bits, since a sign cannot be foretold.
  const std::uint64_t number = code << (64 - bits);
  const std::uint64_t minus = std::uint64_t{0} - (number >> 63);
  return ((number ^ minus) - minus) >> (64 - bits);
}

// What ToDigitBytes makes of the magnitudes of eight integers, which stand at `source` in whatever
// place; false where one of them may have more than eight digits.
using EightNumbers = std::array<std::uint64_t, 8>;
template <int kBits, bool kIsSigned>
bool ToDigitBytes(const std::byte* source, EightNumbers& digits);

#if defined(__x86_64__)

// Of two numbers below 10^8, the steps of ToDigitBytes. The factors are 2^40 / 10^4, 2^19 / 100 and
// 2^10 / 10, rounded up by less than what would change a quotient.
inline __m128i ToDigitBytes(__m128i numbers) {
  const __m128i high = _mm_srli_epi64(_mm_mul_epu32(numbers, _mm_set1_epi32(109'951'163)), 40);
  const __m128i low = _mm_sub_epi32(numbers, _mm_mul_epu32(high, _mm_set1_epi32(10'000)));
  const __m128i fours = _mm_or_si128(high, _mm_slli_epi64(low, 32));
  const __m128i hundreds = _mm_srli_epi16(_mm_mulhi_epu16(fours, _mm_set1_epi16(5243)), 3);
  const __m128i tens_and_ones =
      _mm_sub_epi16(fours, _mm_mullo_epi16(hundreds, _mm_set1_epi16(100)));
  const __m128i twos = _mm_or_si128(hundreds, _mm_slli_epi32(tens_and_ones, 16));
  const __m128i tens = _mm_srli_epi16(_mm_mullo_epi16(twos, _mm_set1_epi16(103)), 10);
  const __m128i ones = _mm_sub_epi16(twos, _mm_mullo_epi16(tens, _mm_set1_epi16(10)));
  return _mm_or_si128(tens, _mm_slli_epi16(ones, 8));
}

// Two integers, extended to 64 bits.
template <int kBits, bool kIsSigned> __m128i LoadTwo(const std::byte* source) {
  const auto signs = [](__m128i numbers) {
    return kIsSigned ? _mm_srai_epi32(numbers, 31) : _mm_setzero_si128();
  };
  if constexpr (kBits == 64) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(source));
  } else if constexpr (kBits == 32) {
    const __m128i two = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(source));
    return _mm_unpacklo_epi32(two, signs(two));
  } else {
    int word = 0;
    std::memcpy(&word, source, sizeof(word));
    const __m128i halves = _mm_unpacklo_epi16(_mm_setzero_si128(), _mm_cvtsi32_si128(word));
    const __m128i two = kIsSigned ? _mm_srai_epi32(halves, 16) : _mm_srli_epi32(halves, 16);
    return _mm_unpacklo_epi32(two, signs(two));
  }
}

template <int kBits, bool kIsSigned>
bool ToDigitBytes(const std::byte* source, EightNumbers& digits) {
  __m128i any = _mm_setzero_si128();
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    __m128i numbers = LoadTwo<kBits, kIsSigned>(source + i * (kBits / 8));
    if constexpr (kIsSigned) {
      const __m128i minus = _mm_shuffle_epi32(_mm_srai_epi32(numbers, 31), 0b11'11'01'01);
      numbers = _mm_sub_epi64(_mm_xor_si128(numbers, minus), minus);
    }
    any = _mm_or_si128(any, numbers);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&digits[i]), ToDigitBytes(numbers));
  }
  if constexpr (kBits == 16) return true;
  const __m128i both = _mm_or_si128(any, _mm_unpackhi_epi64(any, any));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(both)) < kFewDigits;
}

#else

template <int kBits, bool kIsSigned>
bool ToDigitBytes(const std::byte* source, EightNumbers& digits) {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    std::uint64_t magnitude = detail::LoadCode(source, i, kBits);
    if constexpr (kIsSigned) magnitude = MagnitudeOf(magnitude, kBits);
    any |= magnitude;
    digits[i] = ToDigitBytes(magnitude % 100'000'000);
  }
  return any < kFewDigits;
}

#endif

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_DIGIT_LANES_H_
