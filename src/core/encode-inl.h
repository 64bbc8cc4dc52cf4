// Encoding in lanes: float32 or float64 to codes, with the pair's one rounding. Included per target.
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
  V code = hn::Add(significand,
                   hn::ShiftRight<23 - m>(hn::Sub(exponent, hn::Set(d, kLeast))));
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
    const V payload = hn::And(hn::ShiftRight<23 - m>(magnitude), hn::Set(d, kQuiet | ((1u << m) - 1)));
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
template <class D, class V>
HWY_INLINE V Float32ToBfloat16(D d, V bits) {
  const V last = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
  const V rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7FFFu)), last);
  const auto nan = hn::Gt(hn::And(bits, hn::Set(d, 0x7FFFFFFFu)), hn::Set(d, 0x7F800000u));
  const V quiet = hn::Or(bits, hn::Set(d, 0x400000u));
  return hn::ShiftRight<16>(hn::IfThenElse(nan, quiet, rounded));
}

template <class D, class V>
HWY_INLINE V Float32ToE8M0(D d, V bits, const EncodeArgs& args) {
  const hn::RebindToSigned<D> di;
  const V magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFFu));
  V code = hn::ShiftRight<23>(hn::Add(magnitude, hn::Set(d, args.e8m0_bias)));
  code = hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(d, args.e8m0_least)), code);
  code = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, (127u + 127u) << 23)), hn::Set(d, args.e8m0_above),
                        code);
  // As a signed integer every zero, negative and number below 2^-127 is below its bits.
  const auto below = hn::RebindMask(
      d, hn::Lt(hn::BitCast(di, bits), hn::Set(di, std::int32_t{0x400000})));
  code = hn::IfThenElse(below, hn::Set(d, args.e8m0_below), code);
  const auto nan = hn::Gt(magnitude, hn::Set(d, 0x7F800000u));
  return hn::IfThenElse(nan, hn::Set(d, 0xFFu), code);
}

// -------------------------------------------------------------------------- floats to integers

// The exact integer of a float32, cut toward zero or (kNearest) to nearest with ties to even, modulo
// 2^32; NaN and Inf give 0; then the limits where saturating.
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
    const auto significand =
        hn::Or(hn::And(bits, hn::Set(d, 0x7FFFFFu)), hn::Set(d, 0x800000u));
    const auto shifted = hn::Shl(significand, hn::And(shift, hn::Set(d, 31u)));
    auto large = hn::IfThenElseZero(hn::Lt(shift, hn::Set(d, 32u)), shifted);
    large = hn::Sub(hn::Xor(large, negative), negative);
    result = hn::IfThenElse(in_range, result, large);
  }
  result = hn::IfThenElse(hn::RebindMask(d, hn::Ge(x, hn::Set(df, args.high32))),
                          hn::Set(d, static_cast<std::uint32_t>(args.high_code)), result);
  return hn::IfThenElse(hn::RebindMask(d, hn::Le(x, hn::Set(df, args.low32))),
                        hn::Set(d, static_cast<std::uint32_t>(args.low_code)), result);
}

// The same of a float64, modulo 2^64.
template <bool kNearest>
HWY_INLINE hn::VFromD<D64> Float64ToInteger(hn::VFromD<DF64> x, const EncodeArgs& args) {
  const D64 d;
  const DF64 df;
  const hn::RebindToSigned<D64> di;
  const auto bits = hn::BitCast(d, x);
  const auto magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFFFFFFFFFFull));
  const auto negative = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, bits)));
  constexpr std::uint64_t kLimit = static_cast<std::uint64_t>(1023 + (kNearest ? 52 : 31)) << 52;
  const auto in_range = hn::Lt(magnitude, hn::Set(d, kLimit));
  hn::VFromD<D64> result;
  if constexpr (kNearest) {
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
    const auto significand = hn::Or(hn::And(bits, hn::Set(d, 0xFFFFFFFFFFFFFull)),
                                    hn::Set(d, 0x10000000000000ull));
    const auto left = hn::Sub(hn::ShiftRight<52>(magnitude), hn::Set(d, 1023ull + 52));
    const auto right = hn::Sub(hn::Zero(d), left);
    const auto mask = hn::Set(d, 63ull);
    const auto bound = hn::Set(d, 64ull);
    const auto up = hn::IfThenElseZero(hn::Lt(left, bound),
                                       hn::Shl(significand, hn::And(left, mask)));
    const auto down = hn::IfThenElseZero(hn::Lt(right, bound),
                                         hn::Shr(significand, hn::And(right, mask)));
    auto large = hn::IfThenElse(hn::Lt(left, bound), up, down);
    large = hn::Sub(hn::Xor(large, negative), negative);
    result = hn::IfThenElse(in_range, result, large);
  }
  result = hn::IfThenElse(hn::RebindMask(d, hn::Ge(x, hn::Set(df, args.high64))),
                          hn::Set(d, args.high_code), result);
  return hn::IfThenElse(hn::RebindMask(d, hn::Le(x, hn::Set(df, args.low64))),
                        hn::Set(d, args.low_code), result);
}

