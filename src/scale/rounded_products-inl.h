// Products rounded once to bfloat16 and float16 in AVX2, and those of integers of eight bits with
// the factors of their cells. Included once per target, after quotients-inl.h.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_ROUNDED_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_ROUNDED_PRODUCTS_INL_H_
#undef TENSORCAST_SRC_SCALE_ROUNDED_PRODUCTS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_ROUNDED_PRODUCTS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "scale/cell_lanes.h"
#include "scale/quotients-inl.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

// Products as float32 whose last bit says whether something was cut off (see product_tables-inl.h):
// what was rounded to an even one is moved to the neighbour on the product's side.
HWY_INLINE __m256 OddProducts(__m256 value, __m256 factor) {
  const __m256 product = _mm256_mul_ps(value, factor);
  const __m256 rest = _mm256_fmsub_ps(value, factor, product);
  const __m256i bits = _mm256_castps_si256(product), one = _mm256_set1_epi32(1);
  const __m256i is_cut = _mm256_castps_si256(_mm256_cmp_ps(rest, _mm256_setzero_ps(), _CMP_NEQ_OQ));
  const __m256i moves = _mm256_andnot_si256(bits, _mm256_and_si256(is_cut, one));
  // -1 where it was rounded away from zero.
  const __m256i away = _mm256_srai_epi32(_mm256_xor_si256(bits, _mm256_castps_si256(rest)), 31);
  const __m256i by = _mm256_sub_epi32(_mm256_xor_si256(moves, away), away);
  return _mm256_castsi256_ps(_mm256_add_epi32(bits, by));
}

constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

// 16 floats in order, as bfloat16 or float16.
template <bool kBfloat16> HWY_INLINE __m256i RoundedHalves(__m256 first, __m256 second) {
  if constexpr (kBfloat16) {
    const auto upper = [](__m256 value) HWY_ATTR {
      const __m256i bits = _mm256_castps_si256(value);
      const __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
      const __m256i up = _mm256_add_epi32(last, _mm256_set1_epi32(0x7FFF));
      return _mm256_srli_epi32(_mm256_add_epi32(bits, up), 16);
    };
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(upper(first), upper(second)), 0xD8);
  } else {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm256_cvtps_ph(first, kToNearest)),
                                   _mm256_cvtps_ph(second, kToNearest), 1);
  }
}

// Sixteen float32s in two halves of each, in order.
struct Pairs {
  __m256i upper, lower;
};

// Of the floats at even places and those at odd ones.
HWY_INLINE Pairs PairsOf(__m256 even, __m256 odd) {
  const __m256i evens = _mm256_castps_si256(even), odds = _mm256_castps_si256(odd);
  return {_mm256_blend_epi16(_mm256_srli_epi32(evens, 16), odds, 0xAA),
          _mm256_blend_epi16(evens, _mm256_slli_epi32(odds, 16), 0xAA)};
}

// As bfloat16s: what is cut off counts from a half on.
HWY_INLINE __m256i Away(Pairs pairs) {
  return _mm256_sub_epi16(pairs.upper, _mm256_cmpgt_epi16(_mm256_setzero_si256(), pairs.lower));
}

// A half itself only where the last bit is odd. None is NaN.
HWY_INLINE __m256i Nearest(Pairs pairs) {
  const __m256i is_even = _mm256_andnot_si256(pairs.upper, _mm256_set1_epi16(1));
  return Away({pairs.upper, _mm256_subs_epu16(pairs.lower, is_even)});
}

// Sixteen integers of eight bits as floats: those at even places and those at odd ones. Of signed
// ones the byte becomes the upper one of 32 bits, which makes it 2^24 times as large.
template <bool kSigned> struct PairedBytes {
  explicit HWY_INLINE PairedBytes(const std::byte* codes) {
    const __m256i row =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
    constexpr int kEmpty = kSigned ? 0x00808080 : static_cast<int>(0x80808000u);
    constexpr int kUnit = kSigned ? 1 << 24 : 1;
    const __m256i places =
        _mm256_add_epi32(_mm256_setr_epi32(0, 2 * kUnit, 4 * kUnit, 6 * kUnit, 8 * kUnit,
                                           10 * kUnit, 12 * kUnit, 14 * kUnit),
                         _mm256_set1_epi32(kEmpty));
    const __m256i next = _mm256_add_epi32(places, _mm256_set1_epi32(kUnit));
    even = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(row, places));
    odd = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(row, next));
  }
  // What they are multiplied by in place of a factor, which is zero or at least 2^-100.
  static HWY_INLINE __m256 Adjusted(__m256 factor) {
    return kSigned ? _mm256_mul_ps(factor, _mm256_set1_ps(0x1p-24f)) : factor;
  }
  __m256 even, odd;
};

// What is rounded once.
enum class Rounding16 {
  kExact,    // they are float32s
  kNotTies,  // as they are, where none of them as a float32 is a tie
  kOdd       // as odd ones
};

