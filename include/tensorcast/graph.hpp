// Graphs of casts: built node by node or loaded from a model, changed, saved as a model, run, and
// run backward for gradients. The C++20 interface; docs/graphs.md is its guide.
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
// changes nothing, and sets `error`, if given, to one line that says what is wrong, where and what
// to do; it escapes texts from a graph.
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

// The default opset of a graph: the newest that ONNX Runtime 1.31 runs.
inline constexpr std::int64_t kDefaultGraphOpset = 26;

// One dimension: a size, a name, or neither if it is unknown.
struct GraphDimension {
  std::optional<std::uint64_t> size;
  std::string name = {};
};

// A handle of a value in one graph: an input, a constant, or the output of a node. Valid until the
// value is removed.
struct GraphValue {
  std::uint32_t graph = 0;  // 0: none
  std::uint32_t index = 0;
  bool operator==(const GraphValue&) const = default;
};

struct GraphOptions {
  std::int64_t opset = kDefaultGraphOpset;
  // If a node needs a newer opset, raise the graph's instead of refusing the node. A newer opset
  // may give other nodes other options (docs/onnx.md).
  bool raises_opset = false;
  onnx::Contradictions contradictions = onnx::Contradictions::kText;
};

// A Cast node, or a CastLike node, which takes `to` from another value.
struct CastNode {
  DataType to = DataType::kUndefined;  // for a Cast, which needs one
  // Only for casts to float8 types. Elsewhere it has no meaning and is not saved, nor kept if the
  // opset has no such option.
  bool saturate = true;
  RoundingMode round_mode = RoundingMode::kUp;  // for casts to float8e8m0, likewise
  std::string name = {};                        // empty: Cast_0, Cast_1, ...
  // The name of its one output; none: <name>_output_0.
  std::vector<std::string> output_names = {};
  bool training = true;  // gradients pass through it
  double lda_coeff = 1;  // and are multiplied by this
};

// Selects nodes: one by its index or its name, which is copied, or every Cast and CastLike.
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

// Changes to nodes. What is not given stays as it is.
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
  // The types of its first input and first output; kUndefined if it has none.
  DataType from = DataType::kUndefined;
  DataType to = DataType::kUndefined;
  bool is_cast = false;  // a Cast or CastLike of ai.onnx, for which the next four are meaningful
  bool saturate = true;
  RoundingMode round_mode = RoundingMode::kUp;
  bool training = true;
  double lda_coeff = 1;
  std::vector<GraphValue> inputs;  // an empty handle for one that is left out
  std::vector<GraphValue> outputs;
};

enum class GraphValueKind : std::uint8_t { kInput, kConstant, kResult };
struct GraphValueInfo {
  GraphValue value;
  std::string name;
  DataType type = DataType::kUndefined;
  GraphValueKind kind = GraphValueKind::kResult;
  bool is_output = false;
  std::size_t readers = 0;  // nodes that read it; one that reads it twice counts twice
  bool has_shape = false;   // whether a shape is declared
  std::vector<GraphDimension> shape;
};

struct SaveOptions {
  // Save the nodes' training settings in metadata_props, where loading finds them (docs/graphs.md
  // has the keys). Otherwise the file is plain ONNX, with nothing of ours in it.
  bool with_training = false;
  bool overwrite = false;
};

enum class SummaryFormat : std::uint8_t { kText, kCsv };

// A graph under construction, for one thread at a time. Sessions made from it do not depend on it.
class TENSORCAST_API Graph {
 public:
  // An empty graph with the default options.
  Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();
  // An empty graph with other options. Code: kBadInput (an opset outside 1 ... 28).
  static Status Create(const GraphOptions& options, Graph* graph, std::string* error = nullptr);

  // ------------------------------------------------------------------------------ models

  // Loads what Session::Load loads, and holds the file open: what is not changed is saved as it
  // was. Codes: those of Session::Load.
  static Status Load(const std::string& path, const onnx::LoadOptions& options, Graph* graph,
                     std::string* error = nullptr);
  // The same for a ModelProto in memory, which is copied. At 2 GiB and more, which protobuf does
  // not allow, it gives kBadFile before it reads a byte.
  static Status Parse(std::span<const std::byte> bytes, const onnx::LoadOptions& options,
                      Graph* graph, std::string* error = nullptr);
  // Writes a model, completely or not at all. Values of external data are written into it. Codes:
  // kBadInput (a graph without outputs or of more than 2 GiB; the file exists), kFileError.
  Status Save(const std::string& path, const SaveOptions& options,
              std::string* error = nullptr) const;
  Status Serialize(const SaveOptions& options, std::vector<std::byte>* bytes,
                   std::string* error = nullptr) const;

