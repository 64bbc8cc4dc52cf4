// Values become ports: a graph's input in every node that reads it, what a node gives where an edge
// brings it. Names are MDF's, which its engine takes for Python's: others stand in the metadata.
//
// SPDX-License-Identifier: Apache-2.0
#include "mdf/model_of_graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/cast_operator.h"
#include "graph/constant_operator.h"
#include "mdf/distinct_ids.h"
#include "mdf/literal.h"
#include "mdf/model.h"
#include "tensorcast/version.h"
#include "words/error_text.h"

namespace tensorcast::mdf {
namespace {

using graph::kNoValue;
using graph::ValueId;
using words::Quoted;

// Names that MDF's expressions would take for something else, and those of a function's arguments,
// which bind what has their name in the node: Python's words, and ours.
constexpr std::string_view kTaken[] = {
    "False",      "None",        "True",     "and",      "as",   "assert", "async",  "await",
    "break",      "class",       "continue", "def",      "del",  "elif",   "else",   "except",
    "finally",    "for",         "from",     "global",   "if",   "import", "in",     "is",
    "lambda",     "nonlocal",    "not",      "or",       "pass", "raise",  "return", "try",
    "while",      "with",        "yield",    "constant", "math", "numpy",  "to",     "saturate",
    "round_mode", "target_type", "value",    "result"};

bool IsName(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), is_part) &&
         std::find(std::begin(kTaken), std::end(kTaken), text) == std::end(kTaken);
}

Integer Whole(std::uint64_t value) { return {false, value}; }

Value TextValue(std::string_view text) { return std::string(text); }

// What gives a value in the MDF model: a port of a node; of an input of the graph the port's id.
struct Source {
  std::string node;
  std::string port;
  bool is_input = false;
};

// A node on its way into the document.
struct MadeNode {
  explicit MadeNode(std::string name) : id(std::move(name)) {}
  std::string id;
  Object inputs, functions, parameters, outputs;
};

class ModelWriter {
 public:
  explicit ModelWriter(const GraphState& state) : state_(state), graph_(state.graph) {}

  Value Write() {
    if (!graph_.functions.empty()) {
      Refuse("the model has functions of its own, which MDF does not have");
    }
    if (graph_.sparse_initializers != 0) Refuse("the model has sparse constants");
    for (const auto& handle : state_.outputs) outputs_.insert(handle.index);
    FindUses();
    for (const graph::Node& node : graph_.body.nodes) {
      if (!node.name.empty()) node_ids_.Take(node.name);
    }
    AddInputs();
    AddConstants();
    for (const graph::Node& node : graph_.body.nodes) {
      if (IsUsed(node)) AddNode(node);
    }
    AddOutputs();
    return Document();
  }

 private:
  // ------------------------------------------------------------------------------- values

