// Codes of eight bits with a sign looked up in AVX2, which permutes among 16 bytes: to 16 bits by a
// table for each cell, and to float32 with their factors. Included once per target.
//
// Magnitudes of a float are rows of 16 codes. From one row to the next a product's exponent grows
// by as much each time, so that one row and what is added to its upper byte give all rows whose
// products are normal numbers of the type wanted. The first row, which has zero and subnormal
// codes, stands by itself; what is neither (NaN, and products that are subnormal or Inf) is looked
// up among all rows. Which rows those are is found by comparing when a table is made.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_MAGNITUDE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_MAGNITUDE_ROWS_INL_H_
#undef TENSORCAST_SRC_SCALE_MAGNITUDE_ROWS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_MAGNITUDE_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/look_up-inl.h"
#include "hwy/highway.h"
#include "scale/cell_lanes.h"
#include "scale/rounded_products-inl.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

inline constexpr std::size_t kMagnitudes = 128;
inline constexpr std::size_t kRow = 16;  // codes

// How a table stands in its bytes. Of each row the lower bytes stand before the upper ones.
struct RowTable {
  alignas(64) std::uint8_t first[2][kRow];
  std::uint8_t regular[2][kRow];  // what all regular rows begin with
  std::uint8_t added[kRow];       // to the upper byte, by row
  std::uint8_t from;              // the least regular magnitude
  std::uint8_t beyond;            // of regular magnitudes, the largest less the least
  alignas(64) std::uint8_t all[2][kMagnitudes];
};

HWY_INLINE __m256i LoadWhole(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
HWY_INLINE void StoreWhole(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
HWY_INLINE __m256i LoadRow(const void* row) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(row)));
}
HWY_INLINE __m256i SetBytes(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }

// Of magnitudes that a regular row has not.
HWY_NOINLINE void LookUpAllRows(const RowTable& table, __m256i magnitude, __m256i* low,
                                __m256i* high) {
  using Rows = core::HWY_NAMESPACE::RowsLookup<kMagnitudes / kRow>;
  const core::HWY_NAMESPACE::V8 code{magnitude};
  *low = Rows(table.all[0])(code).raw;
  *high = Rows(table.all[1])(code).raw;
}

class RowsOfMagnitudes {
 public:
  explicit HWY_INLINE RowsOfMagnitudes(const std::byte* table)
      : table_(*reinterpret_cast<const RowTable*>(table)),
        added_(LoadRow(table_.added)),
        from_(SetBytes(table_.from)),
        beyond_(SetBytes(table_.beyond)) {
    for (std::size_t i = 0; i < 2; ++i) {
      first_[i] = LoadRow(table_.first[i]);
      regular_[i] = LoadRow(table_.regular[i]);
    }
  }
  // The results of 32 codes, interleaved within each 16 bytes.
  HWY_INLINE void LookUp(__m256i code, __m256i* halves) const {
    const __m256i magnitude = _mm256_and_si256(code, SetBytes(0x7F));
    const __m256i row = _mm256_and_si256(_mm256_srli_epi16(code, 4), SetBytes(7));
    const __m256i is_first = _mm256_cmpeq_epi8(row, _mm256_setzero_si256());
    const auto of_row = [&](std::size_t i) HWY_ATTR {
      return _mm256_blendv_epi8(_mm256_shuffle_epi8(regular_[i], magnitude),
                                _mm256_shuffle_epi8(first_[i], magnitude), is_first);
    };
    __m256i low = of_row(0);
    // Nothing is added in the first row.
    __m256i high = _mm256_add_epi8(of_row(1), _mm256_shuffle_epi8(added_, row));
    const __m256i place = _mm256_sub_epi8(magnitude, from_);  // below it, 128 and more
    const __m256i is_regular = _mm256_cmpeq_epi8(_mm256_max_epu8(place, beyond_), beyond_);
    if (HWY_UNLIKELY(_mm256_movemask_epi8(_mm256_or_si256(is_regular, is_first)) != -1)) {
      LookUpAllRows(table_, magnitude, &low, &high);
    }
    high = _mm256_xor_si256(high, _mm256_andnot_si256(SetBytes(0x7F), code));
    halves[0] = _mm256_unpacklo_epi8(low, high);
    halves[1] = _mm256_unpackhi_epi8(low, high);
  }

