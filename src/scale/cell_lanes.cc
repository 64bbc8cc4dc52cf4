// The lanes of cells.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scale/cell_lanes.cc"
#include "hwy/foreach_target.h"

#include "scale/cell_lanes.h"

#include <algorithm>
#include <cstring>

#include "core/kernels.h"
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR
#include "core/packed-inl.h"
#include "scale/error_lanes-inl.h"
#include "scale/gguf_lanes-inl.h"
#include "scale/half_quotients-inl.h"
#include "scale/largest-inl.h"
#include "scale/product_tables-inl.h"
#include "scale/quotients-inl.h"
#include "scale/scales-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<std::uint16_t>;
using D8x16 = hn::FixedTag<std::uint8_t, 16>;

// ----------------------------------------------------------------------------------------- tables

#if HWY_TARGET <= HWY_AVX3
// Permutations of 16- and 32-bit lanes: a table is its values in order.
constexpr bool kHasPlanes = false;

HWY_INLINE __m256i LoadHalf(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

// The groups of 16 bytes in words, each with its code in the low four bits and anything above.
HWY_INLINE __m512i CodesInWords(const std::byte* packed) {
  const __m512i bytes =
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(packed)));
  // Each lane of 128 bits has four bytes of them, twice each.
  const __m512i low = _mm512_set_epi64(0x0F0E0F0E0F0E0F0E, 0x0D0C0D0C0D0C0D0C, 0x0B0A0B0A0B0A0B0A,
                                       0x0908090809080908, 0x0706070607060706, 0x0504050405040504,
                                       0x0302030203020302, 0x0100010001000100);
  const __m512i shifts = _mm512_set1_epi64(0x000C000800040000);
  return _mm512_srlv_epi16(_mm512_shuffle_epi8(bytes, low), shifts);
}

// kPairs: two groups have one table, which stands twice: it does not matter what is above four
// bits.
template <bool kPairs, class TableOf>
HWY_INLINE void LookUp16Of(const std::byte* packed, std::size_t groups, const TableOf& table_of,
                           std::byte* out) {
  const __m512i low_bits = _mm512_set1_epi16(0xF);
  const __m512i upper = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(16), 1);
  const auto two = [&](const std::byte* from, std::size_t first, std::size_t second,
                       std::byte* to) HWY_ATTR {
    __m512i index = CodesInWords(from), table;
    if constexpr (kPairs) {
      table = _mm512_broadcast_i64x4(LoadHalf(table_of(first)));
    } else {
      // (index & low_bits) | upper
      index = _mm512_ternarylogic_epi32(index, low_bits, upper, 0xEA);
      table = _mm512_inserti64x4(_mm512_castsi256_si512(LoadHalf(table_of(first))),
                                 LoadHalf(table_of(second)), 1);
    }
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(index, table));
  };
  std::size_t g = 0;
  for (; g + 4 <= groups; g += 4) {
    two(packed + 8 * g, g, g + 1, out + 32 * g);
    two(packed + 8 * g + 16, g + 2, g + 3, out + 32 * g + 64);
  }
  for (; g < groups; g += 2) {
    if (g + 1 < groups) {
      two(packed + 8 * g, g, g + 1, out + 32 * g);
    } else {
      std::byte some[16] = {}, values[64];
      std::memcpy(some, packed + 8 * g, 8);
      two(some, g, g, values);
      std::memcpy(out + 32 * g, values, 32);
    }
  }
}

// The codes of eight bytes in the low four bits of 32-bit lanes, with anything above.
HWY_INLINE __m512i CodesInLanes(const std::byte* packed) {
#if HWY_TARGET == HWY_AVX3_DL
  std::int64_t bytes;
  std::memcpy(&bytes, packed, sizeof(bytes));
  // Of each lane the first byte begins with its code.
  const __m512i places = _mm512_set_epi64(0x3C00000038, 0x3400000030, 0x2C00000028, 0x2400000020,
                                          0x1C00000018, 0x1400000010, 0x0C00000008, 0x0400000000);
  return _mm512_multishift_epi64_epi8(places, _mm512_set1_epi64(bytes));
#else
  const __m512i bytes =
      _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(packed)));
  return _mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 28));
