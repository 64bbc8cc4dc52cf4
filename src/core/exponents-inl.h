// float8e8m0 to float16, and from float16 and 16-bit integers: casts that move an exponent, in
// integers alone. AVX2. Included per target.
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

#if HWY_TARGET == HWY_AVX2
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

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

// 32 elements of 16 bits, but bfloat16, to float8e8m0: they are normal float32, or zero.
template <DataType kFrom>
HWY_INLINE void HalvesToE8M0(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  if constexpr (kFrom == DataType::kFloat16) {  // Inf and NaN
    if (HWY_UNLIKELY((AnyFrom<kFrom>(16, LargestDoubled(in))))) {
      return CarefulStep<kFrom, DataType::kFloat8E8M0>(in, out, args);
    }
  }
  // With its sign above it an exponent saturates where it is a negative number's.
  const auto exponents = [&](std::size_t i) HWY_ATTR {
    const VF32 values = DecodeFloat32Vector<kFrom, kKeepSignalling>(in + 16 * i);
    const V32 rounded = hn::Add(hn::BitCast(D32(), values), hn::Set(D32(), args.e8m0_bias));
    return hn::ShiftRight<23>(rounded).raw;
  };
  const __m256i low = _mm256_packus_epi32(exponents(0), exponents(1));
  const __m256i high = _mm256_packus_epi32(exponents(2), exponents(3));
  const __m256i codes = _mm256_packus_epi16(low, high);
  // Zero and 255 are all that then have the highest bit.
  const __m256i is_below = _mm256_sub_epi8(codes, _mm256_set1_epi8(64));
  const __m256i below = _mm256_set1_epi8(static_cast<char>(args.e8m0_below));
  Store(BytesInOrder<Order::kPackedOnce>(_mm256_blendv_epi8(codes, below, is_below)), D8(), out);
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX2

#endif  // TENSORCAST_SRC_CORE_EXPONENTS_INL_H_
