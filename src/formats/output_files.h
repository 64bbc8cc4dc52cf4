// Outputs that belong together: none gets its name before all are on their disks.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_OUTPUT_FILES_H_
#define TENSORCAST_SRC_FORMATS_OUTPUT_FILES_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "files/system_output_directory.h"
#include "formats/tensor_writer.h"

namespace tensorcast::formats {

// Each with its path.
using OutputFiles = std::vector<std::pair<std::string, std::unique_ptr<TensorWriter>>>;

// Syncs all, with them the directory `staging` in which they were made (null: there is none), then
// gives them their names, in their order. Where the system then refuses one a name, those before it
// stand, and the error says which. Throws Error, and Interrupted before the first has its name.
void CommitAll(const OutputFiles& files, const std::atomic<bool>* interrupted,
               files::StagingDirectory* staging = nullptr);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_OUTPUT_FILES_H_
