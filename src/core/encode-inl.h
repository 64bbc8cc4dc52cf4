// Encoding in lanes: float32 or float64 to codes, with the pair's one rounding. Included per
// target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_ENCODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_ENCODE_INL_H_
#undef TENSORCAST_SRC_CORE_ENCODE_INL_H_
#else
#define TENSORCAST_SRC_CORE_ENCODE_INL_H_
#endif

#include "core/decode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// ---------------------------------------------------------------------------- float32 to floats

// float32 bits to the codes of a float of at most 16 bits with fewer exponents than float32, in
// 32-bit lanes.
//
// 1. E, the larger of x's binade and the least normal one, fixes the unit of the last place:
//    2^(E - m). Adding M = 2^(E - m + 23) to |x| rounds it to that unit, ties to even, once.
// 2. The sum's bits minus M's are the rounded significand as an integer, leading bit included.
// 3. The code is that integer plus (E - least) << m: the leading bit of a normal number, and a
//    carry out of the mantissa, each add one to the exponent field.
template <DataType kType, class D, class V>
HWY_INLINE V Float32ToMiniFloat(D d, V bits, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  constexpr int m = row.mantissa_bits;
  constexpr auto kLeast = static_cast<std::uint32_t>(128 - row.bias) << 23;
  constexpr auto kLargest = static_cast<std::uint32_t>(detail::MaxFiniteMagnitude(row));
  // Cut off well beyond the range (and below where M would overflow), so that what is beyond
  // encodes to a code above the largest.
  constexpr std::uint32_t kClamp =
      static_cast<std::uint32_t>(127 + (1 << row.exponent_bits) - row.bias + 1) << 23;
  const hn::RebindToFloat<D> df;
  const V magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFFu));
  const V x = hn::Min(magnitude, hn::Set(d, kClamp));
  const V exponent = hn::Max(hn::And(x, hn::Set(d, 0x7F800000u)), hn::Set(d, kLeast));
  const V unit = hn::Add(exponent, hn::Set(d, static_cast<std::uint32_t>(23 - m) << 23));
  const V sum = hn::BitCast(d, hn::Add(hn::BitCast(df, x), hn::BitCast(df, unit)));
  const V significand = hn::Sub(sum, unit);
  V code = hn::Add(significand, hn::ShiftRight<23 - m>(hn::Sub(exponent, hn::Set(d, kLeast))));
  code = hn::IfThenElse(hn::Gt(code, hn::Set(d, kLargest)), hn::Set(d, args.overflow), code);
  const V infinity = hn::Set(d, 0x7F800000u);
  if constexpr (row.is_fnuz()) {
    code = hn::IfThenElse(hn::Eq(magnitude, infinity), hn::Set(d, args.infinity), code);
  }
  const V negative = hn::ShiftRight<32 - row.bits>(hn::AndNot(hn::Set(d, 0x7FFFFFFFu), bits));
  V sign = negative;
  if constexpr (row.is_fnuz()) sign = hn::IfThenZeroElse(hn::Eq(code, hn::Zero(d)), negative);
  V result = hn::Or(code, sign);
  const auto nan = hn::Gt(magnitude, infinity);
  if constexpr (row.bits >= 16) {
    constexpr auto kQuiet = static_cast<std::uint32_t>(detail::CanonicalNan(row, false));
    const V payload =
        hn::And(hn::ShiftRight<23 - m>(magnitude), hn::Set(d, kQuiet | ((1u << m) - 1)));
    const V quiet = hn::Or(hn::Or(payload, hn::Set(d, kQuiet)), negative);
    result = hn::IfThenElse(nan, quiet, result);
  } else if (HWY_UNLIKELY(!hn::AllFalse(d, nan))) {
    const V nan_code = hn::IfThenElse(hn::Eq(negative, hn::Zero(d)), hn::Set(d, args.nan_positive),
                                      hn::Set(d, args.nan_negative));
    result = hn::IfThenElse(nan, nan_code, result);
  }
  return result;
}

