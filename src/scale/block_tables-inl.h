// Codes of two to four bits in AVX2, as they stand in GGUF's blocks, to bfloat16 and float16: by
// tables of the values of their cells, those of two cells or of eight made at once. Included once
// per target, after rounded_products-inl.h, magnitude_rows-inl.h and gguf_formulas-inl.h.
//
// A table is rows of bytes, the lower ones of its values and the upper ones. 256 values are taken
// at once: one block, or eight of 32.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_BLOCK_TABLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_BLOCK_TABLES_INL_H_
#undef TENSORCAST_SRC_SCALE_BLOCK_TABLES_INL_H_
#else
#define TENSORCAST_SRC_SCALE_BLOCK_TABLES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "scale/cell_lanes.h"
#include "scale/gguf_formulas-inl.h"
#include "scale/magnitude_rows-inl.h"
#include "scale/rounded_products-inl.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

// Rows of tables.
struct Rows {
  __m256i low, high;
};

// Of values of 16 bits at even places and at odd ones.
HWY_INLINE Rows BytesOf(__m256i even, __m256i odd) {
  const __m256i at_odd = _mm256_set1_epi16(static_cast<short>(0xFF00));
  return {_mm256_blendv_epi8(even, _mm256_slli_epi16(odd, 8), at_odd),
          _mm256_blendv_epi8(_mm256_srli_epi16(even, 8), odd, at_odd)};
}

// The values of four numbers in each of eight lanes: number k of lane i at 4 i + k. number(k): a
// vector of the k-th ones. Sums are float32s, so that one rounding is left.
template <bool kBfloat16, class Number>
HWY_INLINE Rows ValuesOf(const Number& number, __m256 factor, __m256 offset) {
  // Numbers 0 and 2, and 1 and 3: next to each other in each lane.
  const auto two = [&](int k) HWY_ATTR {
    const __m256 a = _mm256_fmadd_ps(number(k), factor, offset);
    const __m256 b = _mm256_fmadd_ps(number(k + 2), factor, offset);
    if constexpr (kBfloat16) {
      return Nearest(PairsOf(a, b));
    } else {
      const __m128i halves_a = _mm256_cvtps_ph(a, kToNearest);
      const __m128i halves_b = _mm256_cvtps_ph(b, kToNearest);
      return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi16(halves_a, halves_b)),
                                     _mm_unpackhi_epi16(halves_a, halves_b), 1);
    }
  };
  return BytesOf(two(0), two(1));
}

// Sixteen codes of one cell in the lower half, and of another in the upper one, each by its half of
// the rows.
HWY_INLINE void LookUpSixteens(const Rows& rows, __m256i codes, std::byte* lower,
                               std::byte* upper) {
  const __m256i low = _mm256_shuffle_epi8(rows.low, codes);
  const __m256i high = _mm256_shuffle_epi8(rows.high, codes);
  const __m256i a = _mm256_unpacklo_epi8(low, high), b = _mm256_unpackhi_epi8(low, high);
  StoreWhole(lower, _mm256_permute2x128_si256(a, b, 0x20));
  StoreWhole(upper, _mm256_permute2x128_si256(a, b, 0x31));
}

// The sixteen numbers that codes stand for, in the order in which TablesOfTwo takes them.
struct SixteenCodes {
  alignas(32) float fours[4][8];   // number k of lane i, and of lane i + 4, is the code 4 i + k
  alignas(32) float eights[2][8];  // number k of lane i is the code 2 i + k
  template <class Number> static constexpr SixteenCodes Of(const Number& number) {
    SixteenCodes of = {};
    for (int code = 0; code < 16; ++code) {
      of.fours[code % 4][code / 4] = of.fours[code % 4][4 + code / 4] = number(code);
      of.eights[code % 2][code / 2] = number(code);
    }
    return of;
  }
};

// Some runs of 256 values, and the factors and offsets of their cells. As many values are unpacked
// at once (gguf_weight.cc) where these are refused.
constexpr std::size_t kRuns = 8;
struct alignas(32) CellScales {
  float factors[16 * kRuns], offsets[16 * kRuns];
  const SixteenCodes* numbers;  // of codes of four bits
};
struct CodeRuns {
  const std::uint8_t* codes;  // of the first run
  std::size_t bytes;          // from one run to the next
  std::size_t n;
};

// ------------------------------------------------------------- four bits, two cells of 32 at once

// The tables of two cells, each in a half.
template <bool kBfloat16> class TablesOfTwo {
 public:
  explicit HWY_INLINE TablesOfTwo(const SixteenCodes& numbers) {
    for (int k = 0; k < kVectors; ++k) {
      numbers_[k] = _mm256_load_ps(kBfloat16 ? numbers.fours[k] : numbers.eights[k]);
    }
  }
  HWY_INLINE Rows Of(const float* factors, const float* offsets) const {
    if constexpr (kBfloat16) {
      const auto two = [](const float* of) HWY_ATTR {
        return _mm256_blend_ps(_mm256_broadcast_ss(of), _mm256_broadcast_ss(of + 1), 0xF0);
      };
      return ValuesOf<true>([&](int k) HWY_ATTR { return numbers_[k]; }, two(factors),
                            two(offsets));
    } else {
      const auto two = [&](int k) HWY_ATTR {
        const auto sums = [&](int cell) HWY_ATTR {
          return _mm256_fmadd_ps(numbers_[k], _mm256_broadcast_ss(factors + cell),
                                 _mm256_broadcast_ss(offsets + cell));
        };
        return RoundedHalves<false>(sums(0), sums(1));
      };
      return BytesOf(two(0), two(1));
    }
  }

 private:
  static constexpr int kVectors = kBfloat16 ? 4 : 2;
  __m256 numbers_[kVectors];
};

