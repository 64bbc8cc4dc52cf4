// Decoding in lanes: codes to float32 or float64, exactly or rounded to odd. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_DECODE_INL_H_
#undef TENSORCAST_SRC_CORE_DECODE_INL_H_
#else
#define TENSORCAST_SRC_CORE_DECODE_INL_H_
#endif

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// Whether the target converts between float16 and float32 in one instruction with the contract we
// need: ties to even, subnormals exact, NaN quieted with its payload. F16C has it whatever the
// environment, ARM's fcvtl and fcvtn in the one that the kernels run in.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || \
    (HWY_ARCH_ARM_A64 && HWY_TARGET == HWY_NEON)
inline constexpr bool kHasFloat16 = true;
#else
inline constexpr bool kHasFloat16 = false;
#endif

// A floating format whose values, scaled by a power of two, are float16 values bit for bit: no more
// exponents, and Inf, if any, where float16 has it. At most three mantissa bits let the way back
// round once (docs/design.md).
constexpr bool ScalesToFloat16(const TypeInfo& row) {
  const TypeInfo& f16 = detail::Row(DataType::kFloat16);
  return row.is_float() && row.has_zero && row.bits <= 8 && row.mantissa_bits <= 3 &&
         (row.has_infinity() ? row.exponent_bits == f16.exponent_bits
                             : row.exponent_bits < f16.exponent_bits);
}
// The scale's exponent: value = float16 value x 2^scale.
constexpr int Float16Scale(const TypeInfo& row) {
  return detail::Row(DataType::kFloat16).bias - row.bias;
}

constexpr float PowerOfTwo32(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// ------------------------------------------------------------------ floating codes in 32-bit lanes

// Codes of a float of at most 16 bits to float32 bits: the fields moved into place, the exponent
// rebiased; a subnormal is read as a normal number of the least exponent, whose leading bit is then
// subtracted again, exactly.
template <DataType kType, class D, class V> HWY_INLINE V MiniFloatToFloat32(D d, V code) {
  constexpr const TypeInfo& row = detail::Row(kType);
  constexpr int m = row.mantissa_bits;
  constexpr auto kMagnitude = static_cast<std::uint32_t>(detail::MagnitudeMask(row));
  constexpr auto kRebias = static_cast<std::uint32_t>(127 - row.bias) << 23;
  constexpr std::uint32_t kLeast = kRebias + (1u << 23);  // float32 bits of the least normal
  const hn::RebindToFloat<D> df;
  const V magnitude = hn::And(code, hn::Set(d, kMagnitude));
  const V sign = hn::ShiftLeft<32 - row.bits>(hn::AndNot(hn::Set(d, kMagnitude), code));
  const V fields = hn::ShiftLeft<23 - m>(magnitude);
  V value = hn::Add(fields, hn::Set(d, kRebias));
  const V subnormal = hn::BitCast(d, hn::Sub(hn::BitCast(df, hn::Add(fields, hn::Set(d, kLeast))),
                                             hn::BitCast(df, hn::Set(d, kLeast))));
  value = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 1u << m)), subnormal, value);
  if constexpr (row.non_finite == NonFinite::kIeee) {
    constexpr auto kInfinity = static_cast<std::uint32_t>(detail::AllOnesExponent(row));
    const V infinity = hn::Set(d, 0x7F800000u);
    const auto nan = hn::Gt(magnitude, hn::Set(d, kInfinity));
    const V quiet = hn::Or(infinity, hn::Set(d, 0x400000u));
    // Sixteen bits carry a payload, eight do not.
    const V nan_value = row.bits >= 16 ? hn::Or(fields, quiet) : quiet;
    value = hn::IfThenElse(hn::Eq(magnitude, hn::Set(d, kInfinity)), infinity, value);
    value = hn::IfThenElse(nan, nan_value, value);
  } else if constexpr (row.non_finite == NonFinite::kNanAllOnes) {
    value =
        hn::IfThenElse(hn::Eq(magnitude, hn::Set(d, kMagnitude)), hn::Set(d, 0x7FC00000u), value);
  } else if constexpr (row.non_finite == NonFinite::kNanNegativeZero) {
    value =
        hn::IfThenElse(hn::Eq(code, hn::Set(d, kMagnitude + 1)), hn::Set(d, 0x7FC00000u), value);
  }
  return hn::Or(value, sign);
}

