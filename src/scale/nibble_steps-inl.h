// Codes of float4e2m1 from bfloat16 without a quotient: by the places among bfloat16s at which the
// code of x * t / s changes. Included once per target; compiled for AVX2, from which AVX-512 has
// them: a quotient takes 32-bit lanes and is held against ties.
//
// There are seven places, half-way between codes, times s / t. Two at most are passed by numbers of
// one exponent: those of 1.25, 2.5 and 5, and of 1.75 and 3.5, are a factor of two apart, that of
// 0.25 a factor of three and more from the others, and that of 0.75 is not within one of 1.75. So
// an exponent says which code its least number has, and behind which two mantissas there is one
// more. Places are rounded to doubles: one that is no bfloat16 does not become one (as in
// cell_codes.cc: t times a bfloat16 has 32 bits, and what it differs from has 31).
//
// A scale of a few bits has one of eight significands, and its exponent moves all places.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_NIBBLE_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_NIBBLE_STEPS_INL_H_
#undef TENSORCAST_SRC_SCALE_NIBBLE_STEPS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_NIBBLE_STEPS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "scale/cell_lanes.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

// Once for a tensor: small rather than fast.
[[gnu::cold]] void FindNibbleSteps(double global, double numerator, NibbleSteps* steps) {
  constexpr int kEnds = 7, kNone = 127;
  constexpr double kEnd[kEnds] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5};
  for (int eighths = 0; eighths < kSignificands; ++eighths) {
    NibbleSteps& to = steps[eighths];
    int places[kEnds];
    std::fill_n(to.last[0], kNibbles, std::int8_t{kNone});
    std::fill_n(to.last[1], kNibbles, std::int8_t{kNone});
    for (int code = 0; code < kEnds; ++code) {
      int exponent = 0;
      const double end = kEnd[code] * ((1 + 0.125 * eighths) * global) / numerator;
      const double mantissa = (std::frexp(end, &exponent) - 0.5) * 256;
      // Of an exponent's bits, one less than the first end's: all below have the code zero.
      if (code == 0) to.exponent = exponent - 1 + 127 - 1;
      places[code] = exponent - 1 + 127 - to.exponent;
      // A tie goes to the even code.
      const double last = code % 2 == 0 ? std::floor(mantissa) : std::ceil(mantissa) - 1;
      to.last[to.last[0][places[code]] == kNone ? 0 : 1][places[code]] =
          static_cast<std::int8_t>(last);
    }
    for (int place = 0; place < static_cast<int>(kNibbles); ++place) {
      to.codes[place] = static_cast<std::uint8_t>(
          std::count_if(places, places + kEnds, [&](int of_end) { return of_end < place; }));
    }
  }
}

HWY_INLINE __m256i LoadBoth(const void* first, const void* second) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(first))),
      _mm_loadu_si128(static_cast<const __m128i*>(second)), 1);
}

inline constexpr std::size_t kNibblesAtOnce = 32;

// What the elements of a cell are held against.
struct NibbleCell {
  std::uint8_t exponent;  // the first of the steps
  std::uint8_t significand;
};
static_assert(sizeof(NibbleCell) == 2);

// False where a scale has more bits or is far from 1. Writes eight cells at once.
bool FindNibbleCells(const double* scales, std::size_t n, const NibbleSteps* steps,
                     NibbleCell* cells) {
  // Subnormal numbers are below the first place, and what is not finite is above the last.
  constexpr int kLeast = 1, kMost = 240, kBias = 1023;
  alignas(32) std::int32_t exponents[kSignificands];
  for (int i = 0; i < kSignificands; ++i) exponents[i] = steps[i].exponent - kBias - kLeast;
  const __m256i of_significands = _mm256_load_si256(reinterpret_cast<const __m256i*>(exponents));
  __m256i above = _mm256_setzero_si256(), below = above;
  const auto eight = [&](const double* from, NibbleCell* to) HWY_ATTR {
    const __m256 a = _mm256_loadu_ps(reinterpret_cast<const float*>(from));
    const __m256 b = _mm256_loadu_ps(reinterpret_cast<const float*>(from + 4));
    const __m256i lower = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
    const __m256i upper =
        _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD)), 0xD8);
    // A permutation takes three bits.
    const __m256i significand = _mm256_srli_epi32(upper, 17);
    const __m256i exponent = _mm256_add_epi32(
        _mm256_srli_epi32(upper, 20), _mm256_permutevar8x32_epi32(of_significands, significand));
    above = _mm256_max_epu32(above, exponent);
    below = _mm256_or_si256(below, _mm256_or_si256(lower, _mm256_slli_epi32(upper, 15)));
    const __m256i both = _mm256_or_si256(
        _mm256_add_epi32(exponent, _mm256_set1_epi32(kLeast)),
        _mm256_slli_epi32(_mm256_and_si256(significand, _mm256_set1_epi32(kSignificands - 1)), 8));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(both, both), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
  };
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) eight(scales + i, cells + i);
  if (i < n) {
    double some[8];
    std::fill_n(some, 8, scales[i]);
    std::copy(scales + i, scales + n, some);
    eight(some, cells + i);
  }
  const __m256i most = _mm256_set1_epi32(kMost - kLeast);
  const __m256i within = _mm256_cmpeq_epi32(_mm256_max_epu32(above, most), most);
  return _mm256_movemask_epi8(within) == -1 && _mm256_testz_si256(below, below) != 0;
}

