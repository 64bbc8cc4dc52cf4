// Steps of direct stages (direct_stages.cc) to integers and bool. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_INTEGER_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_INTEGER_STEPS_INL_H_
#undef TENSORCAST_SRC_CORE_INTEGER_STEPS_INL_H_
#else
#define TENSORCAST_SRC_CORE_INTEGER_STEPS_INL_H_
#endif

#include <bit>

#include "core/byte_tables-inl.h"
#include "core/careful_step-inl.h"
#include "core/half_sources-inl.h"
#include "core/wide_sources-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

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

// The low bits of four vectors, as many as a byte has or fewer, in order.
template <int kBits> HWY_INLINE V8 LowBytes(const V32* words) {
#if HWY_TARGET == HWY_AVX2
  const auto low_bits = [words](std::size_t i) HWY_ATTR {
    return hn::And(words[i], hn::Set(D32(), (1u << kBits) - 1));
  };
  return Bytes<Order::kPackedOnce>(PackWords<true>(low_bits(0), low_bits(1)),
                                   PackWords<true>(low_bits(2), low_bits(3)));
#else
  const V16 low = hn::Set(D16(), static_cast<std::uint16_t>((1 << kBits) - 1));
  return Bytes<Order::kPackedOnce>(hn::And(LowHalves(words[0], words[1]), low),
                                   hn::And(LowHalves(words[2], words[3]), low));
#endif
}

// The last bits of saturated codes in bytes for integers of fewer than eight bits.
template <DataType kTo> HWY_INLINE V8 ToFewerBits(V8 codes, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kTo);
  const D8 d8;
  if constexpr (row.bits == 8) return codes;
  if (args.saturates) {
    const hn::RebindToSigned<D8> di8;
    const auto high = static_cast<std::int8_t>((1 << (row.bits - (row.has_sign ? 1 : 0))) - 1);
    if constexpr (row.has_sign) {
      const auto signed_codes = hn::BitCast(di8, codes);
      const auto low = static_cast<std::int8_t>(-high - 1);
      codes =
          hn::BitCast(d8, hn::Max(hn::Min(signed_codes, hn::Set(di8, high)), hn::Set(di8, low)));
    } else {
      codes = hn::Min(codes, hn::Set(d8, static_cast<std::uint8_t>(high)));
    }
  }
  return hn::And(codes, hn::Set(d8, static_cast<std::uint8_t>(detail::LowMask(row.bits))));
}

#if TENSORCAST_AVX512
// float16 cut to integers: the significand, at the top of its lane, shifted down by what its
// exponent lacks; what is below one, Inf or NaN is shifted out.
HWY_INLINE V16 CutMagnitude(V16 x) {
  const __m512i significand =
      _mm512_or_si512(_mm512_slli_epi16(x.raw, 5), _mm512_set1_epi16(INT16_MIN));
  // An index has the low five bits of its lane.
  alignas(64) static constexpr auto kLacks = [] {
    std::array<std::uint16_t, 32> lacks{};
    for (unsigned e = 0; e < 32; ++e) lacks[e] = static_cast<std::uint16_t>(e == 31 ? 16 : 30 - e);
    return lacks;
  }();
  const __m512i lacks =
      _mm512_permutexvar_epi16(_mm512_srli_epi16(x.raw, 10), _mm512_load_si512(kLacks.data()));
  return V16{_mm512_srlv_epi16(significand, lacks)};
}

// The same to bytes, modulo 2^8.
HWY_INLINE V8 CutToBytes(const std::byte* in) {
  const V16 a = Load(D16(), in), b = Load(D16(), in + 64);
#if HWY_TARGET == HWY_AVX3_DL
  const V8 bytes{LowerBytes(CutMagnitude(a), CutMagnitude(b))};
#else
  const V16 low = hn::Set(D16(), std::uint16_t{0xFF});
  const V8 bytes =
      Bytes<Order::kElements>(hn::And(CutMagnitude(a), low), hn::And(CutMagnitude(b), low));
#endif
  const __mmask64 negative =
      _mm512_kunpackd(_mm512_movepi16_mask(b.raw), _mm512_movepi16_mask(a.raw));
  return V8{_mm512_mask_sub_epi8(bytes.raw, negative, _mm512_setzero_si512(), bytes.raw)};
}
#endif

