// From types of 16 bits and more to everything, in registers: decoded, encoded and packed without
// an intermediate in memory.
//
// A step casts as many elements as a vector has bytes. It takes the lanes of few instructions that
// are exact for what tensors mostly hold; where an element of it is Inf, NaN or beyond an integer's
// range, the step is done again by the codecs that are exact for everything.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/direct_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include "core/byte_tables-inl.h"
#include "core/encode-inl.h"
#include "core/packed-inl.h"
#include "core/route.h"
#include "core/stages-inl.h"
#include "core/wide_sources-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

constexpr std::size_t kElements = kLanesOf<std::uint8_t>;  // of a step

// ------------------------------------------------------------------------- the step for everything

template <DataType kFrom, DataType kTo>
HWY_NOINLINE void CarefulStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& from_row = detail::Row(kFrom);
  constexpr const TypeInfo& to_row = detail::Row(kTo);
  using Code = CodeOf<kTo>;
  alignas(64) std::byte codes[kElements * sizeof(Code)];
  constexpr Route kRoute = ChooseRoute(from_row, to_row);
  if constexpr (kRoute == Route::kFloat32 || kRoute == Route::kOddFloat32) {
    for (std::size_t i = 0; i < kElements; i += kFloat32sLanes) {
      const std::byte* from = in + i * sizeof(CodeOf<kFrom>);
      std::byte* to = codes + i * sizeof(Code);
      if constexpr (kRoute == Route::kFloat32) {
        EncodeFloat32<kTo>(DecodeFloat32<kFrom>(from), to, args);
      } else {
        EncodeFloat32<kTo>(DecodeOddFloat32<kFrom>(from), to, args);
      }
    }
  } else {
    static_assert(kFrom == DataType::kFloat64 && kRoute == Route::kFloat64);
    constexpr std::size_t kLanes = kLanesOf<double>;
    for (std::size_t i = 0; i < kElements; i += 2 * kLanes) {
      EncodeFloat64<kTo>(Load(DF64(), in + i * 8), Load(DF64(), in + (i + kLanes) * 8),
                         codes + i * sizeof(Code), args);
    }
  }
  if constexpr (to_row.bits < 8) {
    StoreCodes<to_row.bits>(Load(D8(), codes), out);
  } else {
    std::memcpy(out, codes, sizeof(codes));
  }
}

// ----------------------------------------------------------------------------------- narrow floats

constexpr bool HasSpecials(const TypeInfo& row) { return row.is_float(); }

// What a narrow float needs of wide integers: beyond 2^24, where float32 rounds, all of them
// overflow; e8m0 does not.
constexpr Through ThroughOf(const TypeInfo& from, const TypeInfo& to) {
  const bool overflows =
      to.is_float() && to.has_zero && to.bits <= 16 && to.type != DataType::kBfloat16;
  return from.is_integer() && overflows ? Through::kNearest : Through::kOdd;
}

template <DataType kFrom, DataType kTo>
HWY_INLINE void NarrowFloatStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& from_row = detail::Row(kFrom);
  constexpr const TypeInfo& to_row = detail::Row(kTo);
  const D16 d;
  const hn::RebindToSigned<D16> di;
  const auto set = [d](std::uint32_t bits)
                       HWY_ATTR { return hn::Set(d, static_cast<std::uint16_t>(bits)); };
  constexpr std::size_t kHalf = kLanesOf<std::uint16_t> * sizeof(CodeOf<kFrom>);
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr ((kFrom == DataType::kFloat16 && to_row.has_zero) || kByClamping<kFrom, kTo>) {
    const V16 low = Load(d, in), high = Load(d, in + kHalf);
    V8 codes;
    if constexpr (kFrom != DataType::kFloat16) {
      codes = ClampedCodes<kFrom, kTo>(low, high);
    } else if (HWY_UNLIKELY((!Float16Codes<kTo>(low, high, args, &codes)))) {
      CarefulStep<kFrom, kTo>(in, out, args);
      return;
    }
    StoreCodes<to_row.bits>(codes, out);
    return;
  }