#endif
}

template <class TableOf>
HWY_INLINE void LookUp32Of(const std::byte* packed, std::size_t groups, const TableOf& table_of,
                           std::byte* out) {
  const auto one = [&](std::size_t g) HWY_ATTR {
    _mm512_storeu_si512(out + 64 * g, _mm512_permutexvar_epi32(CodesInLanes(packed + 8 * g),
                                                               _mm512_loadu_si512(table_of(g))));
  };
  std::size_t g = 0;
  for (; g + 4 <= groups; g += 4) {
    for (std::size_t i = 0; i < 4; ++i) one(g + i);
  }
  for (; g < groups; ++g) one(g);
}
#else
// A table is planes, of its values' lowest bytes, the next ones and so on.
constexpr bool kHasPlanes = true;

// Calls step(codes, table, g) with the codes of each group, one a byte.
template <class TableOf, class Step>
HWY_INLINE void ForEachGroup(const std::byte* packed, std::size_t groups, const TableOf& table_of,
                             const Step& step) {
  const D8x16 d;
  std::size_t g = 0;
  const auto take = [&](const std::byte* from, bool both) HWY_ATTR {
    const auto bytes = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from));
    const auto low = hn::And(bytes, hn::Set(d, std::uint8_t{0xF}));
    const auto high = hn::ShiftRight<4>(bytes);
    step(hn::InterleaveLower(d, low, high), table_of(g), g);
    if (both) step(hn::InterleaveUpper(d, low, high), table_of(g + 1), g + 1);
  };
  for (; g + 2 <= groups; g += 2) take(packed + 8 * g, true);
  if (g < groups) {
    std::byte some[16] = {};
    std::memcpy(some, packed + 8 * g, 8);
    take(some, false);
  }
}

HWY_INLINE hn::VFromD<D8x16> Plane(const std::byte* table, std::size_t plane,
                                   hn::VFromD<D8x16> codes) {
  return hn::TableLookupBytes(
      hn::LoadU(D8x16(), reinterpret_cast<const std::uint8_t*>(table + 16 * plane)), codes);
}

template <bool /*kPairs*/, class TableOf>
HWY_INLINE void LookUp16Of(const std::byte* packed, std::size_t groups, const TableOf& table_of,
                           std::byte* out) {
  const D8x16 d;
  ForEachGroup(packed, groups, table_of,
               [&](hn::VFromD<D8x16> codes, const std::byte* table, std::size_t g) HWY_ATTR {
                 auto* const to = reinterpret_cast<std::uint8_t*>(out + 32 * g);
                 const auto low = Plane(table, 0, codes), high = Plane(table, 1, codes);
                 hn::StoreU(hn::InterleaveLower(d, low, high), d, to);
                 hn::StoreU(hn::InterleaveUpper(d, low, high), d, to + 16);
               });
}

template <class TableOf>
HWY_INLINE void LookUp32Of(const std::byte* packed, std::size_t groups, const TableOf& table_of,
                           std::byte* out) {
  const D8x16 d;
  const hn::FixedTag<std::uint16_t, 8> d16;
  ForEachGroup(packed, groups, table_of,
               [&](hn::VFromD<D8x16> codes, const std::byte* table, std::size_t g) HWY_ATTR {
                 auto* const to = reinterpret_cast<std::uint16_t*>(out + 64 * g);
                 const auto a = Plane(table, 0, codes), b = Plane(table, 1, codes);
                 const auto c = Plane(table, 2, codes), e = Plane(table, 3, codes);
                 const auto low = hn::BitCast(d16, hn::InterleaveLower(d, a, b));
                 const auto low_upper = hn::BitCast(d16, hn::InterleaveUpper(d, a, b));
                 const auto high = hn::BitCast(d16, hn::InterleaveLower(d, c, e));
                 const auto high_upper = hn::BitCast(d16, hn::InterleaveUpper(d, c, e));
                 hn::StoreU(hn::InterleaveLower(d16, low, high), d16, to);
                 hn::StoreU(hn::InterleaveUpper(d16, low, high), d16, to + 8);
                 hn::StoreU(hn::InterleaveLower(d16, low_upper, high_upper), d16, to + 16);
                 hn::StoreU(hn::InterleaveUpper(d16, low_upper, high_upper), d16, to + 24);
               });
}
#endif

