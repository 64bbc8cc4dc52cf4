// Feeding a meter with codes that have scales, which no cast plan runs.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_SCALED_LOSS_H_
#define TENSORCAST_SRC_CORE_SCALED_LOSS_H_

#include <cstddef>
#include <cstdint>

#include "core/loss.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

// Adds elements to a meter of (source type, codes' type): n of them, the tensor's from `index` on,
// which do not cross a multiple of kLossBlock. `x` are the sources' values; view.scaled is set;
// view is read for examples. To be called in the default floating-point environment. Codes:
// kTargetUnavailable, kLossMismatch (types), kLossPosition (see LossMeter), kSizeOverflow.
Status MeasureScaled(LossMeter& meter, const LossView& view, const double* x, std::size_t n,
                     std::uint64_t index, Target target = Target::kBest);

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_SCALED_LOSS_H_
