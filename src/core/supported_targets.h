// Which of Highway's targets this processor and its system run.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_SUPPORTED_TARGETS_H_
#define TENSORCAST_SRC_CORE_SUPPORTED_TARGETS_H_

#include <cstdint>

namespace tensorcast::core {

// Bits of HWY_TARGETS.
std::int64_t SupportedTargets();

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_SUPPORTED_TARGETS_H_