  // What no output needs is left out: MDF would take it for an output.
  void FindUses() {
    for (std::size_t i = graph_.body.nodes.size(); i-- > 0;) {
      const graph::Node& node = graph_.body.nodes[i];
      if (IsUsed(node)) read_.insert(node.inputs.begin(), node.inputs.end());
    }
  }
  bool IsUsed(const graph::Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return read_.contains(id) || outputs_.contains(id); });
  }

  void AddInputs() {
    for (const graph::Declaration& input : graph_.inputs) {
      const std::string& name = graph_.body.name(input.value);
      sources_[input.value] = {{}, FreePort(name), true};
      declarations_[input.value] = &input;
      if (read_.contains(input.value) || outputs_.contains(input.value)) continue;
      // One that nothing reads stays an input, by a node that has its port alone.
      MadeNode made(node_ids_.Free("input_" + name));
      (void)AddPort(made, input.value, {});
      Finish(made);
    }
  }

  // A port's id, of which those of inputs must differ.
  std::string FreePort(const std::string& name) {
    return ports_.Free(IsName(name) ? name : Made(name));
  }

  static std::string Made(const std::string& name) {
    std::string id = "x_";
    for (const char c : name) {
      const bool is_plain =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      id += is_plain ? c : '_';
    }
    return id;
  }

  void AddConstants() {
    for (const graph::Initializer& each : graph_.initializers) {
      const std::string& name = graph_.body.name(each.value);
      if (sources_.contains(each.value)) {
        Refuse("input " + Quoted(name) + " has a default value, whose type MDF does not keep");
      }
      if (!read_.contains(each.value) && !outputs_.contains(each.value)) continue;
      AddConstant(each.value, node_ids_.Free(name), each.tensor.data->Read(),
                  "constant " + Quoted(name));
    }
  }

  // A node that holds a list, and casts it to its type where numpy would give it another.
  void AddConstant(ValueId value, const std::string& id, const graph::Constant& tensor,
                   const std::string& what) {
    Literal literal = LiteralOf(tensor, what);
    elements_ += tensor.elements;
    if (elements_ > kMostValues / 2) {
      Refuse("the constants have more than " + std::to_string(kMostValues / 2) +
             " elements, the most that an MDF file of ours holds");
    }
    MadeNode made(id);
    const bool is_cast = literal.type != tensor.type;
    made.parameters.push_back({"values", Object{{"value", std::move(literal.value)}}});
    if (is_cast) {
      Object args{{"input", TextValue("values")},
                  {"to", Whole(static_cast<std::uint64_t>(tensor.type))}};
      if (IsSaturated(tensor.type)) args.push_back({"saturate", Whole(0)});
      made.functions.push_back(
          {"result", Object{{"function", TextValue("onnx::Cast")}, {"args", std::move(args)}}});
      // MDF evaluates functions before parameters, but those that only hold a value before both.
    }
    Give(value, made, is_cast ? "result" : "values");
  }

  static bool IsSaturated(DataType type) {
    const TypeInfo& row = *FindType(type);
    return row.is_float() && row.bits == 8 && row.has_zero;
  }

  // Ends a node whose output is a value.
  void Give(ValueId value, MadeNode& made, std::string_view term) {
    const std::string& name = graph_.body.name(value);
    const bool is_final = outputs_.contains(value) && !read_.contains(value);
    // An output of the graph that nobody reads is the port itself.
    const std::string port = is_final ? FreePort(name) : "output";
    if (is_final) finished_.insert(value);
    Object said{{"value", TextValue(term)}};
    if (is_final && port != name) {
      said.push_back({"metadata", Object{{std::string(kOnnxName), TextValue(name)}}});
    }
    made.outputs.push_back({port, std::move(said)});
    sources_[value] = {made.id, port, false};
    Finish(made);
  }

  void Finish(MadeNode& made) {
    Object node;
    for (auto& [name, part] : {std::pair<std::string_view, Object&>{"input_ports", made.inputs},
                               {"functions", made.functions},
                               {"parameters", made.parameters},
                               {"output_ports", made.outputs}}) {
      if (!part.empty()) node.push_back({std::string(name), std::move(part)});
    }
    nodes_.push_back({made.id, std::move(node)});
  }

  // The port of a node by which a value comes; `wanted`: its id where an edge brings it.
  std::string AddPort(MadeNode& made, ValueId value, const std::string& wanted) {
    const Source& source = sources_.at(value);
    std::string id = source.is_input ? source.port : wanted;
    const auto has = [&](const std::string& port) {
      return std::any_of(made.inputs.begin(), made.inputs.end(),
                         [&](const Member& each) { return each.name == port; });
    };
    if (source.is_input) {
      if (!has(id)) made.inputs.push_back({id, InputObject(value)});
      return id;
    }
    std::string& free = edge_ports_.try_emplace(wanted, wanted).first->second;
    while (ports_.Has(free)) free += '_';  // ids are only ever taken: the next port begins here
    id = free;
    while (has(id) || ports_.Has(id)) id += '_';
    made.inputs.push_back({id, Object()});
    edges_.push_back({source.node + '.' + source.port + " to " + made.id + '.' + id,
                      Object{{"sender", TextValue(source.node)},
                             {"receiver", TextValue(made.id)},
                             {"sender_port", TextValue(source.port)},
                             {"receiver_port", TextValue(id)}}});
    return id;
  }

  Value InputObject(ValueId value) {
    const graph::Declaration& declared = *declarations_.at(value);
    Object said;
    const bool is_known =
        declared.has_shape &&
        std::all_of(declared.shape.begin(), declared.shape.end(),
                    [](const auto& dimension) { return dimension.size.has_value(); });
    if (is_known) {
      List shape;
      for (const auto& dimension : declared.shape) shape.push_back(Whole(*dimension.size));
      said.push_back({"shape", std::move(shape)});
    }
    said.push_back({"type", TextValue(TypeName(state_.known[value].type))});
    const std::string& name = graph_.body.name(value);
    if (sources_.at(value).port != name) {
      said.push_back({"metadata", Object{{std::string(kOnnxName), TextValue(name)}}});
    }
    return said;
  }

  // -------------------------------------------------------------------------------- nodes

  void AddNode(const graph::Node& node) {
    if (!node.domain.empty() || (node.op_type != "Cast" && node.op_type != "CastLike" &&
                                 node.op_type != "Identity" && node.op_type != "Constant")) {
      Refuse("node " + Quoted(graph_.body.NodeText(node)) + " is " +
             Quoted(node.domain.empty() ? node.op_type : node.domain + '.' + node.op_type) +
             "; MDF files of ours have Cast, CastLike, Constant and Identity");
    }
    const ValueId output = node.outputs.at(0);
    if (output == kNoValue) return;
    const std::string id = node.name.empty() ? node_ids_.Free(node.op_type) : node.name;
    if (!written_.insert(id).second) Refuse("two nodes have the name " + Quoted(id));
    if (node.op_type == "Constant") return AddConstantNode(node, output, id);
    MadeNode made(id);
    Object args{{"input", TextValue(AddPort(made, node.inputs.at(0), "input"))}};
    if (node.op_type == "CastLike") {
      args.push_back({"target_type", TextValue(AddPort(made, node.inputs.at(1), "like"))});
    }
    if (node.op_type == "Cast") {
      args.push_back({"to", Whole(static_cast<std::uint64_t>(state_.known[output].type))});
    }
    if (GraphState::IsCast(node)) AddOptions(node, args);
    made.functions.push_back(
        {"result", Object{{"function", "onnx::" + node.op_type}, {"args", std::move(args)}}});
    Give(output, made, "result");
  }

  static void AddOptions(const graph::Node& node, Object& args) {
    const graph::Attribute* const saturate = GraphState::Find(node, "saturate");
    if (saturate != nullptr) args.push_back({"saturate", Whole(saturate->i == 0 ? 0 : 1)});
    constexpr std::uint64_t kLongest = 16;
    if (const graph::Attribute* const mode = GraphState::Find(node, "round_mode")) {
      args.push_back({"round_mode", mode->s.Text(kLongest)});
    }
  }

  void AddConstantNode(const graph::Node& node, ValueId output, const std::string& id) {
    const graph::NodePlace place{graph_.body, node};
    const std::vector<graph::NodeAttribute> attributes = graph::AttributesOf(node);
    const std::string what = "constant " + Quoted(id);
    const graph::NodeAttribute& attribute = attributes.at(0);
    AddConstant(output, id,
                attribute.name == "value"
                    ? graph::ReadConstantTensor(place, attribute).data->Read()
                    : graph::ReadConstantValues(place, attribute, state_.opset()),
                what);
  }

  // Outputs that are inputs, or that a node reads too, by an identity: MDF's outputs are what no
  // edge takes.
  void AddOutputs() {
    for (const GraphValue& handle : state_.outputs) {
      const ValueId value = handle.index;
      if (finished_.contains(value)) continue;
      const std::string& name = graph_.body.name(value);
      MadeNode made(node_ids_.Free("output_" + name));
      const std::string port = AddPort(made, value, "input");
      made.functions.push_back({"result", Object{{"function", TextValue("onnx::Identity")},
                                                 {"args", Object{{"input", TextValue(port)}}}}});
      const std::string id = FreePort(name);
      Object said{{"value", TextValue("result")}};
      if (id != name) {
        said.push_back({"metadata", Object{{std::string(kOnnxName), TextValue(name)}}});
      }
      made.outputs.push_back({id, std::move(said)});
      Finish(made);
    }
  }

  Value Document() {
    Object graph{{"nodes", std::move(nodes_)}};
    if (!edges_.empty()) graph.push_back({"edges", std::move(edges_)});
    return Object{
        {"model", Object{{"format", TextValue("ModECI MDF v0.4")},
                         {"generating_application", TextValue("tensorcast " TENSORCAST_VERSION)},
                         {"onnx_opset_version", std::to_string(state_.opset())},
                         {"graphs", Object{{"graph", std::move(graph)}}}}}};
  }

  const GraphState& state_;
  const graph::Graph& graph_;
  std::set<ValueId> outputs_;
  std::set<ValueId> read_;      // by nodes that an output needs
  std::set<ValueId> finished_;  // outputs that are ports
  std::unordered_map<ValueId, Source> sources_;
  std::unordered_map<ValueId, const graph::Declaration*> declarations_;
  DistinctIds node_ids_, ports_;
  std::unordered_map<std::string, std::string> edge_ports_;  // what a wanted id becomes
  std::set<std::string> written_;
  std::uint64_t elements_ = 0;  // of constants
  Object nodes_, edges_;
};

}  // namespace

Value ModelOfGraph(const GraphState& state) { return ModelWriter(state).Write(); }

}  // namespace tensorcast::mdf
