// One element's loss in exact arithmetic.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_ELEMENT_LOSS_H_
#define TENSORCAST_SRC_CORE_ELEMENT_LOSS_H_

#include <cstdint>

#include "core/loss.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

LossParams MakeLossParams(const TypeInfo& from, const TypeInfo& to, const CastOptions& options);

// What one element is, and adds to the figures.
struct ElementLoss {
  std::uint16_t kinds = 0;  // a bit for each that it counts under
  bool finite = false;      // the source
  bool compared = false;    // finite on both sides
  double magnitude = 0;     // of the source, where it is finite
  double error = 0;         // the magnitude of the difference, where they are compared

  bool IsOf(Loss kind) const { return (kinds >> static_cast<unsigned>(kind) & 1) != 0; }
  double Square() const { return magnitude * magnitude; }
  double SquaredError() const { return error * error; }
  double Relative() const { return error / magnitude; }  // of sources other than zero
};

// Measures an element; `scaled` is the result's value where codes have scales, else null.
ElementLoss MeasureElement(const LossExample& codes, const TypeInfo& from, const TypeInfo& to,
                           const LossParams& params, const double* scaled);

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_ELEMENT_LOSS_H_
