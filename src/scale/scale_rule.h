// Which scale a cell gets, from the largest magnitude in it. To be called in the default
// floating-point environment (core/fp_environment.h).
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_SCALE_RULE_H_
#define TENSORCAST_SRC_SCALE_SCALE_RULE_H_

#include <cstddef>
#include <cstdint>

#include "scale/cell_lanes.h"
#include "scale/scaled_tensor.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::scale {

// amax is the largest finite magnitude of a cell and M the element type's largest value.
using convert::ScaleRule;

// M.
double LargestCode(DataType element);

// The same scaling. Throws core::Failure (kUnsupported) where no tensor is written with this
// scaling by this rule: powers of two alone (float8e8m0) want a rule of powers of two, a global
// scale wants kAmax.
const Scaling& CheckedWritten(const Scaling& scaling, ScaleRule rule);

// The global scale as it is stored, a float32's value, from the largest finite magnitude of the
// tensor, or of all that share the scale: amax / (M * 448) where it multiplies, its inverse where
// it divides; 448 stands for `most`, the largest scale of a cell. 1 where amax is 0, and where that
// is 0, subnormal or not finite.
inline constexpr double kLargestE4M3 = 448;
double GlobalScaleOf(const Scaling& scaling, double amax, double most = kLargestE4M3);

// A cell's scale as it is stored, a value of the scales' type, positive and finite. 1 where amax is
// 0. Not below the type's least normal value, or, under a global scale, its least positive one.
double CellScaleOf(const Scaling& scaling, ScaleRule rule, double amax, double global);

// The same for many cells.
class ScalesOfCells {
 public:
  // Magnitudes are those of a type that float32 holds. The scaling is one that CheckedWritten
  // takes.
  ScalesOfCells(const Scaling& scaling, ScaleRule rule, Target target);

  // scales[i] is that of amax[i]; the two may be one buffer.
  void Run(const double* amax, double global, double* scales, std::size_t n) const;

 private:
  PowerStep Powers() const;

  Scaling scaling_;
  ScaleRule rule_;
  double largest_code_;
  double least_, most_;     // scales
  const CellLanes* lanes_;  // null: one by one
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_SCALE_RULE_H_
