// What codes say before anybody takes them for numbers: how many are zero or below the normal ones.
// Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_CODE_RANGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_CODE_RANGES_INL_H_
#undef TENSORCAST_SRC_CORE_CODE_RANGES_INL_H_
#else
#define TENSORCAST_SRC_CORE_CODE_RANGES_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

struct LowCodes {
  std::size_t zeros = 0;
  std::size_t low = 0;  // zeros among them
};

// How many magnitudes of n codes, whole vectors, are zero and below the least normal one's.
template <class D, class Code = hn::TFromD<D>>
LowCodes CountLow(D d, const std::byte* codes, std::size_t n, Code mask, Code least_normal) {
  const auto magnitude_bits = hn::Set(d, mask), limit = hn::Set(d, least_normal);
  LowCodes found;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto magnitude = hn::And(Load(d, codes + i * sizeof(Code)), magnitude_bits);
    found.zeros += hn::CountTrue(d, hn::Eq(magnitude, hn::Zero(d)));
    found.low += hn::CountTrue(d, hn::Lt(magnitude, limit));
  }
  return found;
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_CODE_RANGES_INL_H_