#if HWY_TARGET == HWY_AVX3_DL
// bfloat16 to saturated integers in bytes: even elements and odd ones, packed twice where they
// stand and put in order once. False where one may be beyond 16 bits, or is NaN.
template <DataType kTo> HWY_INLINE bool Bfloat16Integers(const std::byte* in, V8* codes) {
  constexpr bool kNearest = detail::Row(kTo).bits < 8;
  constexpr bool kSigned = detail::Row(kTo).has_sign;
  const auto convert = [](__m512i x) HWY_ATTR {
    const __m512 values = _mm512_castsi512_ps(x);
    return kNearest ? _mm512_cvtps_epi32(values) : _mm512_cvttps_epi32(values);
  };
  const auto halves = [&](const std::byte* from) HWY_ATTR {
    const __m512i x = _mm512_loadu_si512(from);
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
    return _mm512_packs_epi32(convert(_mm512_slli_epi32(x, 16)),
                              convert(_mm512_and_si512(x, upper)));
  };
  const auto any = [](__m512i x, std::int16_t value) HWY_ATTR {
    return _mm512_cmpeq_epi16_mask(x, _mm512_set1_epi16(value)) != 0;
  };
  const __m512i a = halves(in), b = halves(in + 64);
  if (HWY_UNLIKELY(any(_mm512_min_epi16(a, b), INT16_MIN))) return false;
  // Where an element's lane of 16 bits is in its vector.
  static constexpr auto kLane = [](unsigned i) { return i / 8 * 8 + i % 2 * 4 + i % 8 / 2; };
  constexpr auto kPlace = [](unsigned i) {
    const unsigned lane = kLane(i % 32);
    return lane / 8 * 16 + i / 32 * 8 + lane % 8;
  };
  const __m512i bytes = kSigned ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
  codes->raw = _mm512_permutexvar_epi8(ByteIndices<kPlace>(), bytes);
  return true;
}
#endif

// Whether integers that 32 bits do not hold are zero, as NaN is, in the last bits that a
// destination keeps where nothing saturates: so they are in the least integer, which conversion
// gives for them.
template <DataType kFrom, DataType kTo>
inline constexpr bool kBeyondIsZero = 31 - detail::Row(kFrom).mantissa_bits
                                      >= detail::Row(kTo).bits;

template <DataType kTo> HWY_INLINE void StoreLowBits(const V32* words, std::byte* out) {
  constexpr int kBits = detail::Row(kTo).bits;
  if constexpr (kBits == 16) {
    for (std::size_t i = 0; i < 2; ++i) {
      Store(InOrder(LowHalves(words[2 * i], words[2 * i + 1])), D16(), out + i * HWY_MAX_BYTES);
    }
  } else if constexpr (kBits < 16) {
    StoreCodes<kBits>(LowBytes<kBits>(words), out);
  }
}

// 16-bit lanes of a vector of bfloat16 as integers modulo 2^16.
template <bool kNearest> HWY_INLINE V16 Bfloat16ToIntegers16(const std::byte* in) {
  const V16 x = Load(D16(), in);
#if TENSORCAST_AVX512
  const auto convert = [](__m512i bits) HWY_ATTR {
    const __m512 values = _mm512_castsi512_ps(bits);
    return kNearest ? _mm512_cvtps_epi32(values) : _mm512_cvttps_epi32(values);
  };
  const __m512i even = convert(_mm512_slli_epi32(x.raw, 16));
  const __m512i upper = _mm512_set1_epi32(-0x10000);
  const __m512i odd = _mm512_slli_epi32(convert(_mm512_and_si512(x.raw, upper)), 16);
  constexpr int kChoose = 0xCA;  // the second where the first is set, else the third
  return V16{_mm512_ternarylogic_epi32(upper, odd, even, kChoose)};
#else
  const auto convert = [](__m256i bits) HWY_ATTR {
    const __m256 values = _mm256_castsi256_ps(bits);
    return kNearest ? _mm256_cvtps_epi32(values) : _mm256_cvttps_epi32(values);
  };
  const __m256i even = convert(_mm256_slli_epi32(x.raw, 16));
  const __m256i odd = convert(_mm256_and_si256(x.raw, _mm256_set1_epi32(-0x10000)));
  return V16{_mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xAA)};
