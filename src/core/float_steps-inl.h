// Steps of direct stages (direct_stages.cc) to floats of at most 16 bits. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_FLOAT_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_FLOAT_STEPS_INL_H_
#undef TENSORCAST_SRC_CORE_FLOAT_STEPS_INL_H_
#else
#define TENSORCAST_SRC_CORE_FLOAT_STEPS_INL_H_
#endif

#include "core/byte_keys-inl.h"
#include "core/byte_tables-inl.h"
#include "core/careful_step-inl.h"
#include "core/exponents-inl.h"
#include "core/half_sources-inl.h"
#include "core/wide_halves-inl.h"
#include "core/wide_sources-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// ----------------------------------------------------------------------------------- narrow floats

constexpr bool HasSpecials(const TypeInfo& row) { return row.is_float(); }

// What a narrow float needs of wide integers: beyond 2^24, where float32 rounds, all of them
// overflow. All that is below float32's normal numbers is zero there. Not so in e8m0.
constexpr Through ThroughOf(const TypeInfo& from, const TypeInfo& to) {
  const bool overflows =
      to.is_float() && to.has_zero && to.bits <= 16 && to.type != DataType::kBfloat16;
  if (!overflows) return Through::kOdd;
  return from.is_integer() ? Through::kNearest : Through::kOddNormal;
}

#if TENSORCAST_PACKS
// Integers to floats of fewer than eight bits, the largest of which is below 32: by a table of
// magnitudes, to which packing brings them.
template <DataType kFrom, DataType kTo>
inline constexpr bool kByMagnitude =
    detail::Row(kFrom).is_integer() && detail::Row(kTo).is_float() && detail::Row(kTo).bits < 8;
template <DataType kFrom, DataType kTo>
HWY_INLINE void MagnitudeStep(const std::byte* in, std::byte* out) {
  constexpr const TypeInfo& from = detail::Row(kFrom);
  constexpr const TypeInfo& to = detail::Row(kTo);
  constexpr auto kCode = [](unsigned i) {
    return static_cast<std::uint8_t>(detail::CastCode(detail::Row(kFrom), detail::Row(kTo), i, {}));
  };
  constexpr int kMost = kCode(15) == detail::MaxFiniteMagnitude(to) ? 15 : 31;
  static_assert(kCode(kMost) == detail::MaxFiniteMagnitude(to));
  static constexpr auto kCodes = [kCode] {
    std::array<std::uint8_t, 32> codes{};
    for (unsigned i = 0; i < 32; ++i) codes[i] = kCode(i);
    return codes;
  }();
  // Signed bytes; unsigned sources are brought below 128 first.
  V8 packed;
  if constexpr (from.bits == 16) {
    const auto half = [&](std::size_t i) HWY_ATTR {
      const V16 x = Load(D16(), in + HWY_MAX_BYTES * i);
      return from.has_sign ? x : hn::Min(x, hn::Set(D16(), std::uint16_t{INT8_MAX}));
    };
    packed = SignBytes(half(0), half(1));
#if HWY_TARGET == HWY_AVX2
  } else {
    const auto word = [&](std::size_t i) HWY_ATTR {
      const __m256i most = _mm256_set1_epi32(INT32_MAX);
      const auto small = [most](__m256i x) HWY_ATTR { return _mm256_min_epu32(x, most); };
      if constexpr (from.bits == 32) {
        const __m256i x = Load(D32(), in + 32 * i).raw;
        return from.has_sign ? x : small(x);
      } else {
        const Words words = LoadWordsOf64(in + 64 * i);
        if constexpr (from.has_sign) {
          const __m256i fits = _mm256_cmpeq_epi32(words.high, _mm256_srai_epi32(words.low, 31));
          const __m256i end = _mm256_xor_si256(_mm256_srai_epi32(words.high, 31), most);
          return _mm256_blendv_epi8(end, words.low, fits);
        } else {
          return small(_mm256_or_si256(
              words.low,
              _mm256_andnot_si256(_mm256_cmpeq_epi32(words.high, _mm256_setzero_si256()), most)));
        }
      }
    };
    packed = SignBytes(V16{_mm256_packs_epi32(word(0), word(1))},
                       V16{_mm256_packs_epi32(word(2), word(3))});
#else
  } else {
    V32 words[4];
    for (std::size_t i = 0; i < 4; ++i) {
      words[i] = SaturatedWords<kFrom>(in + 16 * sizeof(CodeOf<kFrom>) * i);
      // Packing saturates signed ones.
      if constexpr (!from.has_sign) words[i] = Clamped<false, INT8_MAX>(D32(), words[i]);
    }
    packed = PackToBytes<true>(words);
#endif
  }
  constexpr Order kOrder = from.bits == 16     ? Order::kElements
                           : TENSORCAST_AVX512 ? Order::kAsPacked
                           : from.bits == 32   ? Order::kPackedOnce
                                               : Order::kWords;
  const D8 d;
  const hn::RebindToSigned<D8> di;
  const V8 bytes = BytesInOrder<kOrder>(packed.raw);
  const V8 magnitude = hn::Min(hn::BitCast(d, hn::Abs(hn::BitCast(di, bytes))),
                               hn::Set(d, static_cast<std::uint8_t>(kMost)));
  const auto look_up = [&]<unsigned kRow>() HWY_ATTR {
    constexpr auto kRowCode = [](unsigned i) { return kCodes[16 * kRow + i % 16]; };
    return hn::TableLookupBytes(V8{ConstantLanes<std::uint8_t, kRowCode>()}, magnitude);
  };
  V8 codes = look_up.template operator()<0>();
  if constexpr (kMost == 31) {
    const auto upper = hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, std::int8_t{15}));
    codes = hn::IfThenElse(hn::RebindMask(d, upper), look_up.template operator()<1>(), codes);
  }
  if constexpr (from.has_sign) {
    const V8 sign = hn::And(bytes, hn::Set(d, std::uint8_t{0x80}));
    codes = hn::Or(codes, hn::BitCast(d, hn::ShiftRight<8 - to.bits>(hn::BitCast(D16(), sign))));
  }
  StoreCodes<to.bits>(codes, out);
}
#endif

