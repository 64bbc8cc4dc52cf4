// From the values of a cell's elements to the quotients its codes are rounded from. To be called in
// the default floating-point environment (core/fp_environment.h).
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_CELL_CODES_H_
#define TENSORCAST_SRC_SCALE_CELL_CODES_H_

#include <cstddef>

#include "core/loss.h"
#include "scale/cell_values.h"
#include "scale/scaled_tensor.h"

namespace tensorcast::scale {

// What the layout asks of the arithmetic, decided once. The scaling is one that CheckedWritten
// takes.
class CellQuotients {
 public:
  CellQuotients(const Scaling& scaling, bool exact_values);

  // Takes n values, at most a block (core::kLossBlock). quotients[i] stands for x[i] / scale, the
  // global scale included: it is on the same side of, or at, every value at which the code changes.
  // For int8 it is the code's value itself, within 127.
  void Run(const double* x, double* quotients, std::size_t n, double scale, double global) const;
  // A limit is the least double whose code is beyond the range; of integers the least normal value
  // is the least above zero.
  core::CellLimits Limits(double scale, double global) const;

 private:
  Factor global_use_;
  bool integer_;
  bool exact_values_;  // x has at most 24 bits
  double beyond_;      // of the element type: a magnitude from here on is beyond, or
  bool itself_;        // not this one, but larger ones
  double least_normal_;
};

// All of a cell but its end, by its scale.
class KnownCells {
 public:
  KnownCells(const CellQuotients& quotients, const CellArithmetic& values, double global)
      : quotients_(quotients), values_(values), global_(global) {}

  const core::ScaledResults::Cell& Of(double scale) {
    return known_.Of(scale, [&] {
      return core::ScaledResults::Cell{0, quotients_.Limits(scale, global_),
                                       values_.CellFactorsOf(scale, global_)};
    });
  }

 private:
  const CellQuotients& quotients_;
  const CellArithmetic& values_;
  const double global_;
  KnownByScale<core::ScaledResults::Cell> known_;
};

// The largest finite magnitude of n values and of `known`.
double LargestFinite(const double* x, std::size_t n, double known);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_CELL_CODES_H_