#endif
}

// bfloat16 to integers of at most 16 bits, modulo their range: nothing moves between lanes before
// it is packed.
template <DataType kTo> HWY_INLINE void Bfloat16ToLowBits(const std::byte* in, std::byte* out) {
  constexpr int kBits = detail::Row(kTo).bits;
  V16 halves[2];
  for (std::size_t i = 0; i < 2; ++i) {
    halves[i] = Bfloat16ToIntegers16<(kBits < 8)>(in + i * HWY_MAX_BYTES);
    if constexpr (kBits == 16) Store(halves[i], D16(), out + i * HWY_MAX_BYTES);
  }
  if constexpr (kBits < 16) {
    constexpr auto kLow = static_cast<std::uint16_t>((1 << kBits) - 1);
#if HWY_TARGET == HWY_AVX3_DL
    V8 codes{LowerBytes(halves[0], halves[1])};
    if constexpr (kBits < 8) codes = hn::And(codes, hn::Set(D8(), std::uint8_t{kLow}));
    StoreCodes<kBits>(codes, out);
#else
    for (V16& half : halves) half = hn::And(half, hn::Set(D16(), kLow));
    StoreCodes<kBits>(Bytes<Order::kElements>(halves[0], halves[1]), out);
#endif
  }
}

// Floats to integers of at most 32 bits. What fits 32 bits wraps, or saturates, as integers do; the
// rest is done carefully.
template <DataType kFrom, DataType kTo>
HWY_INLINE void IntegerStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kTo);
  const D32 d;
  const hn::RebindToSigned<D32> di;
  if constexpr (kFrom == DataType::kBfloat16 && kBeyondIsZero<kFrom, kTo>) {
    if (!args.saturates) return Bfloat16ToLowBits<kTo>(in, out);
  }
#if TENSORCAST_AVX512
  if constexpr (kFrom == DataType::kFloat16 && row.bits == 8) {
    if (!args.saturates) {
      Store(CutToBytes(in), D8(), out);
      return;
    }
  }
#endif
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (kFrom == DataType::kFloat16 && row.bits < 8) {
    // A table for four digits is slower than float32, of which nothing is asked.
    constexpr bool kIsSlow = row.bits == 4 && !row.has_sign;
    V8 codes;
    if (HWY_LIKELY((!kIsSlow || args.saturates) &&
                   (Float16Integers<kTo>(Load(D16(), in), Load(D16(), in + 64), args, &codes)))) {
      StoreCodes<row.bits>(codes, out);
      return;
    }
  } else if constexpr (kFrom == DataType::kBfloat16 && row.bits <= 8) {
    V8 codes;
    if (HWY_UNLIKELY(!Bfloat16Integers<kTo>(in, &codes))) {
      CarefulStep<kFrom, kTo>(in, out, args);
      return;
    }
    StoreCodes<row.bits>(ToFewerBits<kTo>(codes, args), out);
    return;
  }
#endif
  V32 words[4];
  LoadIntegers32<kFrom, (row.bits < 8)>(in, words);
  if (kBeyondIsZero<kFrom, kTo> && !args.saturates) return StoreLowBits<kTo>(words, out);
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
    if (!args.saturates) return StoreLowBits<kTo>(words, out);
    for (std::size_t i = 0; i < 2; ++i) {
      Store(PackedInOrder(PackWords<row.has_sign>(words[2 * i], words[2 * i + 1])), D16(),
            out + i * HWY_MAX_BYTES);
    }
  } else {
    if (!args.saturates) return StoreLowBits<kTo>(words, out);
    StoreCodes<row.bits>(ToFewerBits<kTo>(PackToBytes<row.has_sign>(words), args), out);
  }
}

