// Finding and changing what a graph has.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "graph/cast_operator.h"
#include "graph/graph_state.h"
#include "graph/program.h"
#include "words/error_text.h"

namespace tensorcast {

using graph::CastOperator;
using graph::kNoValue;
using graph::Refuse;
using graph::ValueId;
using words::Quoted;

void GraphState::ChangeOpset(std::int64_t to) {
  const auto is_int = [](std::int64_t opset) {
    const graph::VersionInForce version = graph::FindVersion(CastOperator::kCast, opset);
    return version.row == nullptr || version.row->to_is_int;
  };
  const bool changes = is_int(to) != is_int(opset()) || opset() <= 6;
  graph.opsets[""] = to;
  if (!changes) return;
  for (graph::Node& node : graph.body.nodes) {
    CastOperator op{};
    if (!IsCast(node, &op) || op != CastOperator::kCast || node.outputs[0] == kNoValue) continue;
    const graph::Attribute* const written = Find(node, "to");
    const graph::Attribute wanted = ToAttribute(to, known[node.outputs[0]].type);
    if (written == nullptr || written->type != wanted.type) SetAttribute(node, wanted);
  }
}

void GraphState::RenameValue(ValueId id, std::string_view name) {
  graph.body.Rename(id, name);
  known[id].is_named_here = false;
  if (known[id].initializer != kNone) graph.initializers[known[id].initializer].tensor.name = name;
}

void GraphState::RenameNode(std::size_t index, std::string_view name) {
  graph::Node& node = graph.body.nodes[index];
  const bool is_known = TakeName(node.name);
  node.name = name;
  node.is_changed = true;
  names[node.name] = {index, 1};
  if (!is_known) IndexNodes();
}

void GraphState::EraseNode(std::size_t index) {
  std::vector<graph::Node>& nodes = graph.body.nodes;
  const bool is_known = TakeName(nodes[index].name);
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(index));
  if (!is_known) return IndexNodes();
  for (auto& [name, named] : names) {
    if (named.index > index) --named.index;
  }
}

namespace {

GraphNode NodeAt(const GraphState& state, std::size_t index) {
  const graph::Node& node = state.graph.body.nodes[index];
  GraphNode told;
  told.index = index;
  told.name = node.name;
  told.op_type = node.op_type;
  told.domain = node.domain;
  const auto handle = [&](ValueId id) { return id == kNoValue ? GraphValue() : state.Handle(id); };
  for (const ValueId id : node.inputs) told.inputs.push_back(handle(id));
  for (const ValueId id : node.outputs) told.outputs.push_back(handle(id));
  const auto type = [&](const std::vector<ValueId>& ids) {
    return ids.empty() || ids[0] == kNoValue ? DataType::kUndefined : state.known[ids[0]].type;
  };
  told.from = type(node.inputs);
  told.to = type(node.outputs);
  told.is_cast = GraphState::IsCast(node);
  if (told.is_cast) {
    const graph::Attribute* const saturate = GraphState::Find(node, "saturate");
    told.saturate = saturate == nullptr || saturate->i != 0;
    constexpr std::uint64_t kLongest = 16;
    if (const graph::Attribute* const mode = GraphState::Find(node, "round_mode")) {
      told.round_mode = graph::RoundModeOf(mode->s.Text(kLongest)).value_or(told.round_mode);
    }
    told.training = node.trains;
    told.lda_coeff = node.lda;
  }
  return told;
}

GraphValueInfo ValueAt(const GraphState& state, ValueId id) {
  const GraphState::Known& known = state.known[id];
  GraphValueInfo info;
  info.value = state.Handle(id);
  info.name = state.graph.body.name(id);
  info.type = known.type;
  info.kind = known.kind;
  info.is_output = known.is_output;
  info.readers = known.readers;
  std::tie(info.has_shape, info.shape) = state.ShapeOf(id);
  return info;
}

// A change of one node, checked.
void Change(const GraphState& state, const CastChange& change, graph::Node& node) {
  CastOperator op{};
  if (!GraphState::IsCast(node, &op)) {
    Refuse(state.graph.body.NodeText(node) + " is " + Quoted(node.op_type) +
           ", which has none of these settings; a Cast and a CastLike have");
  }
  if (change.to && op == CastOperator::kCastLike) {
    Refuse(state.graph.body.NodeText(node) +
           " is a CastLike, which takes its type from its second input; it has no `to`");
  }
  if (change.to) {
    if (*change.to == DataType::kUndefined) {
      Refuse(state.graph.body.NodeText(node) + " has to cast to a type; UNDEFINED is none");
    }
    graph::CheckElementType(*change.to, state.graph.body.NodeText(node) + " cannot cast to type ");
    GraphState::SetAttribute(node, GraphState::ToAttribute(state.opset(), *change.to));
  }
  GraphState::SetOptions(node, state.opset(), change.saturate, change.round_mode);
  if (change.training) node.trains = *change.training;
  if (change.lda_coeff) node.lda = *change.lda_coeff;
  state.CheckCast(node, state.opset());
}

void SetNodes(GraphState& state, const NodeKey& key, const CastChange& change) {
  std::vector<graph::Node>& nodes = state.graph.body.nodes;
  std::vector<std::pair<std::size_t, graph::Node>> before;
  const auto restore = [&] {
    for (auto& [index, node] : before) nodes[index] = std::move(node);
  };
  try {
    const auto set = [&](std::size_t index) {
      before.emplace_back(index, nodes[index]);
      Change(state, change, nodes[index]);
    };
    if (key.is() == NodeKey::Is::kAll) {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        CastOperator op{};
        if (!GraphState::IsCast(nodes[i], &op)) continue;
        if (change.to && op == CastOperator::kCastLike) continue;
        set(i);
      }
    } else {
      set(state.NodeOf(key));
    }
    if (change.to && before.size() == 1) {
      state.Retype(before.front().first);
    } else if (change.to && !before.empty()) {
      state.Retype();
    }
  } catch (...) {
    restore();
    throw;
  }
}

