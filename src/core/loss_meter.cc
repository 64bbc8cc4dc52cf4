// The loss meter's public face.
//
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "core/fp_environment.h"
#include "core/loss.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

LossMeter::LossMeter(DataType from, DataType to, const CastOptions& options)
    : state_(std::make_unique<core::LossState>(from, to, options)) {}
LossMeter::LossMeter(const LossMeter& other)
    : state_(std::make_unique<core::LossState>(*other.state_)) {}
LossMeter& LossMeter::operator=(const LossMeter& other) {
  if (this != &other) *state_ = *other.state_;
  return *this;
}
LossMeter::LossMeter(LossMeter&&) noexcept = default;
LossMeter& LossMeter::operator=(LossMeter&&) noexcept = default;
LossMeter::~LossMeter() = default;

Status LossMeter::Merge(const LossMeter& other) {
  if (state_->to != other.state_->to || !(state_->options == other.state_->options)) {
    return Status(StatusCode::kLossMismatch);
  }
  const core::FpEnvironment environment;
  state_->Merge(*other.state_);
  return Status();
}

LossReport LossMeter::Report() const {
  const core::FpEnvironment environment;
  return state_->Report();
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
