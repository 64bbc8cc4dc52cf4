// What codes under one scale lack of the values of a cell, in double, for each instruction set: the
// same operations one by one, so that all of them give the same sums.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_ERROR_LANES_H_
#define TENSORCAST_SRC_SCALE_ERROR_LANES_H_

#include <cstddef>

namespace tensorcast::scale {

// A code's value is numerator / divisor rounded to the element type, and saturated; a value is the
// code's * factor, or that / value_divisor.
struct ErrorStep {
  double divisor = 1, factor = 1, value_divisor = 1;
  // Of the element type: its largest value, its least normal one, and 2^(52 - its mantissa bits).
  // Of integers the unit is 2^52 and least_normal 1, of which all of them are multiples.
  double most = 0, least_normal = 0, unit = 0;
  bool is_integer = false;
};

// sums[i % 8] += (x[i] - value)^2 for each of n elements, a multiple of 8; every step rounded.
// To be called in the default floating-point environment (core/fp_environment.h); all are finite.
using AddSquaredErrors = void (*)(const double* x, const double* numerators, std::size_t n,
                                  const ErrorStep& step, double* sums);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_ERROR_LANES_H_