void CheckOpset(std::int64_t opset) {
  const std::int64_t newest = graph::CastVersions().back().since;
  if (opset >= 1 && opset <= newest) return;
  Refuse("opset " + std::to_string(opset) + " is not known here; opsets go from 1 to " +
         std::to_string(newest));
}

void SetTheOpset(GraphState& state, std::int64_t opset) {
  CheckOpset(opset);
  const std::int64_t before = state.opset();
  state.ChangeOpset(opset);
  try {
    (void)graph::TypesOf(state.graph, state.as_tests());
    // What no Cast checks: inputs, constants, and what Identity makes of them.
    for (ValueId id = 0; id < state.known.size(); ++id) {
      const GraphState::Known& known = state.known[id];
      const std::int64_t first = GraphState::FirstOpsetOf(known.type);
      if (!known.is_there || first <= opset) continue;
      Refuse("value " + Quoted(state.graph.body.name(id)) + " is " +
             std::string(TypeName(known.type)) + ", which needs opset " + std::to_string(first));
    }
    for (const graph::Function& function : state.graph.functions) {
      const std::optional<std::int64_t> own = graph::OpsetOf(function.opsets);
      if (!own || *own == opset) continue;
      Refuse("function " + Quoted(function.name) + " is of opset " + std::to_string(*own) +
             ", and a model and its functions have one opset; it stays as it is");
    }
  } catch (...) {
    state.ChangeOpset(before);
    throw;
  }
}

void SetTheLowestOpset(GraphState& state) {
  const std::int64_t newest = state.opset();
  for (std::int64_t opset = 1; opset < newest; ++opset) {
    try {
      SetTheOpset(state, opset);
      return;
    } catch (const core::Failure&) {
    }
  }
}

void Remove(GraphState& state, std::size_t index) {
  const graph::Body& body = state.graph.body;
  const graph::Node& node = body.nodes[index];
  for (const ValueId id : node.outputs) {
    if (id == kNoValue) continue;
    const GraphState::Known& known = state.known[id];
    if (!known.is_output && known.readers == 0) continue;
    Refuse(body.NodeText(node) + " gives " + Quoted(body.name(id)) + ", which " +
           (known.is_output ? "is an output of the graph"
                            : words::CountText(known.readers, "node input") + " read") +
           "; it stays");
  }
  for (const ValueId id : node.inputs) {
    if (id != kNoValue) --state.known[id].readers;
  }
  for (const ValueId id : node.outputs) {
    if (id != kNoValue) state.Forget(id);
  }
  state.EraseNode(index);
}

}  // namespace