 private:
  const RowTable& table_;
  __m256i first_[2], regular_[2], added_, from_, beyond_;
};

// `values`, of 16 bits, become a table.
void FillRows(const std::byte* values, std::byte* table) {
  RowTable& to = *reinterpret_cast<RowTable*>(table);
  const auto row = [&](std::size_t r) HWY_ATTR { return LoadWhole(values + 2 * kRow * r); };
  const auto split = [](__m256i halves, std::uint8_t* lower, std::uint8_t* upper) HWY_ATTR {
    const __m256i low = _mm256_and_si256(halves, _mm256_set1_epi16(0xFF));
    const __m256i both = _mm256_packus_epi16(low, _mm256_srli_epi16(halves, 8));
    const __m256i in_order = _mm256_permute4x64_epi64(both, 0xD8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(lower), _mm256_castsi256_si128(in_order));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(upper), _mm256_extracti128_si256(in_order, 1));
  };
  constexpr int kRows = kMagnitudes / kRow;
  for (std::size_t r = 0; r < kRows; ++r) split(row(r), to.all[0] + kRow * r, to.all[1] + kRow * r);
  // The last row but one, as what is not finite ends the last one; both begin with what is normal
  // if anything is.
  constexpr int kKnown = kRows - 2;
  std::uint16_t known, next;
  std::memcpy(&known, values + 2 * kRow * kKnown, sizeof(known));
  std::memcpy(&next, values + 2 * kRow * (kKnown + 1), sizeof(next));
  const auto step = static_cast<std::uint16_t>(next - known);
  const auto expected = [&](int r) HWY_ATTR {
    return _mm256_add_epi16(row(kKnown),
                            _mm256_set1_epi16(static_cast<short>((r - kKnown) * step)));
  };
  // A bit for each byte that is as it is expected.
  const auto as_expected = [&](int r) HWY_ATTR {
    return static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi16(row(static_cast<std::size_t>(r)), expected(r))));
  };
  split(row(0), to.first[0], to.first[1]);
  split(expected(0), to.regular[0], to.regular[1]);
  for (int r = 0; r < kRows; ++r) to.added[r] = static_cast<std::uint8_t>(r * (step >> 8));
  to.from = kMagnitudes;  // of which none is within 0
  to.beyond = 0;
  if (step % 0x100 != 0) return;
  int r = kKnown;
  while (r > 1 && as_expected(r - 1) == ~0u) --r;
  to.from = static_cast<std::uint8_t>(kRow * static_cast<std::size_t>(r));
  const std::uint64_t others = ~std::uint64_t{as_expected(kRows - 1)};
  const std::size_t in_last = hwy::Num0BitsBelowLS1Bit_Nonzero64(others) / 2;
  to.beyond = static_cast<std::uint8_t>(kMagnitudes - kRow + in_last - 1 - to.from);
}

template <bool kBfloat16> void FillWithProductsAs(const float* values, float by, std::byte* table) {
  const __m256 factor = _mm256_set1_ps(by);
  alignas(64) std::byte products[2 * kMagnitudes];
  for (std::size_t i = 0; i < kMagnitudes; i += kRow) {
    StoreWhole(products + 2 * i,
               RoundedHalves<kBfloat16>(OddProducts(_mm256_loadu_ps(values + i), factor),
                                        OddProducts(_mm256_loadu_ps(values + i + 8), factor)));
  }
  FillRows(products, table);
}

void FillRowsWithProducts(const float* values, float factor, bool is_bfloat16, std::byte* table) {
  if (is_bfloat16) return FillWithProductsAs<true>(values, factor, table);
  FillWithProductsAs<false>(values, factor, table);
}

