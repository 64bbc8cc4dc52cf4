// The lanes of cells.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scale/cell_lanes.cc"
#include "hwy/foreach_target.h"

#include "scale/cell_lanes.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/kernels.h"
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR
#include "scale/block_tables-inl.h"
#include "scale/byte_look_up-inl.h"
#include "scale/code_steps-inl.h"
#include "scale/error_lanes-inl.h"
#include "scale/float_sums-inl.h"
#include "scale/gguf_formulas-inl.h"
#include "scale/gguf_lanes-inl.h"
#include "scale/group_lanes-inl.h"
#include "scale/half_quotients-inl.h"
#include "scale/integer_cells-inl.h"
#include "scale/largest-inl.h"
#include "scale/magnitude_rows-inl.h"
#include "scale/nibble_rows-inl.h"
#include "scale/nibble_steps-inl.h"
#include "scale/packed_quotients-inl.h"
#include "scale/power_codes-inl.h"
#include "scale/power_halves-inl.h"
#include "scale/product_tables-inl.h"
#include "scale/quotients-inl.h"
#include "scale/rounded_products-inl.h"
#include "scale/scales-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<std::uint16_t>;
using D8x16 = hn::FixedTag<std::uint8_t, 16>;

// ----------------------------------------------------------------------------------------- tables

// A table is planes, of its values' lowest bytes, the next ones and so on; with AVX-512, which
// permutes lanes of 16 and 32 bits, its values in order.
constexpr bool kHasPlanes = HWY_TARGET > HWY_AVX3;

#if HWY_TARGET <= HWY_AVX3
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
#elif HWY_TARGET != HWY_AVX2  // which has nibble_rows-inl.h
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

template <bool kPairs, class TableOf>
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

#if HWY_TARGET != HWY_AVX2
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
#endif

template <std::size_t kBytes> void Fill(const std::byte* values, std::byte* table) {
  for (std::size_t i = 0; i < kNibbles; ++i) {
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      table[kHasPlanes ? kNibbles * byte + i : kBytes * i + byte] = values[kBytes * i + byte];
    }
  }
}

#if HWY_TARGET == HWY_AVX2
constexpr auto kUnpack = formulas::RowsOf([]<class Type>(std::string_view) -> UnpackBlocks {
  if constexpr (requires { Type::kCell; }) {
    return &formulas::Unpack<Type>;
  } else {
    return nullptr;
  }
});
constexpr auto kLookUpBlocks =
    formulas::RowsOf([]<class Type>(std::string_view) -> CellLanes::LookUpBlocks {
      if constexpr (requires { Type::kCodes; }) {
        return &LookUpBlocks<Type>;
      } else {
        return nullptr;
      }
    });
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

}  // namespace

