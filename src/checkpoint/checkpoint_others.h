// What a checkpoint's directory holds beside its tensors, and what of it goes into a converted
// copy.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_OTHERS_H_
#define TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_OTHERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.h"

namespace tensorcast::checkpoint {

// Paths in the directory, in the order of their names.
struct OtherFiles {
  std::vector<std::string> directories;  // each after the one that it is in
  std::vector<std::string> copied;
  std::uint64_t bytes = 0;            // of the copied
  std::vector<std::string> left_out;  // weights that were not read, and what cannot be copied
};

// Everything but: the files that were read, indexes, the record of an earlier conversion, and
// ".git", ".cache" and the like, of which nothing is said; other files of weights, which would be
// the old ones, but for those of the directories that modules.json names as parts of the model;
// links to directories, devices. Throws Error where there is very much of it.
OtherFiles FindOtherFiles(const CheckpointReader& reader);

}  // namespace tensorcast::checkpoint

#endif  // TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_OTHERS_H_