// Whether a signalling NaN may stay one: where an encoder follows that quiets it anyway.
inline constexpr bool kQuieten = true;
inline constexpr bool kKeepSignalling = false;

#if TENSORCAST_AVX2
// 16 bytes, in both blocks.
HWY_INLINE __m256i LoadTwice(const std::byte* in) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
}
// Elements of 16 bits in the upper halves of lanes: eight, and as many as a vector has.
HWY_INLINE __m256i LoadUpperHalves8(const std::byte* in) {
  return _mm256_shuffle_epi8(
      LoadTwice(in),
      _mm256_setr_epi8(-1, -1, 0, 1, -1, -1, 2, 3, -1, -1, 4, 5, -1, -1, 6, 7,  //
                       -1, -1, 8, 9, -1, -1, 10, 11, -1, -1, 12, 13, -1, -1, 14, 15));
}
#endif
HWY_INLINE hn::VFromD<D32> LoadUpperHalves(const std::byte* in) {
#if HWY_TARGET == HWY_AVX2
  return {LoadUpperHalves8(in)};
#else
  return hn::ShiftLeft<16>(hn::PromoteTo(D32(), Load(Like<std::uint16_t, D32>(), in)));
#endif
}
// bfloat16 codes are the upper halves of float32; only a signalling NaN changes.
template <bool kQuiet> HWY_INLINE hn::VFromD<D32> Bfloat16ToFloat32(const std::byte* in) {
  const D32 d;
  const auto value = LoadUpperHalves(in);
  if constexpr (!kQuiet) return value;
  const auto nan = hn::Gt(hn::And(value, hn::Set(d, 0x7FFFFFFFu)), hn::Set(d, 0x7F800000u));
  return hn::Or(value, hn::IfThenElseZero(nan, hn::Set(d, 0x400000u)));
}

#if TENSORCAST_AVX2
// Whether a 16-bit lane is above the limit.
HWY_INLINE bool AnyAbove(hn::VFromD<D16> x, std::uint16_t limit) {
#if TENSORCAST_AVX512
  return _mm512_cmpgt_epu16_mask(x.raw, _mm512_set1_epi16(static_cast<short>(limit))) != 0;
#else
  const __m256i above = _mm256_subs_epu16(x.raw, _mm256_set1_epi16(static_cast<short>(limit)));
  return !_mm256_testz_si256(above, above);
#endif
}
#endif

// 2^(code - 127): the code is the exponent field, but for 2^-127, which is a subnormal, and NaN;
// both have the mantissa's top bit set.
template <class D, class V> HWY_INLINE V E8M0ToFloat32(D d, V code) {
  const V value = hn::ShiftLeft<23>(code);
  // Code 0 and 255 are those with (code + 1) mod 256 < 2.
  const V next = hn::And(hn::Add(code, hn::Set(d, 1u)), hn::Set(d, 0xFFu));
  return hn::Or(value, hn::IfThenElseZero(hn::Lt(next, hn::Set(d, 2u)), hn::Set(d, 0x400000u)));
}