// The same for the formats that scale to float16, where float16 is an instruction.
//
// 1. Fold what lies below the sixth mantissa bit into it: m <= 3 leaves two spare bits, so that the
//    final rounding is that of the exact value (round to odd).
// 2. Scale so that the destination's subnormals line up with float16's, and convert: exact down to
//    a quarter of the least subnormal; below half of it nothing rounds away from zero, and half of
//    it, the one tie, goes to even, zero.
// 3. One ties-to-even shift by 10 - m bits in 16-bit lanes.
template <DataType kType>
HWY_INLINE hn::VFromD<Like<std::uint16_t, D32>> ScaledFloat16(hn::VFromD<D32> bits) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const D32 d;
  const DF32 df;
  const hn::Rebind<hwy::float16_t, DF32> df16;
  auto x = bits;
  if constexpr (row.is_fnuz()) {
    // Tell a huge finite value from Inf: neither is needed beyond 2^15 x scale.
    const auto magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFFu));
    const auto sign = hn::AndNot(hn::Set(d, 0x7FFFFFFFu), bits);
    const auto huge = hn::Set(d, static_cast<std::uint32_t>(127 + 15 + Float16Scale(row)) << 23);
    const auto clamped = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x7F800000u)),
                                        hn::Min(magnitude, huge), magnitude);
    x = hn::Or(clamped, sign);
  }
  x = hn::Or(x, hn::And(hn::Add(x, hn::Set(d, 0x1FFFFu)), hn::Set(d, 0x20000u)));
  x = hn::AndNot(hn::Set(d, 0x1FFFFu), x);
  auto scaled = hn::BitCast(df, x);
  if constexpr (Float16Scale(row) != 0) {
    scaled = hn::Mul(scaled, hn::Set(df, PowerOfTwo32(-Float16Scale(row))));
  }
  return hn::BitCast(Like<std::uint16_t, D32>(), hn::DemoteTo(df16, scaled));
}

template <DataType kType, class D, class V>
HWY_INLINE V ScaledFloat16ToNarrow(D d, V half, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  constexpr int kShift = 10 - row.mantissa_bits;
  constexpr auto kLargest = static_cast<std::uint16_t>(detail::MaxFiniteMagnitude(row));
  constexpr auto kHalf = static_cast<std::uint16_t>((1 << (kShift - 1)) - 1);
  const auto set = [d](std::uint32_t value) {
    return hn::Set(d, static_cast<std::uint16_t>(value));
  };
  const V magnitude = hn::And(half, set(0x7FFF));
  const V negative = hn::ShiftRight<16 - row.bits>(hn::AndNot(set(0x7FFF), half));
  const V last = hn::And(hn::ShiftRight<kShift>(magnitude), set(1));
  V code = hn::ShiftRight<kShift>(hn::Add(hn::Add(magnitude, set(kHalf)), last));
  code = hn::IfThenElse(hn::Gt(code, set(kLargest)), set(args.overflow), code);
  if constexpr (row.is_fnuz()) {
    code = hn::IfThenElse(hn::Eq(magnitude, set(0x7C00)), set(args.infinity), code);
  }
  V sign = negative;
  if constexpr (row.is_fnuz()) sign = hn::IfThenZeroElse(hn::Eq(code, hn::Zero(d)), negative);
  V result = hn::Or(code, sign);
  const auto nan = hn::Gt(magnitude, set(0x7C00));
  if (HWY_UNLIKELY(!hn::AllFalse(d, nan))) {
    const V nan_code = hn::IfThenElse(hn::Eq(negative, hn::Zero(d)), set(args.nan_positive),
                                      set(args.nan_negative));
    result = hn::IfThenElse(nan, nan_code, result);
  }
  return result;
}

// bfloat16 has float32's exponents: add half a unit less one, plus the last bit kept, and cut.
template <class D, class V> HWY_INLINE V Float32ToBfloat16(D d, V bits) {
  const V last = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
  const V rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7FFFu)), last);
  const auto nan = hn::Gt(hn::And(bits, hn::Set(d, 0x7FFFFFFFu)), hn::Set(d, 0x7F800000u));
  const V quiet = hn::Or(bits, hn::Set(d, 0x400000u));
  return hn::ShiftRight<16>(hn::IfThenElse(nan, quiet, rounded));
}

