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
#include "text/error_text.h"
#include "text/utf8.h"

namespace tensorcast {

using graph::CastOperator;
using graph::kNoValue;
using graph::Refuse;
using graph::ValueId;
using text::Quoted;

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
  if (!text::IsUtf8(name)) {
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

GraphState::GraphState(const GraphOptions& given) : options(given), serial(NextSerial()) {
  graph.opsets[""] = options.opset;
}

std::int64_t GraphState::FirstOpsetOf(DataType type) {
  return type == DataType::kString ? 1 : graph::FirstOpsetOf(CastOperator::kCast, type);
}

std::int64_t GraphState::opset() const {
  const auto found = graph.opsets.find("");
  return found == graph.opsets.end() ? 0 : found->second;
}

ValueId GraphState::ValueOf(GraphValue handle, std::string_view what) const {
  const std::string text(what);
  if (handle.graph == 0) Refuse(text + " is an empty handle; give a value of this graph");
  if (handle.graph != serial) Refuse(text + " is a value of another graph");
  if (handle.index >= known.size() || !known[handle.index].is_there) {
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
                                                        text::CountText(count, "node"));
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
  for (const graph::Initializer& each : graph.initializers) {
    give(each.value, GraphValueKind::kConstant);
  }
  for (const graph::Declaration& each : graph.inputs) {
    give(each.value, GraphValueKind::kInput);
    inputs.push_back(Handle(each.value));
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
  for (const graph::Declaration& each : graph.outputs) {
    known[each.value].is_output = true;
    outputs.push_back(Handle(each.value));
  }
  IndexNodes();
}

void GraphState::Retype() {
  const std::vector<DataType> types = graph::TypesOf(graph, as_tests(), false);
  for (ValueId id = 0; id < known.size(); ++id) known[id].type = types[id];
  const auto follow = [&](std::vector<graph::Declaration>& declarations) {
    for (graph::Declaration& each : declarations) {
      const auto number = static_cast<std::uint64_t>(types[each.value]);
      if (!each.is_tensor || each.number == number || number == 0) continue;
      each.number = number;
      each.is_changed = true;
    }
  };
  follow(graph.outputs);
  follow(graph.between);
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
