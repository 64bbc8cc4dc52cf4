// From the values of a cell's codes to those of its elements. To be called in the default
// floating-point environment (core/fp_environment.h).
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_CELL_VALUES_H_
#define TENSORCAST_SRC_SCALE_CELL_VALUES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

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

  // Whether cells have factors: what Run does is one multiplication of doubles, but of extreme
  // scales.
  bool HasFactors() const {
    return !scaling.zero_point && (divides ? two_mantissas : exact_product);
  }
  // They are 0 where there are none.
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
  // Rounded as is asked for.
  double Divide(double a, double b) const;

  Scaling scaling;
  Rounding rounding;
  bool divides;        // a scale or the global one does
  bool exact_product;  // a double holds value * multiplier
  bool two_mantissas;  // the codes' nonzero values are powers of two and 1.5 times these
};

// What scales say of their cells, kept where one comes again, as those of few bits do.
template <class What> class KnownByScale {
 public:
  // make() gives it of a scale that is not known.
  template <class Make> const What& Of(double scale, const Make& make) {
    Known& known = known_[std::bit_cast<std::uint64_t>(scale) >> 49 & 0xFF];
    if (known.scale != scale) known = {scale, make()};
    return known.what;
  }

 private:
  struct Known {
    double scale = std::numeric_limits<double>::quiet_NaN();
    What what = {};
  };
  std::array<Known, 256> known_;  // by the last bits of an exponent and the first of a mantissa
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_CELL_VALUES_H_
