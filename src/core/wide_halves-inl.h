// 64-bit and 32-bit sources of floats of at most 16 bits on AVX2, which converts neither 64-bit
// integers nor toward zero. Included per target.
//
// What is cast here is near the source: equal to it below 2^24, within four units in the last place
// of a float32 beyond. That settles the cast but where it lies next to a value on which the
// destination rounds; such a step is left to the exact ways (docs/design.md).
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_WIDE_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_WIDE_HALVES_INL_H_
#undef TENSORCAST_SRC_CORE_WIDE_HALVES_INL_H_
#else
#define TENSORCAST_SRC_CORE_WIDE_HALVES_INL_H_
#endif

#include "core/halves-inl.h"

#if HWY_TARGET == HWY_AVX2
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// The halves of eight elements of 64 bits. Shuffled within blocks they stand as 0 1 4 5 | 2 3 6 7,
// and go on so until they are stored.
struct Words {
  __m256i low, high;
};
HWY_INLINE Words LoadWordsOf64(const std::byte* in) {
  const auto load = [in](std::size_t i) HWY_ATTR {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(in + 32 * i));
  };
  const __m256 a = load(0), b = load(1);
  return {_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)),
          _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD))};
}

// 16-bit lanes packed from two of them, in order.
HWY_INLINE V16 WordsInOrder(V16 packed) {
  return V16{_mm256_shuffle_epi32(_mm256_permute4x64_epi64(packed.raw, 0xD8), 0xD8)};
}

// As a signed number, and 2^32 more where that is negative.
HWY_INLINE __m256 NearFloat32OfUint32(__m256i x) {
  const __m256 two32 = _mm256_set1_ps(0x1p32f);
  const __m256 offset = _mm256_blendv_ps(_mm256_setzero_ps(), two32, _mm256_castsi256_ps(x));
  return _mm256_add_ps(_mm256_cvtepi32_ps(x), offset);
}

// Whether NearFloat32 has the order of words.
template <DataType kType> constexpr bool IsWords() {
  return detail::Row(kType).is_integer() && detail::Row(kType).bits == 64;
}

// Eight integers as float32 near them. kOverflows: all of 2^24 and more overflow in the
// destination, so that they may become any such number.
template <DataType kType, bool kOverflows> HWY_INLINE VF32 NearFloat32(const std::byte* in) {
  const __m256 two32 = _mm256_set1_ps(0x1p32f);
  if constexpr (detail::Row(kType).bits == 64) {
    const Words words = LoadWordsOf64(in);
    if constexpr (kType == DataType::kInt64) {
      // The low half as a signed number, the high half one more where that is negative.
      const __m256i below = _mm256_min_epi32(words.high, _mm256_set1_epi32(INT32_MAX - 1));
      const __m256i high = _mm256_sub_epi32(below, _mm256_srai_epi32(words.low, 31));
      return VF32{_mm256_fmadd_ps(_mm256_cvtepi32_ps(high), two32, _mm256_cvtepi32_ps(words.low))};
    } else if constexpr (kOverflows) {
      const __m256i most = _mm256_set1_epi32(INT32_MAX);
      const __m256i fits = _mm256_cmpeq_epi32(words.high, _mm256_setzero_si256());
      return VF32{_mm256_cvtepi32_ps(
          _mm256_or_si256(_mm256_min_epu32(words.low, most), _mm256_andnot_si256(fits, most)))};
    } else {
      return VF32{
          _mm256_fmadd_ps(NearFloat32OfUint32(words.high), two32, NearFloat32OfUint32(words.low))};
    }
  } else {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
    if constexpr (kType == DataType::kInt32) {
      return VF32{_mm256_cvtepi32_ps(x)};
    } else if constexpr (kOverflows) {
      return VF32{_mm256_cvtepi32_ps(_mm256_min_epu32(x, _mm256_set1_epi32(INT32_MAX)))};
    } else {
      return VF32{NearFloat32OfUint32(x)};
    }
  }
}

