// Bool to types of 16 bits and more: every byte but zero is one. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_BOOL_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_BOOL_STEPS_INL_H_
#undef TENSORCAST_SRC_CORE_BOOL_STEPS_INL_H_
#else
#define TENSORCAST_SRC_CORE_BOOL_STEPS_INL_H_
#endif

#include "core/decode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2
// 16 elements to lanes of Code. Widening crosses blocks, which takes twice as long as a shuffle of
// what both blocks have.
template <class Code, Code kOne> HWY_INLINE void BoolHalfStep(const std::byte* in, std::byte* out) {
  const hn::ScalableTag<Code> d;
  const __m256i is_zero = _mm256_cmpeq_epi8(LoadTwice(in), _mm256_setzero_si256());
  const auto store = [&]<unsigned kVector>() HWY_ATTR {
    constexpr auto kPlace = [](unsigned byte) {
      return kVector * kLanesOf<Code> + byte / sizeof(Code);
    };
    const __m256i lanes = _mm256_shuffle_epi8(is_zero, ConstantLanes<std::uint8_t, kPlace>());
    Store(hn::AndNot(hn::VFromD<decltype(d)>{lanes}, hn::Set(d, kOne)), d, out + 32 * kVector);
  };
  [&]<unsigned... kVectors>(std::integer_sequence<unsigned, kVectors...>) HWY_ATTR {
    (store.template operator()<kVectors>(), ...);
  }
  (std::make_integer_sequence<unsigned, sizeof(Code) / 2>());
}
#endif

// As many elements as a vector has bytes.
template <class Code, Code kOne> HWY_INLINE void BoolStep(const std::byte* in, std::byte* out) {
#if HWY_TARGET == HWY_AVX2
  BoolHalfStep<Code, kOne>(in, out);
  BoolHalfStep<Code, kOne>(in + 16, out + 16 * sizeof(Code));
#else
  const hn::ScalableTag<Code> d;
  const Like<std::uint8_t, decltype(d)> from;
  for (std::size_t i = 0; i < sizeof(Code); ++i) {
    const auto code = hn::PromoteTo(d, Load(from, in + i * kLanesOf<Code>));
    Store(hn::IfThenZeroElse(hn::Eq(code, hn::Zero(d)), hn::Set(d, kOne)), d,
          out + i * HWY_MAX_BYTES);
  }
#endif
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_SRC_CORE_BOOL_STEPS_INL_H_
