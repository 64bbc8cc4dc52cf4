// Bool to types of 16 bits and more, where every byte but zero is one, and 64 bits to bool.
// Included per target.
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

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3_DL
// What one load has for every lane: widening on AVX2 crosses blocks, which takes twice as long as a
// shuffle of what both blocks have, and AVX-512 compares all elements at once.
inline constexpr std::size_t kBools = HWY_TARGET == HWY_AVX2 ? 16 : kLanesOf<std::uint8_t>;

// So many elements to lanes of Code.
template <class Code, Code kOne> HWY_INLINE void BoolPartStep(const std::byte* in, std::byte* out) {
  const D8 d8;
  const hn::ScalableTag<Code> d;
#if HWY_TARGET == HWY_AVX2
  const hn::VFromD<D8> codes{LoadTwice(in)};
#else
  const auto codes = Load(d8, in);
#endif
  const auto is_zero = hn::VecFromMask(d8, hn::Eq(codes, hn::Zero(d8)));
  const auto store = [&]<unsigned kVector>() HWY_ATTR {
    constexpr auto kPlace = [](unsigned byte) {
      return kVector * kLanesOf<Code> + byte / sizeof(Code);
    };
    const auto place = ConstantLanes<std::uint8_t, kPlace>();
#if HWY_TARGET == HWY_AVX2
    const hn::VFromD<decltype(d)> lanes{_mm256_shuffle_epi8(is_zero.raw, place)};
#else
    const hn::VFromD<decltype(d)> lanes{_mm512_permutexvar_epi8(place, is_zero.raw)};
#endif
    Store(hn::AndNot(lanes, hn::Set(d, kOne)), d, out + HWY_MAX_BYTES * kVector);
  };
  [&]<unsigned... kVectors>(std::integer_sequence<unsigned, kVectors...>) HWY_ATTR {
    (store.template operator()<kVectors>(), ...);
  }
  (std::make_integer_sequence<unsigned, kBools / kLanesOf<Code>>());
}
#endif

// As many elements as a vector has bytes.
template <class Code, Code kOne> HWY_INLINE void BoolStep(const std::byte* in, std::byte* out) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3_DL
  for (std::size_t i = 0; i < kLanesOf<std::uint8_t>; i += kBools) {
    BoolPartStep<Code, kOne>(in + i, out + i * sizeof(Code));
  }
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

#if TENSORCAST_AVX512
// The other way, 64 elements of 64 bits: those that have one of kBits are true.
template <std::int64_t kBits> HWY_INLINE void TruthStep64(const std::byte* in, std::byte* out) {
  std::uint64_t truth = 0;
  for (unsigned i = 0; i < 8; ++i) {
    const __m512i x = _mm512_loadu_si512(in + 64 * i);
    const __mmask8 some = _mm512_test_epi64_mask(x, _mm512_set1_epi64(kBits));
    truth |= std::uint64_t{some} << (8 * i);
  }
  _mm512_storeu_si512(out, _mm512_maskz_set1_epi8(truth, 1));
}
#endif

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_SRC_CORE_BOOL_STEPS_INL_H_
