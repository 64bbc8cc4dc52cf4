// The values of a model: what each name stands for in its graph, subgraph or function, its element
// type where that is certain, who gives and who reads it, and which nodes are casts that are
// understood. Names that stand for two values, and values that are read before they are given, are
// unclear: of these nothing is concluded.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_OPTIMISE_MODEL_VALUES_H_
#define TENSORCAST_SRC_ONNX_OPTIMISE_MODEL_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "files/byte_source.h"
#include "graph/operator_versions.h"
#include "protobuf/onnx_model.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::onnx {

// An index in ModelValues::values.
using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = UINT32_MAX;  // left out, or given by nothing

// Where values have their names: a graph or a function.
struct ModelBody {
  const protobuf::OnnxGraph* graph = nullptr;  // exactly one of the two is set
  const protobuf::OnnxFunction* function = nullptr;
  std::optional<std::size_t> parent;  // the body around it, whose values it reads; by index
  std::optional<std::int64_t> opset;  // of ai.onnx
};

struct ModelValue {
  std::string_view name;  // the model's own text
  std::size_t body = 0;
  DataType type = DataType::kUndefined;   // kUndefined: not known
  std::optional<std::uint64_t> elements;  // where its shape is known
  std::optional<std::size_t> node;        // that gives it
  std::uint64_t reads = 0;                // by nodes, each input counted
  // It stays under its name: an output of a graph or a function, or named by what is not
  // understood.
  bool is_fixed = false;
  bool is_unclear = false;
  const protobuf::OnnxTensor* initializer = nullptr;  // that no input overrides
};

// A Cast or CastLike whose every attribute is understood.
struct ModelCast {
  graph::CastOperator op = graph::CastOperator::kCast;
  DataType to = DataType::kUndefined;
  CastOptions options;   // those in force, with the node's own
  CastOptions as_tests;  // the same where the stored official tests contradict the text
};

struct ModelNode {
  const protobuf::OnnxNode* message = nullptr;
  const protobuf::OnnxTensor* constant = nullptr;  // where it is a Constant that holds one tensor
  std::size_t body = 0;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::optional<ModelCast> cast;
};

// It views the model, which outlives it.
struct ModelValues {
  std::vector<ModelBody> bodies;
  std::vector<ModelValue> values;
  // Each after the nodes that give what it reads, and after those of the graphs that it holds.
  std::vector<ModelNode> nodes;
};

// `source` holds the model.
ModelValues FindValues(const protobuf::OnnxModel& model, const files::ByteSource& source);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_OPTIMISE_MODEL_VALUES_H_
