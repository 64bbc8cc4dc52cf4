// What Highway's library says.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/kernels.h"

#include "hwy/targets.h"

namespace tensorcast::core {

std::int64_t SupportedTargets() { return hwy::SupportedTargets(); }

}  // namespace tensorcast::core