#if HWY_TARGET == HWY_AVX2
// From 64 and 32 bits, but float32.
template <DataType kFrom, DataType kTo>
HWY_INLINE void WideToNarrowStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& from_row = detail::Row(kFrom);
  constexpr const TypeInfo& to_row = detail::Row(kTo);
  if constexpr (from_row.is_float() && !to_row.has_zero) {
    if (HWY_UNLIKELY(!Float64ToE8M0(in, out, args))) CarefulStep<kFrom, kTo>(in, out, args);
    return;
  }
  constexpr std::size_t kWordBytes = kLanesOf<float> * sizeof(CodeOf<kFrom>);
  constexpr Order kOrder = from_row.bits == 64 ? Order::kWords : Order::kPackedOnce;
  constexpr bool kOverflows = ThroughOf(from_row, to_row) == Through::kNearest;
  V16 halves[2], signs[2];
  __m256i apart = _mm256_setzero_si256();  // lanes to be cast carefully
  for (std::size_t i = 0; i < 2; ++i) {
    const std::byte* from = in + 2 * kWordBytes * i;
    if constexpr (from_row.is_float()) {
      halves[i] = OddBfloat16Of64(from, &signs[i]);
    } else {
      const auto words = [from](std::size_t j) HWY_ATTR {
        return hn::BitCast(D32(), NearFloat32<kFrom, kOverflows>(from + j * kWordBytes));
      };
      const HalfPlanes planes = SplitHalves(words(0), words(1));
      halves[i] = signs[i] = OddBfloat16(planes.upper, planes.lower);
      if constexpr (!kOverflows) {
        const __m256i near = IsNear(planes.lower, 0);
        apart = _mm256_or_si256(apart, _mm256_and_si256(near, LargeHalves(planes.upper)));
      }
    }
  }
  if (HWY_UNLIKELY(!_mm256_testz_si256(apart, apart))) {
    return CarefulStep<kFrom, kTo>(in, out, args);
  }
  V8 codes;
  if constexpr (!to_row.has_zero) {
    codes = Bytes<kOrder>(Bfloat16ToE8M0(halves[0], args), Bfloat16ToE8M0(halves[1], args));
  } else if constexpr (from_row.is_float()) {
    V8 magnitudes;
    if (HWY_UNLIKELY((!KeyMagnitudes<DataType::kBfloat16, kTo, 0>(halves[0], halves[1], args,
                                                                  &magnitudes)))) {
      return CarefulStep<kFrom, kTo>(in, out, args);
    }
    codes = JoinSignBytes<kTo, kOrder>(magnitudes, SignBytes(signs[0], signs[1]));
  } else {
    for (V16& half : halves) {
      half = NarrowInteger<kTo>(hn::And(half, hn::Set(D16(), std::uint16_t{0x7FFF})), args);
    }
    codes = JoinSigns<kTo, kOrder>(halves[0], halves[1], signs[0], signs[1]);
  }
  StoreCodes<to_row.bits>(codes, out);
}
#endif

