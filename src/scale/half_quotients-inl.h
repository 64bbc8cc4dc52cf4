// Quotients of the elements of cells as bfloat16 rounded to odd, from which codes of few bits are
// made with one rounding (core/route.h). Included once per target, after quotients-inl.h; only
// AVX-512 has them.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_HALF_QUOTIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_HALF_QUOTIENTS_INL_H_
#undef TENSORCAST_SRC_SCALE_HALF_QUOTIENTS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_HALF_QUOTIENTS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/lanes-inl.h"
#include "scale/quotients-inl.h"

#if HWY_TARGET <= HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Results in 32-bit lanes of 32 elements, in the order in which Elements has them.
struct TwoVectors {
  __m512i first, second;
};

// The products of 32 elements with the factors of their cells, sixteen of which have one each: of
// float32 in order, of bfloat16 those in even and in odd places.
template <std::size_t kBytes>
HWY_INLINE TwoVectors Products32(const std::byte* x, float factor, float other) {
  const auto product = [](__m512 a, __m512 b)
                           HWY_ATTR { return _mm512_castps_si512(_mm512_mul_ps(a, b)); };
  const __m512 factors = _mm512_set1_ps(factor);
  if constexpr (kBytes == 4) {
    return {product(_mm512_loadu_ps(x), factors),
            product(_mm512_loadu_ps(x + 64), _mm512_set1_ps(other))};
  } else {
    const __m512 both = _mm512_mask_broadcastss_ps(factors, 0xFF00, _mm_set_ss(other));
    const __m512i halves = _mm512_loadu_si512(x);
    const __m512i even = _mm512_slli_epi32(halves, 16);
    const __m512i odd = _mm512_and_si512(halves, _mm512_set1_epi32(static_cast<int>(0xFFFF0000)));
    return {product(_mm512_castsi512_ps(even), both), product(_mm512_castsi512_ps(odd), both)};
  }
}

// The upper halves of their lanes, or the lower ones, in order.
template <std::size_t kBytes> struct Halves {
  HWY_INLINE __m512i Upper(const TwoVectors& v) const {
    if constexpr (kBytes == 4) return _mm512_permutex2var_epi16(v.first, upper, v.second);
    return _mm512_mask_blend_epi16(0xAAAAAAAA, _mm512_srli_epi32(v.first, 16), v.second);
  }
  HWY_INLINE __m512i Lower(const TwoVectors& v) const {
    if constexpr (kBytes == 4) return _mm512_permutex2var_epi16(v.first, lower, v.second);
    return _mm512_mask_blend_epi16(0xAAAAAAAA, v.first, _mm512_slli_epi32(v.second, 16));
  }

  // Those from a bit on that is `down` from the last one, `up` from the sixteenth.
  HWY_INLINE __m512i LowerOf(const TwoVectors& v, __m128i down, __m128i up) const {
    const __m512i first = _mm512_srl_epi32(v.first, down);
    if constexpr (kBytes == 4) return Lower({first, _mm512_srl_epi32(v.second, down)});
    return _mm512_mask_blend_epi16(0xAAAAAAAA, first, _mm512_sll_epi32(v.second, up));
  }

  static constexpr auto kPlace = [](unsigned i) { return 2 * i; };
  const __m512i lower = core::HWY_NAMESPACE::ConstantLanes<std::uint16_t, kPlace>();
  const __m512i upper = _mm512_or_si512(lower, _mm512_set1_epi16(1));
};

// A float32 cut to bfloat16, with a last bit that says whether something was cut off.
HWY_INLINE void StoreOdd(VF32 quotient, std::byte* to) {
  const D32 d;
  const auto bits = hn::BitCast(d, quotient);
  const auto rest = hn::Min(hn::And(bits, hn::Set(d, 0xFFFFu)), hn::Set(d, 1u));
  const auto odd = hn::Or(hn::ShiftRight<16>(bits), rest);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(odd.raw));
}

// More than so many of 64 are done again in lanes, rather than one by one.
constexpr int kFewWrong = 4;

