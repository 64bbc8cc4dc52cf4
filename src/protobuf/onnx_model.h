// The structure of an ONNX ModelProto: graphs, nodes, functions, and where their tensors stand.
// Values are not read, so a model of gigabytes costs what its structure takes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_PROTOBUF_ONNX_MODEL_H_
#define TENSORCAST_SRC_PROTOBUF_ONNX_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/onnx_numbers.h"
#include "files/byte_source.h"
#include "protobuf/onnx_fields.h"
#include "protobuf/protobuf_wire.h"
#include "protobuf/tensor_proto_message.h"

namespace tensorcast::protobuf {

// A TensorProto of the model: `message` says its name, type, shape and where the values stand.
struct OnnxTensor {
  WireField field;  // the field that holds the message, in the model's source
  TensorProtoMessage message;
};

struct OnnxAttribute {
  WireField field;  // in its node (or function)
  std::string name;
  core::AttributeType type = core::AttributeType::kUndefined;  // as declared, or as its fields say
  std::int64_t i = 0;
  float f = 0;
  WireField s;      // of kString: its bytes stand in [s.begin, s.end)
  std::string ref;  // ref_attr_name: the attribute of the enclosing function it stands for
  std::vector<std::int64_t> ints;   // at most kMostListed
  std::vector<float> floats;        // at most kMostListed
  std::vector<WireField> strings;   // at most kMostListed
  std::uint64_t listed = 0;         // how many of kInts, kFloats, kStrings there are
  std::vector<OnnxTensor> tensors;  // of kTensor: one; of kTensors
  std::vector<std::size_t> graphs;  // of kGraph and kGraphs: indices in OnnxModel::graphs
};

struct OnnxNode {
  WireField field;  // in its graph or function
  std::string op_type;
  std::string domain;  // "" is ai.onnx, which is read as ""
  std::string overload;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<OnnxAttribute> attributes;
  // It has fields that are not told here, which may name its inputs and outputs.
  bool has_other_fields = false;

  const OnnxAttribute* Find(std::string_view attribute) const;
};

// A ValueInfoProto.
struct OnnxValue {
  WireField field;
  std::string name;
  bool has_type = false;        // the model says a type
  bool is_tensor = false;       // it is a tensor_type
  std::uint64_t elem_type = 0;  // TensorProto.DataType; 0 where the model does not say
  WireField elem_type_field;    // where that stands (number 0: nowhere)
  // The type and the tensor_type around it, outermost first: what a change of it makes longer.
  std::vector<WireField> parents;
  bool has_shape = false;
  // The size of each dimension, or nothing where it is symbolic or not said.
  std::vector<std::optional<std::uint64_t>> shape;
  std::vector<std::string> dimension_names;  // beside it: dim_param, or empty
};

struct OnnxGraph {
  WireField field;  // in the model, or in an attribute
  // The enclosing messages' fields from the outermost on, this graph's own being the last: all
  // whose lengths change when something inside it does.
  std::vector<WireField> path;
  // Where it stands, for names of its tensors: "" for the main graph, else
  // "<node>.<attribute>", outermost first, separated by '/'.
  std::string label;
  std::string name;
  std::vector<OnnxNode> nodes;  // in their order, which is topological
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValue> inputs;
  std::vector<OnnxValue> outputs;
  std::vector<OnnxValue> value_infos;
  std::uint64_t sparse_initializers = 0;
  std::vector<std::string> sparse_names;  // of the sparse initializers
  std::vector<std::string> annotated;     // values that quantization annotations name
  std::size_t opset_scope = 0;            // 0: the model's imports; k: those of functions[k - 1]
};

struct OnnxFunction {
  WireField field;
  std::string domain;
  std::string name;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;            // those without a default
  std::vector<OnnxAttribute> default_attributes;  // attribute_proto
  std::vector<OnnxNode> nodes;
  std::map<std::string, std::int64_t> opset_imports;  // by domain, ai.onnx as ""
};

// From this IR version on an initializer need not be an input, and one that is can be overridden.
inline constexpr std::int64_t kFirstIrOfConstants = 4;

struct OnnxModel {
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opset_imports;  // by domain, ai.onnx as ""
  std::vector<OnnxGraph> graphs;  // the main graph is the first; subgraphs follow in their order
  std::vector<OnnxFunction> functions;
  bool has_training_info = false;
  std::map<std::string, std::string> metadata;  // metadata_props
};

// Limits of what a hostile model can ask for: nested graphs, and the memory of the structure.
inline constexpr std::size_t kMostNestedGraphs = 64;
inline constexpr std::uint64_t kMostModelText = std::uint64_t{512} << 20;
inline constexpr std::uint64_t kMostListed = 65536;

// Reads the ModelProto that a source holds. Throws Error: of contents where the bytes are no model.
OnnxModel ReadOnnxModel(const files::ByteSource& source);

}  // namespace tensorcast::protobuf

#endif  // TENSORCAST_SRC_PROTOBUF_ONNX_MODEL_H_