// Eight float64 as float32, their lower words folded into the last bit of the upper ones: rounded
// to odd at 21 digits, two more than float16 asks for even where it is least.
HWY_INLINE VF32 FoldedFloat32Of64(const std::byte* in) {
  const Words words = LoadWordsOf64(in);
  const __m256i zero = _mm256_setzero_si256();
  const __m256i folded =
      _mm256_or_si256(words.high, _mm256_min_epu32(words.low, _mm256_set1_epi32(1)));
  // Interleaving within blocks undoes the words' order.
  const auto convert = [](__m256i x) HWY_ATTR { return _mm256_cvtpd_ps(_mm256_castsi256_pd(x)); };
  const __m128 low = convert(_mm256_unpacklo_epi32(zero, folded));
  return VF32{_mm256_insertf128_ps(_mm256_castps128_ps256(low),
                                   convert(_mm256_unpackhi_epi32(zero, folded)), 1)};
}

// 32 integers of 64 bits to float32 by float64, which rounds, too; false, with nothing written,
// where one lies in the middle between two float32 and may have been rounded to that.
template <bool kSigned> HWY_INLINE bool Integers64ToFloat32(const std::byte* in, std::byte* out) {
  const auto convert = [](const std::byte* from) HWY_ATTR {
    // The halves beside 2^52 and 2^84, each exact; a sign is that of the upper half.
    const __m256i x = Load(D64(), from).raw;
    const __m256i low = _mm256_blend_epi32(x, _mm256_set1_epi32(0x43300000), 0xAA);
    const __m256i above = _mm256_set1_epi64x(kSigned ? 0x4530000080000000 : 0x4530000000000000);
    const __m256i high = _mm256_xor_si256(_mm256_srli_epi64(x, 32), above);
    const __m256d beside = _mm256_set1_pd(0x1p84 + 0x1p52 + (kSigned ? 0x1p63 : 0));
    return _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(high), beside),
                         _mm256_castsi256_pd(low));
  };
  __m256 results[4];
  __m256i middle = _mm256_setzero_si256();
  for (std::size_t i = 0; i < 4; ++i) {
    const __m256d a = convert(in + 64 * i), b = convert(in + 64 * i + 32);
    const __m256 low = _mm256_shuffle_ps(_mm256_castpd_ps(a), _mm256_castpd_ps(b), 0x88);
    const __m256i cut = _mm256_slli_epi32(_mm256_castps_si256(low), 3);  // 29 bits
    middle = _mm256_or_si256(middle, _mm256_cmpeq_epi32(cut, _mm256_set1_epi32(INT32_MIN)));
    results[i] =
        _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(a)), _mm256_cvtpd_ps(b), 1);
  }
  if (HWY_UNLIKELY(!_mm256_testz_si256(middle, middle))) return false;
  for (std::size_t i = 0; i < 4; ++i) Store(VF32{results[i]}, DF32(), out + 32 * i);
  return true;
}

// Where a float32, by its upper half, is 2^24 or more in magnitude: what is less is exact.
HWY_INLINE __m256i LargeHalves(V16 upper) {
  const __m256i magnitude = _mm256_and_si256(upper.raw, _mm256_set1_epi16(0x7FFF));
  return _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x4B7F));
}
// Where a float32's lower half lies within four units of `apart`, and whether one of those is
// large.
HWY_INLINE __m256i IsNear(V16 lower, int apart) {
  const __m256i distance =
      _mm256_sub_epi16(lower.raw, _mm256_set1_epi16(static_cast<short>(apart - 4)));
  return _mm256_cmpeq_epi16(_mm256_min_epu16(distance, _mm256_set1_epi16(8)), distance);
}
HWY_INLINE bool AnyLarge(__m256i near, V16 upper) {
  return !_mm256_testz_si256(near, LargeHalves(upper));
}