// One element over its cell's divisor, on the right side of every tie (see cell_codes.cc).
template <std::size_t kBytes>
HWY_INLINE double QuotientOf(const std::byte* x, const Divisors& by, std::size_t cell) {
  std::uint32_t bits = 0;
  std::memcpy(reinterpret_cast<std::byte*>(&bits) + (4 - kBytes), x, kBytes);
  float element;
  std::memcpy(&element, &bits, sizeof(bits));
  return static_cast<double>(element) * by.numerator / by.divisors[cell];
}

HWY_INLINE std::uint16_t OddHalf(double quotient) {
  const auto nearest = static_cast<float>(quotient);
  std::uint32_t bits;
  std::memcpy(&bits, &nearest, sizeof(bits));
  // Cut, where rounding went up: of the lower half only whether it is zero matters.
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(quotient)) --bits;
  const bool is_cut = (bits & 0xFFFF) != 0 || static_cast<double>(nearest) != quotient;
  return static_cast<std::uint16_t>(bits >> 16 | static_cast<std::uint32_t>(is_cut));
}

// Calls one(i) for each bit that is set.
template <class One> HWY_INLINE void ForEachBit(std::uint64_t bits, const One& one) {
  for (; bits != 0; bits &= bits - 1) {
    one(static_cast<std::size_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits)));
  }
}

// Products with a power of two are the quotients.
template <std::size_t kBytes> struct HalfProducts {
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    if constexpr (kCount == 1) {
      StoreOdd(hn::Mul(LoadElements<kBytes>(x, 0), hn::Set(DF32(), factors[cell(0)])), out);
    } else {
      for (std::size_t v = 0; v < kCount; v += 2) {
        const TwoVectors products =
            Products32<kBytes>(x + v * kFloats * kBytes, factors[cell(v)], factors[cell(v + 1)]);
        __m512i odd = halves.Upper(products);
        // Of a bfloat16 nothing is cut off but far below the least code.
        if constexpr (kBytes == 4) {
          const __m512i one = _mm512_set1_epi16(1);
          odd = _mm512_or_si512(odd, _mm512_min_epu16(halves.Lower(products), one));
        }
        _mm512_storeu_si512(out + v * kFloats * 2, odd);
      }
    }
  }
  const float* factors;
  const Halves<kBytes> halves = {};
};

void MultiplyToHalves(const std::byte* x, bool is_bfloat16, std::byte* out, std::size_t n,
                      const float* factors, const CellsInOrder& cells) {
  if (is_bfloat16) return ForEachVector<2, 2>(x, out, n, cells, HalfProducts<2>{factors});
  ForEachVector<4, 2>(x, out, n, cells, HalfProducts<4>{factors});
}

