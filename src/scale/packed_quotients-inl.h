// Quotients as integers of eight bits in AVX2, whose packing keeps within a type. Included once per
// target, after quotients-inl.h.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_PACKED_QUOTIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_PACKED_QUOTIENTS_INL_H_
#undef TENSORCAST_SRC_SCALE_PACKED_QUOTIENTS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_PACKED_QUOTIENTS_INL_H_
#endif

#include <algorithm>
#include <bit>
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
                          _mm256_max_epi8(in_order, _mm256_set1_epi8(static_cast<char>(least))));
      const __m256i far = _mm256_castps_si256(carefully.far.raw);
      if (HWY_LIKELY(_mm256_movemask_epi8(_mm256_cmpgt_epi32(distance, far)) == 0)) return;
      for (std::size_t v = 0; v < 4; ++v) {
        const auto one = [&](std::size_t /*of a vector*/) { return cell(v); };
        carefully.template Run<1>(x + v * kFloats * kBytes, one, out + v * kFloats);
      }
    }
  }

  PackedQuotients(const Divisors& by, int least_integer)
      : carefully(by, least_integer), least(least_integer) {}

  const IntegerQuotients<kBytes> carefully;
  const int least;
};

// A factor with which products of all bfloat16s are on the side of every tie on which their
// quotients are, and the last magnitude whose product fits 16 bits.
struct SureFactor {
  float factor;
  std::int16_t last;
};

// Let a divisor be D 2^k with 1 <= D < 2. The quotient of a mantissa m of eight bits is beside a
// tie, which has eight bits too, where 2m / D is beside an integer. Where it is within 2^-9, 2^-18
// of itself, it has to be above all such integers, or below all: then a factor that is as much as
// 2^-20 larger, or smaller, than 1 / D takes no product to another side, its own rounding and the
// product's being 2^-23 together. Under scales of a largest magnitude of eight bits over 127 that
// is so. What 2m exceeds a product of D and nine bits by is a float32. False where quotients are on
// both sides, or one is a tie.
HWY_INLINE bool FindSureFactor(double divisor, float factor, SureFactor* found) {
  const auto bits = std::bit_cast<std::uint64_t>(divisor);
  const double significand = std::bit_cast<double>((bits & ((std::uint64_t{1} << 52) - 1)) |
                                                   std::bit_cast<std::uint64_t>(1.0));
  // Products below 2^14.
  const int exponent = static_cast<int>(bits >> 52) - (1023 - 127) + 13;
  *found = {factor, static_cast<std::int16_t>(std::min(exponent << 7, 0x7F80) - 1)};
  if (significand == 1) return true;
  const auto narrow = static_cast<float>(significand);
  if (static_cast<double>(narrow) != significand) return false;
  const __m256 by = _mm256_set1_ps(narrow), inverse = _mm256_set1_ps(1 / narrow);
  // The least number that is not negative, by its bits, and the least that is not positive.
  __m256i above = _mm256_set1_epi32(-1), below = above;
  __m256 doubled = _mm256_setr_ps(256, 258, 260, 262, 264, 266, 268, 270);
  for (int m = 128; m < 256; m += 8) {
    const __m256 nearest = _mm256_round_ps(_mm256_mul_ps(doubled, inverse),
                                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256i rest = _mm256_castps_si256(_mm256_fnmadd_ps(nearest, by, doubled));
    above = _mm256_min_epu32(above, rest);
    below = _mm256_min_epu32(below, _mm256_xor_si256(rest, _mm256_set1_epi32(INT32_MIN)));
    doubled = _mm256_add_ps(doubled, _mm256_set1_ps(16));
  }
  const __m256i near = _mm256_set1_epi32(std::bit_cast<std::int32_t>(narrow * 0x1p-9F));
  const auto is_any_near = [&](__m256i rests) HWY_ATTR {
    const __m256i is_far = _mm256_cmpeq_epi32(_mm256_max_epu32(rests, near), rests);
    return _mm256_movemask_epi8(is_far) != -1;
  };
  const bool any_above = is_any_near(above), any_below = is_any_near(below);
  const __m256i tie = _mm256_cmpeq_epi32(_mm256_min_epu32(above, below), _mm256_setzero_si256());
  if (_mm256_testz_si256(tie, tie) == 0 || (any_above && any_below)) return false;
  const double more = any_above ? 0x1p-20 : any_below ? -0x1p-20 : 0;
  found->factor = static_cast<float>((1 + more) / divisor);
  return true;
}

// 32 bfloat16s; false, and wrong codes, where a product does not fit 16 bits.
HWY_INLINE bool MultiplyToIntegers(const std::byte* x, const SureFactor& by, int least,
                                   std::byte* codes) {
  const __m256 factor = _mm256_set1_ps(by.factor);
  const __m256i last = _mm256_set1_epi16(by.last);
  __m256i rounded[2], most = _mm256_setzero_si256();
  for (int v = 0; v < 2; ++v) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x) + v);
    most = _mm256_max_epu16(most, _mm256_and_si256(halves, _mm256_set1_epi16(0x7FFF)));
    const __m256i even = _mm256_slli_epi32(halves, 16);
    const __m256i odd = _mm256_and_si256(halves, _mm256_set1_epi32(static_cast<int>(0xFFFF0000)));
    const auto integers = [&](__m256i floats) HWY_ATTR {
      return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_castsi256_ps(floats), factor));
    };
    rounded[v] = _mm256_blend_epi16(integers(even), _mm256_slli_epi32(integers(odd), 16), 0xAA);
  }
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(rounded[0], rounded[1]), 0xD8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes),
                      _mm256_max_epi8(packed, _mm256_set1_epi8(static_cast<char>(least))));
  return _mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_max_epu16(most, last), last)) == -1;
}