// Two cells side by side whose codes are the lower and the upper halves of 32 bytes' nibbles, as in
// blocks of 256; else each cell has sixteen bytes, the lower halves first, cell_bytes after those
// of the one before.
template <bool kBfloat16, bool kShareBytes>
HWY_NOINLINE void LookUpNibbleRuns(const CellScales& scales, const CodeRuns runs,
                                   std::size_t cell_bytes, std::byte* out) {
  const TablesOfTwo<kBfloat16> tables(*scales.numbers);
  const __m256i low_bits = SetBytes(0xF);
  const std::size_t of_pair = kShareBytes ? 32 : 2 * cell_bytes;
  for (std::size_t pair = 0; pair < 4 * runs.n; ++pair, out += 128) {
    const std::uint8_t* const codes = runs.codes + pair / 4 * runs.bytes + pair % 4 * of_pair;
    const Rows rows = tables.Of(scales.factors + 2 * pair, scales.offsets + 2 * pair);
    __m256i first, second;
    if constexpr (kShareBytes) {
      const __m256i shifts = _mm256_setr_epi64x(0, 0, 4, 4);
      first = _mm256_srlv_epi64(LoadRow(codes), shifts);
      second = _mm256_srlv_epi64(LoadRow(codes + 16), shifts);
    } else {
      const auto* const other = reinterpret_cast<const __m128i*>(codes + cell_bytes);
      first = _mm256_inserti128_si256(LoadRow(codes), _mm_loadu_si128(other), 1);
      second = _mm256_srli_epi16(first, 4);
    }
    LookUpSixteens(rows, _mm256_and_si256(first, low_bits), out, out + 64);
    LookUpSixteens(rows, _mm256_and_si256(second, low_bits), out + 32, out + 96);
  }
}

// ----------------------------------------------- two and three bits, eight cells of 16 at once

// The number k after kFrom, the same in all lanes.
template <int kFrom> HWY_INLINE __m256 NumberFrom(int k) {
  return _mm256_set1_ps(static_cast<float>(kFrom + k));
}

// Of eight cells those at even places in the lower half.
HWY_INLINE __m256 EvenFirst(const float* of_cells) {
  return _mm256_permutevar8x32_ps(_mm256_load_ps(of_cells),
                                  _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
}

// Bits 2 k and 2 k + 1 of each byte.
template <int k> HWY_INLINE __m256i TwoBitsAt(__m256i bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, 2 * k), SetBytes(3));
}

template <bool kBfloat16>
HWY_NOINLINE void LookUpTwoBitRuns(const CellScales& scales, const CodeRuns runs, std::byte* out) {
  for (std::size_t half = 0; half < 2 * runs.n; ++half, out += 256) {
    // A row has a dword for each cell.
    const Rows rows = ValuesOf<kBfloat16>(&NumberFrom<0>, EvenFirst(scales.factors + 8 * half),
                                          EvenFirst(scales.offsets + 8 * half));
    const __m256i bytes = LoadWhole(runs.codes + half / 2 * runs.bytes + half % 2 * 32);
    formulas::ForEachConstant<4>([&](auto k) HWY_ATTR {
      const __m256i code = _mm256_or_si256(TwoBitsAt<k>(bytes), SetBytes(4 * k));
      LookUpSixteens(rows, code, out + 64 * k, out + 64 * k + 32);
    });
  }
}

// Before the codes there are 32 bytes with the third bits, one of each cell's.
template <bool kBfloat16>
HWY_NOINLINE void LookUpThreeBitRuns(const CellScales& scales, const CodeRuns runs,
                                     std::byte* out) {
  const __m256 offset = _mm256_set1_ps(kNoOffset);
  for (std::size_t half = 0; half < 2 * runs.n; ++half, out += 256) {
    const __m256 factor = EvenFirst(scales.factors + 8 * half);
    const Rows below = ValuesOf<kBfloat16>(&NumberFrom<-4>, factor, offset);
    const Rows above = ValuesOf<kBfloat16>(&NumberFrom<0>, factor, offset);
    // Rows with eight bytes for each cell: of the first two pairs of cells, and of the others.
    const Rows rows[] = {{_mm256_unpacklo_epi32(below.low, above.low),
                          _mm256_unpacklo_epi32(below.high, above.high)},
                         {_mm256_unpackhi_epi32(below.low, above.low),
                          _mm256_unpackhi_epi32(below.high, above.high)}};
    const std::uint8_t* const run = runs.codes + half / 2 * runs.bytes;
    const __m256i bytes = LoadWhole(run + half % 2 * 32);
    const __m256i tops =
        _mm256_srl_epi16(LoadWhole(run - 32), _mm_cvtsi32_si128(static_cast<int>(half % 2 * 4)));
    formulas::ForEachConstant<4>([&](auto k) HWY_ATTR {
      // As the third bit.
      __m256i top;
      if constexpr (k < 2) {
        top = _mm256_slli_epi16(tops, 2 - k);
      } else {
        top = _mm256_srli_epi16(tops, k - 2);
      }
      __m256i code = _mm256_or_si256(TwoBitsAt<k>(bytes), _mm256_and_si256(top, SetBytes(4)));
      if constexpr (k % 2 != 0) code = _mm256_or_si256(code, SetBytes(8));
      LookUpSixteens(rows[k / 2], code, out + 64 * k, out + 64 * k + 32);
    });
  }
}

