// The kinds of a node's attributes; the values are those of ONNX's AttributeProto.AttributeType.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_ATTRIBUTE_TYPE_H_
#define TENSORCAST_SRC_GRAPH_ATTRIBUTE_TYPE_H_

#include <cstdint>

namespace tensorcast::graph {

enum class AttributeType : std::uint32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_ATTRIBUTE_TYPE_H_
