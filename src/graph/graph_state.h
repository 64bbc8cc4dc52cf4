// A graph under construction: the graph, and what its values are, kept true by every change.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_GRAPH_STATE_H_
#define TENSORCAST_SRC_GRAPH_GRAPH_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/failure.h"
#include "graph/error.h"
#include "graph/graph.h"
#include "graph/operator_versions.h"
#include "graph/program.h"
#include "tensorcast/graph.hpp"
#include "tensorcast/session.hpp"

namespace tensorcast {

struct GraphState {
  static constexpr std::size_t kNone = SIZE_MAX;

  // What is known of a value of the graph's body.
  struct Known {
    DataType type = DataType::kUndefined;
    GraphValueKind kind = GraphValueKind::kResult;
    bool is_there = false;  // it is given by something, and was not removed
    bool is_output = false;
    bool is_named_here = false;               // its name was made up
    std::uint32_t readers = 0;                // inputs of nodes
    graph::ValueId origin = graph::kNoValue;  // the input or constant whose shape it has
    // Where it is declared and held, or kNone.
    std::size_t input = kNone, output = kNone, between = kNone, initializer = kNone;
    graph::ValueId Origin(graph::ValueId self) const {
      return kind == GraphValueKind::kResult ? origin : self;
    }
  };
  struct Named {
    std::size_t index = 0;  // of the first node of this name
    std::size_t count = 0;
  };

  explicit GraphState(const GraphOptions& options);

  // ------------------------------------------------------------------------- state

  // The first opset whose values have a type: strings were always there, if no Cast of them.
  static std::int64_t FirstOpsetOf(DataType type);
  std::int64_t opset() const;
  bool as_tests() const { return options.contradictions == onnx::Contradictions::kTests; }
  GraphValue Handle(graph::ValueId id) const { return {serial, id}; }
  // The value of a handle. Throws Failure (kBadInput): `what` it was to be.
  graph::ValueId ValueOf(GraphValue handle, std::string_view what) const;
  // Throws Failure (kNoSuchIndex, kNoSuchName; kBadInput: two have the name).
  std::size_t NodeOf(const NodeKey& key) const;

  // The type of each value, anew, after nodes may give other ones; declarations follow. Throws
  // graph::Error, after which nothing is changed.
  void Retype();
  // The same where only one node may give another type.
  void Retype(std::size_t changed);
  // Sets the type of one value; what is declared of it follows.
  void SetType(graph::ValueId id, DataType type);
  std::vector<DataType> Types() const;  // by ValueId
  void IndexNodes();
  bool TakeName(const std::string& name);
  // Changes the opset, and how nodes write `to` there; they were checked for it.
  void ChangeOpset(std::int64_t to);
  // What is declared of a value's shape, if anything is.
  std::pair<bool, std::vector<GraphDimension>> ShapeOf(graph::ValueId id) const;

  // Give a value or a node a name that was checked.
  void RenameValue(graph::ValueId id, std::string_view name);
  void RenameNode(std::size_t index, std::string_view name);
  // Takes away a value that a node gave, and a node whose values are gone.
  void Forget(graph::ValueId id);
  void EraseNode(std::size_t index);
  // Fills what is known of a graph that was read, with the types that it was found to have.
  void Adopt(const std::vector<DataType>& types);

  // A node's own attribute, or null.
  static const graph::Attribute* Find(const graph::Node& node, std::string_view name);
  static void SetAttribute(graph::Node& node, graph::Attribute attribute);
  static void DropAttribute(graph::Node& node, std::string_view name);
  // Sets what is given. An opset that has no such attribute has no type that knows it: there it is
  // not kept.
  static void SetOptions(graph::Node& node, std::int64_t opset, std::optional<bool> saturate,
                         std::optional<RoundingMode> round_mode);
  // `to` as the opset in force has it, an INT or a STRING.
  static graph::Attribute ToAttribute(std::int64_t opset, DataType to);
  // Whether it is a Cast or CastLike of ai.onnx, and which.
  static bool IsCast(const graph::Node& node, graph::CastOperator* op = nullptr);
  // What the opset in force says of it. Throws graph::Error where it breaks a rule.
  void CheckCast(const graph::Node& node, std::int64_t opset) const;

  void CheckValueName(std::string_view name, std::string_view what) const;
  void CheckNodeName(std::string_view name) const;
  std::string FreeNodeName(std::string_view op_type);
  std::string FreeValueName(const std::string& wanted) const;

  GraphOptions options;
  std::uint32_t serial;
  graph::Graph graph;
  std::vector<Known> known;  // by ValueId
  std::unordered_map<std::string, Named> names;
  std::unordered_map<std::string, std::uint64_t> counters;  // of made-up names, by operator
  std::vector<GraphValue> inputs;
  std::vector<GraphValue> outputs;
  // The file that it was made of: what is saved lets others do no more than that does.
  std::string loaded_from;
};

// For the functions of other files.
struct GraphAccess {
  static GraphState& State(Graph& graph);
  static const GraphState& State(const Graph& graph);
  static void Set(Graph& graph, std::unique_ptr<GraphState> state) {
    graph.state_ = std::move(state);
  }
};

struct SessionAccess {
  static void Set(Session& session, graph::Program&& program, const SessionOptions& options,
                  bool as_tests);
};

namespace graph {

// core::Guarded for what may throw a graph's Error: of a graph that the caller makes, bad input.
template <class Body> Status GuardedGraph(std::string* error, const Body& body) noexcept {
  return core::Guarded(error, [&] {
    try {
      return body();
    } catch (const Error& wrong) {
      throw core::Failure(StatusCode::kBadInput, wrong.what());
    }
  });
}

// What terminals and other languages take for more than a character.
bool HasControlCharacter(std::string_view text);

// Throws core::Failure (kInvalidType), which begins with `what`, where it is none.
void CheckElementType(DataType type, const std::string& what);

[[noreturn]] inline void Refuse(const std::string& why) {
  throw core::Failure(StatusCode::kBadInput, why);
}

}  // namespace graph
}  // namespace tensorcast

#endif  // TENSORCAST_SRC_GRAPH_GRAPH_STATE_H_