// 16 float64, as bfloat16 magnitudes rounded to odd and lanes of their signs. What float32 has as a
// subnormal becomes another value of at most 2^-126; what it does not hold, all ones.
HWY_INLINE V16 OddBfloat16Of64(const std::byte* in, V16* signs) {
  const Words low = LoadWordsOf64(in), high = LoadWordsOf64(in + 64);
  signs->raw = _mm256_packs_epi32(low.high, high.high);
  const auto rebiased = [](const Words& words) HWY_ATTR {
    const __m256i magnitude = _mm256_and_si256(words.high, _mm256_set1_epi32(INT32_MAX));
    const __m256i cut = _mm256_min_epu32(words.low, _mm256_set1_epi32(1));
    return _mm256_sub_epi32(_mm256_or_si256(magnitude, cut), _mm256_set1_epi32((1023 - 127) << 20));
  };
  const __m256i a = rebiased(low), b = rebiased(high);
  const __m256i mask = _mm256_set1_epi32(0x1FFF);
  const __m256i kept = _mm256_packus_epi32(_mm256_srai_epi32(a, 13), _mm256_srai_epi32(b, 13));
  const __m256i cut = _mm256_packus_epi32(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask));
  return V16{_mm256_or_si256(kept, _mm256_min_epu16(cut, _mm256_set1_epi16(1)))};
}

// 32 float64 to float8e8m0; false, with nothing written, where one is NaN.
HWY_INLINE bool Float64ToE8M0(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  const auto set16 = [](std::uint32_t bits)
                         HWY_ATTR { return _mm256_set1_epi16(static_cast<short>(bits)); };
  __m256i nan = _mm256_setzero_si256(), codes[2], below[2];
  // As OddBfloat16Of64, but what is too small is negative, and too large the largest.
  const auto rebiased = [&nan](const Words& words) HWY_ATTR {
    const __m256i magnitude = _mm256_and_si256(words.high, _mm256_set1_epi32(INT32_MAX));
    const __m256i cut = _mm256_min_epu32(words.low, _mm256_set1_epi32(1));
    const __m256i folded = _mm256_or_si256(magnitude, cut);
    nan = _mm256_or_si256(nan, _mm256_cmpgt_epi32(folded, _mm256_set1_epi32(0x7FF00000)));
    return _mm256_sub_epi32(folded, _mm256_set1_epi32((1023 - 127) << 20));
  };
  const __m256i mask = _mm256_set1_epi32(0x1FFF);
  for (std::size_t i = 0; i < 2; ++i) {
    const Words low = LoadWordsOf64(in + 128 * i), high = LoadWordsOf64(in + 128 * i + 64);
    const __m256i a = rebiased(low), b = rebiased(high);
    const __m256i kept = _mm256_packs_epi32(_mm256_srai_epi32(a, 13), _mm256_srai_epi32(b, 13));
    const __m256i cut = _mm256_packus_epi32(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask));
    const __m256i odd = _mm256_or_si256(kept, _mm256_min_epu16(cut, _mm256_set1_epi16(1)));
    below[i] = _mm256_or_si256(odd, _mm256_packs_epi32(low.high, high.high));  // or negative
    const __m256i above = _mm256_cmpgt_epi16(odd, set16((127 + 127) << 7));
    codes[i] =
        _mm256_blendv_epi8(_mm256_srli_epi16(_mm256_add_epi16(odd, set16(args.e8m0_bias16)), 7),
                           set16(args.e8m0_above), above);
  }
  if (HWY_UNLIKELY(!_mm256_testz_si256(nan, nan))) return false;
  const __m256i least = _mm256_set1_epi8(static_cast<char>(args.e8m0_below));
  const __m256i bytes = _mm256_blendv_epi8(_mm256_packus_epi16(codes[0], codes[1]), least,
                                           _mm256_packs_epi16(below[0], below[1]));
  Store(BytesInOrder<Order::kWords>(bytes), D8(), out);
  return true;
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX2

#endif  // TENSORCAST_SRC_CORE_WIDE_HALVES_INL_H_
