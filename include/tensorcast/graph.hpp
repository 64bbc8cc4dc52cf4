// Graphs of casts: built node by node or loaded from a model, changed, saved as one, run, and run
// backward for gradients. The C++20 interface; docs/graphs.md is its guide.
//
//   tensorcast::Graph graph;
//   tensorcast::GraphValue x, y;
//   Check(graph.AddInput("x", tensorcast::DataType::kFloat32, {{}, {.size = 3}}, &x));
//   Check(graph.AddCast(x, {.to = tensorcast::DataType::kFloat16}, &y));
//   Check(graph.MarkOutput(y, "y"));
//   tensorcast::Session session;
//   Check(tensorcast::Session::Create(graph, {}, &session));
//   Check(session.BindInput("x", view));
//   Check(session.Run({}));
//   Check(session.Output("y", &result));
//
// (examples/cpp/graph.cpp is that program.) Nothing here throws or logs. A function that fails
// changes nothing, and says in `error`, where one is given, what is wrong, where and what to do, in
// one line; texts from a graph are escaped.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_GRAPH_HPP_
#define TENSORCAST_GRAPH_HPP_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorcast/onnx.hpp"
#include "tensorcast/tensor_view.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
struct GraphState;  // what Graph holds, and how it is reached; internal
struct GraphAccess;
}  // namespace tensorcast

