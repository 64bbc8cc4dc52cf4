// Codes of six and eight bits looked up in tables of bytes, which AVX-512 permutes with VBMI: to 16
// bits, to float32 with their factors, and with a table for each cell. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_BYTE_LOOK_UP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_BYTE_LOOK_UP_INL_H_
#undef TENSORCAST_SRC_SCALE_BYTE_LOOK_UP_INL_H_
#else
#define TENSORCAST_SRC_SCALE_BYTE_LOOK_UP_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/packed-inl.h"
#include "hwy/highway.h"
#include "scale/cell_lanes.h"

#if HWY_TARGET == HWY_AVX3_DL

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

// A table of two planes of bytes, which VBMI permutes: of codes of six bits, of magnitudes of seven
// with a sign above, or of codes of eight.
template <int kIndexBits> class ByteTable {
 public:
  explicit HWY_INLINE ByteTable(const std::byte* table) {
    for (std::size_t i = 0; i < 2 * kRows; ++i) rows_[i] = _mm512_loadu_si512(table + 64 * i);
  }
  // The results of 64 codes, interleaved within each 16 bytes.
  HWY_INLINE void LookUp(__m512i code, __m512i* halves) const {
    const __m512i low = Plane<0>(code);
    __m512i high = Plane<kRows>(code);
    if constexpr (kIndexBits == 7) {
      // high ^ (code & signs)
      high = _mm512_ternarylogic_epi32(high, code, _mm512_set1_epi8(static_cast<char>(0x80)), 0x78);
    }
    halves[0] = _mm512_unpacklo_epi8(low, high);
    halves[1] = _mm512_unpackhi_epi8(low, high);
  }

 private:
  static constexpr std::size_t kRows = (std::size_t{1} << kIndexBits) / 64;  // of a plane
  template <std::size_t kFirst> HWY_INLINE __m512i Plane(__m512i code) const {
    if constexpr (kIndexBits == 6) return _mm512_permutexvar_epi8(code, rows_[kFirst]);
    const __m512i first = _mm512_permutex2var_epi8(rows_[kFirst], code, rows_[kFirst + 1]);
    if constexpr (kIndexBits == 7) return first;
    return _mm512_mask_blend_epi8(
        _mm512_movepi8_mask(code), first,
        _mm512_permutex2var_epi8(rows_[kFirst + kRows - 2], code, rows_[kFirst + kRows - 1]));
  }
  __m512i rows_[2 * kRows];
};

// 64 codes, with anything above six bits, so that what is interleaved comes out in order.
template <int kBits> HWY_INLINE __m512i LoadForHalves(const std::byte* codes) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7),
                                  core::HWY_NAMESPACE::LoadCodes<kBits>(codes).raw);
}

template <int kIndexBits>
void LookUpBytes(const std::byte* codes, std::size_t n, const std::byte* tables,
                 const CellsInOrder& cells, std::byte* out) {
  constexpr std::size_t kTableBytes = std::size_t{2} << kIndexBits;
  for (std::size_t i = 0; i < n;) {
    const std::size_t cell = (cells.skipped + i) >> cells.log2_width;
    const std::size_t end =
        cells.log2_width < 40 ? std::min(n, ((cell + 1) << cells.log2_width) - cells.skipped) : n;
    const ByteTable<kIndexBits> table(tables + kTableBytes * cell);
    const auto step = [&](const std::byte* from, std::byte* to) HWY_ATTR {
      __m512i halves[2];
      table.LookUp(LoadForHalves<8>(from), halves);
      _mm512_storeu_si512(to, halves[0]);
      _mm512_storeu_si512(to + 64, halves[1]);
    };
    for (; i + 64 <= end; i += 64) step(codes + i, out + 2 * i);
    if (i < end) {
      std::byte some[64] = {}, values[128];
      std::memcpy(some, codes + i, end - i);
      step(some, values);
      std::memcpy(out + 2 * i, values, 2 * (end - i));
      i = end;
    }
  }
}