// Narrow float codes (one a byte), 16-bit lanes, to the float16 of the scaled value.
template <DataType kType, class D, class V> HWY_INLINE V NarrowToScaledFloat16(D d, V code) {
  constexpr const TypeInfo& row = detail::Row(kType);
  constexpr auto kMagnitude = static_cast<std::uint16_t>(detail::MagnitudeMask(row));
  constexpr int kShift = 10 - row.mantissa_bits;
  const V magnitude = hn::And(code, hn::Set(d, kMagnitude));
  const V sign = hn::ShiftLeft<16 - row.bits>(hn::AndNot(hn::Set(d, kMagnitude), code));
  V half = hn::ShiftLeft<kShift>(magnitude);
  const V nan = hn::Set(d, std::uint16_t{0x7E00});
  if constexpr (row.non_finite == NonFinite::kIeee) {
    half = hn::IfThenElse(hn::Gt(half, hn::Set(d, std::uint16_t{0x7C00})), nan, half);
  } else if constexpr (row.non_finite == NonFinite::kNanAllOnes) {
    half = hn::IfThenElse(hn::Eq(magnitude, hn::Set(d, kMagnitude)), nan, half);
  } else if constexpr (row.non_finite == NonFinite::kNanNegativeZero) {
    constexpr auto kNan = static_cast<std::uint16_t>(kMagnitude + 1);
    half = hn::IfThenElse(hn::Eq(code, hn::Set(d, kNan)), nan, half);
  }
  return hn::Or(half, sign);
}

// --------------------------------------------------------------- decoding into two float32 vectors

// What the codecs hand each other: the values of as many elements as a vector has 16-bit lanes, so
// that 16-bit codes fill a vector.
struct Float32s {
  hn::VFromD<DF32> low;  // the first half of the elements
  hn::VFromD<DF32> high;
};
inline constexpr std::size_t kFloat32sLanes = 2 * kLanesOf<float>;

HWY_INLINE Float32s LoadFloat32s(const std::byte* in) {
  const DF32 d;
  return {Load(d, in), Load(d, in + hn::Lanes(d) * sizeof(float))};
}
HWY_INLINE void StoreFloat32s(const Float32s& values, std::byte* out) {
  const DF32 d;
  Store(values.low, d, out);
  Store(values.high, d, out + hn::Lanes(d) * sizeof(float));
}

// One vector of codes in 32-bit lanes to float32: the types that do not go through float16.
template <DataType kType, bool kQuiet>
HWY_INLINE hn::VFromD<DF32> DecodeFloat32Vector(const std::byte* in) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const D32 d32;
  const DF32 df32;
  const Like<std::uint8_t, D32> d8;
  const Like<std::uint16_t, D32> d16;
  if constexpr (kType == DataType::kFloat32) {
    return Load(df32, in);
  } else if constexpr (kType == DataType::kFloat16 && kHasFloat16) {
#if TENSORCAST_AVX512
    return {_mm512_cvt_roundph_ps(Load(d16, in).raw, _MM_FROUND_NO_EXC)};
#else
    const hn::Rebind<hwy::float16_t, DF32> df16;
    return hn::PromoteTo(df32, hn::BitCast(df16, Load(d16, in)));
#endif
  } else if constexpr (kType == DataType::kBfloat16) {
    return hn::BitCast(df32, Bfloat16ToFloat32<kQuiet>(in));
  } else if constexpr (kType == DataType::kFloat16) {
    return hn::BitCast(df32, MiniFloatToFloat32<kType>(d32, hn::PromoteTo(d32, Load(d16, in))));
  } else if constexpr (kType == DataType::kFloat8E8M0) {
    return hn::BitCast(df32, E8M0ToFloat32(d32, hn::PromoteTo(d32, Load(d8, in))));
  } else if constexpr (row.is_float()) {
    return hn::BitCast(df32, MiniFloatToFloat32<kType>(d32, hn::PromoteTo(d32, Load(d8, in))));
  } else {
    const hn::RebindToSigned<D32> di32;
    hn::VFromD<decltype(di32)> value;
    if constexpr (kType == DataType::kBool) {
      value = hn::BitCast(di32, hn::Min(hn::PromoteTo(d32, Load(d8, in)), hn::Set(d32, 1u)));
    } else if constexpr (kType == DataType::kInt8) {
      value = hn::PromoteTo(di32, Load(Like<std::int8_t, D32>(), in));
    } else if constexpr (kType == DataType::kInt16) {
      value = hn::PromoteTo(di32, Load(Like<std::int16_t, D32>(), in));
    } else if constexpr (kType == DataType::kUint16) {
      value = hn::BitCast(di32, hn::PromoteTo(d32, Load(d16, in)));
    } else {
      static_assert(row.bits <= 8);
      value = hn::BitCast(di32, hn::PromoteTo(d32, Load(d8, in)));
      if constexpr (row.has_sign) {  // int4, int2: the sign bit's weight is negative
        const auto sign = hn::Set(di32, static_cast<std::int32_t>(detail::SignBit(row)));
        value = hn::Sub(hn::Xor(value, sign), sign);
      }
    }
    return hn::ConvertTo(df32, value);
  }
}

