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

#if TENSORCAST_AVX512
template <bool kNearest> HWY_INLINE __m512i ToIntegers32(__m512 x) {
  return kNearest ? _mm512_cvt_roundps_epi32(x, kToNearest)
                  : _mm512_cvtt_roundps_epi32(x, _MM_FROUND_NO_EXC);
}
#endif

#if TENSORCAST_AVX2
// A step's elements as integers of 32 bits: cut toward zero, to nearest for destinations of fewer
// than eight bits. What lies beyond gives the least of them, and so does NaN.
template <DataType kFrom, bool kNearest, std::size_t kWords = 4>
HWY_INLINE void LoadIntegers32(const std::byte* in, V32* words) {
#if TENSORCAST_AVX512
  if constexpr (kFrom == DataType::kFloat64) {
    const auto convert = [](__m512d x) HWY_ATTR {
      return kNearest ? _mm512_cvt_roundpd_epi32(x, kToNearest)
                      : _mm512_cvtt_roundpd_epi32(x, _MM_FROUND_NO_EXC);
    };
    for (std::size_t i = 0; i < kWords; ++i) {
      const __m256i low = convert(_mm512_loadu_pd(in + 128 * i));
      const __m256i high = convert(_mm512_loadu_pd(in + 128 * i + 64));
      words[i].raw = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    }
  } else {
    VF32 values[kWords];
    LoadWords<kFrom, Through::kOdd, kWords>(in, values);
    for (std::size_t i = 0; i < kWords; ++i) {
      words[i].raw = ToIntegers32<kNearest>(values[i].raw);
    }
  }
#else
  if constexpr (kFrom == DataType::kFloat64) {
    const auto convert = [](const std::byte* from) HWY_ATTR {
      const __m256d x = _mm256_loadu_pd(reinterpret_cast<const double*>(from));
      return kNearest ? _mm256_cvtpd_epi32(x) : _mm256_cvttpd_epi32(x);
    };
    for (std::size_t i = 0; i < kWords; ++i) {
      words[i].raw = _mm256_inserti128_si256(_mm256_castsi128_si256(convert(in + 64 * i)),
                                             convert(in + 64 * i + 32), 1);
    }
  } else {
    VF32 values[kWords];
    LoadWords<kFrom, Through::kOdd, kWords>(in, values);
    for (std::size_t i = 0; i < kWords; ++i) {
      words[i].raw =
          kNearest ? _mm256_cvtps_epi32(values[i].raw) : _mm256_cvttps_epi32(values[i].raw);
    }
  }
#endif
}

#if HWY_TARGET == HWY_AVX3_DL
// The lowest bytes of two vectors' lanes.
HWY_INLINE __m256i LowestBytes(__m512i a, __m512i b) {
  constexpr auto kLowest = [](unsigned i) { return i * 4 % 128; };
  return _mm512_castsi512_si256(_mm512_permutex2var_epi8(a, ByteIndices<kLowest>(), b));
}
#endif

// The low bits of four vectors, as many as a byte has or fewer, in order.
template <int kBits> HWY_INLINE V8 LowBytes(const V32* words) {
#if HWY_TARGET == HWY_AVX2
  const auto low_bits = [words](std::size_t i) HWY_ATTR {
    return hn::And(words[i], hn::Set(D32(), (1u << kBits) - 1));
  };
  return Bytes<Order::kPackedOnce>(PackWords<true>(low_bits(0), low_bits(1)),
                                   PackWords<true>(low_bits(2), low_bits(3)));
#elif HWY_TARGET == HWY_AVX3_DL
  const __m256i first = LowestBytes(words[0].raw, words[1].raw);
  const __m256i second = LowestBytes(words[2].raw, words[3].raw);
  const V8 bytes{_mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1)};
  return hn::And(bytes, hn::Set(D8(), static_cast<std::uint8_t>((1 << kBits) - 1)));
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
  // The upper half of a product is a shift where shuffles and shifts leave no other unit free.
  const __m512i exponent = _mm512_mulhi_epu16(x.raw, _mm512_set1_epi16(1 << (16 - 10)));
  const __m512i lacks = _mm512_permutexvar_epi16(exponent, _mm512_load_si512(kLacks.data()));
  return V16{_mm512_srlv_epi16(significand, lacks)};
}

