// Sources of 16 bits and more as vectors of float32: exact, to nearest, or rounded to odd. Included
// per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_WIDE_SOURCES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_WIDE_SOURCES_INL_H_
#undef TENSORCAST_SRC_CORE_WIDE_SOURCES_INL_H_
#else
#define TENSORCAST_SRC_CORE_WIDE_SOURCES_INL_H_
#endif

#include "core/decode-inl.h"
#include "core/halves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// What the destination asks of a source that float32 does not hold: rounded to nearest, or to odd,
// everywhere or only where float32 is normal.
enum class Through : std::uint8_t { kNearest, kOdd, kOddNormal };

#if TENSORCAST_AVX512
// 16 elements of 64 bits: a conversion gives half a vector.
template <class Half> HWY_INLINE VF32 JoinFloat32(Half low, Half high) {
  return VF32{_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1)};
}

// Cut toward zero.
template <DataType kType> HWY_INLINE __m256 CutFloat32Of64(__m512i bits) {
  if constexpr (kType == DataType::kFloat64) {
    return _mm512_cvt_roundpd_ps(_mm512_castsi512_pd(bits), kTowardZero);
  } else if constexpr (kType == DataType::kInt64) {
    return _mm512_cvt_roundepi64_ps(bits, kTowardZero);
  } else {
    return _mm512_cvt_roundepu64_ps(bits, kTowardZero);
  }
}

// The same; the last bit is set where converting back does not give the source.
template <DataType kType> HWY_INLINE __m256 OddFloat32Of64(__m512i bits) {
  const __m256 cut = CutFloat32Of64<kType>(bits);
  __mmask8 inexact;
  if constexpr (kType == DataType::kFloat64) {
    inexact = _mm512_cmp_pd_mask(_mm512_cvtps_pd(cut), _mm512_castsi512_pd(bits), _CMP_NEQ_UQ);
  } else if constexpr (kType == DataType::kInt64) {
    inexact = _mm512_cmpneq_epi64_mask(_mm512_cvtt_roundps_epi64(cut, _MM_FROUND_NO_EXC), bits);
  } else {
    inexact = _mm512_cmpneq_epi64_mask(_mm512_cvtt_roundps_epu64(cut, _MM_FROUND_NO_EXC), bits);
  }
  const __m256i result = _mm256_castps_si256(cut);
  return _mm256_castsi256_ps(_mm256_mask_or_epi32(result, inexact, result, _mm256_set1_epi32(1)));
}
// float64 rounded to odd by what its lower word leaves, cut toward zero: a float32 that is normal
// keeps the bit that this sets, three above its last one.
HWY_INLINE __m256 OddNormalFloat32Of64(__m512i bits) {
  const __mmask8 left = _mm512_test_epi64_mask(bits, _mm512_set1_epi64(0xFFFFFFFF));
  return CutFloat32Of64<DataType::kFloat64>(
      _mm512_mask_or_epi64(bits, left, bits, _mm512_set1_epi64(std::int64_t{1} << 32)));
}
template <DataType kType> HWY_INLINE __m512 OddFloat32Of32(__m512i bits) {
  __m512 cut;
  __mmask16 inexact;
  if constexpr (kType == DataType::kInt32) {
    cut = _mm512_cvt_roundepi32_ps(bits, kTowardZero);
    inexact = _mm512_cmpneq_epi32_mask(_mm512_cvtt_roundps_epi32(cut, _MM_FROUND_NO_EXC), bits);
  } else {
    cut = _mm512_cvt_roundepu32_ps(bits, kTowardZero);
    inexact = _mm512_cmpneq_epi32_mask(_mm512_cvtt_roundps_epu32(cut, _MM_FROUND_NO_EXC), bits);
  }
  const __m512i result = _mm512_castps_si512(cut);
  return _mm512_castsi512_ps(_mm512_mask_or_epi32(result, inexact, result, _mm512_set1_epi32(1)));
}
#endif

// 32-bit integers to float32, rounded once to nearest.
template <bool kSigned> HWY_INLINE VF32 NearestFloat32FromInteger32(V32 bits) {
#if TENSORCAST_AVX512
  return VF32{kSigned ? _mm512_cvt_roundepi32_ps(bits.raw, kToNearest)
                      : _mm512_cvt_roundepu32_ps(bits.raw, kToNearest)};
#else
  const DF32 df;
  const hn::RebindToSigned<D32> di;
  if constexpr (kSigned) {
    return hn::ConvertTo(df, hn::BitCast(di, bits));
  } else {
    // Both halves are exact, and one addition rounds.
    const D32 d;
    const auto upper = hn::ConvertTo(df, hn::BitCast(di, hn::ShiftRight<16>(bits)));
    const auto low = hn::ConvertTo(df, hn::BitCast(di, hn::And(bits, hn::Set(d, 0xFFFFu))));
    return hn::MulAdd(upper, hn::Set(df, 65536.0f), low);
  }
#endif
}

// A vector of float32 from as many codes.
template <DataType kType, Through kThrough> HWY_INLINE VF32 WideFloat32(const std::byte* in) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const DF32 df32;
  if constexpr (row.bits == 16 || kType == DataType::kFloat32) {
    return DecodeFloat32Vector<kType, kKeepSignalling>(in);
  } else if constexpr (row.bits == 32) {
    const V32 bits = Load(D32(), in);
    if constexpr (kThrough == Through::kNearest) {
      return NearestFloat32FromInteger32<row.has_sign>(bits);
    } else {
#if TENSORCAST_AVX512
      return VF32{OddFloat32Of32<kType>(bits.raw)};
#else
      return OddFloat32FromInteger32<row.has_sign>(bits);
#endif
    }
  } else {
#if TENSORCAST_AVX512
    const __m512i low = _mm512_loadu_si512(in), high = _mm512_loadu_si512(in + 64);
    if constexpr (kThrough == Through::kOddNormal && kType == DataType::kFloat64) {
      return JoinFloat32(OddNormalFloat32Of64(low), OddNormalFloat32Of64(high));
    } else if constexpr (kThrough != Through::kNearest) {
      return JoinFloat32(OddFloat32Of64<kType>(low), OddFloat32Of64<kType>(high));
    } else if constexpr (kType == DataType::kFloat64) {
      return JoinFloat32(_mm512_cvtpd_ps(_mm512_castsi512_pd(low)),
                         _mm512_cvtpd_ps(_mm512_castsi512_pd(high)));
    } else if constexpr (kType == DataType::kInt64) {
      return JoinFloat32(_mm512_cvt_roundepi64_ps(low, kToNearest),
                         _mm512_cvt_roundepi64_ps(high, kToNearest));
    } else {
      return JoinFloat32(_mm512_cvt_roundepu64_ps(low, kToNearest),
                         _mm512_cvt_roundepu64_ps(high, kToNearest));
    }
#else
    // To nearest by odd float64, which float32 then rounds once.
    const auto one = [&](const std::byte* from) HWY_ATTR {
      const auto x = DecodeFloat64<kType, true>(from);
      if constexpr (kThrough == Through::kNearest)
        return hn::DemoteTo(Like<float, DF64>(), x);
      else
        return OddFloat32FromFloat64(x);
    };
    return hn::Combine(df32, one(in + HWY_MAX_BYTES), one(in));
#endif
  }
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_WIDE_SOURCES_INL_H_