// Codes in their carriers to float32, exactly, for the types that fit.
template <DataType kType, bool kQuiet = kQuieten>
HWY_INLINE Float32s DecodeFloat32(const std::byte* in) {
  constexpr const TypeInfo& row = detail::Row(kType);
  if constexpr (kHasFloat16 && ScalesToFloat16(row)) {
    const D16 d16;
    const DF32 df32;
    const hn::Half<D16> half;
    const hn::Rebind<hwy::float16_t, DF32> df16;
    const auto code = hn::PromoteTo(d16, Load(Like<std::uint8_t, D16>(), in));
    const auto scaled = NarrowToScaledFloat16<kType>(d16, code);
    Float32s values = {hn::PromoteTo(df32, hn::BitCast(df16, hn::LowerHalf(half, scaled))),
                       hn::PromoteTo(df32, hn::BitCast(df16, hn::UpperHalf(half, scaled)))};
    if constexpr (Float16Scale(row) != 0) {
      const auto scale = hn::Set(df32, PowerOfTwo32(Float16Scale(row)));
      values.low = hn::Mul(values.low, scale);
      values.high = hn::Mul(values.high, scale);
    }
    return values;
  } else {
#if TENSORCAST_AVX2
    if constexpr (kType == DataType::kBfloat16 && kQuiet) {
      const auto codes = Load(D16(), in);
      const bool any_nan = AnyAbove(hn::Add(codes, codes), 0xFF00);
      if (HWY_LIKELY(!any_nan)) return DecodeFloat32<kType, kKeepSignalling>(in);
    }
#endif
#if HWY_TARGET == HWY_AVX3_DL
    if constexpr (kType == DataType::kBfloat16 && !kQuiet) {  // one load, and no shifts
      const __m512i codes = Load(D8(), in).raw;
      const auto half = [codes]<unsigned kHalf>() HWY_ATTR {
        constexpr auto kFrom = [](unsigned i) { return 32 * kHalf + i / 4 * 2 + i % 2; };
        constexpr __mmask64 kUpper = 0xCCCCCCCCCCCCCCCC;
        return hn::VFromD<DF32>{_mm512_castsi512_ps(
            _mm512_maskz_permutexvar_epi8(kUpper, ByteIndices<kFrom>(), codes))};
      };
      return {half.template operator()<0>(), half.template operator()<1>()};
    }
#endif
    return {DecodeFloat32Vector<kType, kQuiet>(in),
            DecodeFloat32Vector<kType, kQuiet>(in + hn::Lanes(D32()) * sizeof(CodeOf<kType>))};
  }
}

// ------------------------------------------------------------------------------ rounding to odd

