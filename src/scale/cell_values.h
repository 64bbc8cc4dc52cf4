// From the values of a cell's codes to those of its elements. To be called in the default
// floating-point environment (core/fp_environment.h).
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_CELL_VALUES_H_
#define TENSORCAST_SRC_SCALE_CELL_VALUES_H_

#include <cstddef>

#include "core/loss.h"
#include "scale/scaled_tensor.h"

namespace tensorcast::scale {

enum class Rounding : std::uint8_t {
  kNearest,  // the doubles are what is wanted
  kOdd,      // they are rounded once more, to a type of at most 51 significant bits
};

// What the layout and the rounding ask of the arithmetic, decided once.
struct CellArithmetic {
  CellArithmetic(const Scaling& scaling, Rounding rounding);

  // What Run does in one multiplication of doubles, of codes without a zero point.
  core::CellFactors CellFactorsOf(double scale, double global) const;

  // values[i] becomes ((codes[i] - zero) * multiplier) / divisor, rounded once; codes[i] is the
  // value of a code, as float or double, and may stand where values[i] does. NaN of a code stays as
  // it is; any other NaN is the positive quiet one.
  template <class Code>
  void Run(const Code* codes, double* values, std::size_t n, double scale, double global,
           double zero) const;

  struct Factors {
    double multiplier = 1, divisor = 1;
  };
  Factors FactorsOf(double scale, double global) const;

  Scaling scaling;
  Rounding rounding;
  bool exact_product;  // a double holds value * multiplier
  bool two_mantissas;  // the codes' nonzero values are powers of two and 1.5 times these
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_CELL_VALUES_H_
