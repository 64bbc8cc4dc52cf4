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

// Calls error_of(value, numerator) for each, and adds the squares of what it gives. Lanes of one
// sum go through all elements of it; there are few sums in a vector of two.
template <class ErrorOf>
void AddSquares(const double* x, const double* numerators, std::size_t n, double* sums,
                const ErrorOf& error_of) {
  const D d;
  for (std::size_t at = 0; at < kSums; at += hn::Lanes(d)) {
    V sum = hn::LoadU(d, sums + at);
    for (std::size_t i = at; i < n; i += kSums) {
      const V error = error_of(hn::LoadU(d, x + i), hn::LoadU(d, numerators + i));
      sum = hn::Add(sum, hn::Mul(error, error));
    }
    hn::StoreU(sum, d, sums + at);
  }
}

// Signs have no part in an error: a code has its value's.
template <bool kDivides>
void AddOfFloats(const double* x, const double* numerators, std::size_t n, const ErrorStep& step,
                 double* sums) {
  const D d;
  const V divisor = hn::Set(d, step.divisor), factor = hn::Set(d, step.factor);
  const V value_divisor = hn::Set(d, step.value_divisor);
  const V most = hn::Set(d, step.most), least_normal = hn::Set(d, step.least_normal);
  const V unit = hn::Set(d, step.unit);
  const V exponent = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7FF0000000000000u));
  AddSquares(x, numerators, n, sums, [&](V value, V numerator) {
    const V size = hn::Min(hn::Div(hn::Abs(numerator), divisor), most);
    // Added to it, what is below the last digit of the element type is rounded away.
    const V one = hn::Mul(hn::Max(hn::And(size, exponent), least_normal), unit);
    V made = hn::Mul(hn::Sub(hn::Add(size, one), one), factor);
    if constexpr (kDivides) made = hn::Div(made, value_divisor);
    return hn::Sub(hn::Abs(value), made);
  });
}

inline void AddOfIntegers(const double* x, const double* numerators, std::size_t n,
                          const ErrorStep& step, double* sums) {
  const D d;
  const V divisor = hn::Set(d, step.divisor), factor = hn::Set(d, step.factor);
  const V least = hn::Set(d, step.least), most = hn::Set(d, step.most);
  const V to_integer = hn::Set(d, kToInteger);
  AddSquares(x, numerators, n, sums, [&](V value, V numerator) {
    const V size = hn::Max(hn::Min(hn::Div(numerator, divisor), most), least);
    return hn::Sub(value, hn::Mul(hn::Sub(hn::Add(size, to_integer), to_integer), factor));
  });
}

inline void Add(const double* x, const double* numerators, std::size_t n, const ErrorStep& step,
                double* sums) {
  if (step.is_integer) return AddOfIntegers(x, numerators, n, step, sums);
  if (step.value_divisor != 1) return AddOfFloats<true>(x, numerators, n, step, sums);
  AddOfFloats<false>(x, numerators, n, step, sums);
}

}  // namespace errors
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_SCALE_ERROR_LANES_INL_H_