void DivideHalvesToIntegers(const std::byte* x, std::byte* codes, std::size_t n, const Divisors& by,
                            const CellsInOrder& cells, int least) {
  constexpr std::size_t kWorthOfFinding = 512;
  const std::size_t at_once = 32;
  const std::size_t width = cells.log2_width < 40 ? std::size_t{1} << cells.log2_width : n;
  std::size_t left = cells.log2_width < 40 ? width - cells.skipped % width : n;  // of the cell
  std::size_t cell = cells.skipped >> cells.log2_width;
  for (std::size_t done = 0; done < n; ++cell, left = width) {
    const std::size_t end = done + std::min(left, n - done);
    const Divisors of_cell = {by.factors + cell, by.divisors + cell, by.numerator};
    const auto carefully = [&](std::size_t from, std::size_t count) HWY_ATTR {
      ForEachVector<2, 1>(x + 2 * from, codes + from, count, CellsInOrder(),
                          PackedQuotients<2>(of_cell, least));
    };
    SureFactor sure;
    if (end - done >= kWorthOfFinding && by.numerator == 1 &&
        FindSureFactor(*of_cell.divisors, *of_cell.factors, &sure)) {
      for (; done + at_once <= end; done += at_once) {
        if (HWY_UNLIKELY(!MultiplyToIntegers(x + 2 * done, sure, least, codes + done))) {
          carefully(done, at_once);
        }
      }
    }
    carefully(done, end - done);
    done = end;
  }
}

void DivideToPackedIntegers(const std::byte* x, bool is_bfloat16, std::byte* codes, std::size_t n,
                            const Divisors& by, const CellsInOrder& cells, int least) {
  if (is_bfloat16 && cells.log2_width >= 9) {
    return DivideHalvesToIntegers(x, codes, n, by, cells, least);
  }
  if (is_bfloat16) return ForEachVector<2, 1>(x, codes, n, cells, PackedQuotients<2>(by, least));
  ForEachVector<4, 1>(x, codes, n, cells, PackedQuotients<4>(by, least));
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_PACKED_QUOTIENTS_INL_H_
