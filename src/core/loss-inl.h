// Measuring loss in lanes: one stretch of a block, as float64 values. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_LOSS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_LOSS_INL_H_
#undef TENSORCAST_SRC_CORE_LOSS_INL_H_
#else
#define TENSORCAST_SRC_CORE_LOSS_INL_H_
#endif

#include <cmath>
#include <limits>

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// Whether any value reaches 2^53 in magnitude, where a double may not hold an integer.
HWY_INLINE bool AnyWide(const double* x, std::size_t n) {
  const DF64 d;
  const auto limit = hn::Set(d, 0x1p53);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    if (!hn::AllFalse(d, hn::Ge(hn::Abs(hn::LoadU(d, x + i)), limit))) return true;
  }
  for (; i < n; ++i) {
    if (std::fabs(x[i]) >= 0x1p53) return true;
  }
  return false;
}

// The limits of a stretch: the same for all its elements, or each one's own.
struct UniformLimits {
  explicit UniformLimits(const LossParams& params)
      : high(hn::Set(DF64(), params.beyond_high)),
        low(hn::Set(DF64(), params.beyond_low)),
        least(hn::Set(DF64(), params.least_normal)) {}
  template <class V> HWY_INLINE auto Beyond(V x, std::size_t) const {
    return hn::Or(hn::Ge(x, high), hn::Le(x, low));
  }
  HWY_INLINE auto LeastNormal(std::size_t) const { return least; }

  hn::Vec<DF64> high, low, least;
};
struct OwnLimits {
  template <class V> HWY_INLINE auto Beyond(V x, std::size_t i) const {
    return hn::Ge(hn::Abs(x), hn::LoadU(DF64(), beyond + i));
  }
  HWY_INLINE auto LeastNormal(std::size_t i) const { return hn::LoadU(DF64(), least_normal + i); }

  const double* beyond;
  const double* least_normal;
};

