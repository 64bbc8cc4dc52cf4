// What is wrong in a directory beside its tensors: the __metadata__ of its files, its indexes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_FAULTS_H_
#define TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_FAULTS_H_

#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/checkpoint_writer.h"
#include "files/faulty_file.h"
#include "formats/tensor_reader.h"

namespace tensorcast::checkpoint {

// Holds `found` against what would be written. It may lie in other files than those, or come from
// another writer: then a file has the metadata of all, and an index names every tensor of its
// files, as programs that follow it need, with their size. Throws Error.
std::vector<files::FaultyFile> FaultsBesideTensors(const CheckpointReader& found,
                                                   const formats::FileContents& made,
                                                   const Sharding& sharding);

}  // namespace tensorcast::checkpoint

#endif  // TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_FAULTS_H_