#endif
  constexpr bool kSameExponents = kFrom == DataType::kFloat16 && to_row.exponent_bits == 5;
  constexpr bool kHalves16 =
      kFrom == DataType::kBfloat16 || (kFrom == DataType::kFloat16 && to_row.has_zero);
  constexpr Order kOrder = kHalves16 ? Order::kElements : Order::kPackedOnce;
  V16 a, b;
  if constexpr (kHalves16) {
    a = Load(d, in);
    b = Load(d, in + kHalf);
  } else {
    constexpr Through kThrough = ThroughOf(from_row, to_row);
    const auto words = [in](std::size_t i) HWY_ATTR {
      constexpr std::size_t kQuarter = kHalf / 2;
      return hn::BitCast(D32(), WideFloat32<kFrom, kThrough>(in + i * kQuarter));
    };
    a = OddBfloat16(words(0), words(1));
    b = OddBfloat16(words(2), words(3));
  }
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (to_row.has_zero && kFrom != DataType::kFloat16) {
    V8 codes;
    if (HWY_UNLIKELY((!NarrowCodes<kTo, HasSpecials(from_row)>(a, b, args, &codes)))) {
      CarefulStep<kFrom, kTo>(in, out, args);
      return;
    }
    StoreCodes<to_row.bits>(codes, out);
    return;
  }
#endif
  if constexpr (HasSpecials(from_row) && to_row.has_zero) {
    constexpr std::uint16_t kInfinity =
        kFrom == DataType::kFloat16 ? std::uint16_t{0x7C00} : kBfloat16Infinity;
    const V16 most = hn::Max(hn::And(a, set(0x7FFF)), hn::And(b, set(0x7FFF)));
    const auto special =
        hn::Gt(hn::BitCast(di, most), hn::Set(di, static_cast<std::int16_t>(kInfinity - 1)));
    if (HWY_UNLIKELY(!hn::AllFalse(di, special))) {
      CarefulStep<kFrom, kTo>(in, out, args);
      return;
    }
  }
  if constexpr (kSameExponents) {
    a = Float16ToFiveExponents<kTo>(a, args);
    b = Float16ToFiveExponents<kTo>(b, args);
  } else if constexpr (!to_row.has_zero) {
    a = Bfloat16ToE8M0(a, args);
    b = Bfloat16ToE8M0(b, args);
  } else {
    if constexpr (kFrom == DataType::kFloat16) {
      static_assert(-to_row.bias - to_row.mantissa_bits > -14,
                    "float16's subnormals round to zero");
      a = OddBfloat16FromFloat16(a);
      b = OddBfloat16FromFloat16(b);
    }
    a = Bfloat16ToNarrow<kTo>(a, args);
    b = Bfloat16ToNarrow<kTo>(b, args);
  }
  StoreCodes<to_row.bits>(Bytes<kOrder>(a, b), out);
}

// A step's elements as float32.
template <DataType kFrom, Through kThrough>
HWY_INLINE void LoadWords(const std::byte* in, VF32* words) {
  constexpr std::size_t kWordBytes = kLanesOf<float> * sizeof(CodeOf<kFrom>);
  if constexpr (detail::Row(kFrom).bits == 8) {
    for (std::size_t i = 0; i < 4; i += 2) {
      const Float32s pair = DecodeFloat32<kFrom, kKeepSignalling>(in + i * kWordBytes);
      words[i] = pair.low;
      words[i + 1] = pair.high;
    }
  } else {
    for (std::size_t i = 0; i < 4; ++i) {
      words[i] = WideFloat32<kFrom, kThrough>(in + i * kWordBytes);
    }
  }
}

// ------------------------------------------------------------------------------- floats of 16 bits

