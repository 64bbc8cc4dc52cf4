// Products with powers of two as bfloat16, of which those of bfloat16 are sums of exponents.
// Included once per target, after rounded_products-inl.h; AVX-512 has its own, in
// half_quotients-inl.h.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_POWER_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_POWER_HALVES_INL_H_
#undef TENSORCAST_SRC_SCALE_POWER_HALVES_INL_H_
#else
#define TENSORCAST_SRC_SCALE_POWER_HALVES_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "hwy/highway.h"
#include "scale/quotients-inl.h"
#include "scale/rounded_products-inl.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

inline constexpr std::size_t kHalves = 16;  // in a vector, which is of one cell

// Sixteen float32s cut to bfloat16, with a last bit that says whether something was cut off.
HWY_INLINE __m256i OddHalves(__m256 first, __m256 second) {
  const Pairs turns = PairsOf(first, second);  // one of each in turn
  const __m256i odd =
      _mm256_or_si256(turns.upper, _mm256_min_epu16(turns.lower, _mm256_set1_epi16(1)));
  const __m256i apart = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,  //
                                         0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(odd, apart), 0xD8);
}

template <std::size_t kBytes> struct PowerProducts {
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    for (std::size_t v = 0; v < kCount; ++v) {
      const __m256 factor = _mm256_broadcast_ss(factors + cell(v));
      const std::size_t at = v * kHalves;
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(out + 2 * at),
          OddHalves(_mm256_mul_ps(LoadElements<kBytes>(x, at).raw, factor),
                    _mm256_mul_ps(LoadElements<kBytes>(x, at + kFloats).raw, factor)));
    }
  }
  const float* factors;
};

// Those of the cells of n elements.
HWY_INLINE std::span<const float> FactorsOf(const float* factors, std::size_t n,
                                            const CellsInOrder& cells) {
  return {factors, n == 0 ? 0 : ((cells.skipped + n - 1) >> cells.log2_width) + 1};
}

// The upper half of a float32.
HWY_INLINE std::int16_t UpperHalf(const float& factor) {
  std::int16_t half;
  std::memcpy(&half, reinterpret_cast<const std::byte*>(&factor) + 2, sizeof(half));
  return half;
}

// By factors that are near one, a subnormal number's product is below half of any code but zero, as
// what is made of it here is.
struct ExponentSums {
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    const __m256i magnitude_bits = _mm256_set1_epi16(0x7FFF), one = _mm256_set1_epi16(0x3F80);
    const __m256i last_number = _mm256_set1_epi16(0x7F7F);
    __m256i most = _mm256_setzero_si256();
    for (std::size_t v = 0; v < kCount; ++v) {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x) + v);
      const __m256i factor = _mm256_set1_epi16(UpperHalf(products.factors[cell(v)]));
      const __m256i magnitude = _mm256_and_si256(bits, magnitude_bits);
      const __m256i raised = _mm256_add_epi16(magnitude, _mm256_subs_epu16(factor, one));
      most = _mm256_max_epu16(most, raised);
      const __m256i product = _mm256_subs_epu16(raised, _mm256_subs_epu16(one, factor));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out) + v,
                          _mm256_or_si256(product, _mm256_andnot_si256(magnitude_bits, bits)));
    }
    const __m256i within = _mm256_cmpeq_epi16(_mm256_max_epu16(most, last_number), last_number);
    if (HWY_UNLIKELY(_mm256_movemask_epi8(within) != -1)) {
      products.template Run<kCount>(x, cell, out);
    }
  }

  const PowerProducts<2> products;
};

void MultiplyToHalves(const std::byte* x, bool is_bfloat16, std::byte* out, std::size_t n,
                      const float* factors, const CellsInOrder& cells) {
  const PowerProducts<2> products = {factors};
  if (!is_bfloat16) {
    return ForEachVector<4, 2, kHalves>(x, out, n, cells, PowerProducts<4>{factors});
  }
  if (AreNearOne(FactorsOf(factors, n, cells))) {
    return ForEachVector<2, 2, kHalves>(x, out, n, cells, ExponentSums{products});
  }
  ForEachVector<2, 2, kHalves>(x, out, n, cells, products);
}

struct ExponentMoves {
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    const __m256i one = _mm256_set1_epi16(0x3F80);
    for (std::size_t v = 0; v < kCount; ++v) {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x) + v);
      const __m256i by = _mm256_sub_epi16(_mm256_set1_epi16(UpperHalf(factors[cell(v)])), one);
      // Of either sign.
      const __m256i is_zero =
          _mm256_cmpeq_epi16(_mm256_add_epi16(bits, bits), _mm256_setzero_si256());
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out) + v,
                          _mm256_add_epi16(bits, _mm256_andnot_si256(is_zero, by)));
    }
  }
  const float* factors;
};

// CellLanes' multiply_by_powers.
void MultiplyByPowers(const std::byte* x, std::byte* out, std::size_t n, const float* factors,
                      const CellsInOrder& cells) {
  ForEachVector<2, 2, kHalves>(x, out, n, cells, ExponentMoves{factors});
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_POWER_HALVES_INL_H_
