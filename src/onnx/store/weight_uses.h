// What the nodes of a model do with its tensors: which of them are weights, and on which of their
// axes these have their output channels.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_STORE_WEIGHT_USES_H_
#define TENSORCAST_SRC_ONNX_STORE_WEIGHT_USES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/onnx_tensors.h"

namespace tensorcast::onnx {

struct WeightUse {
  // The axis of the output channels, where the tensor is the weight of every node that takes it and
  // the axis is the same for all: Conv has 0, ConvTranspose 1, Gemm 0 or 1 by its transB, MatMul
  // the last.
  std::optional<std::uint32_t> axis;
  std::string why_none;  // else: "used by Gather, not as a weight"
};

// Finds the use of each of the model's tensors. Names are resolved as ONNX has it: a subgraph sees
// those of the graphs around it.
std::vector<WeightUse> FindWeightUses(const formats::OnnxTensorReader& model);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_STORE_WEIGHT_USES_H_
