// An output that a conversion made, opened to be read again.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_OPEN_MADE_H_
#define TENSORCAST_SRC_CONVERT_OPEN_MADE_H_

#include <atomic>
#include <set>
#include <string>

#include "checkpoint/open_tensor_file.h"
#include "files/output_options.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::convert {

// Throws files::Error (unsupported) where a file of that name does not tell types of its tensors
// apart.
void RequireTold(const std::string& path, const std::set<DataType>& made);

// `made`: the types of its tensors, of which npy files do not name all. Throws files::Error, as
// RequireTold too.
checkpoint::OpenedInput OpenMade(const std::string& path, const std::set<DataType>& made,
                                 const files::SpoolOptions& spool,
                                 const std::atomic<bool>* interrupted);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_OPEN_MADE_H_
