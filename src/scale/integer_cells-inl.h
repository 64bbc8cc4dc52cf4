// Integers with the factors and offsets of their cells in AVX2, each value rounded once: one by
// one, or of four bits by a table of the sixteen of a cell. Included once per target, after
// rounded_products-inl.h and nibble_rows-inl.h.
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
#include <type_traits>

#include "hwy/highway.h"
#include "scale/cell_lanes.h"
#include "scale/magnitude_rows-inl.h"
#include "scale/nibble_rows-inl.h"
#include "scale/rounded_products-inl.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

// Calls of_cell.Run(i, count, cell) for the elements of each cell; of cells as small as most are,
// count is a constant.
template <class OfCell>
HWY_INLINE void ForEachCell(std::size_t n, const CellsInOrder& cells, const OfCell& of_cell) {
  if (cells.log2_width >= 40) return of_cell.Run(0, n, 0);
  const std::size_t width = std::size_t{1} << cells.log2_width;
  std::size_t i = 0, cell = cells.skipped / width;
  if (const std::size_t skipped = cells.skipped % width; skipped != 0) {
    i = std::min(n, width - skipped);
    of_cell.Run(0, i, cell++);
  }
  const std::size_t end = i + (n - i) / width * width;
  if (width == 16) {
    for (; i < end; i += 16) of_cell.Run(i, std::integral_constant<std::size_t, 16>(), cell++);
  } else if (width == 32) {
    for (; i < end; i += 32) of_cell.Run(i, std::integral_constant<std::size_t, 32>(), cell++);
  } else {
    for (; i < end; i += width) of_cell.Run(i, width, cell++);
  }
  if (i < n) of_cell.Run(i, n - i, cell);
}

// Sixteen codes of a cell. Sums are float32s, so that one rounding is left.
template <DataType kTo, bool kSigned>
HWY_INLINE void ScaleSixteen(const std::byte* codes, __m256 factor, __m256 offset, std::byte* out) {
  if constexpr (kTo == DataType::kBfloat16) {
    const PairedBytes<kSigned> some(codes);
    StoreWhole(out, Nearest(PairsOf(_mm256_fmadd_ps(some.even, factor, offset),
                                    _mm256_fmadd_ps(some.odd, factor, offset))));
    return;
  }
  for (std::size_t v = 0; v < 2; ++v) {
    const __m128i some = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + 8 * v));
    const __m256i wide = kSigned ? _mm256_cvtepi8_epi32(some) : _mm256_cvtepu8_epi32(some);
    const __m256 sums = _mm256_fmadd_ps(_mm256_cvtepi32_ps(wide), factor, offset);
    if constexpr (kTo == DataType::kFloat32) {
      _mm256_storeu_ps(reinterpret_cast<float*>(out) + 8 * v, sums);
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * v), _mm256_cvtps_ph(sums, kToNearest));
    }
  }
}

template <DataType kTo, bool kSigned> struct BytesOfCells {
  template <class Count> HWY_INLINE void Run(std::size_t i, Count count, std::size_t cell) const {
    constexpr std::size_t kBytes = kTo == DataType::kFloat32 ? 4 : 2;
    __m256 factor = _mm256_broadcast_ss(factors + cell);
    if constexpr (kTo == DataType::kBfloat16) factor = PairedBytes<kSigned>::Adjusted(factor);
    const __m256 offset = _mm256_broadcast_ss(offsets + cell);
    std::size_t done = 0;
    for (; done + 16 <= count; done += 16) {
      ScaleSixteen<kTo, kSigned>(codes + i + done, factor, offset, out + kBytes * (i + done));
    }
    if (done == count) return;
    std::byte some[16] = {}, values[16 * kBytes];
    std::memcpy(some, codes + i + done, count - done);
    ScaleSixteen<kTo, kSigned>(some, factor, offset, values);
    std::memcpy(out + kBytes * (i + done), values, kBytes * (count - done));
  }
  const std::byte* codes;
  const float* factors;
  const float* offsets;
  std::byte* out;
};

// Sixteen numbers in the order in which those of 16 bits are made of two vectors of them.
template <bool kBfloat16> struct SixteenNumbers {
  // Of the code 0, and of the code 8.
  HWY_INLINE SixteenNumbers(float from, float from_eighth) {
    alignas(32) float numbers[2][8];
    for (std::size_t code = 0; code < 16; ++code) {
      const float number =
          code < 8 ? from + static_cast<float>(code) : from_eighth + static_cast<float>(code - 8);
      (kBfloat16 ? numbers[code % 2][code / 2] : numbers[code / 8][code % 8]) = number;
    }
    first = _mm256_load_ps(numbers[0]);
    second = _mm256_load_ps(numbers[1]);
  }
  __m256 first, second;
};