#if TENSORCAST_AVX512
// 64 bits to bfloat16 by float32 cut toward zero, which lies on the same side of every middle
// between two bfloat16 unless it is one. False where an element's is, or where it is NaN.
template <DataType kFrom> HWY_INLINE bool CutToBfloat16(const std::byte* in, std::byte* out) {
  const D32 d;
  const auto cut = [in](std::size_t i)
                       HWY_ATTR { return CutFloat32Of64<kFrom>(_mm512_loadu_si512(in + 64 * i)); };
  VF32 words[4];
  for (std::size_t i = 0; i < 4; ++i) words[i] = JoinFloat32(cut(2 * i), cut(2 * i + 1));
  __mmask32 apart = 0;
  if constexpr (kFrom == DataType::kFloat64) {
    // A sum is NaN where one of its terms is, or where they are infinite.
    const __m512 sum = hn::Add(hn::Add(words[0], words[1]), hn::Add(words[2], words[3])).raw;
    apart = _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
  }
  V16 results[2];
  const V32 half = hn::Set(d, 0x8000u);
  for (std::size_t i = 0; i < 2; ++i) {
    const V32 low = hn::BitCast(d, words[2 * i]), high = hn::BitCast(d, words[2 * i + 1]);
    apart |= _mm512_cmpeq_epi16_mask(LowHalves(low, high).raw, _mm512_set1_epi16(-0x8000));
    results[i] = UpperHalves(hn::Add(low, half), hn::Add(high, half));
  }
  if (HWY_UNLIKELY(apart != 0)) return false;
  for (std::size_t i = 0; i < 2; ++i) Store(results[i], D16(), out + 64 * i);
  return true;
}
#endif

template <DataType kFrom, DataType kTo>
HWY_INLINE void HalfFloatStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& from_row = detail::Row(kFrom);
  constexpr Through kThrough = ThroughOf(from_row, detail::Row(kTo));
  const DF32 df32;
  const D16 d16;
  const D32 d32;
#if TENSORCAST_AVX512
  if constexpr (kTo == DataType::kBfloat16 && from_row.bits == 64) {
    if (HWY_LIKELY(CutToBfloat16<kFrom>(in, out))) return;
  }
#endif
  VF32 words[4];
  LoadWords<kFrom, kThrough>(in, words);
  if constexpr (kTo == DataType::kBfloat16) {
    // What has eight bits is exact, and its NaN are canonical.
    constexpr bool kExact = from_row.bits == 8;
    if constexpr (HasSpecials(from_row) && !kExact) {
      // A sum is NaN where one of its terms is, or where they are infinite.
      const VF32 sum = hn::Add(hn::Add(words[0], words[1]), hn::Add(words[2], words[3]));
      if (HWY_UNLIKELY(!hn::AllTrue(df32, hn::Eq(sum, sum)))) {
        CarefulStep<kFrom, kTo>(in, out, args);
        return;
      }
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const V32 low = hn::BitCast(d32, words[2 * i]), high = hn::BitCast(d32, words[2 * i + 1]);
      Store(InOrder(kExact ? UpperHalves(low, high) : NearestBfloat16(low, high)), d16,
            out + i * HWY_MAX_BYTES);
    }
  } else {
    for (std::size_t i = 0; i < 2; ++i) {
      EncodeFloat32<kTo>({words[2 * i], words[2 * i + 1]}, out + i * HWY_MAX_BYTES, args);
    }
  }
}

// ---------------------------------------------------------------------------------------- integers

#if TENSORCAST_AVX512 || HWY_TARGET == HWY_AVX2
inline constexpr bool kHasIntegerSteps = true;

