// What a search of scales gained: the squared errors under the scales that it found, and those that
// the plain rule's would have made.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_SEARCHED_ERRORS_H_
#define TENSORCAST_SRC_SCALE_SEARCHED_ERRORS_H_

#include <cmath>
#include <optional>

#include "core/exact_sum.h"

namespace tensorcast::scale {

// Sums over cells, in any order.
struct SearchedErrors {
  core::SumOfMagnitudes plain, found;

  // Of a cell, or of many: each a double or such a sum.
  template <class Error> void Add(const Error& of_plain, const Error& of_found) {
    plain.Add(of_plain);
    found.Add(of_found);
  }
  void Add(const SearchedErrors& other) { Add(other.plain, other.found); }
  // By how many decibels the errors are less; infinite where none is left, nothing where a sum is
  // no double.
  std::optional<double> GainDb() const {
    const double before = plain.Nearest(), after = found.Nearest();
    if (std::isinf(before) || std::isinf(after)) return std::nullopt;
    if (before == after) return 0.0;
    return 10 * std::log10(before / after);
  }
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_SEARCHED_ERRORS_H_
