// Stages for runs of a few elements, which are over before a vector's worth is ready. They are the
// same for every target.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_BRIEF_STAGES_H_
#define TENSORCAST_SRC_CORE_BRIEF_STAGES_H_

#include "core/kernels.h"

namespace tensorcast::core {

// A copy of codes of so many bits.
Stage BriefCopy(int bits);
// Every element looked up in EncodeArgs::table, for runs of at most `most` elements. Null where
// vectors are as fast for any number of them.
Stage BriefLookUp(const TypeInfo& from, const TypeInfo& to, std::uint32_t* most);

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_BRIEF_STAGES_H_
