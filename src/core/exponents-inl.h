// float8e8m0 to float16, and from float16 and 16-bit integers: casts that move an exponent, in
// integers alone. AVX2, and to float8e8m0 AVX-512 without VBMI. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_EXPONENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_EXPONENTS_INL_H_
#undef TENSORCAST_SRC_CORE_EXPONENTS_INL_H_
#else
#define TENSORCAST_SRC_CORE_EXPONENTS_INL_H_
#endif

#include "core/careful_step-inl.h"
#include "core/half_sources-inl.h"
#include "core/interleave-inl.h"

#if TENSORCAST_PACKS
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2
// 32 float8e8m0 to float16. A normal number's exponent stands in the upper byte alone, a subnormal
// is one bit in either.
HWY_INLINE void E8M0ToFloat16(const std::byte* in, std::byte* out) {
  static constexpr const TypeInfo& to = detail::Row(DataType::kFloat16);
  constexpr int kZero = detail::Row(DataType::kFloat8E8M0).bias - to.bias;  // the last subnormal
  constexpr int kUpper = to.mantissa_bits - 8;  // the upper byte's lowest bit of the exponent
  constexpr unsigned kInfinity = (1 << to.exponent_bits) - 1;
  const D8 d;
  const auto set = [d](int byte) HWY_ATTR { return hn::Set(d, static_cast<std::uint8_t>(byte)); };
  const V8 codes = LoadSpread<8, 2>(in);
  const V8 place = hn::Min(hn::Sub(codes, set(kZero + 1 - to.mantissa_bits)), set(15));
  const auto subnormal = [place]<int kByte>() HWY_ATTR {
    constexpr auto kBit = [](unsigned i) {
      return static_cast<int>(i % 16) < to.mantissa_bits ? 1 << (i % 16) >> (8 * kByte) : 0;
    };
    return hn::TableLookupBytes(V8{ConstantLanes<std::uint8_t, kBit>()}, place);
  };
  const V8 exponent = hn::Min(hn::SaturatedSub(codes, set(kZero)), set(kInfinity));
  const V8 quiet = hn::And(hn::VecFromMask(d, hn::Eq(codes, set(0xFF))), set(1 << (kUpper - 1)));
  const V8 normal = hn::BitCast(d, hn::ShiftLeft<kUpper>(hn::BitCast(D16(), exponent)));
  const V8 lower = subnormal.template operator()<0>();
  const V8 upper = hn::Or(hn::Or(normal, quiet), subnormal.template operator()<1>());
  Store(Lower(d, lower, upper), D16(), out);
  Store(Upper(d, lower, upper), D16(), out + 32);
}

#endif

// Elements of 16 bits, but bfloat16, to float8e8m0: they are normal float32, or zero.
template <DataType kFrom>
HWY_INLINE void HalvesToE8M0(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  if constexpr (kFrom == DataType::kFloat16) {  // Inf; and NaN, whose conversion may raise
    if (HWY_UNLIKELY((AnyFrom<kFrom>(16, LargestDoubled(in))))) {
      return CarefulStep<kFrom, DataType::kFloat8E8M0>(in, out, args);
    }
  }
  // With its sign above it an exponent saturates where it is a negative number's.
  V32 exponents[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const VF32 values = DecodeFloat32Vector<kFrom, kKeepSignalling>(in + HWY_MAX_BYTES / 2 * i);
    const V32 rounded = hn::Add(hn::BitCast(D32(), values), hn::Set(D32(), args.e8m0_bias));
    exponents[i] = hn::ShiftRight<23>(rounded);
  }
  const D8 d;
  const hn::RebindToSigned<D8> di;
  const V8 codes = PackToBytes<false>(exponents);
  // Zero and 255 are all that then have the highest bit.
  const auto is_below = hn::BitCast(di, hn::Sub(codes, hn::Set(d, std::uint8_t{64})));
  const auto below = hn::Set(di, static_cast<std::int8_t>(args.e8m0_below));
  const auto result = hn::IfNegativeThenElse(is_below, below, hn::BitCast(di, codes));
  Store(hn::BitCast(d, result), d, out);
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_PACKS

#endif  // TENSORCAST_SRC_CORE_EXPONENTS_INL_H_