// float64 to float32, cut toward zero with the last bit set where something was cut; Inf only from
// Inf. A vector of float64 gives half a vector of float32.
template <class V> HWY_INLINE hn::VFromD<Like<float, DF64>> OddFloat32FromFloat64(V x) {
  const D64 d64;
  const DF64 df64;
  const Like<float, DF64> df32;
  const Like<std::uint32_t, DF64> d32;
  const auto bits = hn::BitCast(d64, x);
  const auto magnitude = hn::And(bits, hn::Set(d64, 0x7FFFFFFFFFFFFFFFull));
  // Normal in float32 (2^-126 up to below 2^128), or zero: cut 29 bits, folding them into the
  // last one that stays; the conversion is then exact.
  const auto least = hn::Set(d64, 0x3810000000000000ull);
  const auto range = hn::Set(d64, 0x47F0000000000000ull - 0x3810000000000000ull);
  const auto zero = hn::Eq(magnitude, hn::Zero(d64));
  const auto normal = hn::Lt(hn::Sub(magnitude, least), range);
  if (HWY_LIKELY(hn::AllTrue(d64, hn::Or(normal, zero)))) {
    const auto cut = hn::Set(d64, 0x1FFFFFFFull);
    const auto folded = hn::Or(bits, hn::Add(hn::And(bits, cut), cut));
    return hn::DemoteTo(df32, hn::BitCast(df64, hn::AndNot(cut, folded)));
  }
  // Round to nearest, then step back toward zero where that went beyond x, and mark inexactness.
  const auto nearest = hn::DemoteTo(df32, x);
  const auto back = hn::PromoteTo(df64, nearest);
  const auto beyond = hn::Gt(hn::Abs(back), hn::Abs(x));
  const auto inexact = hn::Not(hn::Eq(back, x));  // NaN too: the last bit of a payload no one keeps
  const auto step = hn::TruncateTo(d32, hn::VecFromMask(d64, hn::RebindMask(d64, beyond)));
  const auto mark = hn::TruncateTo(d32, hn::VecFromMask(d64, hn::RebindMask(d64, inexact)));
  auto result = hn::Add(hn::BitCast(d32, nearest), step);
  result = hn::Or(result, hn::And(mark, hn::Set(d32, 1u)));
  return hn::BitCast(df32, result);
}

// 64-bit integers to float64, rounded to odd: from 2^53 on the low 11 bits are folded into one.
// Flooring a negative number and setting the last bit is rounding to odd as well.
template <bool kSigned, class V> HWY_INLINE V FoldInteger64(V bits) {
  const D64 d64;
  V magnitude = bits;
  if constexpr (kSigned) {
    const hn::RebindToSigned<D64> di64;
    const auto sign = hn::BitCast(d64, hn::BroadcastSignBit(hn::BitCast(di64, bits)));
    magnitude = hn::Xor(bits, sign);  // |x| or |x| - 1: below 2^53 alike
  }
  const auto small = hn::Eq(hn::ShiftRight<53>(magnitude), hn::Zero(d64));
  if (HWY_LIKELY(hn::AllTrue(d64, small))) return bits;
  const V cut = hn::Set(d64, 0x7FFull);
  const V folded = hn::AndNot(cut, hn::Or(bits, hn::Add(hn::And(bits, cut), cut)));
  return hn::IfThenElse(small, bits, folded);
}

template <bool kSigned, class V> HWY_INLINE hn::VFromD<DF64> Float64FromInteger64(V bits) {
#if TENSORCAST_AVX512
  return {kSigned ? _mm512_cvt_roundepi64_pd(bits.raw, kToNearest)
                  : _mm512_cvt_roundepu64_pd(bits.raw, kToNearest)};
#else
  const DF64 df64;
  if constexpr (kSigned) {
    return hn::ConvertTo(df64, hn::BitCast(hn::RebindToSigned<D64>(), bits));
  } else {
    // The halves as 2^84 + high x 2^32 and 2^52 + low, exactly; one addition rounds.
    const D64 d64;
    const V low =
        hn::Or(hn::And(bits, hn::Set(d64, 0xFFFFFFFFull)), hn::Set(d64, 0x4330000000000000ull));
    const V high = hn::Or(hn::ShiftRight<32>(bits), hn::Set(d64, 0x4530000000000000ull));
    const auto offset = hn::BitCast(df64, hn::Set(d64, 0x4530000000100000ull));  // 2^84 + 2^52
    return hn::Add(hn::Sub(hn::BitCast(df64, high), offset), hn::BitCast(df64, low));
  }
#endif
}