template <class D, class V> HWY_INLINE V Float32ToE8M0(D d, V bits, const EncodeArgs& args) {
  const hn::RebindToSigned<D> di;
  const V magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFFu));
  V code = hn::ShiftRight<23>(hn::Add(magnitude, hn::Set(d, args.e8m0_bias)));
  code = hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(d, args.e8m0_least)), code);
  code = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, (127u + 127u) << 23)),
                        hn::Set(d, args.e8m0_above), code);
  // As a signed integer every zero, negative and number below 2^-127 is below its bits.
  const auto below =
      hn::RebindMask(d, hn::Lt(hn::BitCast(di, bits), hn::Set(di, std::int32_t{0x400000})));
  code = hn::IfThenElse(below, hn::Set(d, args.e8m0_below), code);
  const auto nan = hn::Gt(magnitude, hn::Set(d, 0x7F800000u));
  return hn::IfThenElse(nan, hn::Set(d, 0xFFu), code);
}

// -------------------------------------------------------------------------- floats to integers

// The exact integer of a float32, cut toward zero or (kNearest) to nearest with ties to even,
// modulo 2^32; NaN and Inf give 0; then the limits where saturating.
template <bool kNearest>
HWY_INLINE hn::VFromD<D32> Float32ToInteger(hn::VFromD<DF32> x, const EncodeArgs& args) {
  const D32 d;
  const DF32 df;
  const hn::RebindToSigned<D32> di;
  const auto bits = hn::BitCast(d, x);
  const auto magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFFu));
  const auto negative = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, bits)));
  // Below the limit one conversion, or one addition of 2^23, does it.
  constexpr std::uint32_t kLimit = static_cast<std::uint32_t>(127 + (kNearest ? 23 : 31)) << 23;
  const auto in_range = hn::Lt(magnitude, hn::Set(d, kLimit));
  hn::VFromD<D32> result;
  if constexpr (kNearest) {
    const auto offset = hn::Set(df, 0x1p23f);
    const auto sum = hn::BitCast(d, hn::Add(hn::BitCast(df, magnitude), offset));
    result = hn::Sub(sum, hn::BitCast(d, offset));
    result = hn::Sub(hn::Xor(result, negative), negative);
  } else {
    result = hn::BitCast(d, hn::ConvertTo(di, x));
  }
  if (HWY_UNLIKELY(!hn::AllTrue(d, in_range))) {
    // Integers from here on: the significand shifted left, its high bits falling off.
    const auto shift = hn::Sub(hn::ShiftRight<23>(magnitude), hn::Set(d, 127u + 23u));
    const auto significand = hn::Or(hn::And(bits, hn::Set(d, 0x7FFFFFu)), hn::Set(d, 0x800000u));
    const auto shifted = hn::Shl(significand, hn::And(shift, hn::Set(d, 31u)));
    auto large = hn::IfThenElseZero(hn::Lt(shift, hn::Set(d, 32u)), shifted);
    large = hn::Sub(hn::Xor(large, negative), negative);
    result = hn::IfThenElse(in_range, result, large);
  }
  if (args.saturates) {
    result = hn::IfThenElse(hn::RebindMask(d, hn::Ge(x, hn::Set(df, args.high32))),
                            hn::Set(d, static_cast<std::uint32_t>(args.high_code)), result);
    result = hn::IfThenElse(hn::RebindMask(d, hn::Le(x, hn::Set(df, args.low32))),
                            hn::Set(d, static_cast<std::uint32_t>(args.low_code)), result);
  }
  return result;
}

// Whether a float64 becomes an integer in two halves, by additions alone.
template <bool kNearest> inline constexpr bool kInHalves = HWY_TARGET == HWY_AVX2 && !kNearest;

