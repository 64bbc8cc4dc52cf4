// Tensors whose codes mean nothing without a scale that the file keeps beside them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_SCALE_COMPANIONS_H_
#define TENSORCAST_SRC_IO_SCALE_COMPANIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "io/tensor_file.h"

namespace tensorcast::io {

// A quantised tensor and what says so.
struct ScaledTensor {
  std::size_t tensor = 0;  // its index in the contents
  // The name of the tensor that holds its scales, or of the mark that covers the whole file
  // ("scaled_fp8", "__metadata__[\"_quantization_metadata\"]"); escape before showing.
  std::string companion;
};

// The scaled tensors in the order of the contents, each once. Cast as if its codes were its
// values, such a tensor comes out wrong by its scale.
std::vector<ScaledTensor> FindScaledTensors(const FileContents& contents);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_SCALE_COMPANIONS_H_