// A step's elements as integers of 32 bits: cut toward zero, to nearest for destinations of fewer
// than eight bits. What lies beyond gives the least of them, and so does NaN.
template <DataType kFrom, bool kNearest>
HWY_INLINE void LoadIntegers32(const std::byte* in, V32* words) {
#if TENSORCAST_AVX512
  if constexpr (kFrom == DataType::kFloat64) {
    const auto convert = [](__m512d x) HWY_ATTR {
      return kNearest ? _mm512_cvtpd_epi32(x) : _mm512_cvttpd_epi32(x);
    };
    for (std::size_t i = 0; i < 4; ++i) {
      const __m256i low = convert(_mm512_loadu_pd(in + 128 * i));
      const __m256i high = convert(_mm512_loadu_pd(in + 128 * i + 64));
      words[i].raw = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    }
  } else {
    VF32 values[4];
    LoadWords<kFrom, Through::kOdd>(in, values);
    for (std::size_t i = 0; i < 4; ++i) {
      words[i].raw =
          kNearest ? _mm512_cvtps_epi32(values[i].raw) : _mm512_cvttps_epi32(values[i].raw);
    }
  }
#else
  if constexpr (kFrom == DataType::kFloat64) {
    const auto convert = [](const std::byte* from) HWY_ATTR {
      const __m256d x = _mm256_loadu_pd(reinterpret_cast<const double*>(from));
      return kNearest ? _mm256_cvtpd_epi32(x) : _mm256_cvttpd_epi32(x);
    };
    for (std::size_t i = 0; i < 4; ++i) {
      words[i].raw = _mm256_inserti128_si256(_mm256_castsi128_si256(convert(in + 64 * i)),
                                             convert(in + 64 * i + 32), 1);
    }
  } else {
    VF32 values[4];
    LoadWords<kFrom, Through::kOdd>(in, values);
    for (std::size_t i = 0; i < 4; ++i) {
      words[i].raw =
          kNearest ? _mm256_cvtps_epi32(values[i].raw) : _mm256_cvttps_epi32(values[i].raw);
    }
  }
#endif
}

// Two vectors of signed integers to half the width, saturating to that width, of either sign; lanes
// as kPackedOnce has them.
template <bool kSigned> HWY_INLINE V16 PackWords(V32 a, V32 b) {
#if TENSORCAST_AVX512
  return V16{kSigned ? _mm512_packs_epi32(a.raw, b.raw) : _mm512_packus_epi32(a.raw, b.raw)};
#else
  return V16{kSigned ? _mm256_packs_epi32(a.raw, b.raw) : _mm256_packus_epi32(a.raw, b.raw)};
#endif
}
HWY_INLINE V16 PackedInOrder(V16 packed) {
#if TENSORCAST_AVX512
  return V16{_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), packed.raw)};
#else
  return InOrder(packed);
#endif
}
// Four vectors to bytes, in order.
template <bool kSigned> HWY_INLINE V8 PackToBytes(const V32* words) {
  const V16 a = PackWords<true>(words[0], words[1]), b = PackWords<true>(words[2], words[3]);
#if TENSORCAST_AVX512
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return V8{_mm512_permutexvar_epi32(
      order, kSigned ? _mm512_packs_epi16(a.raw, b.raw) : _mm512_packus_epi16(a.raw, b.raw))};
#else
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return V8{_mm256_permutevar8x32_epi32(
      kSigned ? _mm256_packs_epi16(a.raw, b.raw) : _mm256_packus_epi16(a.raw, b.raw), order)};
#endif
}

// The low bytes of four vectors, in order.
HWY_INLINE V8 LowBytes(const V32* words) {
  const V16 low = hn::Set(D16(), std::uint16_t{0xFF});
  return Bytes<Order::kPackedOnce>(hn::And(LowHalves(words[0], words[1]), low),
                                   hn::And(LowHalves(words[2], words[3]), low));
}

// Floats to integers of at most 32 bits. What fits 32 bits wraps, or saturates, as integers do; the
// rest is done carefully.
template <DataType kFrom, DataType kTo>
HWY_INLINE void IntegerStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kTo);
  const D32 d;
  const hn::RebindToSigned<D32> di;
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (kFrom == DataType::kFloat16 && row.bits < 8) {
    V8 codes;
    if (HWY_LIKELY((Float16Integers<kTo>(Load(D16(), in), Load(D16(), in + 64), args, &codes)))) {
      StoreCodes<row.bits>(codes, out);
      return;
    }
  }
