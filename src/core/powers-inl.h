// Codes of eight bits to integers that are powers of two, as float8e8m0's are: one, shifted in the
// result's own lane, out of which it falls where it is too large or less than one. AVX2 and
// AVX-512. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_POWERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_POWERS_INL_H_
#undef TENSORCAST_SRC_CORE_POWERS_INL_H_
#else
#define TENSORCAST_SRC_CORE_POWERS_INL_H_
#endif

#include "core/code_table.h"
#include "core/lanes-inl.h"

#if TENSORCAST_AVX2
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// A vector of codes to results of 32 or 64 bits.
template <int kOutBits> class Powers {
 public:
  explicit HWY_INLINE Powers(const CodeTable& table)
      : first_(hn::Set(Lanes(), static_cast<Lane>(table.powers_from))) {}
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    for (std::size_t i = 0; i < kOutBits / 8; ++i) {
      const auto code = LoadLanes(in + i * kLanesOf<Lane>);
      Store(ShiftedOne(hn::Sub(code, first_)), Lanes(), out + i * HWY_MAX_BYTES);
    }
  }

 private:
  using Lane = std::conditional_t<kOutBits == 32, std::uint32_t, std::uint64_t>;
  using Lanes = hn::ScalableTag<Lane>;
  using Vector = hn::VFromD<Lanes>;
  static HWY_INLINE Vector LoadLanes(const std::byte* in) {
#if TENSORCAST_AVX512
    if constexpr (kOutBits == 32) return {_mm512_cvtepu8_epi32(_mm_loadu_si128(At(in)))};
    if constexpr (kOutBits == 64) return {_mm512_cvtepu8_epi64(_mm_loadl_epi64(At(in)))};
#else
    if constexpr (kOutBits == 32) return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(At(in)))};
    if constexpr (kOutBits == 64) return {_mm256_cvtepu8_epi64(_mm_loadu_si32(in))};
#endif
  }
  // By any number, which Highway's shifts do not allow.
  static HWY_INLINE Vector ShiftedOne(Vector by) {
    const Vector one = hn::Set(Lanes(), Lane{1});
#if TENSORCAST_AVX512
    if constexpr (kOutBits == 32) return {_mm512_sllv_epi32(one.raw, by.raw)};
    if constexpr (kOutBits == 64) return {_mm512_sllv_epi64(one.raw, by.raw)};
#else
    if constexpr (kOutBits == 32) return {_mm256_sllv_epi32(one.raw, by.raw)};
    if constexpr (kOutBits == 64) return {_mm256_sllv_epi64(one.raw, by.raw)};
#endif
  }
  static const __m128i* At(const std::byte* in) { return reinterpret_cast<const __m128i*>(in); }

  Vector first_;
};

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_AVX2

#endif  // TENSORCAST_SRC_CORE_POWERS_INL_H_