// 32-bit integers to float32, rounded to odd: from 2^24 on the low byte is folded into one bit,
// which leaves 16 bits and more, and no destination of this route keeps more than 11.
template <bool kSigned, class V> HWY_INLINE hn::VFromD<DF32> OddFloat32FromInteger32(V bits) {
  const D32 d32;
  const DF32 df32;
  const hn::RebindToSigned<D32> di32;
  V sign = hn::Zero(d32);
  V magnitude = bits;
  if constexpr (kSigned) {
    sign = hn::And(bits, hn::Set(d32, 0x80000000u));
    magnitude = hn::BitCast(d32, hn::Abs(hn::BitCast(di32, bits)));  // -2^31 gives 2^31
  }
  const auto small = hn::Lt(magnitude, hn::Set(d32, 1u << 24));
  V result;
  if (HWY_LIKELY(hn::AllTrue(d32, small))) {
    result = hn::BitCast(d32, hn::ConvertTo(df32, hn::BitCast(di32, magnitude)));
  } else {
    const V cut = hn::Set(d32, 0xFFu);
    const V folded = hn::ShiftRight<8>(hn::Or(magnitude, hn::Add(hn::And(magnitude, cut), cut)));
    const V whole = hn::IfThenElse(small, magnitude, folded);
    result = hn::BitCast(d32, hn::ConvertTo(df32, hn::BitCast(di32, whole)));
    result = hn::Add(result, hn::IfThenZeroElse(small, hn::Set(d32, 8u << 23)));
  }
  return hn::BitCast(df32, hn::Or(result, sign));
}

// Codes of float64 and of integers to float64: exact, rounded once, or (kOdd) rounded to odd.
template <DataType kType, bool kOdd>
HWY_INLINE hn::VFromD<DF64> DecodeFloat64(const std::byte* in) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const DF64 df64;
  const D64 d64;
  if constexpr (kType == DataType::kFloat64) {
    return Load(df64, in);
  } else if constexpr (kType == DataType::kInt32) {
    return hn::PromoteTo(df64, Load(Like<std::int32_t, DF64>(), in));
  } else if constexpr (row.bits <= 16) {
    using Code = std::conditional_t<detail::Row(kType).has_sign, std::make_signed_t<CodeOf<kType>>,
                                    CodeOf<kType>>;
    const Like<Code, DF64> narrow;
    auto code = Load(narrow, in);
    if constexpr (kType == DataType::kBool) code = hn::Min(code, hn::Set(narrow, Code{1}));
    return hn::PromoteTo(df64, hn::PromoteTo(Like<std::int32_t, DF64>(), code));
  } else if constexpr (kType == DataType::kUint32) {
    const auto code = Load(Like<std::uint32_t, D64>(), in);
#if TENSORCAST_AVX512
    return {_mm512_cvtepu32_pd(code.raw)};
#else
    // 2^52 + x, minus 2^52.
    const auto wide = hn::PromoteTo(d64, code);
    const auto offset = hn::Set(d64, 0x4330000000000000ull);
    return hn::Sub(hn::BitCast(df64, hn::Or(wide, offset)), hn::BitCast(df64, offset));
#endif
  } else {
    auto bits = Load(d64, in);
    if constexpr (kOdd) bits = FoldInteger64<row.has_sign>(bits);
    return Float64FromInteger64<row.has_sign>(bits);
  }
}

// Codes of float64 and of wide integers to float32, rounded to odd.
template <DataType kType> HWY_INLINE Float32s DecodeOddFloat32(const std::byte* in) {
  constexpr const TypeInfo& row = detail::Row(kType);
  if constexpr (row.bits == 32) {
    const D32 d;
    return {OddFloat32FromInteger32<row.has_sign>(Load(d, in)),
            OddFloat32FromInteger32<row.has_sign>(Load(d, in + hn::Lanes(d) * 4))};
  } else {
    const DF32 df32;
    const std::size_t step = hn::Lanes(DF64()) * 8;
    const auto one = [in, step](std::size_t i) HWY_ATTR {
      return OddFloat32FromFloat64(DecodeFloat64<kType, true>(in + i * step));
    };
    return {hn::Combine(df32, one(1), one(0)), hn::Combine(df32, one(3), one(2))};
  }
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_DECODE_INL_H_