#endif
  V32 words[4];
  LoadIntegers32<kFrom, (row.bits < 8)>(in, words);
  const auto of = [&](std::size_t i) HWY_ATTR { return hn::BitCast(di, words[i]); };
  const auto least = hn::Min(hn::Min(of(0), of(1)), hn::Min(of(2), of(3)));
  if (HWY_UNLIKELY(!hn::AllFalse(di, hn::Eq(least, hn::Set(di, INT32_MIN))))) {
    CarefulStep<kFrom, kTo>(in, out, args);
    return;
  }
  if constexpr (row.bits == 32) {
    if constexpr (!row.has_sign) {
      if (args.saturates) {
        for (V32& word : words) {
          word = hn::BitCast(d, hn::Max(hn::BitCast(di, word), hn::Zero(di)));
        }
      }
    }
    for (std::size_t i = 0; i < 4; ++i) Store(words[i], d, out + i * HWY_MAX_BYTES);
  } else if constexpr (row.bits == 16) {
    for (std::size_t i = 0; i < 2; ++i) {
      const V32 a = words[2 * i], b = words[2 * i + 1];
      Store(
          args.saturates ? PackedInOrder(PackWords<row.has_sign>(a, b)) : InOrder(LowHalves(a, b)),
          D16(), out + i * HWY_MAX_BYTES);
    }
  } else {
    const D8 d8;
    V8 codes;
    if (args.saturates) {
      codes = PackToBytes<row.has_sign>(words);
      if constexpr (row.bits < 8) {
        const hn::RebindToSigned<D8> di8;
        const auto high = static_cast<std::int8_t>((1 << (row.bits - (row.has_sign ? 1 : 0))) - 1);
        if constexpr (row.has_sign) {
          const auto signed_codes = hn::BitCast(di8, codes);
          const auto low = static_cast<std::int8_t>(-high - 1);
          codes = hn::BitCast(
              d8, hn::Max(hn::Min(signed_codes, hn::Set(di8, high)), hn::Set(di8, low)));
        } else {
          codes = hn::Min(codes, hn::Set(d8, static_cast<std::uint8_t>(high)));
        }
      }
    } else {
      codes = LowBytes(words);
    }
    if constexpr (row.bits < 8) {
      codes = hn::And(codes, hn::Set(d8, static_cast<std::uint8_t>(detail::LowMask(row.bits))));
    }
    StoreCodes<row.bits>(codes, out);
  }
}