  // Removes the Casts that change no bit of any output (onnx::Optimize, docs/optimize.md). Inputs
  // and outputs keep their names, but earlier handles are no longer valid. A graph that was loaded
  // with training settings stays as it is, and the report says so.
  Status Optimize(const onnx::OptimizeOptions& options, onnx::OptimizeReport* report,
                  std::string* error = nullptr);

  std::int64_t opset() const;
  // Changes the opset, or sets the oldest that has all that the nodes need. Other options may then
  // apply (docs/onnx.md). Code: kBadInput (a node needs a newer one; it is outside 1 ... 28).
  Status SetOpset(std::int64_t opset, std::string* error = nullptr);
  Status SetLowestOpset(std::string* error = nullptr);

  // ---------------------------------------------------------------------------- building

  // `value` and `output` may be null. Codes: kBadInput (a name that is taken or not legal: empty,
  // with a NUL, not UTF-8; a handle of another graph or of a removed value; a type, option or
  // attribute that the opset does not have; CastNode::to is kUndefined; output_names has more than
  // one name), kInvalidType, kInvalidOption.
  Status AddInput(std::string_view name, DataType type, std::span<const GraphDimension> shape,
                  GraphValue* value, std::string* error = nullptr);
  Status AddInput(std::string_view name, DataType type, std::initializer_list<GraphDimension> shape,
                  GraphValue* value, std::string* error = nullptr) {
    return AddInput(name, type, std::span(shape.begin(), shape.size()), value, error);
  }
  // An input of unknown rank.
  Status AddInput(std::string_view name, DataType type, GraphValue* value,
                  std::string* error = nullptr);
  // The values are copied. kBadInput also if they do not fit the shape.
  Status AddConstant(std::string_view name, const TensorView& tensor, GraphValue* value,
                     std::string* error = nullptr);
  Status AddCast(GraphValue input, const CastNode& node, GraphValue* output,
                 std::string* error = nullptr);
  Status AddCastLike(GraphValue input, GraphValue target, const CastNode& node, GraphValue* output,
                     std::string* error = nullptr);
  Status AddIdentity(GraphValue input, std::string_view name, std::string_view output_name,
                     GraphValue* output, std::string* error = nullptr);
  // Makes a value an output of the graph, under this name or, if that is empty, its own. A node's
  // output with a made-up name is renamed. An input, a constant, or a value whose name was given is
  // copied by an Identity of that name.
  Status MarkOutput(GraphValue value, std::string_view name, std::string* error = nullptr);

  // -------------------------------------------------------------- finding and changing

  std::size_t node_count() const;
  std::size_t value_count() const;  // without removed ones
  std::span<const GraphValue> inputs() const;
  std::span<const GraphValue> outputs() const;
  // Codes: kNoSuchIndex, kNoSuchName; kBadInput (two nodes have the name; a key of all).
  Status Node(const NodeKey& key, GraphNode* node, std::string* error = nullptr) const;
  // All nodes, in the order in which they run.
  std::vector<GraphNode> Nodes() const;
  std::vector<GraphValueInfo> Values() const;
  Status Value(GraphValue value, GraphValueInfo* info, std::string* error = nullptr) const;
  Status FindValue(std::string_view name, GraphValue* value, std::string* error = nullptr) const;

  // Changes all nodes of the key, or none. Codes: those of Node and of AddCast.
  Status Set(const NodeKey& key, const CastChange& change, std::string* error = nullptr);
  Status RenameNode(const NodeKey& key, std::string_view name, std::string* error = nullptr);
  Status RenameValue(GraphValue value, std::string_view name, std::string* error = nullptr);
  // Removes a node and its output values. kBadInput if one of these is read or is an output of the
  // graph.
  Status RemoveNode(const NodeKey& key, std::string* error = nullptr);

  // A line for each node: index, name, op, from, to, attributes, training, lda, and bytes and time
  // if `last_run` is given. Text is for terminals; CSV is as in RFC 4180, with a header.
  std::string Summary(SummaryFormat format, std::span<const NodeProfile> last_run = {}) const;

 private:
  friend struct tensorcast::GraphAccess;
  std::unique_ptr<GraphState> state_;
};

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_GRAPH_HPP_
