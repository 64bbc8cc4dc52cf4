// Keeps what is known of a graph's values and nodes.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_state.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "core/onnx_numbers.h"
#include "graph/cast_operator.h"
#include "graph/program.h"
#include "words/error_text.h"
#include "words/utf8.h"

namespace tensorcast {

using graph::CastOperator;
using graph::kNoValue;
using graph::Refuse;
using graph::ValueId;
using words::Quoted;

namespace {

std::uint32_t NextSerial() {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t serial = 0;
  while (serial == 0) serial = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return serial;
}

// A name that files, messages and other languages can hold.
void CheckName(std::string_view name, std::string_view what) {
  if (name.empty()) Refuse("the name of " + std::string(what) + " is empty; give it one");
  if (!words::IsUtf8(name)) {
    Refuse("the name " + Quoted(name) + " of " + std::string(what) + " is not UTF-8");
  }
  if (graph::HasControlCharacter(name)) {
    Refuse("the name " + Quoted(name) + " of " + std::string(what) +
           " has a control character; leave it out");
  }
}

}  // namespace

bool graph::HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

void graph::CheckElementType(DataType type, const std::string& what) {
  if (FindType(type) != nullptr) return;
  throw core::Failure(StatusCode::kInvalidType, what + std::to_string(static_cast<int>(type)) +
                                                    ", which is not an element type");
}

GraphState::GraphState(const GraphOptions& given) : options(given), serial(NextSerial()) {
  graph.opsets[""] = options.opset;
}

std::int64_t GraphState::FirstOpsetOf(DataType type) {
  return type == DataType::kString ? 1 : graph::FirstOpsetOf(CastOperator::kCast, type);
}

std::int64_t GraphState::opset() const { return graph::OpsetOf(graph.opsets).value_or(0); }

ValueId GraphState::ValueOf(GraphValue handle, std::string_view what) const {
  const std::string text(what);
  if (handle.graph == 0) Refuse(text + " is an empty handle; give a value of this graph");
  if (handle.graph != serial) Refuse(text + " is a value of another graph");
  if (handle.index >= known.size()) {
    Refuse(text + " is value " + std::to_string(handle.index) + " of the graph, which never had " +
           "more than " + words::CountText(known.size(), "value"));
  }
  if (!known[handle.index].is_there) {
    Refuse(text + " is a value that was removed from the graph");
  }
  return handle.index;
}

std::size_t GraphState::NodeOf(const NodeKey& key) const {
  const std::size_t count = graph.body.nodes.size();
  switch (key.is()) {
    case NodeKey::Is::kAll: Refuse("one node is wanted, by its index or its name, not all");
    case NodeKey::Is::kIndex:
      if (key.index() < count) return key.index();
      throw core::Failure(StatusCode::kNoSuchIndex, "node " + std::to_string(key.index()) +
                                                        " is not in the graph, which has " +
                                                        words::CountText(count, "node"));
    case NodeKey::Is::kName: break;
  }
  const auto found = names.find(std::string(key.name()));
  if (found == names.end() || key.name().empty()) {
    throw core::Failure(StatusCode::kNoSuchName,
                        "node " + Quoted(key.name()) + " is not in the graph");
  }
  if (found->second.count > 1) {
    Refuse(std::to_string(found->second.count) + " nodes have the name " + Quoted(key.name()) +
           "; choose one by its index");
  }
  return found->second.index;
}

// Takes the name of a node that is renamed or goes; false: other nodes have it, and which of them
// is the first is to be found anew.
bool GraphState::TakeName(const std::string& name) {
  const auto found = names.find(name);
  if (found->second.count > 1) {
    --found->second.count;
    return name.empty();  // by which none is found
  }
  names.erase(found);
  return true;
}

void GraphState::IndexNodes() {
  names.clear();
  const std::vector<graph::Node>& nodes = graph.body.nodes;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    Named& named = names[nodes[i].name];
    named.index = i;
    ++named.count;
  }
}