// The table of each group: what is stored may not change where they are.
HWY_INLINE auto TablesOf(const std::byte* tables, std::size_t bytes, const std::byte* codes,
                         const CellsInOrder& cells) {
  return [=, skipped = cells.skipped, log2 = cells.log2_width](std::size_t g) HWY_ATTR {
    return tables + bytes * std::to_integer<std::size_t>(codes[(skipped + g) >> log2]);
  };
}

void LookUp16(const std::byte* packed, std::size_t groups, const std::byte* tables,
              const std::byte* codes, const CellsInOrder& cells, std::byte* out) {
  const auto table_of = TablesOf(tables, 2 * kNibbles, codes, cells);
  if (cells.log2_width != 0 && cells.skipped % 2 == 0) {
    LookUp16Of<true>(packed, groups, table_of, out);
  } else {
    LookUp16Of<false>(packed, groups, table_of, out);
  }
}

void LookUp32(const std::byte* packed, std::size_t groups, const std::byte* tables,
              const std::byte* codes, const CellsInOrder& cells, std::byte* out) {
  LookUp32Of(packed, groups, TablesOf(tables, 4 * kNibbles, codes, cells), out);
}

template <std::size_t kBytes> void Fill(const std::byte* values, std::byte* table) {
  for (std::size_t i = 0; i < kNibbles; ++i) {
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      table[kHasPlanes ? kNibbles * byte + i : kBytes * i + byte] = values[kBytes * i + byte];
    }
  }
}

#if HWY_TARGET == HWY_AVX3_DL
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