const CellLanes* TargetLanes() {
  static const CellLanes lanes = [] {
    CellLanes filled = {};
    filled.multiply = &Multiply<4>;
    filled.multiply_bfloat16 = &Multiply<2>;
    filled.multiply_to_doubles = &MultiplyToDoubles;
    filled.factors_of = &FactorsOf;
    filled.divide = &Divide;
    filled.divide_to_integers = &DivideToIntegers;
    filled.pack_nibbles = &PackNibbles;
#if HWY_TARGET <= HWY_AVX3
    filled.divide_to_halves = &DivideToHalves;
    filled.multiply_to_halves = &MultiplyToHalves;
#endif
    filled.powers_of = &PowersOf;
    filled.rounded_scales = &RoundedScales;
    filled.raise_to = &RaiseTo;
#if HWY_TARGET == HWY_AVX2
    filled.look_up_16 = &LookUpNibbles<2>;
    filled.look_up_32 = &LookUpNibbles<4>;
#else
    filled.look_up_16 = &LookUp16;
    filled.look_up_32 = &LookUp32;
#endif
    filled.fill_16 = &Fill<2>;
    filled.fill_32 = &Fill<4>;
#if HWY_TARGET == HWY_AVX3_DL
    filled.of_8_bits = {.values = kByteCodes,
                        .table_bytes = 2 * kByteCodes,
                        .fill = &FillBytes<kByteCodes>,
                        .multiply = &MultiplyCodes<8, 8>,
                        .look_up_cells = nullptr,
                        .look_up_powers = nullptr,
                        .look_up = &LookUpBytes<8>,
                        .fill_with_products = &FillWithProducts<kByteCodes>};
    filled.of_magnitudes = {.values = kByteCodes / 2,
                            .table_bytes = kByteCodes,
                            .fill = &FillBytes<kByteCodes / 2>,
                            .multiply = &MultiplyCodes<8, 7>,
                            .look_up_cells = &LookUpCells<8>,
                            .look_up_powers = &LookUpPowers<8>,
                            .look_up = &LookUpBytes<7>,
                            .fill_with_products = &FillWithProducts<kByteCodes / 2>};
    filled.of_6_bits = {.values = kByteCodes / 4,
                        .table_bytes = kByteCodes / 2,
                        .fill = &FillBytes<kByteCodes / 4>,
                        .multiply = &MultiplyCodes<6, 6>,
                        .look_up_cells = &LookUpCells<6>,
                        .look_up_powers = &LookUpPowers<6>,
                        .look_up = nullptr,
                        .fill_with_products = nullptr};
#elif HWY_TARGET == HWY_AVX2
    filled.of_magnitudes = {.values = kMagnitudes,
                            .table_bytes = sizeof(RowTable),
                            .fill = &FillRows,
                            .multiply = &MultiplyMagnitudes,
                            .look_up_cells = &LookUpRowsByScales,
                            .look_up_powers = nullptr,
                            .look_up = &LookUpRowsOfCells,
                            .fill_with_products = &FillRowsWithProducts};
    filled.multiply_to_halves = &MultiplyToHalves;
    filled.multiply_by_powers = &MultiplyByPowers;
    filled.multiply_integers = &MultiplyIntegers;
    filled.scale_integers = &ScaleIntegers;
    filled.are_float_sums = &FloatSums;
    filled.unpack = kUnpack.data();
    filled.look_up_blocks = kLookUpBlocks.data();
    filled.find_steps = &FindSteps;
    filled.encode_by_steps = &EncodeBySteps;
    filled.encode_under_powers = &EncodeUnderPowers;
    filled.find_nibble_steps = &FindNibbleSteps;
    filled.encode_by_nibble_steps = &EncodeByNibbleSteps;
    filled.divide_to_integers = &DivideToPackedIntegers;
#endif
    filled.transpose_16 = &Transpose<std::uint16_t>;
    filled.transpose_32 = &Transpose<std::uint32_t>;
    filled.largest_32 = &Largest32;
    filled.largest_16 = &Largest16;
    filled.range_of = &RangeOf;
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

// What AVX2, which every processor with AVX-512 has, does besides or faster than that.
[[maybe_unused]] CellLanes WithAvx2(CellLanes lanes, const CellLanes& avx2) {
  lanes.scale_integers = avx2.scale_integers;
  lanes.are_float_sums = avx2.are_float_sums;
  lanes.unpack = avx2.unpack;
  lanes.look_up_blocks = avx2.look_up_blocks;
  lanes.find_steps = avx2.find_steps;
  lanes.encode_by_steps = avx2.encode_by_steps;
  lanes.encode_under_powers = avx2.encode_under_powers;
  lanes.find_nibble_steps = avx2.find_nibble_steps;
  lanes.encode_by_nibble_steps = avx2.encode_by_nibble_steps;
  lanes.divide_to_integers = avx2.divide_to_integers;
  // Without a permutation of bytes.
  if (lanes.of_magnitudes.fill == nullptr) {
    lanes.of_magnitudes = avx2.of_magnitudes;
    lanes.multiply_by_powers = avx2.multiply_by_powers;
    lanes.multiply_integers = avx2.multiply_integers;
  }
  return lanes;
}

template <std::int64_t kHighway> const CellLanes* BestLanesOf() {
  if constexpr (kHighway < HWY_AVX2 && (HWY_TARGETS & HWY_AVX2) != 0) {
    static const CellLanes lanes = WithAvx2(*LanesOf<kHighway>(), *LanesOf<HWY_AVX2>());
    return &lanes;
  } else {
    return LanesOf<kHighway>();
  }
}

template <std::size_t kBit>
void TakeIfIts(Target target, std::int64_t supported, const CellLanes** found) {
  constexpr std::int64_t kHighway = std::int64_t{1} << kBit;
  if constexpr ((HWY_TARGETS & ~HWY_SCALAR & kHighway) != 0) {
    if ((supported & kHighway) != 0 && core::KernelsOf<kHighway>()->target == target) {
      *found = BestLanesOf<kHighway>();
    }
  }
}

}  // namespace

const CellLanes* FindCellLanes(Target target) {
  const core::Kernels* const kernels = core::FindKernels(target);
  if (kernels == nullptr) return nullptr;
  return [&]<std::size_t... kBit>(std::index_sequence<kBit...>) {
    // Asking a processor takes longer than many calls do.
    static const std::int64_t supported = core::SupportedTargets();
    const CellLanes* found = nullptr;
    (TakeIfIts<kBit>(kernels->target, supported, &found), ...);
    return found;
  }
  (std::make_index_sequence<63>());
}
#endif  // HWY_ONCE

}  // namespace tensorcast::scale