// kPairs: of 32 elements sixteen are of one cell, and sixteen of the next.
template <bool kPairs> class CodesByNibbleSteps {
 public:
  explicit CodesByNibbleSteps(const NibbleSteps* steps) : steps_(steps) {}

  HWY_INLINE void Run(const std::byte* x, const NibbleCell* cell, std::byte* codes) {
    // In each half of a vector are sixteen: first all lower bytes, then all upper ones.
    const __m256i split = _mm256_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,  //
                                           0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    const __m256i a = _mm256_shuffle_epi8(LoadBoth(x, x + 32), split);
    const __m256i b = _mm256_shuffle_epi8(LoadBoth(x + 16, x + 48), split);
    const __m256i lower = _mm256_unpacklo_epi64(a, b), upper = _mm256_unpackhi_epi64(a, b);
    const __m256i mantissas = _mm256_and_si256(lower, _mm256_set1_epi8(0x7F));
    const __m256i exponents = _mm256_sub_epi8(_mm256_add_epi8(upper, upper),
                                              _mm256_cmpgt_epi8(_mm256_setzero_si256(), lower));
    most_ = _mm256_max_epu8(most_, exponents);
    const __m256i place = _mm256_min_epu8(_mm256_subs_epu8(exponents, FirstExponents(cell)),
                                          _mm256_set1_epi8(kNibbles - 1));
    const NibbleSteps& first = steps_[cell[0].significand];
    const NibbleSteps& second = steps_[cell[kPairs ? 1 : 0].significand];
    const auto look_up = [&](const void* of_first, const void* of_second) HWY_ATTR {
      return _mm256_shuffle_epi8(LoadBoth(of_first, of_second), place);
    };
    __m256i code = look_up(first.codes, second.codes);
    for (int i = 0; i < 2; ++i) {
      const __m256i last = look_up(first.last[i], second.last[i]);
      code = _mm256_sub_epi8(code, _mm256_cmpgt_epi8(mantissas, last));
    }
    const __m256i signs = _mm256_and_si256(_mm256_srli_epi16(upper, 4), _mm256_set1_epi8(8));
    const __m256i pairs =
        _mm256_maddubs_epi16(_mm256_or_si256(code, signs), _mm256_set1_epi16(0x1001));
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(codes),
        _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1)));
  }

  // Else codes are wrong.
  HWY_INLINE bool AreFinite() const {
    const __m256i special = _mm256_cmpeq_epi8(most_, _mm256_set1_epi8(-1));
    return _mm256_testz_si256(special, special) != 0;
  }

 private:
  static HWY_INLINE __m256i FirstExponents(const NibbleCell* cell) {
    if constexpr (!kPairs) return _mm256_set1_epi8(static_cast<char>(cell->exponent));
    std::int32_t two;
    std::memcpy(&two, cell, sizeof(two));
    const __m256i of_each = _mm256_setr_epi64x(0, 0, 0x0202020202020202, 0x0202020202020202);
    return _mm256_shuffle_epi8(_mm256_set1_epi32(two), of_each);
  }

  const NibbleSteps* const steps_;
  __m256i most_ = _mm256_setzero_si256();  // exponents
};

template <bool kPairs>
bool EncodeByNibbleSteps(const std::byte* x, std::byte* codes, std::size_t n,
                         const NibbleSteps* steps, const double* scales,
                         const CellsInOrder& cells) {
  constexpr std::size_t kWidth = kPairs ? kLeastCell : kNibblesAtOnce, kPiece = 2048;
  NibbleCell of_cells[kPiece / kWidth + 16];
  CodesByNibbleSteps<kPairs> by_steps(steps);
  for (std::size_t begin = 0; begin < n; begin += kPiece) {
    const std::size_t end = std::min(n, begin + kPiece), skipped = cells.skipped + begin;
    const std::size_t first = skipped >> cells.log2_width;
    const std::size_t count = ((cells.skipped + end - 1) >> cells.log2_width) - first + 1;
    if (!FindNibbleCells(scales + first, count, steps, of_cells)) return false;
    of_cells[count] = of_cells[count - 1];
    const auto cell = [&](std::size_t i) HWY_ATTR {
      return of_cells + (((cells.skipped + i) >> cells.log2_width) - first);
    };
    const auto few = [&](std::size_t i, std::size_t some) HWY_ATTR {
      std::byte from[2 * kNibblesAtOnce] = {}, made[kNibblesAtOnce / 2];
      std::memcpy(from, x + 2 * i, 2 * some);
      by_steps.Run(from, cell(i), made);
      std::memcpy(codes + i / 2, made, some / 2);
    };
    std::size_t i = begin;
    if (cells.log2_width < 40 && skipped % kWidth != 0) {
      const std::size_t some = std::min(end - begin, kWidth - skipped % kWidth);
      few(i, some);
      i += some;
    }
    for (; i + kNibblesAtOnce <= end; i += kNibblesAtOnce) {
      by_steps.Run(x + 2 * i, cell(i), codes + i / 2);
    }
    if (i < end) few(i, end - i);
  }
  return by_steps.AreFinite();
}

bool EncodeByNibbleSteps(const std::byte* x, std::byte* codes, std::size_t n,
                         const NibbleSteps* steps, const double* scales,
                         const CellsInOrder& cells) {
  return (std::size_t{1} << cells.log2_width) == kLeastCell
             ? EncodeByNibbleSteps<true>(x, codes, n, steps, scales, cells)
             : EncodeByNibbleSteps<false>(x, codes, n, steps, scales, cells);
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_NIBBLE_STEPS_INL_H_
