// Codes of float8 of bfloat16s under powers of two, which move a number's exponent to that of its
// code. Included once per target, after code_steps-inl.h and power_halves-inl.h.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_POWER_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_POWER_CODES_INL_H_
#undef TENSORCAST_SRC_SCALE_POWER_CODES_INL_H_
#else
#define TENSORCAST_SRC_SCALE_POWER_CODES_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "scale/code_steps-inl.h"
#include "scale/power_halves-inl.h"
#include "tensorcast/tensorcast.hpp"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

inline constexpr std::size_t kPowerCodes = 32;  // at once

// kMantissa: bits; kLast: the code of the largest number.
template <int kMantissa, int kBias, int kLast> struct PowerCodes {
  static constexpr int kCut = 7 - kMantissa;

  // To 32 elements of a cell.
  HWY_INLINE void Encode(const std::byte* x, const float& factor, std::byte* out) const {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x) + 1);
    const __m256i magnitude_bits = _mm256_set1_epi16(0x7FFF);
    const __m256i of_a = _mm256_and_si256(a, magnitude_bits);
    const __m256i of_b = _mm256_and_si256(b, magnitude_bits);
    const __m256i power = _mm256_set1_epi16(UpperHalf(factor));
    // Codes with kCut bits more are magnitudes less this: (127 - factor's exponent) + 127 - kBias.
    constexpr int kZero = (2 * 127 - kBias) << 7;
    const __m256i zero = _mm256_sub_epi16(_mm256_set1_epi16(kZero), power);
    // To nearest, where a tie goes to the even code.
    const __m256i below_half = _mm256_sub_epi16(_mm256_set1_epi16((1 << (kCut - 1)) - 1), zero);
    const auto rounded = [&](__m256i of) HWY_ATTR {
      const __m256i is_odd = _mm256_and_si256(_mm256_srli_epi16(of, kCut), _mm256_set1_epi16(1));
      return _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(of, below_half), is_odd), kCut);
    };
    __m256i code =
        _mm256_min_epu8(_mm256_packus_epi16(rounded(of_a), rounded(of_b)), _mm256_set1_epi8(kLast));
    const __m256i least_normal = _mm256_add_epi16(zero, _mm256_set1_epi16(0x80));
    const __m256i most = _mm256_max_epi16(of_a, of_b);
    const __m256i odd_one =
        _mm256_or_si256(_mm256_cmpgt_epi16(least_normal, _mm256_min_epi16(of_a, of_b)),
                        _mm256_cmpgt_epi16(most, _mm256_set1_epi16(kInfinity - 1)));
    if (HWY_UNLIKELY(_mm256_testz_si256(odd_one, odd_one) == 0)) {
      const __m256i special = _mm256_cmpgt_epi16(most, _mm256_set1_epi16(kInfinity - 1));
      if (_mm256_testz_si256(special, special) == 0) *are_finite = false;
      constexpr double kUnit = 1.0 / (std::uint64_t{1} << (kBias - 1 + kMantissa));
      code = WithLowCodes<1 << kMantissa>(code, of_a, of_b, least_normal,
                                          kUnit / static_cast<double>(factor));
    }
    StoreWithSigns(code, a, b, out);
  }
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    for (std::size_t v = 0; v < kCount; ++v) {
      Encode(x + 2 * v * kPowerCodes, factors[cell(v)], out + v * kPowerCodes);
    }
  }

  const float* factors;
  bool* are_finite;
};

bool EncodeUnderPowers(const std::byte* x, std::byte* codes, std::size_t n, DataType to,
                       const float* factors, const CellsInOrder& cells) {
  if (std::size_t{1} << cells.log2_width < kPowerCodes ||
      !AreNearOne(FactorsOf(factors, n, cells))) {
    return false;
  }
  bool are_finite = true;
  if (to == DataType::kFloat8E4M3FN) {
    ForEachVector<2, 1, kPowerCodes>(x, codes, n, cells,
                                     PowerCodes<3, 7, 0x7E>{factors, &are_finite});
  } else {
    ForEachVector<2, 1, kPowerCodes>(x, codes, n, cells,
                                     PowerCodes<2, 15, 0x7B>{factors, &are_finite});
  }
  return are_finite;
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_POWER_CODES_INL_H_