#if HWY_TARGET == HWY_AVX2
// Floats to uint32, which AVX2 does not convert to: above 2^31 by what is above it; from float64 by
// an addition that leaves the integer in the low half.
template <DataType kFrom>
HWY_INLINE void Uint32Step(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr std::size_t kWordBytes = kLanesOf<float> * sizeof(CodeOf<kFrom>);
  // Above this everything wraps, or nothing saturates.
  const double low = args.saturates ? -1.0 : -0x1p31;
  __m256i words[4];
  bool fits = true;
  VF32 values[4];
  if constexpr (kFrom != DataType::kFloat64) LoadWords<kFrom, Through::kOdd>(in, values);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::byte* from = in + i * kWordBytes;
    if constexpr (kFrom == DataType::kFloat64) {
      const auto half = [&](const std::byte* at) HWY_ATTR {
        const __m256d x = _mm256_loadu_pd(reinterpret_cast<const double*>(at));
        const __m256d inside = _mm256_and_pd(_mm256_cmp_pd(x, _mm256_set1_pd(0x1p32), _CMP_LT_OQ),
                                             _mm256_cmp_pd(x, _mm256_set1_pd(low), _CMP_GT_OQ));
        fits = fits && _mm256_movemask_pd(inside) == 0xF;
        const __m256d cut = _mm256_round_pd(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        return _mm256_castpd_ps(_mm256_add_pd(cut, _mm256_set1_pd(0x1.8p52)));
      };
      const __m256 even = _mm256_shuffle_ps(half(from), half(from + 32), 0x88);
      words[i] = _mm256_permute4x64_epi64(_mm256_castps_si256(even), 0xD8);
    } else {
      const __m256 x = values[i].raw;
      const auto limit = static_cast<float>(low);
      const __m256 inside = _mm256_and_ps(_mm256_cmp_ps(x, _mm256_set1_ps(0x1p32f), _CMP_LT_OQ),
                                          _mm256_cmp_ps(x, _mm256_set1_ps(limit), _CMP_GT_OQ));
      fits = fits && _mm256_movemask_ps(inside) == 0xFF;
      const __m256i below = _mm256_cvttps_epi32(x);
      const __m256i above = _mm256_cvttps_epi32(_mm256_sub_ps(x, _mm256_set1_ps(0x1p31f)));
      words[i] = _mm256_or_si256(below, _mm256_and_si256(above, _mm256_srai_epi32(below, 31)));
    }
  }
  if (HWY_UNLIKELY(!fits)) return CarefulStep<kFrom, DataType::kUint32>(in, out, args);
  for (std::size_t i = 0; i < 4; ++i) Store(V32{words[i]}, D32(), out + 32 * i);
}
#endif
#else
inline constexpr bool kHasIntegerSteps = false;
#endif

#if TENSORCAST_AVX512
// Floats to uint32, int64 and uint64 by AVX-512's own conversions, which give all ones, or the
// least integer, for what does not fit.
template <DataType kFrom, DataType kTo>
HWY_INLINE void WideIntegerStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr std::size_t kWordBytes = kLanesOf<float> * sizeof(CodeOf<kFrom>);
  __mmask16 beyond = 0;
  constexpr std::size_t kVectors = 4 * sizeof(CodeOf<kTo>) / 4;
  __m512i results[kVectors];
  const __m512i none = kTo == DataType::kUint32   ? _mm512_set1_epi32(-1)
                       : kTo == DataType::kUint64 ? _mm512_set1_epi64(-1)
                                                  : _mm512_set1_epi64(INT64_MIN);
  VF32 values[4];
  if constexpr (kFrom != DataType::kFloat64) LoadWords<kFrom, Through::kOdd>(in, values);
  for (std::size_t i = 0; i < 4; ++i) {
    [[maybe_unused]] const std::byte* from = in + i * kWordBytes;
    if constexpr (kTo == DataType::kUint32) {
      if constexpr (kFrom == DataType::kFloat64) {
        const __m256i low = _mm512_cvttpd_epu32(_mm512_loadu_pd(from));
        const __m256i high = _mm512_cvttpd_epu32(_mm512_loadu_pd(from + 64));
        results[i] = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
      } else {
        results[i] = _mm512_cvttps_epu32(values[i].raw);
      }
      beyond |= _mm512_cmpeq_epi32_mask(results[i], none);
    } else {
      for (std::size_t half = 0; half < 2; ++half) {
        __m512i& result = results[2 * i + half];
        if constexpr (kFrom == DataType::kFloat64) {
          const __m512d x = _mm512_loadu_pd(from + 64 * half);
          result = kTo == DataType::kInt64 ? _mm512_cvttpd_epi64(x) : _mm512_cvttpd_epu64(x);
        } else {
          const __m512 both = values[i].raw;
          const __m256 x =
              half == 0 ? _mm512_castps512_ps256(both) : _mm512_extractf32x8_ps(both, 1);
          result = kTo == DataType::kInt64 ? _mm512_cvttps_epi64(x) : _mm512_cvttps_epu64(x);
        }
        beyond |= _mm512_cmpeq_epi64_mask(result, none);
      }
    }
  }
  if (HWY_UNLIKELY(beyond != 0)) return CarefulStep<kFrom, kTo>(in, out, args);
  for (std::size_t i = 0; i < kVectors; ++i) _mm512_storeu_si512(out + 64 * i, results[i]);
}