// The same to integers, modulo 2^16, and to bytes.
HWY_INLINE V16 CutToHalves(V16 x) {
  const V16 magnitude = CutMagnitude(x);
  const __mmask32 negative = _mm512_movepi16_mask(x.raw);
  return V16{_mm512_mask_sub_epi16(magnitude.raw, negative, _mm512_setzero_si512(), magnitude.raw)};
}
HWY_INLINE V8 CutToBytes(V16 a, V16 b) {
#if HWY_TARGET == HWY_AVX3_DL
  const __m512i bytes = LowerBytes(CutMagnitude(a), CutMagnitude(b));
  const __mmask64 negative = _mm512_movepi8_mask(UpperBytes(a, b));
  return V8{_mm512_mask_sub_epi8(bytes, negative, _mm512_setzero_si512(), bytes)};
#else
  const V16 low = hn::Set(D16(), std::uint16_t{0xFF});
  return Bytes<Order::kElements>(hn::And(CutToHalves(a), low), hn::And(CutToHalves(b), low));
#endif
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

// A vector of floats of 16 bits as integers modulo 2^16 in lanes of 32: elements in even places and
// in odd ones, each where it stands. float16 is rounded to nearest alone. Its bits are those of a
// float32 2^-112 times as large, of Inf and NaN too; added to 1.5 * 2^23 times that, it leaves the
// integer in the lowest bits, a multiple of 64 for Inf and NaN.
struct IntegerPairs {
  V32 even, odd;
};
template <DataType kFrom, bool kNearest> HWY_INLINE IntegerPairs ToIntegerPairs(V16 x) {
#if TENSORCAST_AVX512
  if constexpr (kFrom == DataType::kFloat16) {
    static_assert(kNearest);
    const auto round = [](__m512i shifted) HWY_ATTR {
      const __m512i fields = _mm512_and_si512(shifted, _mm512_set1_epi32(~0x70001FFF));
      return V32{_mm512_castps_si512(_mm512_add_round_ps(_mm512_castsi512_ps(fields),
                                                         _mm512_set1_ps(0x1.8p-89f), kToNearest))};
    };
    return {round(_mm512_madd_epi16(x.raw, _mm512_set1_epi32(1 << 13))),
            round(_mm512_srai_epi32(x.raw, 3))};
  }
  const auto convert = [](__m512i bits) HWY_ATTR {
    return V32{ToIntegers32<kNearest>(_mm512_castsi512_ps(bits))};
  };
  return {convert(_mm512_slli_epi32(x.raw, 16)),
          convert(_mm512_and_si512(x.raw, _mm512_set1_epi32(-0x10000)))};
#else
  static_assert(kFrom == DataType::kBfloat16);
  const auto convert = [](__m256i bits) HWY_ATTR {
    const __m256 values = _mm256_castsi256_ps(bits);
    return V32{kNearest ? _mm256_cvtps_epi32(values) : _mm256_cvttps_epi32(values)};
  };
  return {convert(_mm256_slli_epi32(x.raw, 16)),
          convert(_mm256_and_si256(x.raw, _mm256_set1_epi32(-0x10000)))};
#endif
}

// bfloat16 to integers of 16 bits, modulo 2^16.
template <bool kNearest> HWY_INLINE V16 Bfloat16ToIntegers16(V16 x) {
  const IntegerPairs pairs = ToIntegerPairs<DataType::kBfloat16, kNearest>(x);
  const V32 odd = hn::ShiftLeft<16>(pairs.odd);
#if TENSORCAST_AVX512
  return V16{_mm512_mask_mov_epi16(pairs.even.raw, 0xAAAAAAAA, odd.raw)};
#else
  return V16{_mm256_blend_epi16(pairs.even.raw, odd.raw, 0xAA)};
#endif
}

#if TENSORCAST_AVX512
// Integers of a vector of floats of 16 bits, two of them joined where they stand: the lowest bits
// of lanes of 32.
template <DataType kFrom, int kBits> HWY_INLINE __m512i JoinedPairs(V16 x) {
  const IntegerPairs pairs = ToIntegerPairs<kFrom, (kBits < 8)>(x);
  const __m512i above = _mm512_madd_epi16(pairs.odd.raw, _mm512_set1_epi32(1 << kBits));
  constexpr int kChoose = 0xD8;  // the second where the third is set, else the first
  return _mm512_ternarylogic_epi32(above, pairs.even.raw, _mm512_set1_epi32((1 << kBits) - 1),
                                   kChoose);
}

// bfloat16 to 32 bytes, modulo 2^8.
HWY_INLINE __m256i CutBfloat16(V16 x) {
#if HWY_TARGET == HWY_AVX3_DL
  constexpr auto kLowest = [](unsigned i) { return i % 2 * 64 + i / 2 * 4 % 64; };
  const IntegerPairs pairs = ToIntegerPairs<DataType::kBfloat16, false>(x);
  return _mm512_castsi512_si256(
      _mm512_permutex2var_epi8(pairs.even.raw, ByteIndices<kLowest>(), pairs.odd.raw));
#else
  return _mm512_cvtepi32_epi16(JoinedPairs<DataType::kBfloat16, 8>(x));
#endif
}

// Floats of 16 bits to integers of four or two bits.
template <DataType kFrom, int kBits> HWY_INLINE void StoreFewBits(V16 a, V16 b, std::byte* out) {
  const __m512i low = JoinedPairs<kFrom, kBits>(a), high = JoinedPairs<kFrom, kBits>(b);
#if HWY_TARGET == HWY_AVX3_DL
  const __m256i bytes = LowestBytes(low, high);
#else
  const __m256i bytes = _mm256_set_m128i(_mm512_cvtepi32_epi8(high), _mm512_cvtepi32_epi8(low));
#endif
  if constexpr (kBits == 4) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
  } else {
    const __m256i fours = _mm256_maddubs_epi16(_mm256_and_si256(bytes, _mm256_set1_epi8(0x0F)),
                                               _mm256_set1_epi16(16 << 8 | 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_cvtepi16_epi8(fours));
  }
}

// Floats of 16 bits, those beyond an integer's range being brought to its end. Among signed lanes
// positive numbers stand above all others, among unsigned ones negative numbers do.
template <DataType kFrom, DataType kTo> HWY_INLINE V16 ClampedTo(V16 x) {
  constexpr const TypeInfo& to = detail::Row(kTo);
  constexpr auto kCode = [](std::uint64_t integer) {
    return static_cast<short>(detail::CastCode(detail::Row(kTo), detail::Row(kFrom), integer, {}));
  };
  constexpr std::uint64_t kMost = detail::LowMask(to.bits - (to.has_sign ? 1 : 0));
  x.raw = _mm512_min_epi16(x.raw, _mm512_set1_epi16(kCode(kMost)));
  if constexpr (!to.has_sign) return V16{_mm512_max_epi16(x.raw, _mm512_setzero_si512())};
  return V16{_mm512_min_epu16(x.raw, _mm512_set1_epi16(kCode(kMost + 1)))};
}

// Floats of 16 bits to integers of at most eight. Where these wrap, NaN and Inf need no test.
template <DataType kFrom, DataType kTo>
HWY_INLINE void HalvesToIntegers(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& from = detail::Row(kFrom);
  constexpr int kBits = detail::Row(kTo).bits;
  static_assert(kBeyondIsZero<kFrom, kTo>);
  V16 a = Load(D16(), in), b = Load(D16(), in + 64);
  if (HWY_UNLIKELY(args.saturates)) {
    constexpr int kInfinity = ((1 << from.exponent_bits) - 1) << from.mantissa_bits;
    if (HWY_UNLIKELY(AnyAbove(LargestDoubled(in), 2 * kInfinity))) {
      return CarefulStep<kFrom, kTo>(in, out, args);
    }
    a = ClampedTo<kFrom, kTo>(a);
    b = ClampedTo<kFrom, kTo>(b);
  }
  if constexpr (kBits < 8) {
    StoreFewBits<kFrom, kBits>(a, b, out);
  } else if constexpr (kFrom == DataType::kFloat16) {
    Store(CutToBytes(a, b), D8(), out);
  } else {
    const auto to = reinterpret_cast<__m256i*>(out);
    _mm256_storeu_si256(to, CutBfloat16(a));
    _mm256_storeu_si256(to + 1, CutBfloat16(b));
  }
}
#endif

// The same to integers of 16 bits and, on AVX2, fewer, modulo their range.
template <DataType kFrom, DataType kTo>
HWY_INLINE void HalvesToLowBits(const std::byte* in, std::byte* out) {
  constexpr int kBits = detail::Row(kTo).bits;
  V16 halves[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const V16 x = Load(D16(), in + i * HWY_MAX_BYTES);
#if TENSORCAST_AVX512
    if constexpr (kFrom == DataType::kFloat16) {
      halves[i] = CutToHalves(x);
    } else
#endif
      halves[i] = Bfloat16ToIntegers16<(kBits < 8)>(x);
  }
  if constexpr (kBits == 16) {
    for (std::size_t i = 0; i < 2; ++i) Store(halves[i], D16(), out + i * HWY_MAX_BYTES);
  } else {
    const V16 low = hn::Set(D16(), static_cast<std::uint16_t>((1 << kBits) - 1));
    StoreCodes<kBits>(Bytes<Order::kElements>(hn::And(halves[0], low), hn::And(halves[1], low)),
                      out);
  }
}

// Floats to integers of at most 32 bits. What fits 32 bits wraps, or saturates, as integers do; the
// rest is done carefully.
template <DataType kFrom, DataType kTo>
HWY_INLINE void IntegerStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kTo);
  const D32 d;
  const hn::RebindToSigned<D32> di;