void GraphState::Adopt(const std::vector<DataType>& types) {
  const graph::Body& body = graph.body;
  known.assign(body.size(), {});
  const auto give = [&](ValueId id, GraphValueKind kind) {
    if (id == kNoValue) return;
    known[id].is_there = true;
    known[id].kind = kind;
    known[id].type = types[id];
  };
  for (std::size_t i = 0; i < graph.initializers.size(); ++i) {
    const ValueId id = graph.initializers[i].value;
    give(id, GraphValueKind::kConstant);
    known[id].initializer = i;
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId id = graph.inputs[i].value;
    give(id, GraphValueKind::kInput);
    known[id].input = i;
    inputs.push_back(Handle(id));
  }
  for (const graph::Node& node : body.nodes) {
    for (const ValueId id : node.outputs) give(id, GraphValueKind::kResult);
    for (const ValueId id : node.inputs) {
      if (id != kNoValue) ++known[id].readers;
    }
    if (node.domain.empty() && node.outputs.size() == 1 && node.outputs[0] != kNoValue &&
        !node.inputs.empty() && node.inputs[0] != kNoValue) {
      known[node.outputs[0]].origin = known[node.inputs[0]].Origin(node.inputs[0]);
    }
  }
  for (std::size_t i = 0; i < graph.between.size(); ++i) known[graph.between[i].value].between = i;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId id = graph.outputs[i].value;
    known[id].is_output = true;
    known[id].output = i;
    outputs.push_back(Handle(id));
  }
  IndexNodes();
}

std::pair<bool, std::vector<GraphDimension>> GraphState::ShapeOf(ValueId id) const {
  const Known& of = known[id];
  std::vector<GraphDimension> shape;
  if (of.kind == GraphValueKind::kConstant && of.initializer != kNone) {
    for (const std::uint64_t size : graph.initializers[of.initializer].tensor.shape) {
      shape.push_back({size, {}});
    }
    return {true, std::move(shape)};
  }
  const graph::Declaration* const declared = of.input != kNone     ? &graph.inputs[of.input]
                                             : of.output != kNone  ? &graph.outputs[of.output]
                                             : of.between != kNone ? &graph.between[of.between]
                                                                   : nullptr;
  if (declared == nullptr) return {false, {}};
  for (const graph::Dimension& each : declared->shape) shape.push_back({each.size, each.name});
  return {declared->has_shape, std::move(shape)};
}

void GraphState::Forget(ValueId id) {
  if (const std::size_t at = known[id].between; at != kNone) {
    graph.between.erase(graph.between.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t i = at; i < graph.between.size(); ++i) {
      known[graph.between[i].value].between = i;
    }
  }
  known[id] = {};
  graph.body.Forget(id);
}

void GraphState::Retype() {
  const std::vector<DataType> types = graph::TypesOf(graph, as_tests(), false);
  for (ValueId id = 0; id < known.size(); ++id) SetType(id, types[id]);
}

void GraphState::Retype(std::size_t changed) {
  // A function may give anything.
  if (!graph.functions.empty()) return Retype();
  const std::vector<graph::Node>& nodes = graph.body.nodes;
  std::unordered_map<ValueId, DataType> types;  // those that are other ones now
  std::uint64_t readers = 0;                    // of these, after the node at `i`
  const auto type_of = [&](ValueId id) {
    const auto found = types.find(id);
    return found == types.end() ? known[id].type : found->second;
  };
  for (std::size_t i = changed; i < nodes.size() && (i == changed || readers != 0); ++i) {
    const graph::Node& node = nodes[i];
    const auto read = static_cast<std::uint64_t>(std::count_if(
        node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return types.contains(id); }));
    readers -= read;
    if ((read == 0 && i != changed) || node.outputs.empty() || node.outputs[0] == kNoValue)
      continue;
    const ValueId result = node.outputs[0];
    DataType type = known[result].type;
    CastOperator op{};
    if (IsCast(node, &op)) {
      const std::vector<graph::NodeAttribute> attributes = graph::AttributesOf(node);
      const graph::NodePlace place{graph.body, node};
      const DataType from = type_of(node.inputs[0]);
      type = op == CastOperator::kCast ? ReadCast(place, attributes, opset(), from, as_tests()).to
                                       : ReadCastLike(place, attributes, opset(), from,
                                                      type_of(node.inputs[1]), as_tests())
                                             .to;
    } else if (node.op_type == "Identity") {
      type = type_of(node.inputs[0]);
    }
    if (type == known[result].type) continue;
    types.emplace(result, type);
    readers += known[result].readers;
  }
  for (const auto& [id, type] : types) SetType(id, type);
}

void GraphState::SetType(ValueId id, DataType type) {
  known[id].type = type;
  const auto number = static_cast<std::uint64_t>(type);
  const auto follow = [&](std::vector<graph::Declaration>& declarations, std::size_t at) {
    if (at == kNone) return;
    graph::Declaration& declared = declarations[at];
    if (!declared.is_tensor || declared.number == number || number == 0) return;
    declared.number = number;
    declared.is_changed = true;
  };
  follow(graph.outputs, known[id].output);
  follow(graph.between, known[id].between);
}

std::vector<DataType> GraphState::Types() const {
  std::vector<DataType> types;
  for (const Known& each : known) types.push_back(each.type);
  return types;
}