// Every float64 but zeros is true.
HWY_INLINE void Float64ToBoolStep(const std::byte* in, std::byte* out) {
  const __m512i magnitude = _mm512_set1_epi64(INT64_MAX);
  std::uint64_t truth = 0;
  for (unsigned i = 0; i < 8; ++i) {
    const __mmask8 some = _mm512_test_epi64_mask(_mm512_loadu_si512(in + 64 * i), magnitude);
    truth |= std::uint64_t{some} << (8 * i);
  }
  _mm512_storeu_si512(out, _mm512_maskz_set1_epi8(truth, 1));
}
#endif

// Floats of 16 bits to bool: a magnitude is true.
HWY_INLINE void HalfToBoolStep(const std::byte* in, std::byte* out) {
  const D16 d;
  const auto truth = [&](std::size_t i) HWY_ATTR {
    const V16 magnitude =
        hn::And(Load(d, in + i * HWY_MAX_BYTES), hn::Set(d, std::uint16_t{0x7FFF}));
    return hn::Min(magnitude, hn::Set(d, std::uint16_t{1}));
  };
  Store(Bytes<Order::kElements>(truth(0), truth(1)), D8(), out);
}

// Integers and bool to integers of fewer than eight bits: their low bits.
template <std::size_t kBytes, int kBits, bool kFromBool>
HWY_INLINE void LowBitsStep(const std::byte* in, std::byte* out) {
  const D8 d8;
  const D16 d16;
  const D32 d32;
  constexpr auto kMask = static_cast<std::uint8_t>((1 << kBits) - 1);
  const auto load = [in](auto d, std::size_t i)
                        HWY_ATTR { return Load(d, in + i * HWY_MAX_BYTES); };
  V8 codes;
  if constexpr (kBytes == 1) {
    codes = kFromBool ? hn::Min(load(d8, 0), hn::Set(d8, std::uint8_t{1}))
                      : hn::And(load(d8, 0), hn::Set(d8, kMask));
  } else if constexpr (kBytes == 2) {
    const V16 mask = hn::Set(d16, std::uint16_t{kMask});
    codes = Bytes<Order::kElements>(hn::And(load(d16, 0), mask), hn::And(load(d16, 1), mask));
#if HWY_TARGET == HWY_AVX3_DL
  } else if constexpr (kBytes == 8) {
    // The low bytes of eight vectors into one lane after the other, then to their places.
    __m512i lanes[8];
    for (std::size_t i = 0; i < 8; ++i) lanes[i] = _mm512_loadu_si512(in + 64 * i);
    for (unsigned bits = 8; bits < 64; bits *= 2) {
      const __m512i above = _mm512_set1_epi64(static_cast<long long>(~0ull << bits));
      for (std::size_t i = 0; i < 32 / bits; ++i) {
        constexpr int kChoose = 0xD8;  // the second above, the first below
        const __m512i second = _mm512_slli_epi64(lanes[2 * i + 1], bits);
        lanes[i] = _mm512_ternarylogic_epi64(lanes[2 * i], second, above, kChoose);
      }
    }
    constexpr auto kPlace = [](unsigned i) { return i % 8 * 8 + i / 8; };
    codes.raw = _mm512_permutexvar_epi8(ByteIndices<kPlace>(), lanes[0]);
    codes = hn::And(codes, hn::Set(d8, kMask));
#endif
  } else {
    const auto word = [&](std::size_t i) HWY_ATTR {
      if constexpr (kBytes == 4)
        return load(d32, i);
      else
        return hn::ConcatEven(d32, load(d32, 2 * i + 1), load(d32, 2 * i));
    };
    const V16 mask = hn::Set(d16, std::uint16_t{kMask});
    codes = Bytes<Order::kPackedOnce>(hn::And(LowHalves(word(0), word(1)), mask),
                                      hn::And(LowHalves(word(2), word(3)), mask));
  }
  StoreCodes<kBits>(codes, out);
}