#if TENSORCAST_AVX512
  constexpr bool kIsHalf = detail::Row(kFrom).bits == 16;
  if constexpr (kIsHalf && row.bits <= 8) return HalvesToIntegers<kFrom, kTo>(in, out, args);
  constexpr bool kCutsHalves = kIsHalf && row.bits == 16;
#else
  constexpr bool kCutsHalves = kFrom == DataType::kBfloat16 && row.bits <= 16;
#endif
  if constexpr (kCutsHalves) {
    if (!args.saturates) return HalvesToLowBits<kFrom, kTo>(in, out);
  }
  constexpr std::size_t kWords = kElementsOf<kFrom, kTo> / kLanesOf<float>;
  V32 words[kWords];
  LoadIntegers32<kFrom, (row.bits < 8), kWords>(in, words);
  if (kBeyondIsZero<kFrom, kTo> && !args.saturates) return StoreLowBits<kTo>(words, out);
  auto least = hn::BitCast(di, words[0]);
  for (std::size_t i = 1; i < kWords; ++i) least = hn::Min(least, hn::BitCast(di, words[i]));
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
    for (std::size_t i = 0; i < kWords; ++i) Store(words[i], d, out + i * HWY_MAX_BYTES);
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
#endif  // TENSORCAST_AVX2