// ---------------------------------------------------------------------------------------- blocks

template <class Type, bool kBfloat16>
HWY_INLINE void LookUpRuns(const CellScales& scales, const CodeRuns runs, std::byte* out) {
  if constexpr (std::is_same_v<Type, formulas::Q2_K>) {
    LookUpTwoBitRuns<kBfloat16>(scales, runs, out);
  } else if constexpr (std::is_same_v<Type, formulas::Q3_K>) {
    LookUpThreeBitRuns<kBfloat16>(scales, runs, out);
  } else {
    static_assert(
        requires { &Type::NumberOf; }, "a type whose nibbles are looked up");
    constexpr bool kShareBytes = std::is_same_v<Type, formulas::Q4_K>;
    constexpr std::size_t kCellBytes = Type::kValues == 32 ? Type::kBytes : 16;
    LookUpNibbleRuns<kBfloat16, kShareBytes>(scales, runs, kCellBytes, out);
  }
}

// How far the exponents of two float16s may be apart where sums of up to `shifted` times the larger
// one and `other` times the other one are float32s: below 2^24 times the smaller one's last place.
constexpr int MostApart(int shifted, int other) {
  int most = 0;
  while ((shifted << (most + 1)) + other < 1 << (24 - 11)) ++most;
  return most;
}
static_assert(MostApart(15 * 63, 63) == 3 && MostApart(63, 15 * 63) == 6, "Q4_K");
static_assert(MostApart(3 * 15, 15) == 7 && MostApart(15, 3 * 15) == 9, "Q2_K");
static_assert(MostApart(15, 1) == 9 && MostApart(1, 15) == 12, "Q4_1");

// Whether all sums of a block are float32s, by the exponents of its scales alone.
template <class Type> HWY_INLINE bool AreFloatSumsOf(const std::uint8_t* block) {
  constexpr int kFactor = Type::kMostOfSum * Type::kMostScale, kOffset = Type::kMostScale;
  constexpr int kMost = MostApart(kFactor, kOffset), kLeast = -MostApart(kOffset, kFactor);
  const auto exponent = [&](int at) HWY_ATTR {
    return static_cast<int>(formulas::TwoBytes(block + at) >> 10 & 31);
  };
  const int apart = exponent(Type::kScales[0]) - exponent(Type::kScales[1]);
  return kLeast <= apart && apart <= kMost;
}

// CellLanes' look_up_blocks.
template <class Type>
std::size_t LookUpBlocks(const std::byte* blocks, std::size_t n, bool is_bfloat16, std::byte* out) {
  constexpr std::size_t kBlocks = 256 / Type::kValues;  // of a run
  constexpr std::size_t kCells = Type::kValues / Type::kCell;
  const auto* b = reinterpret_cast<const std::uint8_t*>(blocks);
  CellScales scales;
  if constexpr (requires { &Type::NumberOf; }) {
    static constexpr SixteenCodes kNumbers = SixteenCodes::Of(&Type::NumberOf);
    scales.numbers = &kNumbers;
  }
  if constexpr (!formulas::kIsSum<Type>) {
    for (float& offset : scales.offsets) offset = kNoOffset;
  }
  std::size_t done = 0;
  while (done + kBlocks <= n) {
    const CodeRuns runs = {b + Type::kCodes, kBlocks * Type::kBytes,
                           std::min(kRuns, (n - done) / kBlocks)};
    const std::size_t some = kBlocks * runs.n;
    bool are_floats = true;
    for (std::size_t i = 0; i < some; ++i) {
      const std::uint8_t* const block = b + Type::kBytes * i;
      Type::Scales(block, scales.factors + kCells * i, scales.offsets + kCells * i);
      if constexpr (formulas::kIsSum<Type>) are_floats &= AreFloatSumsOf<Type>(block);
    }
    if (!are_floats) break;
    if (is_bfloat16) {
      LookUpRuns<Type, true>(scales, runs, out);
    } else {
      LookUpRuns<Type, false>(scales, runs, out);
    }
    done += some;
    b += some * Type::kBytes;
    out += some * Type::kValues * 2;
  }
  return done;
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_BLOCK_TABLES_INL_H_