#if HWY_TARGET == HWY_AVX2
// Floats to uint32, which AVX2 does not convert to: above 2^31 by what is above it; from float64 by
// an addition that leaves the integer in the low half.
template <DataType kFrom>
HWY_INLINE void Uint32Step(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  if constexpr (kFrom == DataType::kBfloat16) {
    if (HWY_LIKELY(!args.saturates && Bfloat16ToUint32(in, out))) return;
  }
  __m256i words[4];
  bool fits = true;
  if constexpr (kFrom == DataType::kFloat64) {
    // Above this everything wraps, or nothing saturates.
    const double low = args.saturates ? -1.0 : -0x1p31;
    const auto half = [&](const std::byte* at) HWY_ATTR {
      const __m256d x = _mm256_loadu_pd(reinterpret_cast<const double*>(at));
      const __m256d inside = _mm256_and_pd(_mm256_cmp_pd(x, _mm256_set1_pd(0x1p32), _CMP_LT_OQ),
                                           _mm256_cmp_pd(x, _mm256_set1_pd(low), _CMP_GT_OQ));
      fits = fits && _mm256_movemask_pd(inside) == 0xF;
      const __m256d cut = _mm256_round_pd(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
      return _mm256_castpd_ps(_mm256_add_pd(cut, _mm256_set1_pd(0x1.8p52)));
    };
    for (std::size_t i = 0; i < 4; ++i) {
      const __m256 even = _mm256_shuffle_ps(half(in + 64 * i), half(in + 64 * i + 32), 0x88);
      words[i] = _mm256_permute4x64_epi64(_mm256_castps_si256(even), 0xD8);
    }
  } else {
    VF32 values[4];
    LoadWords<kFrom, Through::kOdd>(in, values);
    const __m256i none = _mm256_set1_epi32(INT32_MIN);
    __m256i beyond = _mm256_setzero_si256();
    for (std::size_t i = 0; i < 4; ++i) {
      words[i] = _mm256_cvttps_epi32(values[i].raw);
      beyond = _mm256_or_si256(beyond, _mm256_cmpeq_epi32(words[i], none));
    }
    if (args.saturates || !_mm256_testz_si256(beyond, beyond)) {
      // The largest numbers by their bits; as unsigned ones the negative numbers come last.
      __m256i most = none, last = _mm256_setzero_si256();
      for (std::size_t i = 0; i < 4; ++i) {
        const __m256i bits = _mm256_castps_si256(values[i].raw);
        most = _mm256_max_epi32(most, bits);
        last = _mm256_max_epu32(last, bits);
        const __m256 less = _mm256_sub_ps(values[i].raw, _mm256_set1_ps(0x1p31f));
        const __m256i above = _mm256_cvttps_epi32(less);
        words[i] =
            _mm256_or_si256(words[i], _mm256_and_si256(above, _mm256_srai_epi32(words[i], 31)));
      }
      const __m256i limit = _mm256_set1_epi32(std::bit_cast<std::int32_t>(0x1p32f));
      // Down to this everything wraps, or nothing saturates.
      const float low = args.saturates ? -0x1.fffffep-1f : -0x1p31f;
      const __m256i end = _mm256_set1_epi32(std::bit_cast<std::int32_t>(low));
      const __m256i inside = _mm256_and_si256(_mm256_cmpgt_epi32(limit, most),
                                              _mm256_cmpeq_epi32(_mm256_max_epu32(last, end), end));
      fits = _mm256_movemask_epi8(inside) == -1;
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
// What fits signed integers of 32 bits wraps as they do; false, with nothing written, where an
// element does not.
template <DataType kFrom> HWY_INLINE bool SignedToUint32(const std::byte* in, std::byte* out) {
  V32 words[4];
  LoadIntegers32<kFrom, false>(in, words);
  __mmask16 beyond = 0;
  for (const V32 word : words) {
    beyond |= _mm512_cmpeq_epi32_mask(word.raw, _mm512_set1_epi32(INT32_MIN));
  }
  if (HWY_UNLIKELY(beyond != 0)) return false;
  for (std::size_t i = 0; i < 4; ++i) Store(words[i], D32(), out + 64 * i);
  return true;
}

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
  if constexpr (kTo == DataType::kUint32) {
    if (HWY_UNLIKELY(beyond != 0) && !args.saturates && SignedToUint32<kFrom>(in, out)) return;
  }
  if (HWY_UNLIKELY(beyond != 0)) return CarefulStep<kFrom, kTo>(in, out, args);
  for (std::size_t i = 0; i < kVectors; ++i) _mm512_storeu_si512(out + 64 * i, results[i]);
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

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_SRC_CORE_INTEGER_STEPS_INL_H_