namespace tensorcast {
inline namespace TENSORCAST_ABI {

// The newest opset that ONNX Runtime 1.31 runs. A graph has it unless it is given another.
inline constexpr std::int64_t kDefaultGraphOpset = 26;

// One dimension: a size, a name, or neither, which is unknown.
struct GraphDimension {
  std::optional<std::uint64_t> size;
  std::string name = {};
};

// A value of one graph: what an input, a constant or a node gives. Good until it is removed.
struct GraphValue {
  std::uint32_t graph = 0;  // 0: none
  std::uint32_t index = 0;
  bool operator==(const GraphValue&) const = default;
};

struct GraphOptions {
  std::int64_t opset = kDefaultGraphOpset;
  // Where a node needs a newer opset, the graph's is raised; else the node is refused. A newer
  // opset may give other nodes other options (docs/onnx.md).
  bool raises_opset = false;
  onnx::Contradictions contradictions = onnx::Contradictions::kText;
};

// A Cast node, or a CastLike node, which takes `to` from another value.
struct CastNode {
  DataType to = DataType::kUndefined;  // of a Cast, which needs one
  // Casts to float8 types alone have it; elsewhere it means nothing, and is neither saved nor,
  // where the opset knows no such option, kept.
  bool saturate = true;
  RoundingMode round_mode = RoundingMode::kUp;  // of casts to float8e8m0, likewise
  std::string name = {};                        // empty: Cast_0, Cast_1, ...
  // The names of its outputs, of which there is one; none: <name>_output_0.
  std::vector<std::string> output_names = {};
  bool training = true;  // gradients pass it
  double lda_coeff = 1;  // and are multiplied by this on their way back
};

// Which nodes: one by its index or its name, which is copied, or all that are Cast or CastLike.
class NodeKey {
 public:
  static NodeKey Index(std::size_t index) { return NodeKey(Is::kIndex, index, {}); }
  static NodeKey Name(std::string_view name) { return NodeKey(Is::kName, 0, name); }
  static NodeKey All() { return NodeKey(Is::kAll, 0, {}); }

  enum class Is : std::uint8_t { kIndex, kName, kAll };
  Is is() const { return is_; }
  std::size_t index() const { return index_; }
  std::string_view name() const { return name_; }

 private:
  NodeKey(Is is, std::size_t index, std::string_view name) : is_(is), index_(index), name_(name) {}
  Is is_;
  std::size_t index_;
  std::string name_;
};

// What is changed of nodes; what is not given stays.
struct CastChange {
  std::optional<DataType> to = {};  // of a Cast
  std::optional<bool> saturate = {};
  std::optional<RoundingMode> round_mode = {};
  std::optional<bool> training = {};
  std::optional<double> lda_coeff = {};
};

// A node as it is.
struct GraphNode {
  std::size_t index = 0;
  std::string name;
  std::string op_type;
  std::string domain;  // "": ai.onnx
  // The types of its first input and first output; kUndefined where it has none.
  DataType from = DataType::kUndefined;
  DataType to = DataType::kUndefined;
  bool is_cast = false;  // a Cast or CastLike of ai.onnx: the rest is its own
  bool saturate = true;
  RoundingMode round_mode = RoundingMode::kUp;
  bool training = true;
  double lda_coeff = 1;
  std::vector<GraphValue> inputs;  // an empty handle where one is left out
  std::vector<GraphValue> outputs;
};

enum class GraphValueKind : std::uint8_t { kInput, kConstant, kResult };
struct GraphValueInfo {
  GraphValue value;
  std::string name;
  DataType type = DataType::kUndefined;
  GraphValueKind kind = GraphValueKind::kResult;
  bool is_output = false;
  std::size_t readers = 0;  // nodes; one that reads it twice counts twice
  bool has_shape = false;   // what is declared of it
  std::vector<GraphDimension> shape;
};

struct SaveOptions {
  // What nodes say of training goes into metadata_props (docs/graphs.md has the keys), and loading
  // finds it there. Else the file is plain ONNX, with nothing of ours in it.
  bool with_training = false;
  bool overwrite = false;
};

enum class SummaryFormat : std::uint8_t { kText, kCsv };

// A graph under construction. One thread at a time; sessions made of it do not depend on it.
class TENSORCAST_API Graph {
 public:
  // Empty, of the default options.
  Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();
  // Empty, of others. Code: kBadInput (an opset outside 1 ... 28).
  static Status Create(const GraphOptions& options, Graph* graph, std::string* error = nullptr);

  // ------------------------------------------------------------------------------ models

  // Loads what Session::Load loads, and holds the file open: what is not changed is saved as it
  // stood. Codes: as Session::Load.
  static Status Load(const std::string& path, const onnx::LoadOptions& options, Graph* graph,
                     std::string* error = nullptr);
  // The same of a ModelProto in memory, which is copied. kBadFile before a byte is read: 2 GiB or
  // more, which protobuf does not allow.
  static Status Parse(std::span<const std::byte> bytes, const onnx::LoadOptions& options,
                      Graph* graph, std::string* error = nullptr);
  // Writes a model, whole or not at all. Values of external data go into it. Codes: kBadInput (a
  // graph without outputs, or of more than 2 GiB; the file exists), kFileError.
  Status Save(const std::string& path, const SaveOptions& options,
              std::string* error = nullptr) const;
  Status Serialize(const SaveOptions& options, std::vector<std::byte>* bytes,
                   std::string* error = nullptr) const;

  // Takes out the Casts that change no bit of any output (onnx::Optimize, docs/optimize.md); inputs
  // and outputs keep their names. The graph is then another: handles of before are none of it. One
  // that holds what its nodes say of training stays as it is, as the report says.
  Status Optimize(const onnx::OptimizeOptions& options, onnx::OptimizeReport* report,
                  std::string* error = nullptr);

  std::int64_t opset() const;
  // Changes it, or sets the oldest that has all that the nodes need; other options may then be in
  // force (docs/onnx.md). Code: kBadInput (a node needs a newer one; it is outside 1 ... 28).
  Status SetOpset(std::int64_t opset, std::string* error = nullptr);
  Status SetLowestOpset(std::string* error = nullptr);

  // ---------------------------------------------------------------------------- building

  // In these `value` may be null. Codes: kBadInput (a name that is taken, or is not legal: empty,
  // with a NUL, not UTF-8; a handle of another graph or of a value that was removed; a type, option
  // or attribute that the opset does not have; CastNode::to kUndefined; output_names of another
  // length than 1), kInvalidType, kInvalidOption.
  Status AddInput(std::string_view name, DataType type, std::span<const GraphDimension> shape,
                  GraphValue* value, std::string* error = nullptr);
  Status AddInput(std::string_view name, DataType type, std::initializer_list<GraphDimension> shape,
                  GraphValue* value, std::string* error = nullptr) {
    return AddInput(name, type, std::span(shape.begin(), shape.size()), value, error);
  }
  // The same of unknown rank.
  Status AddInput(std::string_view name, DataType type, GraphValue* value,
                  std::string* error = nullptr);
  // The values are copied. kBadInput also where they do not fit the shape.
  Status AddConstant(std::string_view name, const TensorView& tensor, GraphValue* value,
                     std::string* error = nullptr);
  Status AddCast(GraphValue input, const CastNode& node, GraphValue* output,
                 std::string* error = nullptr);
  Status AddCastLike(GraphValue input, GraphValue target, const CastNode& node, GraphValue* output,
                     std::string* error = nullptr);
  Status AddIdentity(GraphValue input, std::string_view name, std::string_view output_name,
                     GraphValue* output, std::string* error = nullptr);
  // Makes a value an output of the graph, with this name or, where it is empty, its own. A node's
  // output that was named here gets the name; an input, a constant and what has a name that was
  // given are copied by an Identity of that name.
  Status MarkOutput(GraphValue value, std::string_view name, std::string* error = nullptr);

  // -------------------------------------------------------------- finding and changing

  std::size_t node_count() const;
  std::size_t value_count() const;  // removed ones not counted
  std::span<const GraphValue> inputs() const;
  std::span<const GraphValue> outputs() const;
  // Codes: kNoSuchIndex, kNoSuchName; kBadInput (two nodes have the name; a key of all).
  Status Node(const NodeKey& key, GraphNode* node, std::string* error = nullptr) const;
  // All, in the order in which they run.
  std::vector<GraphNode> Nodes() const;
  std::vector<GraphValueInfo> Values() const;
  Status Value(GraphValue value, GraphValueInfo* info, std::string* error = nullptr) const;
  Status FindValue(std::string_view name, GraphValue* value, std::string* error = nullptr) const;

  // All nodes of the key are changed, or none. Codes: as Node, and those of AddCast.
  Status Set(const NodeKey& key, const CastChange& change, std::string* error = nullptr);
  Status RenameNode(const NodeKey& key, std::string_view name, std::string* error = nullptr);
  Status RenameValue(GraphValue value, std::string_view name, std::string* error = nullptr);
  // Removes a node, and the values that it gives. kBadInput where one of these is read or is an
  // output.
  Status RemoveNode(const NodeKey& key, std::string* error = nullptr);

  // A line for each node: index, name, op, from, to, attributes, training, lda; of `last_run`,
  // where it is given, bytes and time. Text is for terminals; CSV is RFC 4180's, with a header.
  std::string Summary(SummaryFormat format, std::span<const NodeProfile> last_run = {}) const;

 private:
  friend struct tensorcast::GraphAccess;
  std::unique_ptr<GraphState> state_;
};

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_GRAPH_HPP_