// 64 codes. factor(v) is that of the v-th sixteen of them.
template <int kBits, class Table, class Factor>
HWY_INLINE void MultiplyWhole(const std::byte* codes, const Table& values, const Factor& factor,
                              std::byte* out) {
  // Interleaved twice, fours of codes come out in order.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i zero = _mm512_setzero_si512();
  __m512i halves[2];
  values.LookUp(_mm512_permutexvar_epi32(order, core::HWY_NAMESPACE::LoadCodes<kBits>(codes).raw),
                halves);
  const auto store = [&](std::size_t v, __m512i bits) HWY_ATTR {
    _mm512_storeu_ps(out + 64 * v, _mm512_mul_ps(_mm512_castsi512_ps(bits), factor(v)));
  };
  store(0, _mm512_unpacklo_epi16(zero, halves[0]));
  store(1, _mm512_unpackhi_epi16(zero, halves[0]));
  store(2, _mm512_unpacklo_epi16(zero, halves[1]));
  store(3, _mm512_unpackhi_epi16(zero, halves[1]));
}

template <int kBits, int kIndexBits>
void MultiplyCodes(const std::byte* codes, std::size_t n, const std::byte* table,
                   const float* factors, const CellsInOrder& cells, std::byte* out) {
  const ByteTable<kIndexBits> values(table);
  const std::size_t skipped = cells.skipped;
  const unsigned log2 = cells.log2_width;
  const auto factors_from = [=](std::size_t i, std::size_t last) HWY_ATTR {
    return [=](std::size_t v) HWY_ATTR {
      return _mm512_set1_ps(factors[(skipped + std::min(i + 16 * v, last)) >> log2]);
    };
  };
  const auto few = [&](std::size_t i, std::size_t count) HWY_ATTR {
    std::byte some[64] = {}, results[256];
    std::memcpy(some, codes + i * kBits / 8, (count * kBits + 7) / 8);
    MultiplyWhole<kBits>(some, values, factors_from(i, i + count - 1), results);
    std::memcpy(out + 4 * i, results, 4 * count);
  };
  std::size_t i = std::min(n, log2 < 40 ? (16 - skipped % 16) % 16 : 0);
  if (i != 0) few(0, i);
  if (log2 < 40) {
    // Of cells of 32 two vectors have one factor.
    const auto whole = [&](std::size_t differing) HWY_ATTR {
      for (; i + 64 <= n; i += 64) {
        const auto factor = [&](std::size_t v) HWY_ATTR {
          return _mm512_set1_ps(factors[(skipped + i + 16 * (v & differing)) >> log2]);
        };
        MultiplyWhole<kBits>(codes + i * kBits / 8, values, factor, out + 4 * i);
      }
    };
    if (log2 >= 5 && (skipped + i) % 32 == 0) {
      whole(2);
    } else {
      whole(3);
    }
  } else {
    const __m512 factor = _mm512_set1_ps(factors[0]);
    for (; i + 64 <= n; i += 64) {
      MultiplyWhole<kBits>(
          codes + i * kBits / 8, values, [&](std::size_t /*v*/) HWY_ATTR { return factor; },
          out + 4 * i);
    }
  }
  if (i < n) few(i, n - i);
}

// Calls step(codes, first, second, out) for each 64 elements, two cells of at least 32; `first` and
// `second` are where these begin. A last one may be alone. Returns how many elements were done
// before a step said false, with nothing written.
template <int kBits, class Step>
HWY_INLINE std::size_t ForEachTwoCells(const std::byte* codes, std::size_t n, std::byte* out,
                                       const Step& step) {
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    if (!step(codes + i * kBits / 8, i, i + 32, out + 2 * i)) return i;
  }
  if (i < n) {
    std::byte some[64] = {}, results[128];
    std::memcpy(some, codes + i * kBits / 8, 32 * kBits / 8);
    if (!step(some, i, i, results)) return i;
    std::memcpy(out + 2 * i, results, 64);
  }
  return n;
}

