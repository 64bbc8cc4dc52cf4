// What integers in groups ask of lanes beside quotients: the range of a group's values, and codes
// of four bits. Included once per target, after quotients-inl.h.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_GROUP_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_GROUP_LANES_INL_H_
#undef TENSORCAST_SRC_SCALE_GROUP_LANES_INL_H_
#else
#define TENSORCAST_SRC_SCALE_GROUP_LANES_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "scale/quotients-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <std::size_t kBytes>
HWY_INLINE void RangeOf(const std::byte* x, std::size_t n, float* least, float* most) {
  const DF32 d;
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  auto low = hn::Zero(d), high = hn::Zero(d);
  const auto take = [&](VF32 value) HWY_ATTR {
    const auto finite = hn::IfThenElseZero(hn::Lt(hn::Abs(value), infinity), value);
    low = hn::Min(low, finite);
    high = hn::Max(high, finite);
  };
  std::size_t i = 0;
  for (; i + kFloats <= n; i += kFloats) take(LoadElements<kBytes>(x, i));
  if (i < n) {
    alignas(64) std::byte rest[kFloats * kBytes] = {};
    std::memcpy(rest, x + i * kBytes, (n - i) * kBytes);
    take(LoadElements<kBytes>(rest, 0));
  }
  *least = hn::GetLane(hn::MinOfLanes(d, low));
  *most = hn::GetLane(hn::MaxOfLanes(d, high));
}

void RangeOf(const std::byte* x, bool is_bfloat16, std::size_t n, float* least, float* most) {
  if (is_bfloat16) return RangeOf<2>(x, n, least, most);
  RangeOf<4>(x, n, least, most);
}

void PackNibbles(std::byte* integers, std::size_t n, int zero, std::byte* packed) {
  const hn::ScalableTag<std::int8_t> d;
  const hn::RepartitionToWide<hn::RebindToUnsigned<decltype(d)>> pairs;
  const hn::Rebind<std::uint8_t, decltype(pairs)> half;
  const std::size_t lanes = hn::Lanes(d);
  const auto from = hn::Set(d, static_cast<std::int8_t>(zero));
  const auto least = hn::Set(d, static_cast<std::int8_t>(-zero));
  const auto most = hn::Set(d, static_cast<std::int8_t>(15 - zero));
  const auto take = [&](std::byte* at, std::byte* to) HWY_ATTR {
    auto* const values = reinterpret_cast<std::int8_t*>(at);
    const auto within = hn::Max(hn::Min(hn::LoadU(d, values), most), least);
    hn::StoreU(within, d, values);
    const auto codes = hn::BitCast(pairs, hn::Add(within, from));
    // The second code of a pair is 4 bits above the lower byte's.
    const auto joined =
        hn::And(hn::Or(codes, hn::ShiftRight<4>(codes)), hn::Set(pairs, std::uint16_t{0xFF}));
    hn::StoreU(hn::TruncateTo(half, joined), half, reinterpret_cast<std::uint8_t*>(to));
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) take(integers + i, packed + i / 2);
  if (i == n) return;
  std::byte rest[HWY_MAX_BYTES], codes[HWY_MAX_BYTES / 2];
  std::memset(rest, -zero, sizeof(rest));  // code 0
  std::memcpy(rest, integers + i, n - i);
  take(rest, codes);
  std::memcpy(integers + i, rest, n - i);
  std::memcpy(packed + i / 2, codes, (n - i + 1) / 2);
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_SCALE_GROUP_LANES_INL_H_
