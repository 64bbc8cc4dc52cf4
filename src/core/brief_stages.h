// Stages for runs of a few elements, which are over before a vector's worth is ready. They are the
// same for every target; up to how many elements they serve is not.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_BRIEF_STAGES_H_
#define TENSORCAST_SRC_CORE_BRIEF_STAGES_H_

#include <cstdint>

#include "core/kernels.h"

namespace tensorcast::core {

struct BriefStage {
  Stage stage = nullptr;
  std::uint32_t most = 0;  // elements, up to which vectors are no faster
};

// The stage for short runs of a plan that has its others: codes are copied, looked up in the table
// where there is one, moved as integers, or cast one by one. Empty where vectors are as fast for
// any number of them.
BriefStage FindBriefStage(const Bound& bound);

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_BRIEF_STAGES_H_