#if HWY_TARGET == HWY_AVX2
// The integers of float64 below 2^82 in magnitude, modulo 2^64. Beside 1.5 x 2^84 the units of 2^32
// stand in the lowest bits, beside 1.5 x 2^52 what is left, which may be negative; the bits that
// the latter has above are taken from the former beforehand.
HWY_INLINE hn::VFromD<D64> InHalves(hn::VFromD<DF64> x) {
  constexpr std::uint32_t kAbove = 0x43380000;  // of 1.5 x 2^52
  const __m256d beside = _mm256_set1_pd(0x1.8p84 + 0x1p32 * static_cast<std::uint32_t>(-kAbove));
  const __m256d whole = _mm256_round_pd(x.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __m256d high = _mm256_add_pd(whole, beside);
  const __m256d low = _mm256_sub_pd(whole, _mm256_sub_pd(high, beside));
  const __m256i low_bits = _mm256_castpd_si256(_mm256_add_pd(low, _mm256_set1_pd(0x1.8p52)));
  return {_mm256_add_epi64(_mm256_slli_epi64(_mm256_castpd_si256(high), 32), low_bits)};
}
#else
HWY_INLINE hn::VFromD<D64> InHalves(hn::VFromD<DF64>) { return hn::Zero(D64()); }
#endif

// Below this magnitude additions, or one instruction, take a float64 to its integer.
template <bool kNearest>
inline constexpr double kFloat64FastLimit = kInHalves<kNearest> ? 0x1p82
                                            : kNearest          ? 0x1p52
                                                                : 0x1p31;

// The same of a float64, modulo 2^64.
template <bool kNearest>
HWY_INLINE hn::VFromD<D64> Float64ToInteger(hn::VFromD<DF64> x, const EncodeArgs& args) {
  const D64 d;
  const DF64 df;
  const hn::RebindToSigned<D64> di;
  const auto bits = hn::BitCast(d, x);
  const auto magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFFFFFFFFFFull));
  const auto negative = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, bits)));
  const auto in_range = hn::RebindMask(
      d, hn::Lt(hn::BitCast(df, magnitude), hn::Set(df, kFloat64FastLimit<kNearest>)));  // not NaN
  hn::VFromD<D64> result;
  if constexpr (kInHalves<kNearest>) {
    result = InHalves(x);
  } else if constexpr (kNearest) {
    const auto offset = hn::Set(df, 0x1p52);
    const auto sum = hn::BitCast(d, hn::Add(hn::BitCast(df, magnitude), offset));
    result = hn::Sub(sum, hn::BitCast(d, offset));
    result = hn::Sub(hn::Xor(result, negative), negative);
  } else {
    const Like<std::int32_t, DF64> di32;
    result = hn::BitCast(d, hn::PromoteTo(di, hn::DemoteTo(di32, x)));
  }
  if (HWY_UNLIKELY(!hn::AllTrue(d, in_range))) {
    // The significand shifted either way by its exponent; what leaves 64 bits falls off.
    const auto significand =
        hn::Or(hn::And(bits, hn::Set(d, 0xFFFFFFFFFFFFFull)), hn::Set(d, 0x10000000000000ull));
    const auto left = hn::Sub(hn::ShiftRight<52>(magnitude), hn::Set(d, 1023ull + 52));
    const auto right = hn::Sub(hn::Zero(d), left);
    const auto mask = hn::Set(d, 63ull);
    const auto bound = hn::Set(d, 64ull);
    const auto up =
        hn::IfThenElseZero(hn::Lt(left, bound), hn::Shl(significand, hn::And(left, mask)));
    const auto down =
        hn::IfThenElseZero(hn::Lt(right, bound), hn::Shr(significand, hn::And(right, mask)));
    auto large = hn::IfThenElse(hn::Lt(left, bound), up, down);
    large = hn::Sub(hn::Xor(large, negative), negative);
    result = hn::IfThenElse(in_range, result, large);
  }
  if (args.saturates) {
    result = hn::IfThenElse(hn::RebindMask(d, hn::Ge(x, hn::Set(df, args.high64))),
                            hn::Set(d, args.high_code), result);
    result = hn::IfThenElse(hn::RebindMask(d, hn::Le(x, hn::Set(df, args.low64))),
                            hn::Set(d, args.low_code), result);
  }
  return result;
}

