// Scales of many cells from their largest magnitudes (scale_rule.h). Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_SCALES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_SCALES_INL_H_
#undef TENSORCAST_SRC_SCALE_SCALES_INL_H_
#else
#define TENSORCAST_SRC_SCALE_SCALES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "scale/cell_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using DF64 = hn::ScalableTag<double>;
using DI64 = hn::ScalableTag<std::int64_t>;
using VF64 = hn::VFromD<DF64>;

// Calls scale_of(amax) for each; zero has the scale 1.
template <class ScaleOf>
HWY_INLINE void ForEachScale(const double* amax, std::size_t n, double least, double most,
                             double* scales, const ScaleOf& scale_of) {
  const DF64 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto some = [&](const double* from, double* to) HWY_ATTR {
    const VF64 magnitude = hn::LoadU(d, from);
    const VF64 scale = hn::Max(hn::Min(scale_of(magnitude), hn::Set(d, most)), hn::Set(d, least));
    hn::StoreU(hn::IfThenElse(hn::Eq(magnitude, hn::Zero(d)), hn::Set(d, 1.0), scale), d, to);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) some(amax + i, scales + i);
  if (i < n) {
    double from[HWY_MAX_BYTES / 8] = {}, to[HWY_MAX_BYTES / 8];
    std::copy(amax + i, amax + n, from);
    some(from, to);
    std::copy_n(to, n - i, scales + i);
  }
}

void PowersOf(const double* amax, std::size_t n, const PowerStep& step, double* scales) {
  const DI64 d;
  constexpr std::int64_t kMantissa = (std::int64_t{1} << 52) - 1;
  ForEachScale(amax, n, step.least, step.most, scales, [&](VF64 magnitude) HWY_ATTR {
    const auto bits = hn::BitCast(d, magnitude);
    const auto mantissa = hn::Set(d, kMantissa);
    // A comparison that holds is -1.
    const auto up = hn::VecFromMask(d, hn::Gt(hn::And(bits, mantissa), hn::Set(d, step.last)));
    const auto power = hn::Add(hn::AndNot(mantissa, bits), hn::Set(d, step.one));
    return hn::BitCast(DF64(), hn::Sub(power, hn::ShiftLeft<52>(up)));
  });
}

// Adding 2^52 times the unit of the scale's last place rounds a quotient to that unit.
void RoundedScales(const double* amax, std::size_t n, const RoundStep& step, double* scales) {
  const DI64 d;
  const DF64 df;
  ForEachScale(amax, n, step.least, step.most, scales, [&](VF64 magnitude) HWY_ATTR {
    const VF64 quotient =
        hn::Div(hn::Mul(magnitude, hn::Set(df, step.factor)), hn::Set(df, step.divisor));
    const VF64 within = hn::Min(quotient, hn::Set(df, step.most));
    const auto exponent = hn::And(hn::BitCast(d, within), hn::Set(d, std::int64_t{0x7FF} << 52));
    const VF64 binade = hn::Max(hn::BitCast(df, exponent), hn::Set(df, step.least_normal));
    const auto units = hn::Set(d, std::int64_t{52 - step.mantissa_bits} << 52);
    const VF64 unit = hn::BitCast(df, hn::Add(hn::BitCast(d, binade), units));
    return hn::Sub(hn::Add(within, unit), unit);
  });
}

void RaiseTo(const std::uint32_t* bits, std::size_t n, int shift, double unit, double* known) {
  const DF64 d;
  const hn::Rebind<float, DF64> half;
  const hn::Rebind<std::uint32_t, DF64> half_bits;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto found = hn::ShiftLeftSame(hn::LoadU(half_bits, bits + i), shift);
    const VF64 magnitude = hn::Mul(hn::PromoteTo(d, hn::BitCast(half, found)), hn::Set(d, unit));
    hn::StoreU(hn::Max(hn::LoadU(d, known + i), magnitude), d, known + i);
  }
  for (; i < n; ++i) {
    const std::uint32_t found = bits[i] << shift;
    float magnitude;
    std::memcpy(&magnitude, &found, sizeof(found));
    known[i] = std::max(known[i], magnitude * unit);
  }
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_SCALE_SCALES_INL_H_
