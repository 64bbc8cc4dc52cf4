// The lanes of error_lanes.h, a part of cell_lanes.cc.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_ERROR_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_ERROR_LANES_INL_H_
#undef TENSORCAST_SRC_SCALE_ERROR_LANES_INL_H_
#else
#define TENSORCAST_SRC_SCALE_ERROR_LANES_INL_H_
#endif

#include "hwy/highway.h"
#include "scale/error_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace errors {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kSums = 8;
using D = hn::CappedTag<double, kSums>;
using V = hn::VFromD<D>;

template <bool kIsInteger, bool kDivides>
void AddOf(const double* x, const double* numerators, std::size_t n, const ErrorStep& step,
           double* sums) {
  const D d;
  const V divisor = hn::Set(d, step.divisor), factor = hn::Set(d, step.factor);
  const V value_divisor = hn::Set(d, step.value_divisor);
  const V most = hn::Set(d, step.most), least = hn::Set(d, step.least_normal);
  const V unit = hn::Set(d, step.unit);
  const V exponent = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7FF0000000000000u));
  // Lanes of one sum go through all elements of it; there are few sums in a vector of two.
  for (std::size_t at = 0; at < kSums; at += hn::Lanes(d)) {
    V sum = hn::LoadU(d, sums + at);
    for (std::size_t i = at; i < n; i += kSums) {
      const V value = hn::LoadU(d, x + i);
      const V numerator = hn::LoadU(d, numerators + i);
      const V size = hn::Min(hn::Div(hn::Abs(numerator), divisor), most);
      // Added to it, what is below the last digit of the element type is rounded away.
      V one = unit;
      if constexpr (!kIsInteger) one = hn::Mul(hn::Max(hn::And(size, exponent), least), unit);
      V made = hn::Mul(hn::Sub(hn::Add(size, one), one), factor);
      if constexpr (kDivides) made = hn::Div(made, value_divisor);
      const V error = hn::Sub(hn::Abs(value), made);
      sum = hn::Add(sum, hn::Mul(error, error));
    }
    hn::StoreU(sum, d, sums + at);
  }
}

inline void Add(const double* x, const double* numerators, std::size_t n, const ErrorStep& step,
                double* sums) {
  const bool divides = step.value_divisor != 1;
  if (step.is_integer) return AddOf<true, false>(x, numerators, n, step, sums);
  if (divides) return AddOf<false, true>(x, numerators, n, step, sums);
  AddOf<false, false>(x, numerators, n, step, sums);
}

}  // namespace errors
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_SCALE_ERROR_LANES_INL_H_