// Two float64 vectors to one of integers modulo 2^32.
template <bool kNearest>
HWY_INLINE hn::VFromD<D32> Float64sToInteger32(hn::VFromD<DF64> low, hn::VFromD<DF64> high,
                                               const EncodeArgs& args) {
  const D32 d32;
  if constexpr (!kNearest) {
    const DF64 df;
    const auto limit = hn::Set(df, 0x1p31);
    const auto in_range =
        hn::And(hn::Lt(hn::Abs(low), limit), hn::Lt(hn::Abs(high), limit));  // not NaN
    if (HWY_LIKELY(!args.saturates && hn::AllTrue(df, in_range))) {
      const Like<std::int32_t, DF64> half;
      const hn::RebindToSigned<D32> di32;
      return hn::BitCast(d32, hn::Combine(di32, hn::DemoteTo(half, high), hn::DemoteTo(half, low)));
    }
  }
  return hn::ConcatEven(d32, hn::BitCast(d32, Float64ToInteger<kNearest>(high, args)),
                        hn::BitCast(d32, Float64ToInteger<kNearest>(low, args)));
}

// ------------------------------------------------------------------- encoding from two vectors

// Two vectors of 32-bit lanes as codes of the low 8, 16 or 32 bits.
template <class Code>
HWY_INLINE void StoreLowBits(hn::VFromD<D32> low, hn::VFromD<D32> high, std::byte* out) {
  const D16 d16;
  const D32 d32;
  if constexpr (sizeof(Code) == 4) {
    Store(low, d32, out);
    Store(high, d32, out + hn::Lanes(d32) * 4);
  } else {
    const auto halves = hn::ConcatEven(d16, hn::BitCast(d16, high), hn::BitCast(d16, low));
    if constexpr (sizeof(Code) == 2) {
      Store(halves, d16, out);
    } else {
      Store(hn::TruncateTo(Like<std::uint8_t, D16>(), halves), Like<std::uint8_t, D16>(), out);
    }
  }
}

// Codes of a row of fewer than eight bits stand alone in their byte.
template <DataType kType> HWY_INLINE hn::VFromD<D32> KeepCode(hn::VFromD<D32> v) {
  constexpr const TypeInfo& row = detail::Row(kType);
  if constexpr (row.bits >= 8) {
    return v;
  } else {
    return hn::And(v, hn::Set(D32(), static_cast<std::uint32_t>(detail::LowMask(row.bits))));
  }
}

// Whether float32 reaches the type's codes through float16, where that is an instruction.
template <DataType kType>
inline constexpr bool kThroughFloat16 = kHasFloat16&& ScalesToFloat16(detail::Row(kType));

// One vector of float32 to codes in 32-bit lanes.
template <DataType kType>
HWY_INLINE hn::VFromD<D32> EncodeFloat32Vector(hn::VFromD<DF32> x, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const D32 d;
  const auto bits = hn::BitCast(d, x);
  if constexpr (kType == DataType::kBfloat16) {
    return Float32ToBfloat16(d, bits);
  } else if constexpr (kType == DataType::kFloat8E8M0) {
    return Float32ToE8M0(d, bits, args);
  } else if constexpr (row.is_float()) {
    return Float32ToMiniFloat<kType>(d, bits, args);
  } else if constexpr (kType == DataType::kBool) {
    return hn::Min(hn::And(bits, hn::Set(d, 0x7FFFFFFFu)), hn::Set(d, 1u));
  } else {
    return KeepCode<kType>(Float32ToInteger<(row.bits < 8)>(x, args));
  }
}

// By an instruction, where kHasFloat16.
HWY_INLINE hn::VFromD<Like<std::uint16_t, D32>> ToFloat16(hn::VFromD<DF32> x) {
#if TENSORCAST_AVX512
  // To nearest; g++ 12 has no intrinsic that raises nothing. In both dialects of assembly.
  __m256i half;
  __asm__("vcvtps2ph {$0, %{sae%}, %1, %0|%0, %1, %{sae%}, 0}" : "=v"(half) : "v"(x.raw));
  return {half};
#else
  const hn::Rebind<hwy::float16_t, DF32> df16;
  return hn::BitCast(Like<std::uint16_t, D32>(), hn::DemoteTo(df16, x));
#endif
}

