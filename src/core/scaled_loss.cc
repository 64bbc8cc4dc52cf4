// The checks; a target's lanes do the rest.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/scaled_loss.h"

#include "core/kernels.h"

namespace tensorcast::core {

struct MeterAccess {
  static LossState& StateOf(LossMeter& meter) { return *meter.state_; }
};

Status MeasureScaled(LossMeter& meter, const LossView& view, const double* x, std::size_t n,
                     std::uint64_t index, Target target) {
  const Kernels* kernels = FindKernels(target);
  if (kernels == nullptr) return Status(StatusCode::kTargetUnavailable);
  LossState& state = MeterAccess::StateOf(meter);
  if (state.from != view.from->type || state.to != view.to->type) {
    return Status(StatusCode::kLossMismatch);
  }
  if (index > UINT64_MAX - n) return Status(StatusCode::kSizeOverflow);
  if (!state.Continues(index)) return Status(StatusCode::kLossPosition);
  if (n == 0) return Status();
  state.Begin(index);
  kernels->measure_scaled(view, x, n, index, &state);
  return Status();
}

}  // namespace tensorcast::core
