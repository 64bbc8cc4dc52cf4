// The choice between a file of tensors and a directory of them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CHECKPOINT_OPEN_TENSOR_FILE_H_
#define TENSORCAST_SRC_CHECKPOINT_OPEN_TENSOR_FILE_H_

#include <memory>
#include <string>

#include "formats/tensor_file.h"

namespace tensorcast::checkpoint {

class CheckpointReader;  // checkpoint/checkpoint_reader.h

struct OpenedInput : formats::OpenedTensors {
  const CheckpointReader* checkpoint = nullptr;  // the reader itself, if it is a directory's
};

// A file (formats/tensor_file.h), or a checkpoint's directory.
OpenedInput OpenTensorFile(const std::string& path, const formats::OpenOptions& options);

// Whether an output of that name is a directory: it ends with a slash, or has no ending that files
// of weights have.
bool IsDirectoryName(const std::string& path);

}  // namespace tensorcast::checkpoint

#endif  // TENSORCAST_SRC_CHECKPOINT_OPEN_TENSOR_FILE_H_