inline namespace TENSORCAST_ABI {

Graph::Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

Status Graph::Create(const GraphOptions& options, Graph* graph, std::string* error) {
  return graph::GuardedGraph(error, [&] {
    CheckOpset(options.opset);
    graph->state_ = std::make_unique<GraphState>(options);
    return Status();
  });
}

std::int64_t Graph::opset() const { return GraphAccess::State(*this).opset(); }

Status Graph::SetOpset(std::int64_t opset, std::string* error) {
  return graph::GuardedGraph(error, [&] {
    SetTheOpset(GraphAccess::State(*this), opset);
    return Status();
  });
}

Status Graph::SetLowestOpset(std::string* error) {
  return graph::GuardedGraph(error, [&] {
    SetTheLowestOpset(GraphAccess::State(*this));
    return Status();
  });
}

std::size_t Graph::node_count() const { return GraphAccess::State(*this).graph.body.nodes.size(); }

std::size_t Graph::value_count() const {
  const std::vector<GraphState::Known>& known = GraphAccess::State(*this).known;
  return static_cast<std::size_t>(std::count_if(
      known.begin(), known.end(), [](const GraphState::Known& each) { return each.is_there; }));
}

std::span<const GraphValue> Graph::inputs() const { return GraphAccess::State(*this).inputs; }
std::span<const GraphValue> Graph::outputs() const { return GraphAccess::State(*this).outputs; }

Status Graph::Node(const NodeKey& key, GraphNode* node, std::string* error) const {
  return graph::GuardedGraph(error, [&] {
    const GraphState& state = GraphAccess::State(*this);
    *node = NodeAt(state, state.NodeOf(key));
    return Status();
  });
}

std::vector<GraphNode> Graph::Nodes() const {
  const GraphState& state = GraphAccess::State(*this);
  std::vector<GraphNode> nodes;
  for (std::size_t i = 0; i < state.graph.body.nodes.size(); ++i) {
    nodes.push_back(NodeAt(state, i));
  }
  return nodes;
}

std::vector<GraphValueInfo> Graph::Values() const {
  const GraphState& state = GraphAccess::State(*this);
  std::vector<GraphValueInfo> values;
  for (ValueId id = 0; id < state.known.size(); ++id) {
    if (state.known[id].is_there) values.push_back(ValueAt(state, id));
  }
  return values;
}

Status Graph::Value(GraphValue value, GraphValueInfo* info, std::string* error) const {
  return graph::GuardedGraph(error, [&] {
    const GraphState& state = GraphAccess::State(*this);
    *info = ValueAt(state, state.ValueOf(value, "the value"));
    return Status();
  });
}

Status Graph::FindValue(std::string_view name, GraphValue* value, std::string* error) const {
  return graph::GuardedGraph(error, [&] {
    const GraphState& state = GraphAccess::State(*this);
    const std::optional<ValueId> id = state.graph.body.Find(name);
    if (!id || !state.known[*id].is_there) {
      throw core::Failure(StatusCode::kNoSuchName,
                          "value " + Quoted(name) + " is not in the graph");
    }
    *value = state.Handle(*id);
    return Status();
  });
}

Status Graph::Set(const NodeKey& key, const CastChange& change, std::string* error) {
  return graph::GuardedGraph(error, [&] {
    SetNodes(GraphAccess::State(*this), key, change);
    return Status();
  });
}

Status Graph::RenameNode(const NodeKey& key, std::string_view name, std::string* error) {
  return graph::GuardedGraph(error, [&] {
    GraphState& state = GraphAccess::State(*this);
    const std::size_t index = state.NodeOf(key);
    if (state.graph.body.nodes[index].name == name) return Status();
    state.CheckNodeName(name);
    state.RenameNode(index, name);
    return Status();
  });
}

Status Graph::RenameValue(GraphValue value, std::string_view name, std::string* error) {
  return graph::GuardedGraph(error, [&] {
    GraphState& state = GraphAccess::State(*this);
    const ValueId id = state.ValueOf(value, "the value");
    if (state.graph.body.name(id) == name) return Status();
    state.CheckValueName(name, "a value");
    state.RenameValue(id, name);
    return Status();
  });
}

Status Graph::RemoveNode(const NodeKey& key, std::string* error) {
  return graph::GuardedGraph(error, [&] {
    GraphState& state = GraphAccess::State(*this);
    Remove(state, state.NodeOf(key));
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