#if TENSORCAST_PACKS
// Integers of 16 bits are rounded as float32, of which bfloat16 then has the narrow float's digits.
template <DataType kFrom, DataType kTo>
HWY_INLINE void Integer16ToNarrowStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& to = detail::Row(kTo);
  static_assert((16 + to.bias) << to.mantissa_bits <= 255);
  constexpr bool kSigned = detail::Row(kFrom).has_sign;
  const D16 d;
  const auto set = [d](std::uint32_t bits)
                       HWY_ATTR { return hn::Set(d, static_cast<std::uint16_t>(bits)); };
  V16 magnitudes[2], signs[2];
  for (std::size_t i = 0; i < 2; ++i) {
    signs[i] = Load(d, in + i * HWY_MAX_BYTES);
    V16 value = Integers16ToBfloat16<kSigned, to.mantissa_bits>(signs[i]);
    if constexpr (kSigned) value = hn::And(value, set(0x7FFF));
    value = hn::SaturatedSub(value, set((127 - to.bias) << 7));
    magnitudes[i] = hn::ShiftRight<7 - to.mantissa_bits>(value);
  }
  // What is beyond the range has a code that fits a byte, too.
  V8 codes = hn::Min(PackedBytes(magnitudes[0], magnitudes[1]),
                     hn::Set(D8(), static_cast<std::uint8_t>(args.overflow)));
  if constexpr (kSigned) {
    codes = JoinSignBytes<kTo, Order::kElements>(codes, SignBytes(signs[0], signs[1]));
  } else {
    codes = BytesInOrder<Order::kElements>(codes.raw);
  }
  StoreCodes<to.bits>(codes, out);
}
#endif

#if TENSORCAST_PACKS
// A step's float32 to codes. False where one is Inf or NaN.
template <DataType kTo, Order kOrder>
HWY_INLINE bool Float32KeyCodes(const std::byte* in, const EncodeArgs& args, V8* codes) {
  const auto planes = [in](std::size_t i) HWY_ATTR {
    const std::byte* const from = in + 2 * HWY_MAX_BYTES * i;
    return SplitHalves(Load(D32(), from), Load(D32(), from + HWY_MAX_BYTES));
  };
  const HalfPlanes a = planes(0), b = planes(1);
  // Packed as signed numbers, what is not zero stays so.
  const V8 cut = SignBytes(a.lower, b.lower);
  return KeyCodes<DataType::kBfloat16, kTo, kOrder, true>(a.upper, b.upper, args, codes, cut);
}
#endif

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
  if constexpr (kByClamping<kFrom, kTo>) {
    return StoreCodes<to_row.bits>(ClampedCodes<kFrom, kTo>(in), out);
  }
  if constexpr ((kFrom == DataType::kFloat16 && to_row.has_zero) || kByWindows<kFrom, kTo>) {
    const V16 low = Load(d, in), high = Load(d, in + kHalf);
    V8 codes;
    if constexpr (kByWindows<kFrom, kTo>) {
      codes = WindowCodes<kFrom, kTo>(low, high, args);
    } else if (HWY_UNLIKELY((!Float16Codes<kTo>(low, high, args, &codes)))) {
      CarefulStep<kFrom, kTo>(in, out, args);
      return;
    }
    StoreCodes<to_row.bits>(codes, out);
    return;
  }
  if constexpr (kFrom == DataType::kFloat16) {
    V8 codes;
    if (HWY_LIKELY(Float16ToE8M0(Load(d, in), Load(d, in + kHalf), args, &codes))) {
      StoreCodes<8>(codes, out);
      return;
    }
  }
