// Whether sums of products are float32s, in loops that compilers turn into lanes. Included once per
// target.
//
// All products and sums of a cell are multiples of the lower one of the last bits that its factor
// and its offset have; below 2^24 times that, a float32 holds them.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_FLOAT_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_FLOAT_SUMS_INL_H_
#undef TENSORCAST_SRC_SCALE_FLOAT_SUMS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_FLOAT_SUMS_INL_H_
#endif

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

constexpr float kMostOfSum = 0x1p100f;

// 2^24 times the last bit that is set in a number; of zero, which has none, as much as is asked.
// Without a branch, so that compilers take several cells at once.
inline float RoomAbove(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF;
  const std::uint32_t has_rest = (bits & 0x7FFFFF) != 0 ? ~0u : 0;  // else it is a power of two
  const std::uint32_t of_zero = bits == 0 ? std::bit_cast<std::uint32_t>(kMostOfSum) : 0;
  const float last = std::fabs(x) - std::bit_cast<float>(bits & (bits - 1) & has_rest);
  return std::bit_cast<float>(of_zero | std::bit_cast<std::uint32_t>(last * 0x1p24f));
}

// A sum that is rounded is not below a power of two that the exact one is not below.
[[maybe_unused]] bool FloatSums(const float* factors, const float* offsets, std::size_t n,
                                float most) {
  int others = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const float size = most * std::fabs(factors[i]) + std::fabs(offsets[i]);
    const float of_factor = RoomAbove(factors[i]), of_offset = RoomAbove(offsets[i]);
    // NaN is below nothing.
    const int is_below = (size < of_factor) & (size < of_offset) & (size < kMostOfSum);
    others |= 1 - is_below;
  }
  return others == 0;
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_SCALE_FLOAT_SUMS_INL_H_
