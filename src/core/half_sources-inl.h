// Sources of at most 16 bits to bfloat16, and bfloat16 to uint32, in as few steps as their few
// digits allow: AVX2 and AVX-512. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_HALF_SOURCES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_HALF_SOURCES_INL_H_
#undef TENSORCAST_SRC_CORE_HALF_SOURCES_INL_H_
#else
#define TENSORCAST_SRC_CORE_HALF_SOURCES_INL_H_
#endif

#include "core/decode-inl.h"
#include "core/halves-inl.h"

#if TENSORCAST_AVX2
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// A float32 of at most 16 digits to the nearest with so many bits of mantissa, bfloat16's or fewer,
// ties to even; NaN from Inf. The last place of the difference is that of such a number with the
// exponent of x, but where x is a power of two and nothing is rounded. The power of two times x is
// a multiple of twice that place, so that what ties goes to even, and taking the difference away
// from it is exact, -0 too.
template <int kMantissaBits> HWY_INLINE VF32 RoundedTo(VF32 x) {
  const VF32 power = hn::Set(DF32(), PowerOfTwo32(23 - kMantissaBits));
#if TENSORCAST_AVX512
  const __m512 difference = _mm512_fmsub_round_ps(x.raw, power.raw, x.raw, kToNearest);
  return VF32{_mm512_fmsub_round_ps(x.raw, power.raw, difference, kToNearest)};
#else
  return hn::MulSub(x, power, hn::MulSub(x, power, x));
#endif
}
HWY_INLINE VF32 RoundedToBfloat16(VF32 x) {
  return RoundedTo<detail::Row(DataType::kBfloat16).mantissa_bits>(x);
}

// bfloat16 from float32 that are none other: of elements in even places, and in odd ones.
HWY_INLINE V16 JoinBfloat16(VF32 even, VF32 odd) {
  const D32 d;
  return hn::BitCast(D16(), hn::Or(hn::ShiftRight<16>(hn::BitCast(d, even)), hn::BitCast(d, odd)));
}

// The signed 16-bit lanes in even places, in lanes of 32 bits.
HWY_INLINE hn::VFromD<hn::RebindToSigned<D32>> EvenOfPairs(V16 x) {
#if TENSORCAST_AVX512
  return {_mm512_madd_epi16(x.raw, _mm512_set1_epi32(1))};
#else
  return {_mm256_madd_epi16(x.raw, _mm256_set1_epi32(1))};
#endif
}

// Integers of 16 bits, rounded to so many bits of mantissa.
template <bool kSigned, int kMantissaBits = 7> HWY_INLINE V16 Integers16ToBfloat16(V16 x) {
  const D32 d;
  const hn::RebindToSigned<D32> di;
  const DF32 df;
  const V32 pairs = hn::BitCast(d, x);
  hn::VFromD<decltype(di)> even, odd;
  if constexpr (kSigned) {
    odd = hn::ShiftRight<16>(hn::BitCast(di, pairs));
    even = EvenOfPairs(x);
  } else {
    odd = hn::BitCast(di, hn::ShiftRight<16>(pairs));
    even = hn::BitCast(di, hn::And(pairs, hn::Set(d, 0xFFFFu)));
  }
  return JoinBfloat16(RoundedTo<kMantissaBits>(hn::ConvertTo(df, even)),
                      RoundedTo<kMantissaBits>(hn::ConvertTo(df, odd)));
}

// bfloat16 that are integers below 2^16, of at most eight digits, to float16, which has fewer
// exponents and more digits.
template <bool kSigned> HWY_INLINE V16 Bfloat16ToFloat16(V16 x) {
  const D16 d;
  const V16 magnitude = kSigned ? hn::And(x, hn::Set(d, std::uint16_t{0x7FFF})) : x;
  const V16 rebias = hn::Set(d, std::uint16_t{(127 - 15) << 7});
  const V16 fields = hn::ShiftLeft<3>(hn::SaturatedSub(magnitude, rebias));
  return kSigned ? hn::OrAnd(fields, x, hn::Set(d, std::uint16_t{0x8000})) : fields;
}

// The largest of two vectors of floats of 16 bits, each without its sign and doubled, in one of the
// lanes.
HWY_INLINE V16 LargestDoubled(const std::byte* in) {
  const auto doubled = [in](std::size_t i) HWY_ATTR {
    const V16 x = Load(D16(), in + HWY_MAX_BYTES * i);
    return hn::Add(x, x);
  };
  return hn::Max(doubled(0), doubled(1));
}
// Whether one of those was 2^exponent or more, or NaN.
template <DataType kType> HWY_INLINE bool AnyFrom(int exponent, V16 doubled) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const int from = (row.bias + exponent) << (row.mantissa_bits + 1);
  return AnyAbove(doubled, static_cast<std::uint16_t>(from - 1));
}

#if HWY_TARGET == HWY_AVX2
// 16 integers of eight bits, which bfloat16 holds.
template <bool kSigned> HWY_INLINE V16 Integers8ToBfloat16(const std::byte* in) {
  if constexpr (kSigned) {
    const DF32 df;
    const hn::RebindToSigned<D32> di;
    const V16 x{_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)))};
    return JoinBfloat16(hn::ConvertTo(df, EvenOfPairs(x)),
                        hn::ConvertTo(df, hn::ShiftRight<16>(hn::BitCast(di, x))));
  } else {
    const __m256i bytes = LoadTwice(in);
    const auto words = [bytes](int first) HWY_ATTR {
      const auto index = [first](int i) {
        return static_cast<int>(0x80808000u | static_cast<unsigned>(first + 2 * i));
      };
      const __m256i at = _mm256_setr_epi32(index(0), index(1), index(2), index(3), index(4),
                                           index(5), index(6), index(7));
      return VF32{_mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, at))};
    };
    return JoinBfloat16(words(0), words(1));
  }
}

// 32 bfloat16 to uint32, cut and modulo 2^32; false, with nothing written, from 2^32 on.
HWY_INLINE bool Bfloat16ToUint32(const std::byte* in, std::byte* out) {
  const V16 largest = LargestDoubled(in);
  if (HWY_UNLIKELY(AnyFrom<DataType::kBfloat16>(32, largest))) return false;
  __m256i results[4];
  if (AnyFrom<DataType::kBfloat16>(31, largest)) {
    // The significand, at the top of its lane, shifted down by what its exponent lacks.
    for (std::size_t i = 0; i < 4; ++i) {
      const __m256i x = LoadUpperHalves(in + 16 * i).raw;
      const __m256i significand =
          _mm256_or_si256(_mm256_slli_epi32(x, 8), _mm256_set1_epi32(INT32_MIN));
      const __m256i exponent = _mm256_srli_epi32(_mm256_add_epi32(x, x), 24);
      const __m256i lacks = _mm256_sub_epi32(_mm256_set1_epi32(127 + 31), exponent);
      results[i] = _mm256_sign_epi32(_mm256_srlv_epi32(significand, lacks), x);
    }
  } else {
    for (std::size_t i = 0; i < 4; ++i) {
      results[i] = _mm256_cvttps_epi32(_mm256_castsi256_ps(LoadUpperHalves(in + 16 * i).raw));
    }
  }
  for (std::size_t i = 0; i < 4; ++i) Store(V32{results[i]}, D32(), out + 32 * i);
  return true;
}
#endif

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_AVX2

#endif  // TENSORCAST_SRC_CORE_HALF_SOURCES_INL_H_
