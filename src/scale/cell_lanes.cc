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
#include "scale/error_lanes-inl.h"
#include "scale/gguf_lanes-inl.h"
#include "scale/quotients-inl.h"

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

template <class TableOf>
HWY_INLINE void LookUp16Of(const std::byte* packed, std::size_t groups, const TableOf& table_of,
                           std::byte* out) {
  const __m512i low_bits = _mm512_set1_epi16(0xF);
  const __m512i upper = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(16), 1);
  const auto two = [&](const std::byte* from, const std::byte* first, const std::byte* second,
                       std::byte* to) HWY_ATTR {
    const __m512i bytes =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    const __m512i both = _mm512_or_si512(bytes, _mm512_slli_epi32(bytes, 12));
    // (both & low_bits) | upper
    const __m512i index = _mm512_ternarylogic_epi32(both, low_bits, upper, 0xEA);
    const __m512i table =
        _mm512_inserti64x4(_mm512_castsi256_si512(LoadHalf(first)), LoadHalf(second), 1);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(index, table));
  };
  std::size_t g = 0;
  for (; g + 2 <= groups; g += 2) two(packed + 8 * g, table_of(g), table_of(g + 1), out + 32 * g);
  if (g < groups) {
    std::byte some[16] = {}, values[64];
    std::memcpy(some, packed + 8 * g, 8);
    two(some, table_of(g), table_of(g), values);
    std::memcpy(out + 32 * g, values, 32);
  }
}

template <class TableOf>
HWY_INLINE void LookUp32Of(const std::byte* packed, std::size_t groups, const TableOf& table_of,
                           std::byte* out) {
  for (std::size_t g = 0; g < groups; ++g) {
    const __m512i bytes =
        _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(packed + 8 * g)));
    // The permutation reads the low four bits of a lane.
    const __m512i index = _mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 28));
    _mm512_storeu_si512(out + 64 * g,
                        _mm512_permutexvar_epi32(index, _mm512_loadu_si512(table_of(g))));
  }
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

template <class TableOf>
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

void LookUp16(const std::byte* packed, std::size_t groups, const std::byte* tables,
              const std::byte* codes, const CellsInOrder& cells, std::byte* out) {
  LookUp16Of(
      packed, groups,
      [&](std::size_t g) HWY_ATTR {
        return tables +
               2 * kNibbles *
                   std::to_integer<std::size_t>(codes[(cells.skipped + g) >> cells.log2_width]);
      },
      out);
}

void LookUp32(const std::byte* packed, std::size_t groups, const std::byte* tables,
              const std::byte* codes, const CellsInOrder& cells, std::byte* out) {
  LookUp32Of(
      packed, groups,
      [&](std::size_t g) HWY_ATTR {
        return tables +
               4 * kNibbles *
                   std::to_integer<std::size_t>(codes[(cells.skipped + g) >> cells.log2_width]);
      },
      out);
}

template <std::size_t kBytes> void Fill(const std::byte* values, std::byte* table) {
  for (std::size_t i = 0; i < kNibbles; ++i) {
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      table[kHasPlanes ? kNibbles * byte + i : kBytes * i + byte] = values[kBytes * i + byte];
    }
  }
}

#if HWY_TARGET == HWY_AVX3_DL
// VBMI: two permutations look up 256 bytes, of which there are two planes.
void LookUpBytes(const std::byte* codes, std::size_t n, const std::byte* table, std::byte* out) {
  __m512i rows[8];
  for (std::size_t i = 0; i < 8; ++i) rows[i] = _mm512_loadu_si512(table + 64 * i);
  // What is interleaved within each 16 bytes comes out in order.
  const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  const auto step = [&](const std::byte* from, std::byte* to) HWY_ATTR {
    const __m512i code = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(from));
    const __mmask64 upper = _mm512_movepi8_mask(code);
    const __m512i low =
        _mm512_mask_blend_epi8(upper, _mm512_permutex2var_epi8(rows[0], code, rows[1]),
                               _mm512_permutex2var_epi8(rows[2], code, rows[3]));
    const __m512i high =
        _mm512_mask_blend_epi8(upper, _mm512_permutex2var_epi8(rows[4], code, rows[5]),
                               _mm512_permutex2var_epi8(rows[6], code, rows[7]));
    _mm512_storeu_si512(to, _mm512_unpacklo_epi8(low, high));
    _mm512_storeu_si512(to + 64, _mm512_unpackhi_epi8(low, high));
  };
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) step(codes + i, out + 2 * i);
  if (i < n) {
    std::byte some[64] = {}, values[128];
    std::memcpy(some, codes + i, n - i);
    step(some, values);
    std::memcpy(out + 2 * i, values, 2 * (n - i));
  }
}

void LookUpCells(const std::byte* codes, std::size_t n, const std::byte* tables,
                 const std::byte* scales, const CellsInOrder& cells, std::byte* out) {
  for (std::size_t i = 0; i < n; i += 32) {
    const std::byte* const table =
        tables + 2 * kByteCodes *
                     std::to_integer<std::size_t>(scales[(cells.skipped + i) >> cells.log2_width]);
    const auto row = [table](std::size_t k) HWY_ATTR { return _mm512_loadu_si512(table + 64 * k); };
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + i));
    // What is interleaved within each 16 bytes comes out in order.
    const __m512i code = _mm512_castsi256_si512(_mm256_permute4x64_epi64(some, 0xD8));
    const __mmask64 upper = _mm512_movepi8_mask(code);
    const __m256i low = _mm512_castsi512_si256(
        _mm512_mask_blend_epi8(upper, _mm512_permutex2var_epi8(row(0), code, row(1)),
                               _mm512_permutex2var_epi8(row(2), code, row(3))));
    const __m256i high = _mm512_castsi512_si256(
        _mm512_mask_blend_epi8(upper, _mm512_permutex2var_epi8(row(4), code, row(5)),
                               _mm512_permutex2var_epi8(row(6), code, row(7))));
    auto* const to = reinterpret_cast<__m256i*>(out + 2 * i);
    _mm256_storeu_si256(to, _mm256_unpacklo_epi8(low, high));
    _mm256_storeu_si256(to + 1, _mm256_unpackhi_epi8(low, high));
  }
}

void FillBytes(const std::byte* values, std::byte* table) {
  for (std::size_t i = 0; i < kByteCodes; ++i) {
    table[i] = values[2 * i];
    table[kByteCodes + i] = values[2 * i + 1];
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

void Largest32(const std::byte* x, std::size_t cells, std::size_t width, std::uint32_t* largest) {
  Largest<std::int32_t>(DI32(), x, cells, width, 0x7F800000, largest);
}

void Largest16(const std::byte* x, std::size_t cells, std::size_t width, std::uint16_t infinity,
               std::uint32_t* largest) {
  // Signed lanes have a comparison on every target.
  const hn::CappedTag<std::int16_t, kLeastCell> few;
  const hn::ScalableTag<std::int16_t> many;
  const auto top = static_cast<std::int16_t>(infinity);
  if (width < hn::Lanes(many)) return Largest<std::int16_t>(few, x, cells, width, top, largest);
  Largest<std::int16_t>(many, x, cells, width, top, largest);
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
    filled.look_up_16 = &LookUp16;
    filled.look_up_32 = &LookUp32;
    filled.fill_16 = &Fill<2>;
    filled.fill_32 = &Fill<4>;
#if HWY_TARGET == HWY_AVX3_DL
    filled.look_up_bytes = &LookUpBytes;
    filled.look_up_cells = &LookUpCells;
    filled.fill_bytes = &FillBytes;
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