// -------------------------------------------------------------------------------------- the list

template <DataType kFrom, DataType kTo>
HWY_INLINE void Step(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& from = detail::Row(kFrom);
  constexpr const TypeInfo& to = detail::Row(kTo);
  if constexpr (IsInteger(from) && IsInteger(to)) {
    constexpr bool kFromBool = from.type_class == TypeClass::kBool;
    LowBitsStep<static_cast<std::size_t>(from.bits) / 8, to.bits, kFromBool>(in, out);
  } else if constexpr (to.is_float() && to.bits <= 8) {
    NarrowFloatStep<kFrom, kTo>(in, out, args);
  } else if constexpr (to.is_float() && to.bits == 16) {
    HalfFloatStep<kFrom, kTo>(in, out, args);
  } else if constexpr (kTo == DataType::kFloat32) {
    for (std::size_t i = 0; i < 4; ++i) {
      constexpr std::size_t kWordBytes = kLanesOf<float> * sizeof(CodeOf<kFrom>);
      Store(WideFloat32<kFrom, Through::kNearest>(in + i * kWordBytes), DF32(),
            out + i * HWY_MAX_BYTES);
    }
  } else if constexpr (to.type_class == TypeClass::kBool) {
#if TENSORCAST_AVX512
    if constexpr (kFrom == DataType::kFloat64) return Float64ToBoolStep(in, out);
#endif
    if constexpr (from.bits == 16) HalfToBoolStep(in, out);
#if TENSORCAST_AVX512
  } else if constexpr (kTo == DataType::kUint32 || to.bits == 64) {
    WideIntegerStep<kFrom, kTo>(in, out, args);
#elif HWY_TARGET == HWY_AVX2
  } else if constexpr (kTo == DataType::kUint32) {
    Uint32Step<kFrom>(in, out, args);
#endif
  } else if constexpr (kHasIntegerSteps) {
    IntegerStep<kFrom, kTo>(in, out, args);
  }
}

constexpr bool IsDirect(const TypeInfo& from, const TypeInfo& to) {
  const Route route = ChooseRoute(from, to);
  if (from.bits < 8) return false;
  if (from.bits == 8 && route != Route::kInteger &&
      (HWY_TARGET == HWY_AVX3_DL || to.bits < 16 || to.bits > 32)) {
    return false;  // by table
  }
  if (route == Route::kIdentity) return false;
  if (route == Route::kInteger) return to.is_integer() && to.bits < 8;
  if (to.is_float()) {
    if (to.bits == 64) return false;
    if (to.bits == 32) return from.is_integer() && from.bits >= 32;
    return from.type != DataType::kFloat32 || to.type != DataType::kFloat16;
  }
  if (!from.is_float()) return false;
  if (to.type_class == TypeClass::kBool) {
    return from.bits == 16 || (from.bits == 64 && TENSORCAST_AVX512);
  }
  return kHasIntegerSteps && (TENSORCAST_AVX512 || to.bits != 64);
}

template <DataType kFrom, DataType kTo>
void DirectStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  const auto step = [&args](const std::byte* from, std::byte* to)
                        HWY_ATTR { Step<kFrom, kTo>(from, to, args); };
  ForEachStep<detail::Row(kFrom).bits, detail::Row(kTo).bits, kElements>(in, out, n, step);
}

}  // namespace

void FillDirectStages(Kernels* kernels) {
  ForEachPair([kernels](auto from, auto to) {
    constexpr const TypeInfo& from_row = detail::kTypeTable[decltype(from)::value];
    constexpr const TypeInfo& to_row = detail::kTypeTable[decltype(to)::value];
    if constexpr (IsDirect(from_row, to_row)) {
      kernels->direct[from][to] = &DirectStage<from_row.type, to_row.type>;
    }
  });
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
