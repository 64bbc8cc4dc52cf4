// The lanes of GGUF's quantisers (gguf_lanes.h), a part of cell_lanes.cc.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_GGUF_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_GGUF_LANES_INL_H_
#undef TENSORCAST_SRC_SCALE_GGUF_LANES_INL_H_
#else
#define TENSORCAST_SRC_SCALE_GGUF_LANES_INL_H_
#endif

#include "hwy/highway.h"
#include "scale/gguf_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace gguf {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<DF>;
using V = hn::VFromD<DF>;
constexpr std::size_t kLeastRun = 16, kWholeBlock = 32;

HWY_INLINE hn::VFromD<DI> MagnitudeBits(V x) { return hn::BitCast(DI(), hn::Abs(x)); }

inline bool AllFinite(const float* x, std::size_t n) {
  const DF d;
  auto most = hn::Zero(DI());
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    most = hn::Max(most, MagnitudeBits(hn::LoadU(d, x + i)));
  }
  return hn::AllTrue(DI(), hn::Lt(most, hn::Set(DI(), 0x7F800000)));
}

HWY_INLINE V LargestInAll(const float* x, std::size_t n) {
  const DF d;
  V most = hn::Abs(hn::LoadU(d, x));
  for (std::size_t i = hn::Lanes(d); i < n; i += hn::Lanes(d)) {
    most = hn::Max(most, hn::Abs(hn::LoadU(d, x + i)));
  }
  return hn::MaxOfLanes(d, most);
}

inline float Magnitude(const float* x, std::size_t n) { return hn::GetLane(LargestInAll(x, n)); }

inline float Largest(const float* x, std::size_t n) {
  const DF d;
  const V magnitude = LargestInAll(x, n);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto at = hn::FindFirstTrue(d, hn::Eq(hn::Abs(hn::LoadU(d, x + i)), magnitude));
    if (at >= 0) return x[i + static_cast<std::size_t>(at)];
  }
  return x[0];
}

inline void Range(const float* x, std::size_t n, float* least, float* most) {
  const DF d;
  V low = hn::LoadU(d, x), high = low;
  for (std::size_t i = hn::Lanes(d); i < n; i += hn::Lanes(d)) {
    const V some = hn::LoadU(d, x + i);
    low = hn::Min(low, some);
    high = hn::Max(high, some);
  }
  *least = hn::GetLane(hn::MinOfLanes(d, low));
  *most = hn::GetLane(hn::MaxOfLanes(d, high));
}

// Integers of 8 bits that are in range.
HWY_INLINE void StoreCodes(hn::VFromD<DI> codes, std::int8_t* to) {
  const hn::Rebind<std::int8_t, DI> narrow;
  hn::StoreU(hn::DemoteTo(narrow, codes), narrow, to);
}

// The largest float32 below a half is added and the fraction cut off: what is a half away from
// zero, or more, then reaches the next integer, and nothing else does (all magnitudes up to 130
// were tried).
inline void RoundAway(const float* x, float inverse, std::int8_t* codes) {
  const DF d;
  const V factor = hn::Set(d, inverse), almost_half = hn::Set(d, 0x1.FFFFFEp-2f);
  for (std::size_t i = 0; i < kWholeBlock; i += hn::Lanes(d)) {
    const V value = hn::Mul(hn::LoadU(d, x + i), factor);
    const V sum = hn::Add(value, hn::CopySignToAbs(almost_half, value));
    StoreCodes(hn::ConvertTo(DI(), sum), codes + i);
  }
}

inline void Steps(const float* x, float least, float inverse, float shift, int most, int middle,
                  std::int8_t* codes) {
  const DF d;
  const V from = hn::Set(d, least), factor = hn::Set(d, inverse), add = hn::Set(d, shift);
  const auto end = hn::Set(DI(), most), offset = hn::Set(DI(), middle);
  for (std::size_t i = 0; i < kWholeBlock; i += hn::Lanes(d)) {
    const V step = hn::Add(hn::Mul(hn::Sub(hn::LoadU(d, x + i), from), factor), add);
    StoreCodes(hn::Sub(hn::Min(hn::ConvertTo(DI(), step), end), offset), codes + i);
  }
}

// With the signs of values, but that of a zero.
HWY_INLINE void StoreE2M1(hn::VFromD<DI> code, V value, std::int8_t* to) {
  const auto sign = hn::And(hn::BroadcastSignBit(hn::BitCast(DI(), value)), hn::Set(DI(), 8));
  StoreCodes(hn::Or(code, hn::IfThenZeroElse(hn::Eq(code, hn::Zero(DI())), sign)), to);
}

// By the errors of all codes as ggml has them, which of large values may be alike.
HWY_NOINLINE void NearestE2M1ByErrors(const float* x, std::size_t n, float half,
                                      std::int8_t* codes) {
  const DF d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V value = hn::LoadU(d, x + i), magnitude = hn::Abs(value);
    V error = magnitude;
    auto code = hn::Zero(DI());
    for (int k = 1; k < 8; ++k) {
      const V other = hn::Abs(hn::Sub(hn::Set(d, half * kTwiceE2M1[k]), magnitude));
      const auto is_nearer = hn::Lt(other, error);
      error = hn::IfThenElse(is_nearer, other, error);
      code = hn::IfThenElse(hn::RebindMask(DI(), is_nearer), hn::Set(DI(), k), code);
    }
    StoreE2M1(code, value, codes + i);
  }
}

// By the middles between codes: up to twice the largest code the differences that decide are exact
// (Sterbenz), or those of the nearer code are, the other's being rounded away from them.
inline void NearestE2M1(const float* x, std::size_t n, float half, std::int8_t* codes) {
  const DF d;
  V most = hn::Zero(d);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V value = hn::LoadU(d, x + i), magnitude = hn::Abs(value);
    most = hn::Max(most, magnitude);
    auto code = hn::Zero(DI());
    for (int k = 1; k < 8; ++k) {
      const V middle = hn::Set(d, half * ((kTwiceE2M1[k - 1] + kTwiceE2M1[k]) / 2));
      const auto is_above = hn::RebindMask(DI(), hn::Lt(middle, magnitude));
      code = hn::Sub(code, hn::VecFromMask(DI(), is_above));
    }
    StoreE2M1(code, value, codes + i);
  }
  if (HWY_LIKELY(hn::AllTrue(d, hn::Le(most, hn::Set(d, half * 24))))) return;
  NearestE2M1ByErrors(x, n, half, codes);
}

constexpr GgufLanes kLanes = {&AllFinite, &Magnitude, &Largest,    &Range,
                              &RoundAway, &Steps,     &NearestE2M1};

}  // namespace gguf
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_SCALE_GGUF_LANES_INL_H_