#if TENSORCAST_AVX512
// What fits signed integers of 32 bits wraps as they do; false, with nothing written, where an
// element does not.
template <DataType kFrom> HWY_INLINE bool SignedToUint32(const std::byte* in, std::byte* out) {
  constexpr std::size_t kWords = kElementsOf<kFrom, DataType::kUint32> / kLanesOf<float>;
  V32 words[kWords];
  LoadIntegers32<kFrom, false, kWords>(in, words);
  __mmask16 beyond = 0;
  for (const V32 word : words) {
    beyond |= _mm512_cmpeq_epi32_mask(word.raw, _mm512_set1_epi32(INT32_MIN));
  }
  if (HWY_UNLIKELY(beyond != 0)) return false;
  for (std::size_t i = 0; i < kWords; ++i) Store(words[i], D32(), out + 64 * i);
  return true;
}

// Floats to uint32, int64 and uint64 by AVX-512's own conversions, which give all ones, or the
// least integer, for what does not fit.
template <DataType kFrom, DataType kTo>
HWY_INLINE void WideIntegerStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr std::size_t kWordBytes = kLanesOf<float> * sizeof(CodeOf<kFrom>);
  __mmask16 beyond = 0;
  constexpr std::size_t kWords = kElementsOf<kFrom, kTo> / kLanesOf<float>;
  constexpr std::size_t kVectors = kWords * sizeof(CodeOf<kTo>) / 4;
  __m512i results[kVectors];
  const __m512i none = kTo == DataType::kUint32   ? _mm512_set1_epi32(-1)
                       : kTo == DataType::kUint64 ? _mm512_set1_epi64(-1)
                                                  : _mm512_set1_epi64(INT64_MIN);
  VF32 values[kWords];
  if constexpr (kFrom != DataType::kFloat64) LoadWords<kFrom, Through::kOdd, kWords>(in, values);
  for (std::size_t i = 0; i < kWords; ++i) {
    [[maybe_unused]] const std::byte* from = in + i * kWordBytes;
    if constexpr (kTo == DataType::kUint32) {
      if constexpr (kFrom == DataType::kFloat64) {
        const auto convert = [from](std::size_t at) HWY_ATTR {
          return _mm512_cvtt_roundpd_epu32(_mm512_loadu_pd(from + at), _MM_FROUND_NO_EXC);
        };
        const __m256i low = convert(0), high = convert(64);
        results[i] = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
      } else {
        results[i] = _mm512_cvtt_roundps_epu32(values[i].raw, _MM_FROUND_NO_EXC);
      }
      beyond |= _mm512_cmpeq_epi32_mask(results[i], none);
    } else {
      for (std::size_t half = 0; half < 2; ++half) {
        __m512i& result = results[2 * i + half];
        if constexpr (kFrom == DataType::kFloat64) {
          const __m512d x = _mm512_loadu_pd(from + 64 * half);
          result = kTo == DataType::kInt64 ? _mm512_cvtt_roundpd_epi64(x, _MM_FROUND_NO_EXC)
                                           : _mm512_cvtt_roundpd_epu64(x, _MM_FROUND_NO_EXC);
        } else {
          const __m512 both = values[i].raw;
          const __m256 x =
              half == 0 ? _mm512_castps512_ps256(both) : _mm512_extractf32x8_ps(both, 1);
          result = kTo == DataType::kInt64 ? _mm512_cvtt_roundps_epi64(x, _MM_FROUND_NO_EXC)
                                           : _mm512_cvtt_roundps_epu64(x, _MM_FROUND_NO_EXC);
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