// float32 to the codes of any type.
template <DataType kType>
HWY_INLINE void EncodeFloat32(const Float32s& x, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const D16 d16;
  const D32 d32;
  if constexpr (kType == DataType::kFloat32) {
    StoreFloat32s(x, out);
  } else if constexpr (kThroughFloat16<kType>) {
    const auto low = ScaledFloat16<kType>(hn::BitCast(d32, x.low));
    const auto high = ScaledFloat16<kType>(hn::BitCast(d32, x.high));
    const auto code = ScaledFloat16ToNarrow<kType>(d16, hn::Combine(d16, high, low), args);
    Store(hn::TruncateTo(Like<std::uint8_t, D16>(), code), Like<std::uint8_t, D16>(), out);
  } else if constexpr (kType == DataType::kFloat16 && kHasFloat16) {
    const Like<std::uint16_t, D32> half;
    Store(ToFloat16(x.low), half, out);
    Store(ToFloat16(x.high), half, out + hn::Lanes(d32) * 2);
  } else if constexpr (row.bits == 64) {
    const DF64 df64;
    const D64 d64;
    const hn::Half<DF32> half;
#if HWY_TARGET == HWY_AVX2
    if constexpr (row.is_integer()) {
      // What fits signed integers of 32 bits is extended.
      const DF32 df32;
      const auto limit = hn::Set(df32, 0x1p31f);
      const auto fits = hn::And(hn::Lt(hn::Abs(x.low), limit), hn::Lt(hn::Abs(x.high), limit));
      if (hn::AllTrue(df32, fits) && (row.has_sign || !args.saturates)) {
        const auto extend = [out](std::size_t i, __m256i words) HWY_ATTR {
          const __m128i upper = _mm256_extracti128_si256(words, 1);
          Store({_mm256_cvtepi32_epi64(_mm256_castsi256_si128(words))}, D64(), out + 64 * i);
          Store({_mm256_cvtepi32_epi64(upper)}, D64(), out + 64 * i + 32);
        };
        extend(0, _mm256_cvttps_epi32(x.low.raw));
        extend(1, _mm256_cvttps_epi32(x.high.raw));
        return;
      }
    }
#endif
    const hn::VFromD<DF64> quarters[4] = {hn::PromoteTo(df64, hn::LowerHalf(half, x.low)),
                                          hn::PromoteTo(df64, hn::UpperHalf(half, x.low)),
                                          hn::PromoteTo(df64, hn::LowerHalf(half, x.high)),
                                          hn::PromoteTo(df64, hn::UpperHalf(half, x.high))};
    for (std::size_t i = 0; i < 4; ++i) {
      std::byte* at = out + i * hn::Lanes(df64) * 8;
      if constexpr (row.is_float()) {
        Store(quarters[i], df64, at);
      } else {
        Store(Float64ToInteger<false>(quarters[i], args), d64, at);
      }
    }
  } else {
    StoreLowBits<CodeOf<kType>>(EncodeFloat32Vector<kType>(x.low, args),
                                EncodeFloat32Vector<kType>(x.high, args), out);
  }
}

// Two float64 vectors to float32, integers and bool.
template <DataType kType>
HWY_INLINE void EncodeFloat64(hn::VFromD<DF64> low, hn::VFromD<DF64> high, std::byte* out,
                              const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const DF64 df64;
  const D64 d64;
  const D32 d32;
  if constexpr (kType == DataType::kFloat32) {
    const DF32 df32;
    const Like<float, DF64> half;
    Store(hn::Combine(df32, hn::DemoteTo(half, high), hn::DemoteTo(half, low)), df32, out);
  } else if constexpr (row.bits == 64) {
    Store(Float64ToInteger<false>(low, args), d64, out);
    Store(Float64ToInteger<false>(high, args), d64, out + hn::Lanes(df64) * 8);
  } else {
    hn::VFromD<D32> code;
    if constexpr (kType == DataType::kBool) {
      // Not(Eq): NaN is true, and Highway leaves open what Ne says of it.
      const auto zero = hn::Zero(df64);
      const auto truth = [&](auto x) HWY_ATTR {
        return hn::BitCast(d32, hn::VecFromMask(df64, hn::Not(hn::Eq(x, zero))));
      };
      code = hn::And(hn::ConcatEven(d32, truth(high), truth(low)), hn::Set(d32, 1u));
    } else {
      code = KeepCode<kType>(Float64sToInteger32<(row.bits < 8)>(low, high, args));
    }
    Store(Narrow<CodeOf<kType>>(d32, code), Like<CodeOf<kType>, D32>(), out);
  }
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_ENCODE_INL_H_
