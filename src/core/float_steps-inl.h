// Steps of direct stages (direct_stages.cc) to floats of at most 16 bits. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_FLOAT_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_FLOAT_STEPS_INL_H_
#undef TENSORCAST_SRC_CORE_FLOAT_STEPS_INL_H_
#else
#define TENSORCAST_SRC_CORE_FLOAT_STEPS_INL_H_
#endif

#include "core/byte_tables-inl.h"
#include "core/careful_step-inl.h"
#include "core/wide_sources-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

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
  if constexpr ((kFrom == DataType::kFloat16 && to_row.has_zero) || kByClamping<kFrom, kTo> ||
                kByWindows<kFrom, kTo>) {
    const V16 low = Load(d, in), high = Load(d, in + kHalf);
    V8 codes;
    if constexpr (kByClamping<kFrom, kTo>) {
      codes = ClampedCodes<kFrom, kTo>(low, high);
    } else if constexpr (kByWindows<kFrom, kTo>) {
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
#if TENSORCAST_AVX512
      constexpr int kIsNaN = 0x81;  // quiet or signalling
      const auto nan = [](VF32 x) HWY_ATTR { return _mm512_fpclass_ps_mask(x.raw, kIsNaN); };
      const bool any = (nan(words[0]) | nan(words[1]) | nan(words[2]) | nan(words[3])) != 0;
#else
      // A sum is NaN where one of its terms is, or where they are infinite.
      const VF32 sum = hn::Add(hn::Add(words[0], words[1]), hn::Add(words[2], words[3]));
      const bool any = !hn::AllTrue(DF32(), hn::Eq(sum, sum));
#endif
      if (HWY_UNLIKELY(any)) {
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