// To bfloat16: exact ones, or such as are not ties.
template <Rounding16 kRounding> struct PairedProducts {
  static constexpr std::size_t kLanes = 16;
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* codes, const Cell& cell, std::byte* out) const {
    using Bytes = PairedBytes<true>;
    const auto factor = [&](std::size_t v) HWY_ATTR {
      return Bytes::Adjusted(_mm256_broadcast_ss(factors + cell(v)));
    };
    const auto store = [&](std::size_t v, __m256i halves) HWY_ATTR {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 2 * kLanes * v), halves);
    };
    __m256i ties = _mm256_setzero_si256();
    for (std::size_t v = 0; v < kCount; ++v) {
      const Bytes some(codes + kLanes * v);
      const __m256 by = factor(v);
      const Pairs pairs = PairsOf(_mm256_mul_ps(some.even, by), _mm256_mul_ps(some.odd, by));
      if constexpr (kRounding == Rounding16::kExact) {
        store(v, Nearest(pairs));
      } else {
        store(v, Away(pairs));
        const __m256i tie = _mm256_set1_epi16(static_cast<short>(0x8000));
        ties = _mm256_or_si256(ties, _mm256_cmpeq_epi16(pairs.lower, tie));
      }
    }
    if (kRounding == Rounding16::kExact || HWY_LIKELY(_mm256_testz_si256(ties, ties))) return;
    for (std::size_t v = 0; v < kCount; ++v) {
      const Bytes some(codes + kLanes * v);
      const __m256 by = factor(v);
      store(v, Nearest(PairsOf(OddProducts(some.even, by), OddProducts(some.odd, by))));
    }
  }
  const float* factors;
};

// To float16 and float32.
template <DataType kTo, Rounding16 kRounding> struct IntegerProducts {
  static constexpr std::size_t kLanes = kFloats;

  static HWY_INLINE __m256 ValueAt(const std::byte* codes, std::size_t v) {
    const auto* const eight = reinterpret_cast<const __m128i*>(codes + 8 * v);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(eight)));
  }
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* codes, const Cell& cell, std::byte* out) const {
    const auto factor = [&](std::size_t v)
                            HWY_ATTR { return _mm256_broadcast_ss(factors + cell(v)); };
    const auto product = [&](std::size_t v)
                             HWY_ATTR { return _mm256_mul_ps(ValueAt(codes, v), factor(v)); };
    if constexpr (kTo == DataType::kFloat32) {
      for (std::size_t v = 0; v < kCount; ++v) {
        _mm256_storeu_ps(reinterpret_cast<float*>(out) + 8 * v, product(v));
      }
    } else {
      const auto odd = [&](std::size_t v)
                           HWY_ATTR { return OddProducts(ValueAt(codes, v), factor(v)); };
      if constexpr (kCount == 1) {
        const __m256 products = odd(0);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                         _mm256_castsi256_si128(RoundedHalves<false>(products, products)));
        return;
      }
      const auto store = [&](std::size_t v, __m256 first, __m256 second) HWY_ATTR {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 16 * v),
                            RoundedHalves<false>(first, second));
      };
      __m256i least = _mm256_set1_epi32(-1);
      for (std::size_t v = 0; v < kCount; v += 2) {
        if constexpr (kRounding == Rounding16::kOdd) {
          store(v, odd(v), odd(v + 1));
          continue;
        }
        const __m256 first = product(v), second = product(v + 1);
        store(v, first, second);
        if constexpr (kRounding == Rounding16::kNotTies) {
          // Zero where a product is a tie.
          constexpr int kTie = 0x1000;
          for (const __m256 one : {first, second}) {
            const __m256i beside =
                _mm256_sub_epi32(_mm256_castps_si256(one), _mm256_set1_epi32(kTie));
            least =
                _mm256_min_epu32(least, _mm256_and_si256(beside, _mm256_set1_epi32(2 * kTie - 1)));
          }
        }
      }
      if constexpr (kRounding == Rounding16::kNotTies) {
        const __m256i is_tie = _mm256_cmpeq_epi32(least, _mm256_setzero_si256());
        if (HWY_LIKELY(_mm256_movemask_epi8(is_tie) == 0)) return;
        for (std::size_t v = 0; v < kCount; v += 2) store(v, odd(v), odd(v + 1));
      }
    }
  }
  const float* factors;
};

// CellLanes' multiply_integers.
void MultiplyIntegers(const std::byte* codes, std::size_t n, const float* factors,
                      const CellsInOrder& cells, DataType to, std::byte* out) {
  if (n == 0) return;
  if (to == DataType::kFloat32) {
    return ForEachVector<1, 4>(codes, out, n, cells,
                               IntegerProducts<DataType::kFloat32, Rounding16::kExact>{factors});
  }
  // A code has eight bits.
  bool exact = true, normal = true;
  for (std::size_t i = 0; i <= (cells.skipped + n - 1) >> cells.log2_width; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, factors + i, sizeof(bits));
    exact &= (bits & 0xFF) == 0;
    normal &= (bits & 0x7FFFFFFF) >= 0x38800000;  // 2^-14, of float16
  }
  const auto run = [&]<class Products>(Products products) HWY_ATTR {
    ForEachVector<1, 2, Products::kLanes>(codes, out, n, cells, products);
  };
  constexpr DataType kHalf = DataType::kFloat16;
  if (to == DataType::kBfloat16) {
    if (exact) return run(PairedProducts<Rounding16::kExact>{factors});
    return run(PairedProducts<Rounding16::kNotTies>{factors});
  }
  if (exact) return run(IntegerProducts<kHalf, Rounding16::kExact>{factors});
  if (normal) return run(IntegerProducts<kHalf, Rounding16::kNotTies>{factors});
  run(IntegerProducts<kHalf, Rounding16::kOdd>{factors});
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_ROUNDED_PRODUCTS_INL_H_