// --------------------------------------------------------------------------------- nodes

const graph::Attribute* GraphState::Find(const graph::Node& node, std::string_view name) {
  const auto found =
      std::find_if(node.attributes.begin(), node.attributes.end(),
                   [&](const graph::Attribute& attribute) { return attribute.name == name; });
  return found == node.attributes.end() ? nullptr : &*found;
}

void GraphState::DropAttribute(graph::Node& node, std::string_view name) {
  const auto end = std::remove_if(node.attributes.begin(), node.attributes.end(),
                                  [&](const graph::Attribute& each) { return each.name == name; });
  if (end == node.attributes.end()) return;
  node.attributes.erase(end, node.attributes.end());
  node.is_changed = true;
}

void GraphState::SetAttribute(graph::Node& node, graph::Attribute attribute) {
  DropAttribute(node, attribute.name);
  node.attributes.push_back(std::move(attribute));
  node.is_changed = true;
}

void GraphState::SetOptions(graph::Node& node, std::int64_t opset, std::optional<bool> saturate,
                            std::optional<RoundingMode> round_mode) {
  const auto set = [&](std::string_view name, bool is_usual, const graph::Attribute& attribute) {
    DropAttribute(node, name);
    if (!is_usual && graph::FirstOpsetOf(name) <= opset) SetAttribute(node, attribute);
  };
  if (saturate) set("saturate", *saturate, graph::IntAttribute("saturate", 0));
  if (round_mode) {
    set("round_mode", *round_mode == RoundingMode::kUp,
        graph::TextAttribute("round_mode", graph::RoundModeText(*round_mode)));
  }
}

graph::Attribute GraphState::ToAttribute(std::int64_t opset, DataType to) {
  const graph::VersionInForce version = graph::FindVersion(CastOperator::kCast, opset);
  if (version.row != nullptr && !version.row->to_is_int) {
    const TypeInfo* const info = FindType(to);
    return graph::TextAttribute("to", info == nullptr ? "UNDEFINED" : info->onnx_name);
  }
  return graph::IntAttribute("to", static_cast<std::int64_t>(to));
}

bool GraphState::IsCast(const graph::Node& node, CastOperator* op) {
  if (!node.domain.empty() || (node.op_type != "Cast" && node.op_type != "CastLike")) return false;
  if (op != nullptr) {
    *op = node.op_type == "Cast" ? CastOperator::kCast : CastOperator::kCastLike;
  }
  return true;
}

void GraphState::CheckCast(const graph::Node& node, std::int64_t at) const {
  const std::vector<graph::NodeAttribute> attributes = graph::AttributesOf(node);
  const graph::NodePlace place{graph.body, node};
  const DataType from = known[node.inputs[0]].type;
  if (node.op_type == "Cast") {
    (void)ReadCast(place, attributes, at, from, as_tests());
  } else {
    (void)ReadCastLike(place, attributes, at, from, known[node.inputs[1]].type, as_tests());
  }
}

// --------------------------------------------------------------------------------- names

void GraphState::CheckValueName(std::string_view name, std::string_view what) const {
  CheckName(name, what);
  if (graph.body.Find(name)) {
    Refuse("the name " + Quoted(name) + " of " + std::string(what) +
           " is taken; a value of the graph has it");
  }
}

void GraphState::CheckNodeName(std::string_view name) const {
  CheckName(name, "a node");
  if (names.contains(std::string(name))) {
    Refuse("the name " + Quoted(name) + " of a node is taken; another node has it");
  }
}

std::string GraphState::FreeNodeName(std::string_view op_type) {
  std::uint64_t& next = counters[std::string(op_type)];
  for (;;) {
    std::string name = std::string(op_type) + '_' + std::to_string(next);
    ++next;
    if (!names.contains(name)) return name;
  }
}

std::string GraphState::FreeValueName(const std::string& wanted) const {
  if (!graph.body.Find(wanted)) return wanted;
  for (std::uint64_t i = 1;; ++i) {
    std::string name = wanted + '_' + std::to_string(i);
    if (!graph.body.Find(name)) return name;
  }
}

// -------------------------------------------------------------------------------- access

GraphState& GraphAccess::State(Graph& graph) {
  if (graph.state_ == nullptr) graph.state_ = std::make_unique<GraphState>(GraphOptions());
  return *graph.state_;
}

const GraphState& GraphAccess::State(const Graph& graph) {
  static const GraphState kEmpty{GraphOptions()};
  return graph.state_ == nullptr ? kEmpty : *graph.state_;
}

}  // namespace tensorcast
