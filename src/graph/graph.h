// A graph of casts and of what stands around them: values, nodes, functions, tensors. It knows no
// format: bytes and tensors of a model are carried by reference, and so are nodes and subgraphs
// that it does not understand. Nothing is checked here; Compile does that. What was read and is not
// changed keeps its bytes, and is written as it stood.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_GRAPH_H_
#define TENSORCAST_SRC_GRAPH_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/onnx_numbers.h"
#include "graph/constant.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::graph {

using core::AttributeType;

// A value of one Body: a number below its size().
using ValueId = std::uint32_t;
// Where a node leaves an input or an output out.
inline constexpr ValueId kNoValue = UINT32_MAX;

// A size, a name, or neither: unknown.
struct Dimension {
  std::optional<std::uint64_t> size;
  std::string name;
};

// What is declared of a value.
struct Declaration {
  ValueId value = kNoValue;
  bool has_type = false;
  bool is_tensor = false;    // no sequence, map or optional
  std::uint64_t number = 0;  // ONNX's of the element type, one of ours or not; 0: not said
  bool has_shape = false;
  std::vector<Dimension> shape;
  Blob bytes = {};  // as it was read
  bool is_changed = false;
};

// A tensor that the graph holds.
struct Tensor {
  std::string name;
  std::uint64_t number = 0;  // ONNX's of its type
  std::vector<std::uint64_t> shape;
  std::shared_ptr<const TensorData> data;
  Blob bytes = {};  // as it was read, with its values unless these are in another file
  bool is_external = false;
  Blob values = {};  // of BuiltTensor: as raw_data has them; nothing of strings
};

// A tensor that holds its values.
Tensor BuiltTensor(std::string_view name, Constant values);

struct Attribute {
  std::string name;
  AttributeType type = AttributeType::kUndefined;
  std::string ref;  // the attribute of the enclosing function that it stands for
  std::int64_t i = 0;
  float f = 0;
  Blob s;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::vector<Blob> strings;
  // How many of kInts, kFloats or kStrings there are, should the lists be cut (kMostListed).
  std::uint64_t listed = 0;
  std::vector<Tensor> tensors;  // of kTensor: one; of kTensors
  Blob bytes = {};              // as it was read, graphs of kGraph and kGraphs with it
};

// Values that a list holds; the others are counted.
inline constexpr std::uint64_t kMostListed = 65536;

// An attribute of one number or text.
Attribute IntAttribute(std::string_view name, std::int64_t value);
Attribute TextAttribute(std::string_view name, std::string_view value);

struct Node {
  std::string op_type;
  std::string domain;  // "": ai.onnx
  std::string overload;
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Attribute> attributes;
  // As it was read, with what is not told here (its doc_string); nothing of one that was built.
  Blob bytes = {};
  bool is_changed = false;
  // Whether gradients pass a Cast or CastLike, and by what they are multiplied on their way.
  bool trains = true;
  double lda = 1;
};

// Values and nodes with names of their own: the graph's, or a function's.
class Body {
 public:
  Body() = default;
  Body(Body&&) = default;
  Body& operator=(Body&&) = default;

  // The value of a name, made where there is none yet.
  ValueId ValueOf(std::string_view name);
  std::optional<ValueId> Find(std::string_view name) const;
  // Gives a value a name that no other has; what was read of it is then written anew.
  void Rename(ValueId id, std::string_view name);
  bool IsRenamed(ValueId id) const { return renamed_.contains(id); }
  bool HasRenamed(const Node& node) const;
  // Frees a value's name; the number stays its own.
  void Forget(ValueId id);

  const std::string& name(ValueId id) const { return names_[id]; }
  // How many values there are.
  std::size_t size() const { return names_.size(); }

  // What messages call a node: its name, or its first output's.
  std::string NodeText(const Node& node) const;

  std::vector<Node> nodes;  // in the order in which they run

 private:
  std::deque<std::string> names_;  // which stay where they are
  std::unordered_map<std::string_view, ValueId> by_name_;
  std::unordered_set<ValueId> renamed_;
};

struct Initializer {
  ValueId value = kNoValue;
  Tensor tensor;
};

struct Function {
  std::string domain;
  std::string name;
  std::string overload;
  std::vector<std::string> attributes;  // those without a default
  std::vector<Attribute> default_attributes;
  std::map<std::string, std::int64_t> opsets;  // by domain; ai.onnx as ""
  Body body;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

// The opset of a domain as it was read.
struct OpsetImport {
  std::string domain;  // ai.onnx as ""
  std::int64_t version = 0;
  Blob bytes;
};

struct Graph {
  std::map<std::string, std::int64_t> opsets;  // by domain; ai.onnx as ""
  Body body;
  std::vector<Declaration> inputs;
  std::vector<Declaration> outputs;
  std::vector<Declaration> between;  // what is declared of other values
  std::vector<Initializer> initializers;
  std::uint64_t sparse_initializers = 0;  // which are not read
  std::vector<Function> functions;
  bool holds_training = false;  // it was saved with what its nodes say of training
  // A graph that was read keeps the version of its messages, and the fields of the model and of the
  // graph that are not told here (functions too), each whole, as it stood.
  std::int64_t ir_version = 0;
  std::vector<OpsetImport> opset_imports;
  std::vector<Blob> model_fields;
  std::vector<Blob> graph_fields;
};

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_GRAPH_H_