// Two cells at once. A sign of eight bits is a code's own.
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
                        std::byte* to) HWY_ATTR {
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
  };
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) step(codes + i * kBits / 8, i, i + 32, out + 2 * i);
  if (i < n) {
    std::byte some[64] = {}, values[128];
    std::memcpy(some, codes + i * kBits / 8, 32 * kBits / 8);
    step(some, i, i, values);
    std::memcpy(out + 2 * i, values, 64);
  }
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
                        std::byte* to) HWY_ATTR {
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
#endif

// ---------------------------------------------------------------------------------- transposition

// Squares of 16 bytes a side. Interleaving row i with row i + half turns the bits of an element's
// row and column by one, so that as many rounds as a column has bits swap the two.
template <class T>
void Transpose(const std::byte* in, std::size_t in_stride, std::size_t rows, std::size_t columns,
               std::byte* out, std::size_t out_stride) {
  constexpr std::size_t kSide = 16 / sizeof(T);
  const hn::FixedTag<T, kSide> d;
  using V = hn::VFromD<decltype(d)>;
  const auto* const from = reinterpret_cast<const T*>(in);
  auto* const to = reinterpret_cast<T*>(out);
  const std::size_t whole_rows = rows / kSide * kSide, whole_columns = columns / kSide * kSide;
  for (std::size_t c = 0; c < whole_columns; c += kSide) {
    for (std::size_t r = 0; r < whole_rows; r += kSide) {
      V square[kSide];
      for (std::size_t i = 0; i < kSide; ++i) {
        square[i] = hn::LoadU(d, from + (r + i) * in_stride + c);
      }
      for (std::size_t round = 1; round < kSide; round *= 2) {
        V next[kSide];
        for (std::size_t i = 0; i < kSide / 2; ++i) {
          next[2 * i] = hn::InterleaveLower(d, square[i], square[i + kSide / 2]);
          next[2 * i + 1] = hn::InterleaveUpper(d, square[i], square[i + kSide / 2]);
        }
        for (std::size_t i = 0; i < kSide; ++i) square[i] = next[i];
      }
      for (std::size_t i = 0; i < kSide; ++i) {
        hn::StoreU(square[i], d, to + (c + i) * out_stride + r);
      }
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      std::memcpy(to + c * out_stride + r, from + r * in_stride + c, sizeof(T));
    }
  }
}

// ------------------------------------------------------------------------------- largest magnitude

template <class T, class D>
HWY_INLINE void Largest(D d, const std::byte* x, std::size_t cells, std::size_t width, T infinity,
                        std::uint32_t* largest) {
  const std::size_t lanes = hn::Lanes(d);
  const auto magnitude_bits = hn::Set(d, static_cast<T>(~(T{1} << (8 * sizeof(T) - 1))));
  const auto least_not_finite = hn::Set(d, infinity);
  const auto at = [&](const std::byte* p) HWY_ATTR {
    const auto bits = hn::And(hn::LoadU(d, reinterpret_cast<const T*>(p)), magnitude_bits);
    return hn::IfThenElseZero(hn::Lt(bits, least_not_finite), bits);
  };
  for (std::size_t cell = 0; cell < cells; ++cell, x += width * sizeof(T)) {
    auto most = at(x), other = hn::Zero(d);
    std::size_t i = lanes;
    for (; i + 2 * lanes <= width; i += 2 * lanes) {
      most = hn::Max(most, at(x + i * sizeof(T)));
      other = hn::Max(other, at(x + (i + lanes) * sizeof(T)));
    }
    for (; i + lanes <= width; i += lanes) most = hn::Max(most, at(x + i * sizeof(T)));
    // Some twice, rather than too few.
    if (i < width) most = hn::Max(most, at(x + (width - lanes) * sizeof(T)));
    most = hn::Max(most, other);
    largest[cell] = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(d, most)));
  }
}

// As one() does it for some cells; of many narrow ones at once, where the target has that.
template <std::size_t kBytes, class One>
HWY_INLINE void LargestOfCells(const std::byte* x, std::size_t cells, std::size_t width,
                               std::uint32_t infinity, std::uint32_t* largest, const One& one) {
  std::size_t done = 0;
#if HWY_TARGET <= HWY_AVX3
  std::uint32_t most = 0;
  done = LargestOfMany<kBytes>(x, cells, width, largest, &most);
  for (std::size_t i = 0; most >= infinity && i < done; ++i) {
    if (largest[i] >= infinity) one(x + i * width * kBytes, 1, largest + i);
  }
#else
  (void)infinity;
#endif
  one(x + done * width * kBytes, cells - done, largest + done);
}

void Largest32(const std::byte* x, std::size_t cells, std::size_t width, std::uint32_t* largest) {
  constexpr std::int32_t kInfinity = 0x7F800000;
  LargestOfCells<4>(x, cells, width, kInfinity, largest,
                    [&](const std::byte* from, std::size_t some, std::uint32_t* to) HWY_ATTR {
                      Largest<std::int32_t>(DI32(), from, some, width, kInfinity, to);
                    });
}

void Largest16(const std::byte* x, std::size_t cells, std::size_t width, std::uint16_t infinity,
               std::uint32_t* largest) {
  // Signed lanes have a comparison on every target.
  const hn::CappedTag<std::int16_t, kLeastCell> few;
  const hn::ScalableTag<std::int16_t> many;
  const auto top = static_cast<std::int16_t>(infinity);
  LargestOfCells<2>(x, cells, width, infinity, largest,
                    [&](const std::byte* from, std::size_t some, std::uint32_t* to) HWY_ATTR {
                      if (width < hn::Lanes(many)) {
                        return Largest<std::int16_t>(few, from, some, width, top, to);
                      }
                      Largest<std::int16_t>(many, from, some, width, top, to);
                    });
}

}  // namespace