// Integer lanes as the codes of an integer row, one code a carrier.
template <DataType kType, class D, class V>
HWY_INLINE void StoreCodes(D d, V v, std::byte* out) {
  constexpr const TypeInfo& row = detail::Row(kType);
  if constexpr (row.bits < 8) {
    const V mask = hn::Set(d, static_cast<hn::TFromD<D>>(detail::LowMask(row.bits)));
    Store(Narrow<std::uint8_t>(d, hn::And(v, mask)), Like<std::uint8_t, D>(), out);
  } else if constexpr (row.bits == 8) {
    Store(Narrow<std::uint8_t>(d, v), Like<std::uint8_t, D>(), out);
  } else if constexpr (row.bits == 16) {
    Store(Narrow<std::uint16_t>(d, v), Like<std::uint16_t, D>(), out);
  } else if constexpr (row.bits == 32) {
    Store(Narrow<std::uint32_t>(d, v), Like<std::uint32_t, D>(), out);
  } else {
    Store(v, d, out);
  }
}

// ------------------------------------------------------------------------- the steps of encoding

template <DataType kType>
inline constexpr bool kThroughFloat16 =
    kHasFloat16 && ScalesToFloat16(detail::Row(kType));

template <DataType kType>
HWY_INLINE std::size_t EncodeFloat32Lanes() {
  if constexpr (kThroughFloat16<kType>) {
    return hn::Lanes(D16());
  } else {
    return hn::Lanes(D32());
  }
}

// float32 lanes to the codes of any other type.
template <DataType kType>
HWY_INLINE void EncodeFloat32Step(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const D32 d;
  const DF32 df;
  if constexpr (kThroughFloat16<kType>) {
    const D16 d16;
    const auto low = ScaledFloat16<kType>(Load(d, in));
    const auto high = ScaledFloat16<kType>(Load(d, in + hn::Lanes(d) * sizeof(float)));
    const auto code = ScaledFloat16ToNarrow<kType>(d16, hn::Combine(d16, high, low), args);
    Store(hn::TruncateTo(Like<std::uint8_t, D16>(), code), Like<std::uint8_t, D16>(), out);
  } else if constexpr (kType == DataType::kFloat64) {
    const DF64 df64;
    const hn::Half<DF32> half;
    const auto x = Load(df, in);
    Store(hn::PromoteTo(df64, hn::LowerHalf(half, x)), df64, out);
    Store(hn::PromoteTo(df64, hn::UpperHalf(half, x)), df64, out + hn::Lanes(df64) * 8);
  } else if constexpr (kType == DataType::kFloat16 && kHasFloat16) {
    const hn::Rebind<hwy::float16_t, DF32> df16;
    const Like<std::uint16_t, D32> d16;
    Store(hn::BitCast(d16, hn::DemoteTo(df16, Load(df, in))), d16, out);
  } else if constexpr (kType == DataType::kBfloat16) {
    StoreCodes<DataType::kUint16>(d, Float32ToBfloat16(d, Load(d, in)), out);
  } else if constexpr (kType == DataType::kFloat8E8M0) {
    StoreCodes<DataType::kUint8>(d, Float32ToE8M0(d, Load(d, in), args), out);
  } else if constexpr (row.is_float()) {
    constexpr DataType kCarrier = row.bits > 8 ? DataType::kUint16 : DataType::kUint8;
    StoreCodes<kCarrier>(d, Float32ToMiniFloat<kType>(d, Load(d, in), args), out);
  } else if constexpr (kType == DataType::kBool) {
    const auto magnitude = hn::And(Load(d, in), hn::Set(d, 0x7FFFFFFFu));
    StoreCodes<DataType::kUint8>(d, hn::Min(magnitude, hn::Set(d, 1u)), out);
  } else if constexpr (row.bits == 64) {
    const DF64 df64;
    const D64 d64;
    const hn::Half<DF32> half;
    const auto x = Load(df, in);
    const auto low = hn::PromoteTo(df64, hn::LowerHalf(half, x));
    const auto high = hn::PromoteTo(df64, hn::UpperHalf(half, x));
    Store(Float64ToInteger<false>(low, args), d64, out);
    Store(Float64ToInteger<false>(high, args), d64, out + hn::Lanes(d64) * 8);
  } else {
    StoreCodes<kType>(d, Float32ToInteger<(row.bits < 8)>(Load(df, in), args), out);
  }
}

// float64 lanes to float32, integers and bool. The steps take a vector of float64.
template <DataType kType>
HWY_INLINE void EncodeFloat64Step(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const DF64 df;
  const D64 d;
  const auto x = Load(df, in);
  if constexpr (kType == DataType::kFloat32) {
    const Like<float, DF64> df32;
    Store(hn::DemoteTo(df32, x), df32, out);
  } else if constexpr (kType == DataType::kBool) {
    // Not(Eq): NaN is true, and Highway leaves open what Ne says of it.
    const auto nonzero = hn::Not(hn::Eq(x, hn::Zero(df)));
    const auto one = hn::IfThenElseZero(hn::RebindMask(d, nonzero), hn::Set(d, 1ull));
    StoreCodes<DataType::kUint8>(d, one, out);
  } else {
    StoreCodes<kType>(d, Float64ToInteger<(row.bits < 8)>(x, args), out);
  }
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_ENCODE_INL_H_
