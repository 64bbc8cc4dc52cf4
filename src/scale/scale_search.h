// The scale of a cell that loses least: some scales near the plain one are tried, and the one whose
// codes have the least sum of squared errors is taken. docs/scales_writing.md has which are tried.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_SCALE_SEARCH_H_
#define TENSORCAST_SRC_SCALE_SCALE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/exact_sum.h"
#include "scale/error_lanes.h"
#include "scale/scale_rule.h"
#include "scale/scaled_tensor.h"
#include "scale/searched_errors.h"

namespace tensorcast::scale {

// Whether a rule tries several scales of a cell.
constexpr bool IsSearch(ScaleRule rule) {
  return rule == ScaleRule::kMse || rule == ScaleRule::kMseFine || rule == ScaleRule::kFourOverSix;
}

// Multiples of the plain scale that a search tries where scales are floats, the largest first.
std::span<const double> TriedFactors(ScaleRule rule, bool is_integer);

// The global scale that codes are made under, and the one that the plain rule has.
struct GlobalScales {
  double made = 1, plain = 1;
};

// The scales of one cell that are tried, the better one of two that lose as much first; and of each
// the exact sum of its errors. Cells that do not fit into memory come in pieces.
struct TriedScales {
  std::vector<double> scales;
  std::vector<core::SumOfMagnitudes> errors;
  double plain = 0;
  GlobalScales globals;
  // The plain rule's, where its errors are asked for and it is none of these: under its own global
  // scale.
  std::optional<double> apart;
  core::SumOfMagnitudes apart_error;

  // The one that loses least; `gained`, where given, is added to: Begin was told so.
  double Best(SearchedErrors* gained) const;
  void Merge(const TriedScales& other);
};

// Holds no buffers: any number of threads may run one at once. Its functions are to be called in
// the default floating-point environment (core/fp_environment.h).
class ScaleSearch {
 public:
  // `rule` is a search, `plain` the rule of the scales that are given. `has_many_bits`: values have
  // more than 24.
  ScaleSearch(const Scaling& scaling, ScaleRule rule, bool has_many_bits, Target target);

  // What is tried of a cell with this plain scale and largest magnitude, which is not 0.
  TriedScales Begin(double plain, double amax, const GlobalScales& globals,
                    bool is_gain_asked) const;
  // Adds the errors of a cell's values, the first of which has an index in the cell that is a
  // multiple of 1,024; in row-major order. What is not finite has no part in it.
  void Add(std::span<const double> x, TriedScales& tried) const;
  // The best scale of a cell of at most 1,024 values, or of more; `gained`, where given, is added
  // to.
  double Find(std::span<const double> x, double plain, double amax, const GlobalScales& globals,
              SearchedErrors* gained) const;

 private:
  // Calls visit(scale) for each that is tried, of two that lose as much the better one first.
  template <class Visit>
  void ForEachTried(double plain, double amax, double global, const Visit& visit) const;
  // The plain rule's scale under its own global scale, of a cell whose scale it is under the other.
  double PlainUnderItsOwn(double plain, double amax, const GlobalScales& globals) const;
  // The sum of the errors of at most 1,024 values under the plain rule.
  double PlainErrorOf(std::span<const double> x, double plain, double global) const;
  ErrorStep StepOf(double scale, double global) const;
  // The sum of at most 1,024 errors.
  double ErrorOf(const double* x, const double* numerators, std::size_t n,
                 const ErrorStep& step) const;
  // Finite values, filled up with zeros to a multiple of 8, and what is divided by scales.
  std::size_t Prepare(std::span<const double> x, double global, double* values,
                      double* numerators) const;

  Scaling scaling_;
  ScaleRule rule_;
  bool has_many_bits_;
  AddSquaredErrors add_;
  ErrorStep step_;  // what no scale changes
  double least_scale_, most_scale_;
  std::vector<double> of_codes_;  // scales of float8e4m3fn, the largest first
};

// The largest value of the scales' type that a rule gives under a global scale.
double LargestScale(const Scaling& scaling, ScaleRule rule);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_SCALE_SEARCH_H_