const CellLanes* TargetLanes() {
  static const CellLanes lanes = [] {
    CellLanes filled = {};
    filled.multiply = &Multiply<4>;
    filled.multiply_bfloat16 = &Multiply<2>;
    filled.factors_of = &FactorsOf;
    filled.divide = &Divide;
    filled.divide_to_integers = &DivideToIntegers;
#if HWY_TARGET <= HWY_AVX3
    filled.divide_to_halves = &DivideToHalves;
    filled.multiply_to_halves = &MultiplyToHalves;
    filled.divide_to_integers = &DivideToIntegersByHalves;
#endif
    filled.powers_of = &PowersOf;
    filled.rounded_scales = &RoundedScales;
    filled.raise_to = &RaiseTo;
    filled.look_up_16 = &LookUp16;
    filled.look_up_32 = &LookUp32;
    filled.fill_16 = &Fill<2>;
    filled.fill_32 = &Fill<4>;
#if HWY_TARGET == HWY_AVX3_DL
    filled.of_8_bits = {.values = kByteCodes,
                        .fill = &FillBytes<kByteCodes>,
                        .multiply = &MultiplyCodes<8, 8>,
                        .look_up_cells = nullptr,
                        .look_up_powers = nullptr,
                        .look_up = &LookUpBytes<8>,
                        .fill_with_products = &FillWithProducts<kByteCodes>};
    filled.of_magnitudes = {.values = kByteCodes / 2,
                            .fill = &FillBytes<kByteCodes / 2>,
                            .multiply = &MultiplyCodes<8, 7>,
                            .look_up_cells = &LookUpCells<8>,
                            .look_up_powers = &LookUpPowers<8>,
                            .look_up = &LookUpBytes<7>,
                            .fill_with_products = &FillWithProducts<kByteCodes / 2>};
    filled.of_6_bits = {.values = kByteCodes / 4,
                        .fill = &FillBytes<kByteCodes / 4>,
                        .multiply = &MultiplyCodes<6, 6>,
                        .look_up_cells = &LookUpCells<6>,
                        .look_up_powers = &LookUpPowers<6>,
                        .look_up = nullptr,
                        .fill_with_products = nullptr};
#endif
    filled.transpose_16 = &Transpose<std::uint16_t>;
    filled.transpose_32 = &Transpose<std::uint32_t>;
    filled.largest_32 = &Largest32;
    filled.largest_16 = &Largest16;
    filled.gguf = gguf::kLanes;
    filled.add_squared_errors = &errors::Add;
    return filled;
  }();
  return &lanes;
}

}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

namespace tensorcast::scale {

template <std::int64_t kHighwayTarget> const CellLanes* LanesOf();
#if HWY_TARGET != HWY_SCALAR
template <> const CellLanes* LanesOf<HWY_TARGET>() { return HWY_NAMESPACE::TargetLanes(); }
#endif

#if HWY_ONCE
namespace {

template <std::size_t kBit>
void TakeIfIts(Target target, std::int64_t supported, const CellLanes** found) {
  constexpr std::int64_t kHighway = std::int64_t{1} << kBit;
  if constexpr ((HWY_TARGETS & ~HWY_SCALAR & kHighway) != 0) {
    if ((supported & kHighway) != 0 && core::KernelsOf<kHighway>()->target == target) {
      *found = LanesOf<kHighway>();
    }
  }
}

}  // namespace

const CellLanes* FindCellLanes(Target target) {
  const core::Kernels* const kernels = core::FindKernels(target);
  if (kernels == nullptr) return nullptr;
  return [&]<std::size_t... kBit>(std::index_sequence<kBit...>) {
    const std::int64_t supported = core::SupportedTargets();
    const CellLanes* found = nullptr;
    (TakeIfIts<kBit>(kernels->target, supported, &found), ...);
    return found;
  }
  (std::make_index_sequence<63>());
}
#endif  // HWY_ONCE

}  // namespace tensorcast::scale