// A product that is near no tie is taken for the quotient, and something is cut off of it: where
// nothing is, neither it nor its neighbour, of an odd last bit, is a tie.
//
// kFew: of codes of so few bits that many values are subnormal ones; what is near a float of one
// bit less than a tie is asked more of. Else it is of what is near a tie of a normal value and of
// all that may round to a subnormal one.
template <std::size_t kBytes, bool kFew> struct HalfQuotients {
  HalfQuotients(const Divisors& divisors, const TieBits& tie_bits) : by(divisors), ties(tie_bits) {
    const int kept = hwy::Num0BitsBelowLS1Bit_Nonzero32(tie_bits.tie);  // bits below a tie's
    // The sixteen bits from here on are those of a tie, or below it.
    const int from = kept - (kFew ? 16 : 15);
    down = _mm_cvtsi32_si128(from);
    up = _mm_cvtsi32_si128(16 - from);
    beside = _mm512_set1_epi16(static_cast<std::int16_t>(kFew ? 1 : 0x8001));
    const auto least_half = static_cast<std::uint32_t>(tie_bits.least) >> 16;
    least = _mm512_set1_epi16(static_cast<std::int16_t>(least_half));
    std::uint32_t normal;
    std::memcpy(&normal, &tie_bits.least_normal, sizeof(normal));
    subnormals = _mm512_set1_epi16(static_cast<std::int16_t>((normal >> 16) - least_half));
  }

  HWY_INLINE void Carefully(const std::byte* x, std::size_t cell, std::byte* out) const {
    const VF32 elements = LoadElements<kBytes>(x, 0);
    VF32 quotient = hn::Mul(elements, hn::Set(DF32(), by.factors[cell]));
    if (MayBeWrong(quotient, ties)) {
      quotient = OddQuotient(elements, by.numerator, by.divisors[cell]);
    }
    StoreOdd(quotient, out);
  }

  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    if constexpr (kCount == 1) {
      Carefully(x, cell(0), out);
    } else {
      static_assert(kCount == 4);
      const __m512i magnitude_bits = _mm512_set1_epi16(0x7FFF);
      const __m512i infinity = _mm512_set1_epi16(0x7F80);
      __m512i besides[2], aboves[2], magnitudes[2];
      for (std::size_t v = 0; v < kCount; v += 2) {
        const TwoVectors products = Products32<kBytes>(
            x + v * kFloats * kBytes, by.factors[cell(v)], by.factors[cell(v + 1)]);
        const __m512i upper = halves.Upper(products);
        besides[v / 2] = _mm512_add_epi16(halves.LowerOf(products, down, up), beside);
        magnitudes[v / 2] = _mm512_and_si512(upper, magnitude_bits);
        aboves[v / 2] = _mm512_sub_epi16(magnitudes[v / 2], least);
        _mm512_storeu_si512(out + v * kFloats * 2, _mm512_or_si512(upper, _mm512_set1_epi16(1)));
      }
      const auto wrong = [&](__m512i nearest, __m512i above, __m512i largest) HWY_ATTR {
        auto mask = _mm512_cmple_epu16_mask(nearest, _mm512_set1_epi16(2));
        if constexpr (!kFew) {
          mask |= _mm512_cmplt_epu16_mask(above, subnormals);
          mask |= _mm512_cmpge_epu16_mask(largest, infinity);
        }
        return static_cast<std::uint64_t>(mask);
      };
      if (HWY_LIKELY(wrong(_mm512_min_epu16(besides[0], besides[1]),
                           _mm512_min_epu16(aboves[0], aboves[1]),
                           _mm512_max_epu16(magnitudes[0], magnitudes[1])) == 0)) {
        return;
      }
      const std::uint64_t all = wrong(besides[0], aboves[0], magnitudes[0]) |
                                wrong(besides[1], aboves[1], magnitudes[1]) << 32;
      if (hwy::PopCount(all) <= kFewWrong) {
        return ForEachBit(all, [&](std::size_t i) HWY_ATTR {
          const std::uint16_t half =
              OddHalf(QuotientOf<kBytes>(x + i * kBytes, by, cell(i / kFloats)));
          std::memcpy(out + i * 2, &half, sizeof(half));
        });
      }
      for (std::size_t v = 0; v < kCount; ++v) {
        Carefully(x + v * kFloats * kBytes, cell(v), out + v * kFloats * 2);
      }
    }
  }

  const Divisors by;
  const TieBits ties;
  __m128i down, up;
  __m512i beside, least, subnormals;
  const Halves<kBytes> halves = {};
};

template <bool kFew>
HWY_INLINE void DivideToHalves(const std::byte* x, bool is_bfloat16, std::byte* quotients,
                               std::size_t n, const Divisors& by, const CellsInOrder& cells,
                               const TieBits& ties) {
  if (is_bfloat16) {
    return ForEachVector<2, 2>(x, quotients, n, cells, HalfQuotients<2, kFew>(by, ties));
  }
  ForEachVector<4, 2>(x, quotients, n, cells, HalfQuotients<4, kFew>(by, ties));
}

// What is below 2^-4 is little of what cells have where their largest is a power above it.
void DivideToHalves(const std::byte* x, bool is_bfloat16, std::byte* quotients, std::size_t n,
                    const Divisors& by, const CellsInOrder& cells, const TieBits& ties) {
  if (ties.least_normal > 0x1p-4F) {
    return DivideToHalves<true>(x, is_bfloat16, quotients, n, by, cells, ties);
  }
  DivideToHalves<false>(x, is_bfloat16, quotients, n, by, cells, ties);
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET <= HWY_AVX3
#endif  // TENSORCAST_SRC_SCALE_HALF_QUOTIENTS_INL_H_
