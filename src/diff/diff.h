// Two inputs compared: Diff for those who want what is thrown.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_DIFF_DIFF_H_
#define TENSORCAST_SRC_DIFF_DIFF_H_

#include "files/output_options.h"
#include "tensorcast/diff.hpp"

namespace tensorcast::diff {

// Throws files::Error, files::Interrupted, std::bad_alloc.
DiffReport Compare(const DiffRequest& request, const convert::RunSettings& settings,
                   const files::SpoolOptions& spool);

}  // namespace tensorcast::diff

#endif  // TENSORCAST_SRC_DIFF_DIFF_H_
