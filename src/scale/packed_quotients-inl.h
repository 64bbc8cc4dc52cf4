// Quotients as codes of int8 in AVX2, whose packing keeps within a type. Included once per target,
// after quotients-inl.h.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_PACKED_QUOTIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_PACKED_QUOTIENTS_INL_H_
#undef TENSORCAST_SRC_SCALE_PACKED_QUOTIENTS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_PACKED_QUOTIENTS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "scale/quotients-inl.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

// What is as near to a tie as two units, no int32 or NaN is done by IntegerQuotients: all these are
// far from the integer that the conversion gives, by their distance's bits.
template <std::size_t kBytes> struct PackedQuotients {
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    if constexpr (kCount == 1) {
      carefully.template Run<1>(x, cell, out);
    } else {
      static_assert(kCount == 4 && kFloats == 8);
      const __m256i magnitude_bits = _mm256_set1_epi32(0x7FFFFFFF);
      __m256i codes[4], distance = _mm256_setzero_si256();
      for (std::size_t v = 0; v < 4; ++v) {
        const __m256 quotient = _mm256_mul_ps(LoadElements<kBytes>(x, v * kFloats).raw,
                                              _mm256_broadcast_ss(carefully.by.factors + cell(v)));
        codes[v] = _mm256_cvtps_epi32(quotient);
        const __m256 rest = _mm256_sub_ps(quotient, _mm256_cvtepi32_ps(codes[v]));
        distance =
            _mm256_max_epu32(distance, _mm256_and_si256(_mm256_castps_si256(rest), magnitude_bits));
      }
      const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(codes[0], codes[1]),
                                                _mm256_packs_epi32(codes[2], codes[3]));
      const __m256i in_order =
          _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                          _mm256_max_epi8(in_order, _mm256_set1_epi8(-127)));
      const __m256i far = _mm256_castps_si256(carefully.far.raw);
      if (HWY_LIKELY(_mm256_movemask_epi8(_mm256_cmpgt_epi32(distance, far)) == 0)) return;
      for (std::size_t v = 0; v < 4; ++v) {
        const auto one = [&](std::size_t /*of a vector*/) { return cell(v); };
        carefully.template Run<1>(x + v * kFloats * kBytes, one, out + v * kFloats);
      }
    }
  }

  const IntegerQuotients<kBytes> carefully;
};

void DivideToPackedIntegers(const std::byte* x, bool is_bfloat16, std::byte* codes, std::size_t n,
                            const Divisors& by, const CellsInOrder& cells) {
  if (is_bfloat16) {
    return ForEachVector<2, 1>(x, codes, n, cells, PackedQuotients<2>{IntegerQuotients<2>(by)});
  }
  ForEachVector<4, 1>(x, codes, n, cells, PackedQuotients<4>{IntegerQuotients<4>(by)});
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_PACKED_QUOTIENTS_INL_H_