// Counts n elements, a multiple of eight, the first of which is a multiple of eight in its block:
// element i adds into sum i mod 8 whatever the lanes. stretch->max_* hold what was known before.
template <class Limits>
void MeasureStretch(const double* x_values, const double* y_values, std::size_t n,
                    const LossParams& params, const Limits& limits, LossStretch* stretch) {
  const DF64 d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t parts = kLossSums / lanes;
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto zero = hn::Zero(d);
  const auto count = [&](Loss loss, auto mask) {
    stretch->counts[static_cast<std::size_t>(loss)] += hn::CountTrue(d, mask);
  };
  std::size_t ordinary = 0, ordinary_exact = 0;
  auto max_error = zero;
  auto amax = zero;
  auto smallest = infinity;
  double max_relative = stretch->max_rel_error;
  // A little less than the known maximum, so that the product's rounding hides nothing.
  auto relative_filter = hn::Set(d, max_relative > 0 ? max_relative * (1 - 0x1p-40) : 0.0);

  // Divisions only where the largest relative error may grow.
  const auto grow_relative = [&](auto candidate, auto error, auto magnitude) {
    if (HWY_LIKELY(hn::AllFalse(d, candidate))) return;
    const auto relative = hn::IfThenElseZero(candidate, hn::Div(error, magnitude));
    const double largest = hn::GetLane(hn::MaxOfLanes(d, relative));
    if (largest > max_relative) {
      max_relative = largest;
      relative_filter = hn::Set(d, max_relative * (1 - 0x1p-40));
    }
  };

  for (std::size_t part = 0; part < parts; ++part) {
    auto squares = hn::LoadU(d, stretch->squares + part * lanes);
    auto errors = hn::LoadU(d, stretch->errors + part * lanes);
    for (std::size_t i = part * lanes; i < n; i += kLossSums) {
      const auto x = hn::LoadU(d, x_values + i);
      const auto y = hn::LoadU(d, y_values + i);
      const auto x_magnitude = hn::Abs(x);
      const auto y_magnitude = hn::Abs(y);
      const auto x_finite = hn::Lt(x_magnitude, infinity);
      const auto both = hn::And(x_finite, hn::Lt(y_magnitude, infinity));
      const auto exact = hn::Eq(x, y);
      const auto y_zero = hn::Eq(y, zero);
      const auto beyond = limits.Beyond(x, i);
      const auto inexact = hn::Not(exact);
      const auto no_zero = hn::And(hn::Gt(x_magnitude, zero), hn::Gt(y_magnitude, zero));
      if (HWY_LIKELY(hn::AllTrue(d, hn::AndNot(beyond, hn::And(both, no_zero))))) {
        // What nearly all of a weight's values are: finite, not zero, within the range.
        const auto difference = hn::Sub(x, y);
        const auto error = hn::Abs(difference);
        squares = hn::Add(squares, hn::Mul(x, x));
        errors = hn::Add(errors, hn::Mul(difference, difference));
        max_error = hn::Max(max_error, error);
        amax = hn::Max(amax, x_magnitude);
        smallest = hn::Min(smallest, x_magnitude);
        grow_relative(
            hn::And(hn::Gt(error, zero), hn::Ge(error, hn::Mul(relative_filter, x_magnitude))),
            error, x_magnitude);
        ordinary += lanes;
        ordinary_exact += hn::CountTrue(d, exact);
        count(Loss::kToSubnormal, hn::Lt(y_magnitude, limits.LeastNormal(i)));
        if (params.no_zero_undefined) count(Loss::kUndefined, hn::Le(x, zero));
        continue;
      }

      const auto value = hn::IfThenElseZero(both, x);
      const auto difference = hn::IfThenElseZero(both, hn::Sub(x, y));
      const auto error = hn::Abs(difference);
      squares = hn::Add(squares, hn::Mul(value, value));
      errors = hn::Add(errors, hn::Mul(difference, difference));
      max_error = hn::Max(max_error, error);
      const auto magnitude = hn::IfThenElseZero(x_finite, x_magnitude);
      amax = hn::Max(amax, magnitude);
      const auto nonzero = hn::Gt(magnitude, zero);
      smallest = hn::Min(smallest, hn::IfThenElse(nonzero, magnitude, infinity));
      stretch->finite += hn::CountTrue(d, x_finite);
      stretch->compared += hn::CountTrue(d, both);
      stretch->compared_nonzero += hn::CountTrue(d, hn::And(both, nonzero));

      grow_relative(hn::And(hn::And(hn::Gt(error, zero), nonzero),
                            hn::Ge(error, hn::Mul(relative_filter, magnitude))),
                    error, magnitude);

      count(Loss::kExact, exact);
      count(Loss::kToSubnormal,
            hn::And(hn::Lt(y_magnitude, limits.LeastNormal(i)), hn::Not(y_zero)));
      if (params.no_zero_undefined) count(Loss::kUndefined, hn::Le(x, zero));
      if (params.to_float) {
        const auto x_zero = hn::Eq(x, zero);
        if (!hn::AllFalse(d, x_zero)) {
          const auto one = hn::Set(d, 1.0);
          const auto x_negative = hn::Lt(hn::CopySign(one, x), zero);
          const auto y_positive = hn::Gt(hn::CopySign(one, y), zero);
          count(Loss::kZeroSignLost,
                hn::And(hn::And(x_zero, y_zero), hn::And(x_negative, y_positive)));
        }
      }
      if (HWY_LIKELY(hn::AllTrue(d, hn::AndNot(beyond, both)))) {
        count(Loss::kToZero, hn::And(inexact, y_zero));
        count(Loss::kRounded, hn::AndNot(y_zero, inexact));
        continue;
      }
      // Something beyond the range, infinite or NaN: the whole partition, in its order.
      const auto x_nan = hn::Not(hn::Eq(x, x));  // Highway leaves open what Ne says of NaN
      const auto y_nan = hn::Not(hn::Eq(y, y));
      count(Loss::kNan, hn::And(x_nan, y_nan));
      count(Loss::kNanLost, hn::AndNot(y_nan, x_nan));
      count(Loss::kToNan, hn::AndNot(x_nan, y_nan));
      auto rest = hn::AndNot(hn::Or(x_nan, y_nan), inexact);
      if (params.wraps) {
        const auto wrapped = hn::And(rest, hn::And(beyond, x_finite));
        count(Loss::kWrapped, wrapped);
        rest = hn::AndNot(wrapped, rest);
      }
      const auto to_infinity = hn::And(rest, hn::Eq(y_magnitude, infinity));
      count(Loss::kToInfinity, to_infinity);
      rest = hn::AndNot(to_infinity, rest);
      if (!params.wraps) {
        const auto to_limit = hn::And(rest, beyond);
        count(Loss::kToLimit, to_limit);
        rest = hn::AndNot(to_limit, rest);
      }
      count(Loss::kToZero, hn::And(rest, y_zero));
      count(Loss::kRounded, hn::AndNot(y_zero, rest));
      if (params.nan_undefined) count(Loss::kUndefined, x_nan);
      if (params.beyond_undefined) count(Loss::kUndefined, beyond);
    }
    hn::StoreU(squares, d, stretch->squares + part * lanes);
    hn::StoreU(errors, d, stretch->errors + part * lanes);
  }
  stretch->finite += ordinary;
  stretch->compared += ordinary;
  stretch->compared_nonzero += ordinary;
  stretch->counts[static_cast<std::size_t>(Loss::kExact)] += ordinary_exact;
  stretch->counts[static_cast<std::size_t>(Loss::kRounded)] += ordinary - ordinary_exact;
  stretch->max_abs_error =
      std::fmax(stretch->max_abs_error, hn::GetLane(hn::MaxOfLanes(d, max_error)));
  stretch->max_rel_error = std::fmax(max_relative, stretch->compared_nonzero != 0 ? 0.0 : -1.0);
  stretch->amax = hn::GetLane(hn::MaxOfLanes(d, amax));
  const double least = hn::GetLane(hn::MinOfLanes(d, smallest));
  stretch->smallest_nonzero = least < std::numeric_limits<double>::infinity() ? least : 0.0;
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_LOSS_INL_H_
