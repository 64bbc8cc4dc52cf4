// Integers with the factors and offsets of their cells in AVX2, each value rounded once: one by
// one, or of four bits by a table of the sixteen of a cell. Included once per target, after
// rounded_products-inl.h and magnitude_rows-inl.h.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_INTEGER_CELLS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_INTEGER_CELLS_INL_H_
#undef TENSORCAST_SRC_SCALE_INTEGER_CELLS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_INTEGER_CELLS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "scale/cell_lanes.h"
#include "scale/magnitude_rows-inl.h"
#include "scale/quotients-inl.h"
#include "scale/rounded_products-inl.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

// Sums of eight codes are float32s, so that one rounding is left.
template <DataType kTo> struct IntegerSums {
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* codes, const Cell& cell, std::byte* out) const {
    const auto sum = [&](std::size_t v) HWY_ATTR {
      return _mm256_fmadd_ps(IntegerProducts<kTo, Rounding16::kExact>::ValueAt(codes, v),
                             _mm256_broadcast_ss(factors + cell(v)),
                             _mm256_broadcast_ss(offsets + cell(v)));
    };
    if constexpr (kTo == DataType::kFloat32) {
      for (std::size_t v = 0; v < kCount; ++v) {
        _mm256_storeu_ps(reinterpret_cast<float*>(out) + 8 * v, sum(v));
      }
    } else if constexpr (kTo == DataType::kFloat16 || kCount == 1) {
      for (std::size_t v = 0; v < kCount; ++v) {
        const __m256 some = sum(v);
        const __m256i halves = RoundedHalves<kTo == DataType::kBfloat16>(some, some);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * v), _mm256_castsi256_si128(halves));
      }
    } else {
      for (std::size_t v = 0; v < kCount; v += 2) {
        StoreWhole(out + 16 * v, RoundedHalves<true>(sum(v), sum(v + 1)));
      }
    }
  }
  const float* factors;
  const float* offsets;
};

// The sixteen values of a cell, as rows of lower and of upper bytes.
template <bool kBfloat16> class TableOfCell {
 public:
  // The numbers whose codes are 0 to 7, and 8 to 15.
  HWY_INLINE TableOfCell(__m256 first, __m256 second, float factor, float offset) {
    const __m256 by = _mm256_set1_ps(factor), and_this = _mm256_set1_ps(offset);
    const __m256i halves = RoundedHalves<kBfloat16>(_mm256_fmadd_ps(first, by, and_this),
                                                    _mm256_fmadd_ps(second, by, and_this));
    const __m256i split = _mm256_set_epi64x(0x0F0D0B0907050301, 0x0E0C0A0806040200,
                                            0x0F0D0B0907050301, 0x0E0C0A0806040200);
    const __m256i rows = _mm256_shuffle_epi8(halves, split);
    low_ = _mm256_permute4x64_epi64(rows, 0x88);
    high_ = _mm256_permute4x64_epi64(rows, 0xDD);
  }
  // 32 codes in order: two in a byte, or one, whose lower four bits count.
  template <bool kPacked> HWY_INLINE void LookUp(const std::byte* codes, std::byte* out) const {
    // Those that are to be interleaved stand in the lower halves of 16 bytes, and in the upper
    // ones.
    __m256i some;
    if constexpr (kPacked) {
      // In words, of which the upper byte becomes the second code.
      const __m256i places = _mm256_setr_epi64x(
          static_cast<long long>(0x8003800280018000), static_cast<long long>(0x800B800A80098008),
          static_cast<long long>(0x8007800680058004), static_cast<long long>(0x800F800E800D800C));
      const __m256i bytes = _mm256_shuffle_epi8(LoadRow(codes), places);
      some = _mm256_or_si256(bytes, _mm256_slli_epi16(bytes, 4));
    } else {
      some = _mm256_permute4x64_epi64(LoadWhole(codes), 0xD8);
    }
    const __m256i code = _mm256_and_si256(some, SetBytes(0xF));
    const __m256i low = _mm256_shuffle_epi8(low_, code), high = _mm256_shuffle_epi8(high_, code);
    StoreWhole(out, _mm256_unpacklo_epi8(low, high));
    StoreWhole(out + 32, _mm256_unpackhi_epi8(low, high));
  }

 private:
  __m256i low_, high_;
};

template <bool kBfloat16, bool kPacked>
void LookUpCellsOfSixteen(const std::byte* codes, std::size_t n, bool is_signed,
                          const float* factors, const float* offsets, const CellsInOrder& cells,
                          std::byte* out) {
  const __m256 first = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256 second = _mm256_add_ps(first, _mm256_set1_ps(is_signed ? -8.0f : 8.0f));
  const std::size_t skipped = cells.skipped;
  const unsigned log2 = cells.log2_width;
  constexpr std::size_t kOfByte = kPacked ? 2 : 1;
  for (std::size_t i = 0; i < n;) {
    const std::size_t cell = (skipped + i) >> log2;
    const std::size_t end = log2 < 40 ? std::min(n, ((cell + 1) << log2) - skipped) : n;
    const TableOfCell<kBfloat16> table(first, second, factors[cell], offsets[cell]);
    for (; i + 32 <= end; i += 32) table.template LookUp<kPacked>(codes + i / kOfByte, out + 2 * i);
    if (i < end) {
      std::byte some[32] = {}, values[64];
      std::memcpy(some, codes + i / kOfByte, (end - i + kOfByte - 1) / kOfByte);
      table.template LookUp<kPacked>(some, values);
      std::memcpy(out + 2 * i, values, 2 * (end - i));
      i = end;
    }
  }
}

template <DataType kTo>
void ScaleIntegersTo(const std::byte* codes, std::size_t n, CodeRange range, const float* factors,
                     const float* offsets, const CellsInOrder& cells, std::byte* out) {
  constexpr bool kBfloat16 = kTo == DataType::kBfloat16;
  if (range == CodeRange::kNibbles) {
    return LookUpCellsOfSixteen<kBfloat16, true>(codes, n, false, factors, offsets, cells, out);
  }
  // A table is as long as half a cell of 32.
  if (range != CodeRange::kInt8 && cells.log2_width >= 5) {
    return LookUpCellsOfSixteen<kBfloat16, false>(codes, n, range == CodeRange::kInt4, factors,
                                                  offsets, cells, out);
  }
  ForEachVector<1, 2>(codes, out, n, cells, IntegerSums<kTo>{factors, offsets});
}

void ScaleIntegers(const std::byte* codes, std::size_t n, CodeRange range, const float* factors,
                   const float* offsets, const CellsInOrder& cells, DataType to, std::byte* out) {
  if (n == 0) return;
  switch (to) {
    case DataType::kBfloat16:
      return ScaleIntegersTo<DataType::kBfloat16>(codes, n, range, factors, offsets, cells, out);
    case DataType::kFloat16:
      return ScaleIntegersTo<DataType::kFloat16>(codes, n, range, factors, offsets, cells, out);
    default:
      return ForEachVector<1, 4>(codes, out, n, cells,
                                 IntegerSums<DataType::kFloat32>{factors, offsets});
  }
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_INTEGER_CELLS_INL_H_