#endif
#if TENSORCAST_PACKS
  if constexpr (kByMagnitude<kFrom, kTo>) return MagnitudeStep<kFrom, kTo>(in, out);
  if constexpr (from_row.is_integer() && from_row.bits == 16 && to_row.has_zero) {
    return Integer16ToNarrowStep<kFrom, kTo>(in, out, args);
  }
  if constexpr (MovesExponents(from_row, to_row)) return HalvesToE8M0<kFrom>(in, out, args);
#endif
#if HWY_TARGET == HWY_AVX2
  if constexpr (from_row.bits >= 32 && kFrom != DataType::kFloat32) {
    return WideToNarrowStep<kFrom, kTo>(in, out, args);
  }
#endif
#if TENSORCAST_PACKS
  if constexpr (kFrom == DataType::kFloat32 && to_row.has_zero) {
    V8 codes;
    if (HWY_UNLIKELY((!Float32KeyCodes<kTo, Order::kPackedOnce>(in, args, &codes)))) {
      return CarefulStep<kFrom, kTo>(in, out, args);
    }
    StoreCodes<to_row.bits>(codes, out);
    return;
  }
#endif
  constexpr bool kSameExponents = kFrom == DataType::kFloat16 && to_row.exponent_bits == 5;
  constexpr bool kHalves16 =
      kFrom == DataType::kBfloat16 || (kFrom == DataType::kFloat16 && to_row.has_zero);
  constexpr bool kApart = HWY_TARGET == HWY_AVX2 && kHalves16 && to_row.has_zero;
  constexpr Order kOrder = kApart      ? Order::kAsPacked
                           : kHalves16 ? Order::kElements
                                       : Order::kPackedOnce;
  V16 a, b;
  if constexpr (kApart) {
#if HWY_TARGET == HWY_AVX2
    LoadBlocksApart(in, &a.raw, &b.raw);
#endif
  } else if constexpr (kHalves16) {
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
#elif TENSORCAST_PACKS
  if constexpr (to_row.has_zero) {
    V8 codes;
    if constexpr (IsInteger(from_row)) {
      const auto magnitude = [&](V16 x) HWY_ATTR {
        return NarrowInteger<kTo>(hn::And(x, set(0x7FFF)), args);
      };
      codes = JoinSigns<kTo, kOrder>(magnitude(a), magnitude(b), a, b);
    } else {
      constexpr DataType kKeyed =
          kFrom == DataType::kFloat16 ? DataType::kFloat16 : DataType::kBfloat16;
      if (HWY_UNLIKELY((!KeyCodes<kKeyed, kTo, kOrder>(a, b, args, &codes)))) {
        CarefulStep<kFrom, kTo>(in, out, args);
        return;
      }
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

// A step's elements as float32, or those of fewer words.
template <DataType kFrom, Through kThrough, std::size_t kWords = 4>
HWY_INLINE void LoadWords(const std::byte* in, VF32* words) {
  constexpr std::size_t kWordBytes = kLanesOf<float> * sizeof(CodeOf<kFrom>);
  if constexpr (detail::Row(kFrom).bits <= 16) {
    for (std::size_t i = 0; i < kWords; i += 2) {
      const Float32s pair = DecodeFloat32<kFrom, kKeepSignalling>(in + i * kWordBytes);
      words[i] = pair.low;
      words[i + 1] = pair.high;
    }
  } else {
    for (std::size_t i = 0; i < kWords; ++i) {
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

#if HWY_TARGET == HWY_AVX2
// From 64 and 32 bits, but float32.
template <DataType kFrom> HWY_INLINE void WideToFloat16Step(const std::byte* in, std::byte* out) {
  constexpr std::size_t kWordBytes = kLanesOf<float> * sizeof(CodeOf<kFrom>);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::byte* from = in + i * kWordBytes;
    VF32 words;
    if constexpr (kFrom == DataType::kFloat64) {
      words = FoldedFloat32Of64(from);
    } else {
      words = NearFloat32<kFrom, true>(from);
    }
    __m128i half = _mm256_cvtps_ph(words.raw, _MM_FROUND_TO_NEAREST_INT);
    if constexpr (IsWords<kFrom>()) half = _mm_shuffle_epi32(half, 0xD8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * i), half);
  }
}

// False where an integer's float32 lies where bfloat16 rounds and need not be there.
template <DataType kFrom> HWY_INLINE bool IntegersToBfloat16(const std::byte* in, std::byte* out) {
  constexpr std::size_t kWordBytes = kLanesOf<float> * sizeof(CodeOf<kFrom>);
  HalfPlanes planes[2];
  __m256i near[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const auto words = [&](std::size_t j) HWY_ATTR {
      return hn::BitCast(D32(), NearFloat32<kFrom, false>(in + (2 * i + j) * kWordBytes));
    };
    planes[i] = SplitHalves(words(0), words(1));
    // An int32 has been rounded to nearest.
    near[i] = kFrom == DataType::kInt32
                  ? _mm256_cmpeq_epi16(planes[i].lower.raw, _mm256_set1_epi16(INT16_MIN))
                  : IsNear(planes[i].lower, 0x8000);
  }
  const auto store = [out](std::size_t i, V16 result) HWY_ATTR {
    Store(IsWords<kFrom>() ? WordsInOrder(result) : InOrder(result), D16(), out + 32 * i);
  };
  const __m256i any = _mm256_or_si256(near[0], near[1]);
  if (_mm256_testz_si256(any, any)) {  // nor does anything tie
    for (std::size_t i = 0; i < 2; ++i) {
      const __m256i grows = _mm256_srai_epi16(planes[i].lower.raw, 15);
      store(i, V16{_mm256_sub_epi16(planes[i].upper.raw, grows)});
    }
    return true;
  }
  if (HWY_UNLIKELY(AnyLarge(near[0], planes[0].upper) || AnyLarge(near[1], planes[1].upper))) {
    return false;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    store(i, NearestBfloat16(planes[i].upper, planes[i].lower));
  }
  return true;
}

// False where a float64 is NaN, or its float32 lies where bfloat16 rounds and it may not.
HWY_INLINE bool Float64ToBfloat16(const std::byte* in, std::byte* out) {
  const auto convert = [in](std::size_t i) HWY_ATTR {
    return _mm256_cvtpd_ps(_mm256_loadu_pd(reinterpret_cast<const double*>(in + 32 * i)));
  };
  __m256 sum = _mm256_setzero_ps();
  // What is NaN has 0x7FFF above.
  const __m256i middle = _mm256_set1_epi32(0x7FFF8000);
  __m256i apart = _mm256_setzero_si256(), results[2];
  for (std::size_t i = 0; i < 2; ++i) {
    // In the order that packing leaves in order.
    const auto words = [&](std::size_t j) HWY_ATTR {
      const __m256 x = _mm256_insertf128_ps(_mm256_castps128_ps256(convert(j)), convert(j + 2), 1);
      sum = _mm256_add_ps(sum, x);
      apart = _mm256_or_si256(apart, _mm256_cmpeq_epi16(_mm256_castps_si256(x), middle));
      const __m256i half = _mm256_set1_epi32(0x8000);
      return _mm256_srli_epi32(_mm256_add_epi32(_mm256_castps_si256(x), half), 16);
    };
    const __m256i low = words(4 * i), high = words(4 * i + 1);
    results[i] = _mm256_packus_epi32(low, high);
  }
  // A sum is NaN where one of its terms is, or where they are infinite.
  apart = _mm256_or_si256(apart, _mm256_castps_si256(_mm256_cmp_ps(sum, sum, _CMP_UNORD_Q)));
  if (HWY_UNLIKELY(!_mm256_testz_si256(apart, apart))) return false;
  for (std::size_t i = 0; i < 2; ++i) Store(V16{results[i]}, D16(), out + 32 * i);
  return true;
}
#endif

template <DataType kFrom, DataType kTo>
HWY_INLINE void HalfFloatStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& from_row = detail::Row(kFrom);
  constexpr Through kThrough = ThroughOf(from_row, detail::Row(kTo));
  const D16 d16;
  const D32 d32;
#if TENSORCAST_AVX512
  if constexpr (kTo == DataType::kBfloat16 && from_row.bits == 64) {
    if (HWY_LIKELY(CutToBfloat16<kFrom>(in, out))) return;
  }
#elif HWY_TARGET == HWY_AVX2
  if constexpr (MovesExponents(from_row, detail::Row(kTo))) return E8M0ToFloat16(in, out);
  if constexpr (from_row.bits >= 32 && kFrom != DataType::kFloat32) {
    if constexpr (kTo == DataType::kFloat16) {
      return WideToFloat16Step<kFrom>(in, out);
    } else if constexpr (kFrom == DataType::kFloat64) {
      if (HWY_LIKELY(Float64ToBfloat16(in, out))) return;
    } else {
      if (HWY_LIKELY(IntegersToBfloat16<kFrom>(in, out))) return;
    }
  }
#endif
#if TENSORCAST_AVX2
  if constexpr (kTo == DataType::kBfloat16 && from_row.is_integer() && from_row.bits == 16) {
    const V16 a = Load(d16, in), b = Load(d16, in + HWY_MAX_BYTES);
    Store(Integers16ToBfloat16<from_row.has_sign>(a), d16, out);
    Store(Integers16ToBfloat16<from_row.has_sign>(b), d16, out + HWY_MAX_BYTES);
    return;
  }
#endif
#if HWY_TARGET == HWY_AVX2
  if constexpr (from_row.is_integer() && from_row.bits == 8 &&
                (kTo == DataType::kBfloat16 || !from_row.has_sign)) {
    for (std::size_t i = 0; i < 2; ++i) {
      if constexpr (kTo == DataType::kBfloat16) {
        Store(Integers8ToBfloat16<from_row.has_sign>(in + 16 * i), d16, out + 32 * i);
      } else {
        const V16 value = Integers8ToBfloat16<false>(in + 16 * i);
        Store(Bfloat16ToFloat16<false>(value), d16, out + 32 * i);
      }
    }
    return;
  }
#endif
  VF32 words[4];
  LoadWords<kFrom, kThrough>(in, words);
#if TENSORCAST_AVX512
  if constexpr (kTo == DataType::kFloat16 && from_row.is_integer() && from_row.bits == 8) {
    for (std::size_t i = 0; i < 2; ++i) {
      const V32 low = hn::BitCast(d32, words[2 * i]), high = hn::BitCast(d32, words[2 * i + 1]);
      Store(Bfloat16ToFloat16<from_row.has_sign>(UpperHalves(low, high)), d16, out + 64 * i);
    }
    return;
  }
#endif
  if constexpr (kTo == DataType::kBfloat16) {
    // What has eight bits is exact, and its NaN are canonical; float16 is rounded as float32.
    constexpr bool kIsRounded = kFrom == DataType::kFloat16 && TENSORCAST_AVX2;
    constexpr bool kExact = from_row.bits == 8 || kIsRounded;
#if TENSORCAST_AVX2
    if constexpr (kIsRounded) {
      for (VF32& word : words) word = RoundedToBfloat16(word);
    }
#endif
    if constexpr (HasSpecials(from_row) && from_row.bits > 8) {
      const auto has_nan = [&]() HWY_ATTR {
#if TENSORCAST_AVX512
        if constexpr (kIsRounded) {  // or infinite, which becomes NaN
          return AnyFrom<DataType::kFloat16>(16, LargestDoubled(in));
        } else {                        // in integers, so that nothing may be summed
          constexpr int kIsNaN = 0x81;  // quiet or signalling
          const auto nan = [](VF32 x) HWY_ATTR { return _mm512_fpclass_ps_mask(x.raw, kIsNaN); };
          return (nan(words[0]) | nan(words[1]) | nan(words[2]) | nan(words[3])) != 0;
        }
#endif
        // A sum is NaN where one of its terms is, or where they are infinite.
        const VF32 sum = hn::Add(hn::Add(words[0], words[1]), hn::Add(words[2], words[3]));
        return !hn::AllTrue(DF32(), hn::Eq(sum, sum));
      };
      if (HWY_UNLIKELY(has_nan())) {
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

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_SRC_CORE_FLOAT_STEPS_INL_H_