// 32 codes, to 16 bits in order.
HWY_INLINE void LookUpWhole(const RowsOfMagnitudes& rows, const std::byte* codes, std::byte* out) {
  __m256i halves[2];
  rows.LookUp(_mm256_permute4x64_epi64(LoadWhole(codes), 0xD8), halves);
  StoreWhole(out, halves[0]);
  StoreWhole(out + 32, halves[1]);
}

void LookUpRowsOfCells(const std::byte* codes, std::size_t n, const std::byte* tables,
                       const CellsInOrder& cells, std::byte* out) {
  for (std::size_t i = 0; i < n;) {
    const std::size_t cell = (cells.skipped + i) >> cells.log2_width;
    const std::size_t end =
        cells.log2_width < 40 ? std::min(n, ((cell + 1) << cells.log2_width) - cells.skipped) : n;
    const RowsOfMagnitudes rows(tables + sizeof(RowTable) * cell);
    for (; i + 32 <= end; i += 32) LookUpWhole(rows, codes + i, out + 2 * i);
    if (i < end) {
      std::byte some[32] = {}, values[64];
      std::memcpy(some, codes + i, end - i);
      LookUpWhole(rows, some, values);
      std::memcpy(out + 2 * i, values, 2 * (end - i));
      i = end;
    }
  }
}

void LookUpRowsByScales(const std::byte* codes, std::size_t n, const std::byte* tables,
                        const std::byte* scales, const CellsInOrder& cells, std::byte* out) {
  const std::size_t skipped = cells.skipped;
  const unsigned log2 = cells.log2_width;
  for (std::size_t i = 0; i < n; i += 32) {
    const auto scale = std::to_integer<std::size_t>(scales[(skipped + i) >> log2]);
    LookUpWhole(RowsOfMagnitudes(tables + sizeof(RowTable) * scale), codes + i, out + 2 * i);
  }
}

// 32 codes. factor(v) is that of the v-th sixteen of them.
template <class Factor>
HWY_INLINE void MultiplyRows(const std::byte* codes, const RowsOfMagnitudes& rows,
                             const Factor& factor, std::byte* out) {
  // Interleaved twice, fours of codes come out in order.
  const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
  const __m256i zero = _mm256_setzero_si256();
  __m256i halves[2];
  rows.LookUp(_mm256_permutevar8x32_epi32(LoadWhole(codes), order), halves);
  for (std::size_t v = 0; v < 2; ++v) {
    const __m256 by = factor(v);
    const auto store = [&](std::size_t i, __m256i bits) HWY_ATTR {
      _mm256_storeu_ps(reinterpret_cast<float*>(out) + 16 * v + 8 * i,
                       _mm256_mul_ps(_mm256_castsi256_ps(bits), by));
    };
    store(0, _mm256_unpacklo_epi16(zero, halves[v]));
    store(1, _mm256_unpackhi_epi16(zero, halves[v]));
  }
}

void MultiplyMagnitudes(const std::byte* codes, std::size_t n, const std::byte* table,
                        const float* factors, const CellsInOrder& cells, std::byte* out) {
  const RowsOfMagnitudes rows(table);
  const std::size_t skipped = cells.skipped;
  const unsigned log2 = cells.log2_width;
  const auto factors_from = [=](std::size_t i, std::size_t last) HWY_ATTR {
    return [=](std::size_t v) HWY_ATTR {
      return _mm256_broadcast_ss(factors + ((skipped + std::min(i + 16 * v, last)) >> log2));
    };
  };
  const auto few = [&](std::size_t i, std::size_t count) HWY_ATTR {
    std::byte some[32] = {}, results[128];
    std::memcpy(some, codes + i, count);
    MultiplyRows(some, rows, factors_from(i, i + count - 1), results);
    std::memcpy(out + 4 * i, results, 4 * count);
  };
  std::size_t i = std::min(n, log2 < 40 ? (16 - skipped % 16) % 16 : 0);
  if (i != 0) few(0, i);
  for (; i + 32 <= n; i += 32) {
    MultiplyRows(codes + i, rows, factors_from(i, n - 1), out + 4 * i);
  }
  if (i < n) few(i, n - i);
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_MAGNITUDE_ROWS_INL_H_
