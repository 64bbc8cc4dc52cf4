// What codes under one scale lack of the values of a cell, in double, for each instruction set: the
// same operations one by one, so that all of them give the same sums.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_ERROR_LANES_H_
#define TENSORCAST_SRC_SCALE_ERROR_LANES_H_

#include <cstddef>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

// A code's value is numerator / divisor rounded to the element type, and saturated; a value is the
// code's * factor, or that / value_divisor.
struct ErrorStep {
  double divisor = 1, factor = 1, value_divisor = 1;
  // Of the element type: its largest value, its least normal one, and 2^(52 - its mantissa bits).
  double most = 0, least_normal = 0, unit = 0;
  // Of integers the least value too, and no more.
  bool is_integer = false;
  double least = 0;
};

// sums[i % 8] += (x[i] - value)^2 for each of n elements, a multiple of 8; every step rounded.
// To be called in the default floating-point environment (core/fp_environment.h); all are finite.
using AddSquaredErrors = void (*)(const double* x, const double* numerators, std::size_t n,
                                  const ErrorStep& step, double* sums);

// Added to a number below 2^51 and taken away again it leaves the nearest integer, ties to even.
inline constexpr double kToInteger = 0x1.8p52;

// In a target's lanes, or without. Throws core::Failure (kTargetUnavailable).
AddSquaredErrors SquaredErrorsOf(Target target);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_ERROR_LANES_H_