// The sixteen values of a cell, as rows of lower and of upper bytes.
template <bool kBfloat16> class TableOfCell {
 public:
  HWY_INLINE TableOfCell(const SixteenNumbers<kBfloat16>& numbers, const float* factor,
                         const float* offset) {
    const __m256 by = _mm256_broadcast_ss(factor), and_this = _mm256_broadcast_ss(offset);
    const __m256 first = _mm256_fmadd_ps(numbers.first, by, and_this);
    const __m256 second = _mm256_fmadd_ps(numbers.second, by, and_this);
    __m256i halves;
    if constexpr (kBfloat16) {
      halves = Nearest(PairsOf(first, second));
    } else {
      halves = RoundedHalves<false>(first, second);
    }
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
    __m256i code;
    if constexpr (kPacked) {
      code = CodesOfTwo<true, 8>(codes);
    } else {
      code = _mm256_and_si256(_mm256_permute4x64_epi64(LoadWhole(codes), 0xD8), SetBytes(0xF));
    }
    const __m256i low = _mm256_shuffle_epi8(low_, code), high = _mm256_shuffle_epi8(high_, code);
    StoreWhole(out, _mm256_unpacklo_epi8(low, high));
    StoreWhole(out + 32, _mm256_unpackhi_epi8(low, high));
  }

 private:
  __m256i low_, high_;
};

template <bool kBfloat16, bool kPacked> struct TablesOfCells {
  template <class Count> HWY_INLINE void Run(std::size_t i, Count count, std::size_t cell) const {
    constexpr std::size_t kOfByte = kPacked ? 2 : 1;
    const TableOfCell<kBfloat16> table(numbers, factors + cell, offsets + cell);
    const auto* const from = codes + i / kOfByte;
    std::byte* const to = out + 2 * i;
    std::size_t done = 0;
    for (; done + 32 <= count; done += 32) {
      table.template LookUp<kPacked>(from + done / kOfByte, to + 2 * done);
    }
    if (done == count) return;
    std::byte some[32] = {}, values[64];
    std::memcpy(some, from + done / kOfByte, (count - done + kOfByte - 1) / kOfByte);
    table.template LookUp<kPacked>(some, values);
    std::memcpy(to + 2 * done, values, 2 * (count - done));
  }
  const SixteenNumbers<kBfloat16> numbers;
  const std::byte* codes;
  const float* factors;
  const float* offsets;
  std::byte* out;
};

template <DataType kTo>
void ScaleBytes(const std::byte* codes, std::size_t n, CodeRange range, const float* factors,
                const float* offsets, const CellsInOrder& cells, std::byte* out) {
  if (range == CodeRange::kInt8 || range == CodeRange::kInt4) {
    ForEachCell(n, cells, BytesOfCells<kTo, true>{codes, factors, offsets, out});
  } else {
    ForEachCell(n, cells, BytesOfCells<kTo, false>{codes, factors, offsets, out});
  }
}

template <DataType kTo>
void ScaleIntegersTo(const std::byte* codes, std::size_t n, CodeRange range, const float* factors,
                     const float* offsets, const CellsInOrder& cells, std::byte* out) {
  constexpr bool kBfloat16 = kTo == DataType::kBfloat16;
  if (range == CodeRange::kNibbles) {
    const SixteenNumbers<kBfloat16> numbers(0, 8);
    return ForEachCell(n, cells,
                       TablesOfCells<kBfloat16, true>{numbers, codes, factors, offsets, out});
  }
  // A table is as long as half a cell of 32.
  const bool has_four_bits = range == CodeRange::kInt4 || range == CodeRange::kUint4;
  if (has_four_bits && cells.log2_width >= 5) {
    const SixteenNumbers<kBfloat16> numbers(0, range == CodeRange::kInt4 ? -8.0f : 8.0f);
    return ForEachCell(n, cells,
                       TablesOfCells<kBfloat16, false>{numbers, codes, factors, offsets, out});
  }
  ScaleBytes<kTo>(codes, n, range, factors, offsets, cells, out);
}

void ScaleIntegers(const std::byte* codes, std::size_t n, CodeRange range, const float* factors,
                   const float* offsets, const CellsInOrder& cells, DataType to, std::byte* out) {
  switch (to) {
    case DataType::kBfloat16:
      return ScaleIntegersTo<DataType::kBfloat16>(codes, n, range, factors, offsets, cells, out);
    case DataType::kFloat16:
      return ScaleIntegersTo<DataType::kFloat16>(codes, n, range, factors, offsets, cells, out);
    default: return ScaleBytes<DataType::kFloat32>(codes, n, range, factors, offsets, cells, out);
  }
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_INTEGER_CELLS_INL_H_
