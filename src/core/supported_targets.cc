// What Highway's library says.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/supported_targets.h"

#include "hwy/targets.h"

namespace tensorcast::core {

std::int64_t SupportedTargets() { return hwy::SupportedTargets(); }

}  // namespace tensorcast::core
