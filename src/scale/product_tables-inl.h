// Tables of the products of all codes of eight bits with one scale, as bfloat16 or float16, for the
// look-ups of AVX-512 with VBMI. Included once per target.
//
// Why one rounding: a product is cut to float32, and its last bit says whether something was cut
// off. That float32 rounds as the product does, to any type that keeps two bits less of it. Whether
// something was is asked of the difference, which is a float32: a code has at most eight bits.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_PRODUCT_TABLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_PRODUCT_TABLES_INL_H_
#undef TENSORCAST_SRC_SCALE_PRODUCT_TABLES_INL_H_
#else
#define TENSORCAST_SRC_SCALE_PRODUCT_TABLES_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "core/lanes-inl.h"
#include "hwy/highway.h"
#include "scale/cell_lanes.h"

#if HWY_TARGET == HWY_AVX3_DL

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

// NaN and Inf of codes stay what they are.
HWY_INLINE __m512i OddProducts(const float* values, __m512 factor) {
  const __m512 value = _mm512_loadu_ps(values);
  const __m512 cut = _mm512_mul_round_ps(value, factor, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __m512 rest = _mm512_fmsub_ps(value, factor, cut);
  const __mmask16 is_cut = _mm512_cmp_ps_mask(rest, _mm512_setzero_ps(), _CMP_NEQ_OQ);
  const __m512i bits = _mm512_castps_si512(cut);
  return _mm512_mask_or_epi32(bits, is_cut, bits, _mm512_set1_epi32(1));
}

// 32 products in order, each rounded to nearest.
template <bool kBfloat16> HWY_INLINE __m512i RoundedProducts(const float* values, __m512 factor) {
  const __m512i first = OddProducts(values, factor), second = OddProducts(values + 16, factor);
  if constexpr (kBfloat16) {
    const auto rounded = [](__m512i bits) HWY_ATTR {
      const __m512i last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
      return _mm512_add_epi32(_mm512_add_epi32(bits, last), _mm512_set1_epi32(0x7FFF));
    };
    constexpr auto kUpper = [](unsigned i) { return 2 * i + 1; };
    return _mm512_permutex2var_epi16(rounded(first),
                                     core::HWY_NAMESPACE::ConstantLanes<std::uint16_t, kUpper>(),
                                     rounded(second));
  } else {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const auto half = [](__m512i bits)
                          HWY_ATTR { return _mm512_cvtps_ph(_mm512_castsi512_ps(bits), kNearest); };
    return _mm512_inserti64x4(_mm512_castsi256_si512(half(first)), half(second), 1);
  }
}

template <std::size_t kCodes, bool kBfloat16>
HWY_INLINE void FillWithProductsAs(const float* values, float factor, std::byte* table) {
  const __m512 factors = _mm512_set1_ps(factor);
  constexpr auto kPlace = [](unsigned i) { return 2 * i; };
  const __m512i lower = core::HWY_NAMESPACE::ByteIndices<kPlace>();
  const __m512i upper = _mm512_or_si512(lower, _mm512_set1_epi8(1));
  for (std::size_t i = 0; i < kCodes; i += 64) {
    const __m512i first = RoundedProducts<kBfloat16>(values + i, factors);
    const __m512i second = RoundedProducts<kBfloat16>(values + i + 32, factors);
    _mm512_storeu_si512(table + i, _mm512_permutex2var_epi8(first, lower, second));
    _mm512_storeu_si512(table + kCodes + i, _mm512_permutex2var_epi8(first, upper, second));
  }
}

template <std::size_t kCodes>
void FillWithProducts(const float* values, float factor, bool is_bfloat16, std::byte* table) {
  if (is_bfloat16) return FillWithProductsAs<kCodes, true>(values, factor, table);
  FillWithProductsAs<kCodes, false>(values, factor, table);
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_DL
#endif  // TENSORCAST_SRC_SCALE_PRODUCT_TABLES_INL_H_