// A sign of eight bits is a code's own.
template <int kBits>
void LookUpCells(const std::byte* codes, std::size_t n, const std::byte* tables,
                 const std::byte* scales, const CellsInOrder& cells, std::byte* out) {
  constexpr std::size_t kRows = kBits == 8 ? 4 : 2;  // of a table
  constexpr __mmask64 kFirst = 0x00FF00FF00FF00FF;
  constexpr __mmask64 kSecond = 0xFF00FF00FF00FF00;
  const __m512i signs = _mm512_set1_epi8(static_cast<char>(0x80));
  const std::size_t skipped = cells.skipped;
  const unsigned log2 = cells.log2_width;
  const auto step = [&](const std::byte* from, std::size_t first, std::size_t second,
                        std::byte* to) TENSORCAST_INLINED {
    const auto table_of = [&](std::size_t i) HWY_ATTR {
      return tables + 64 * kRows * std::to_integer<std::size_t>(scales[(skipped + i) >> log2]);
    };
    const std::byte* const first_table = table_of(first);
    const std::byte* const second_table = table_of(second);
    const auto row = [](const std::byte* table, std::size_t k)
                         HWY_ATTR { return _mm512_loadu_si512(table + 64 * k); };
    const __m512i code = LoadForHalves<kBits>(from);
    __m512i low, high;
    if constexpr (kBits == 8) {
      // Where a permutation is not asked for, the code stays.
      const auto plane = [&](std::size_t k) HWY_ATTR {
        const __m512i some = _mm512_mask2_permutex2var_epi8(row(first_table, k), code, kFirst,
                                                            row(first_table, k + 1));
        return _mm512_mask2_permutex2var_epi8(row(second_table, k), some, kSecond,
                                              row(second_table, k + 1));
      };
      low = plane(0);
      // plane ^ (code & signs)
      high = _mm512_ternarylogic_epi32(plane(2), code, signs, 0x78);
    } else {
      const auto plane = [&](std::size_t k) HWY_ATTR {
        return _mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(code, row(first_table, k)),
                                            kSecond, code, row(second_table, k));
      };
      low = plane(0);
      high = plane(1);
    }
    _mm512_storeu_si512(to, _mm512_unpacklo_epi8(low, high));
    _mm512_storeu_si512(to + 64, _mm512_unpackhi_epi8(low, high));
    return true;
  };
  ForEachTwoCells<kBits>(codes, n, out, step);
}

template <int kBits>
std::size_t LookUpPowers(const std::byte* codes, std::size_t n, const std::byte* table,
                         unsigned least_special, int bias, const std::byte* scales,
                         const CellsInOrder& cells, std::byte* out) {
  const ByteTable<kBits == 8 ? 7 : 6> values(table);
  const std::size_t skipped = cells.skipped;
  const unsigned log2 = cells.log2_width;
  const __m512i special = _mm512_set1_epi8(static_cast<char>(least_special));
  const __m512i magnitude_bits = _mm512_set1_epi8(0x7F);
  const auto step = [&](const std::byte* from, std::size_t first, std::size_t second,
                        std::byte* to) TENSORCAST_INLINED {
    const __m512i code = LoadForHalves<kBits>(from);
    if constexpr (kBits == 8) {
      const __m512i magnitude = _mm512_and_si512(code, magnitude_bits);
      if (HWY_UNLIKELY(_mm512_cmpge_epu8_mask(magnitude, special) != 0)) return false;
    }
    __m512i halves[2];
    values.LookUp(code, halves);
    const auto store = [&](std::size_t i, __m512i half, std::byte* place) HWY_ATTR {
      const int scale = std::to_integer<int>(scales[(skipped + i) >> log2]);
      const __m512i added = _mm512_set1_epi16(static_cast<short>((scale - bias) * 0x80));
      const __mmask32 is_number = _mm512_test_epi16_mask(half, _mm512_set1_epi16(0x7FFF));
      _mm512_storeu_si512(place, _mm512_mask_add_epi16(half, is_number, half, added));
    };
    store(first, halves[0], to);
    store(second, halves[1], to + 64);
    return true;
  };
  return ForEachTwoCells<kBits>(codes, n, out, step);
}

template <std::size_t kCodes> void FillBytes(const std::byte* values, std::byte* table) {
  for (std::size_t i = 0; i < kCodes; i += 32) {
    const __m512i some = _mm512_loadu_si512(values + 2 * i);
    const auto store = [](std::byte* to, __m512i lanes) HWY_ATTR {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi16_epi8(lanes));
    };
    store(table + i, some);
    store(table + kCodes + i, _mm512_srli_epi16(some, 8));
  }
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_DL
#endif  // TENSORCAST_SRC_SCALE_BYTE_LOOK_UP_INL_H_
