// Each function becomes a node; ports, edges, and parameters that only hold something become
// nothing, as their values are what is behind them. What MDF 0.4.15's engine does is told in
// docs/mdf.md.
//
// SPDX-License-Identifier: Apache-2.0
#include "mdf/graph_of_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/failure.h"
#include "core/onnx_numbers.h"
#include "graph/cast_operator.h"
#include "graph/graph_state.h"
#include "mdf/distinct_ids.h"
#include "mdf/literal.h"
#include "words/error_text.h"

namespace tensorcast::mdf {
namespace {

using words::Quoted;

// MDF 0.4.15 runs every model by this opset: it says what a cast means where the file asks for no
// newer one.
constexpr std::int64_t kMdfOpset = 15;
// A parameter that is another, and so on.
constexpr std::size_t kMostLinks = 500;

void Check(const Status& status, const std::string& error) {
  if (!status.ok()) throw core::Failure(status, error);
}

// An input of the graph: ports of one name.
struct GraphInput {
  std::string id;
  ValueInfo info;
  const Value* default_value = nullptr;
  std::string what;
  std::string type_text;  // as the port has it
};

std::string PortText(const InputPort& port, const Node& node) {
  return "input port " + Quoted(port.id) + " of node " + Quoted(node.id);
}

std::vector<std::optional<std::uint64_t>> Known(const std::vector<std::uint64_t>& shape) {
  return {shape.begin(), shape.end()};
}

// A number alone is a vector of one: a function that reads it makes it one.
graph::Constant VectorOf(const Value& literal, const std::string& what) {
  graph::Constant tensor = TensorOf(literal, what);
  if (tensor.shape.empty()) tensor.shape = {1};
  return tensor;
}

// By the ids of their ports, which is how MDF's engine is given them.
std::vector<GraphInput> GatherInputs(const Model& model) {
  std::vector<GraphInput> inputs;
  std::unordered_map<std::string, std::size_t> places;
  for (const Node& node : model.nodes) {
    for (const InputPort& port : node.inputs) {
      if (port.edge != SIZE_MAX) continue;
      const auto [place, is_new] = places.try_emplace(port.id, inputs.size());
      if (is_new) {
        GraphInput& made = inputs.emplace_back();
        made.id = port.id;
        made.info.name = port.name;
        made.default_value = port.default_value;
        made.what = PortText(port, node);
        made.type_text = port.type_text;
      }
      GraphInput& input = inputs[place->second];
      std::optional<DataType> type = port.type;
      if (port.default_value != nullptr && !type) {
        type = TensorOf(*port.default_value, "the default_value of " + input.what).type;
      }
      if (is_new) {
        input.info.type = type.value_or(DataType::kUndefined);
        input.info.has_default = port.default_value != nullptr;
        input.info.has_shape = port.shape.has_value();
        if (port.shape) input.info.shape = Known(*port.shape);
        continue;
      }
      if (input.default_value != nullptr || port.default_value != nullptr) {
        Refuse(PortText(port, node) + " has the name of another, and one of them a default_value");
      }
      if (input.info.type == DataType::kUndefined) {
        input.info.type = type.value_or(DataType::kUndefined);
      } else if (type && *type != input.info.type) {
        Wrong(PortText(port, node) + " is " + std::string(TypeName(*type)) + ", and " + input.what +
              ", which gets the same values, " + std::string(TypeName(input.info.type)));
      }
      if (!port.shape || input.info.shape != Known(*port.shape)) {
        input.info.has_shape = false;
        input.info.shape.clear();
      }
    }
  }
  return inputs;
}

// What a name in a node stands for.
struct Held {
  GraphValue value;                   // a value of the graph, or
  const Value* literal = nullptr;     // what the file says, or
  const std::string* text = nullptr;  // an expression that is neither a name nor a number
};

class Builder {
 public:
  Builder(const Model& model, const LoadOptions& options) : model_(model) {
    GraphOptions made;
    made.opset = std::max(kMdfOpset, model.opset);
    made.raises_opset = true;
    made.contradictions = options.contradictions;
    std::string error;
    Check(Graph::Create(made, &graph_, &error), error);
    AddInputs(options);
  }

  Graph Build() {
    outputs_.resize(model_.nodes.size());
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) BuildNode(i);
    MarkOutputs();
    return std::move(graph_);
  }

 private:
  // ------------------------------------------------------------------------------- inputs

  void AddInputs(const LoadOptions& options) {
    for (const GraphInput& input : GatherInputs(model_)) {
      const DataType type = InputType(input, options);
      std::vector<GraphDimension> shape;
      for (const auto& size : input.info.shape) shape.push_back({size});
      GraphValue value;
      std::string error;
      Check(input.info.has_shape ? graph_.AddInput(input.info.name, type, shape, &value, &error)
                                 : graph_.AddInput(input.info.name, type, &value, &error),
            error);
      inputs_.emplace(input.id, value);
      names_.insert(input.info.name);
      if (input.default_value != nullptr) AddDefault(input, value);
    }
  }

  static DataType InputType(const GraphInput& input, const LoadOptions& options) {
    if (input.info.type != DataType::kUndefined) return input.info.type;
    const auto named = options.input_types.find(input.info.name);
    if (named != options.input_types.end()) return named->second;
    if (options.other_inputs) return *options.other_inputs;
    Refuse(input.what +
           (input.type_text.empty() ? " has no type" : " has the type " + Quoted(input.type_text)) +
           ", so what it gets decides; give it a type such as float32 in the file");
  }

  void AddDefault(const GraphInput& input, GraphValue value) {
    const std::string what = "the default_value of " + input.what;
    graph::Constant tensor = VectorOf(*input.default_value, what);
    if (tensor.type != input.info.type) {
      Refuse(what + " is " + std::string(TypeName(tensor.type)) + ", and the port " +
             std::string(TypeName(input.info.type)));
    }
    GraphAccess::State(graph_).graph.initializers.push_back(
        {value.index, graph::BuiltTensor(input.info.name, std::move(tensor))});
  }

  // -------------------------------------------------------------------------------- nodes

  // The names of the node that is being built.
  struct Name {
    const Term* term = nullptr;  // null: an input port
    bool is_open = false;        // it is being looked into
    bool is_known = false;
    Held held;
  };
  using Scope = std::unordered_map<std::string_view, Name>;
  using Arguments = std::unordered_map<std::string_view, Held>;

  void BuildNode(std::size_t index) {
    node_ = &model_.nodes[index];
    scope_.clear();
    for (const InputPort& port : node_->inputs) {
      Name& name = scope_[port.id];
      name.is_known = true;
      if (port.edge != SIZE_MAX) {
        const Edge& edge = model_.edges[port.edge];
        name.held = outputs_[edge.sender][edge.sender_port];
      } else {
        name.held.value = inputs_.at(port.id);
      }
    }
    functions_ = 0;
    for (const Term& term : node_->terms) {
      scope_[term.id].term = &term;
      if (!term.function.empty()) ++functions_;
    }
    for (const Term& term : node_->terms) (void)Resolve(term.id, 0);
    for (const OutputPort& port : node_->outputs) {
      const std::string what = "output port " + Quoted(port.id) + " of " + Where();
      const Held held = Expression(port.value, nullptr, 0);
      if (held.text != nullptr) RefuseExpression(what, port.value);
      outputs_[index].push_back(held);
    }
  }

  std::string Where() const { return "node " + Quoted(node_->id); }

  std::string TermText(const Term& term) const {
    return (term.is_parameter ? "parameter " : "function ") + Quoted(term.id) + " of " + Where();
  }

  [[noreturn]] static void RefuseExpression(const std::string& what, const std::string& text) {
    Refuse(what + " is the expression " + Quoted(text) +
           ", which is neither a name of its node nor a number; others are not evaluated");
  }

  // What a name of the node stands for; `links`: how many others led here.
  Held Resolve(std::string_view id, std::size_t links) {
    Name& name = scope_.at(id);
    if (name.is_known) return name.held;
    if (name.is_open) Refuse(TermText(*name.term) + " depends on itself: it keeps state");
    if (links == kMostLinks) {
      Refuse(TermText(*name.term) + " stands behind " + std::to_string(kMostLinks) + " others");
    }
    name.is_open = true;
    const Held held = Evaluate(*name.term, links + 1);
    Name& again = scope_.at(id);
    again.held = held;
    again.is_known = true;
    return held;
  }

  Held Evaluate(const Term& term, std::size_t links) {
    const Arguments arguments = ArgumentsOf(term, links);
    if (term.function.empty()) {
      return ValueFrom(*term.value, &arguments, links, TermText(term));
    }
    for (const Function& row : kFunctions) {
      if (row.name == term.function) return (this->*row.build)(term, arguments, links);
    }
    std::string names;
    for (const Function& row : kFunctions) {
      names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    Refuse(TermText(term) + " is " + Quoted(term.function) + ", which is not run here; " + names +
           " are");
  }

  // In their order: each may name those before it.
  Arguments ArgumentsOf(const Term& term, std::size_t links) {
    Arguments arguments;
    if (term.args == nullptr) return arguments;
    for (const Member& arg : *term.args) {
      if (arg.value.IsNull()) continue;
      const Held held = ValueFrom(arg.value, &arguments, links,
                                  "argument " + Quoted(arg.name) + " of " + TermText(term));
      arguments[arg.name] = held;
    }
    return arguments;
  }

  Held ValueFrom(const Value& value, const Arguments* arguments, std::size_t links,
                 const std::string& what) {
    if (const auto* const text = value.As<std::string>()) {
      return Expression(*text, arguments, links);
    }
    if (value.IsNull() || value.As<Object>() != nullptr) {
      Refuse(what + " is " + std::string(value.Kind()) + ", which is not a value");
    }
    return {{}, &value};
  }

  Held Expression(const std::string& text, const Arguments* arguments, std::size_t links) {
    if (arguments != nullptr) {
      const auto argument = arguments->find(text);
      if (argument != arguments->end()) return argument->second;
    }
    if (scope_.contains(text)) return Resolve(text, links);
    if (const auto number = NumberOfText(text)) return {{}, &made_.emplace_back(*number)};
    return {{}, nullptr, &text};
  }

  // ---------------------------------------------------------------------------- functions

  struct Function {
    std::string_view name;
    Held (Builder::*build)(const Term&, const Arguments&, std::size_t);
  };
  static const std::array<Function, 4> kFunctions;

  // An argument of a function, or what has its name in the node, as MDF's engine binds it.
  std::optional<Held> Find(const Term& term, const Arguments& arguments, std::string_view name,
                           std::size_t links) {
    const auto argument = arguments.find(name);
    if (argument != arguments.end()) return argument->second;
    const auto sibling = scope_.find(name);
    if (sibling == scope_.end() || sibling->second.term == &term) return std::nullopt;
    return Resolve(name, links);
  }

  static void CheckArguments(const std::string& what, const Arguments& arguments,
                             std::initializer_list<std::string_view> known) {
    for (const auto& [name, held] : arguments) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::string names;
      for (const std::string_view each : known) {
        names += (names.empty() ? "" : ", ") + std::string(each);
      }
      Wrong(what + " has the argument " + Quoted(name) + "; it has " + names);
    }
  }

  GraphValue TensorFrom(const Term& term, const Arguments& arguments, std::string_view name,
                        std::size_t links) {
    const std::optional<Held> held = Find(term, arguments, name, links);
    if (!held) Wrong(TermText(term) + " has no argument " + Quoted(name));
    const std::string what = "argument " + Quoted(name) + " of " + TermText(term);
    if (held->text != nullptr) RefuseExpression(what, *held->text);
    return held->literal == nullptr ? held->value : TensorFrom(*held->literal, true, what);
  }

  // `as_vector`: a number is a vector of one, as functions make it.
  GraphValue TensorFrom(const Value& literal, bool as_vector, const std::string& what) {
    GraphValue& value = constants_[{&literal, as_vector}];
    if (value.graph != 0) return value;
    const graph::Constant tensor = as_vector ? VectorOf(literal, what) : TensorOf(literal, what);
    std::string error;
    Check(graph_.AddConstant({}, tensor.view(), &value, &error), error);
    return value;
  }

  CastNode Options(const Term& term, const Arguments& arguments, std::size_t links) {
    CastNode node;
    node.name = NodeName(term);
    if (const auto saturate = Find(term, arguments, "saturate", links)) {
      const std::optional<double> number = NumberOf(*saturate);
      if (!number || (*number != 0 && *number != 1)) {
        Wrong("saturate of " + TermText(term) + " is not 0 or 1");
      }
      node.saturate = *number != 0;
    }
    if (const auto mode = Find(term, arguments, "round_mode", links)) {
      const auto known = graph::RoundModeOf(mode->text == nullptr ? "" : *mode->text);
      if (!known) Wrong("round_mode of " + TermText(term) + " is not one of up, down, nearest");
      node.round_mode = *known;
    }
    return node;
  }

  // A number alone, in a list or as a truth value, as Python's int() would take it.
  static std::optional<double> NumberOf(const Held& held) {
    const Value* value = held.literal;
    while (value != nullptr) {
      const auto* const list = value->As<List>();
      if (list == nullptr) break;
      value = list->size() == 1 ? list->data() : nullptr;
    }
    if (value == nullptr) return std::nullopt;
    if (const auto* const flag = value->As<bool>()) return *flag ? 1 : 0;
    if (const auto* const number = value->As<double>()) return *number;
    if (const auto* const whole = value->As<Integer>()) {
      const auto number = static_cast<double>(whole->magnitude);
      return whole->negative ? -number : number;
    }
    return std::nullopt;
  }

  DataType TypeTo(const Term& term, const Arguments& arguments, std::size_t links) {
    const std::optional<Held> to = Find(term, arguments, "to", links);
    if (!to) Wrong(TermText(term) + " has no `to`");
    if (to->text != nullptr) {
      if (const std::optional<DataType> type = ParseType(*to->text)) return *type;
      Wrong("`to` of " + TermText(term) + " is " + Quoted(*to->text) +
            ", which is neither a type nor a name of the node");
    }
    const std::optional<double> number = NumberOf(*to);
    if (!number || *number < 0 || *number > INT32_MAX || *number != std::floor(*number)) {
      Wrong("`to` of " + TermText(term) + " is not the number of a type, which the file says");
    }
    const auto code = static_cast<std::uint64_t>(*number);
    const DataType type = core::TypeOfNumber(code);
    if (type == DataType::kUndefined) {
      const std::string_view name = core::NameOfUnknownType(code);
      Wrong("`to` of " + TermText(term) + " is " + std::to_string(code) +
            (name.empty() ? "" : " (" + std::string(name) + ")") +
            ", which is not the number of a type that is cast to");
    }
    return type;
  }

  Held Cast(const Term& term, const Arguments& arguments, std::size_t links) {
    CheckArguments(TermText(term), arguments, {"input", "to", "saturate", "round_mode"});
    const GraphValue input = TensorFrom(term, arguments, "input", links);
    CastNode node = Options(term, arguments, links);
    node.to = TypeTo(term, arguments, links);
    Held held;
    std::string error;
    Check(graph_.AddCast(input, node, &held.value, &error), error);
    return held;
  }

  Held CastLike(const Term& term, const Arguments& arguments, std::size_t links) {
    CheckArguments(TermText(term), arguments, {"input", "target_type", "saturate", "round_mode"});
    const GraphValue input = TensorFrom(term, arguments, "input", links);
    const GraphValue target = TensorFrom(term, arguments, "target_type", links);
    Held held;
    std::string error;
    Check(graph_.AddCastLike(input, target, Options(term, arguments, links), &held.value, &error),
          error);
    return held;
  }

  Held Identity(const Term& term, const Arguments& arguments, std::size_t links) {
    CheckArguments(TermText(term), arguments, {"input"});
    const GraphValue input = TensorFrom(term, arguments, "input", links);
    Held held;
    std::string error;
    Check(graph_.AddIdentity(input, NodeName(term), {}, &held.value, &error), error);
    return held;
  }

  // Its value goes on as it stands in the file.
  Held Constant(const Term& term, const Arguments& arguments, std::size_t /*links*/) {
    static constexpr std::array<std::string_view, 7> kNames = {
        "value",        "value_int",    "value_ints",   "value_float",
        "value_floats", "value_string", "value_strings"};
    if (arguments.size() != 1 ||
        std::find(kNames.begin(), kNames.end(), arguments.begin()->first) == kNames.end()) {
      Wrong(TermText(term) + " does not have exactly one argument, its value");
    }
    const Held& held = arguments.begin()->second;
    if (held.text != nullptr) RefuseExpression("the value of " + TermText(term), *held.text);
    return held;
  }

  std::string NodeName(const Term& term) {
    const std::string wanted = functions_ == 1 ? node_->id : node_->id + '/' + term.id;
    return node_names_.Free(wanted);
  }

  // ------------------------------------------------------------------------------ outputs

  // What no edge takes, under its port's name where that is the only one.
  void MarkOutputs() {
    std::map<std::string, std::size_t> ports;
    for (const Node& node : model_.nodes) {
      for (const OutputPort& port : node.outputs) {
        if (!port.is_taken) ++ports[port.name];
      }
    }
    if (ports.empty()) Wrong("has no output: no output port is without an edge");
    DistinctIds taken;
    for (const std::string& name : names_) taken.Take(name);
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const Node& node = model_.nodes[i];
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        const OutputPort& port = node.outputs[k];
        if (port.is_taken) continue;
        const bool is_alone = ports.at(port.name) == 1 && !names_.contains(port.name);
        MarkOutput(outputs_[i][k], taken.Free(is_alone ? port.name : node.id + '_' + port.name),
                   "output port " + Quoted(port.id) + " of node " + Quoted(node.id));
      }
    }
  }

  void MarkOutput(const Held& held, const std::string& name, const std::string& what) {
    const GraphValue value =
        held.literal == nullptr ? held.value : TensorFrom(*held.literal, false, what);
    std::string error;
    // A name that was made up for another value makes room.
    GraphValue other;
    if (graph_.FindValue(name, &other).ok() && !(other == value)) {
      std::string room = name;
      GraphValue none;
      do {
        room += '_';
      } while (graph_.FindValue(room, &none).ok());
      Check(graph_.RenameValue(other, room, &error), error);
    }
    Check(graph_.MarkOutput(value, name, &error), error);
  }

  const Model& model_;
  Graph graph_;
  std::unordered_map<std::string, GraphValue> inputs_;  // by the ids of their ports
  std::set<std::string> names_;                         // of the inputs
  std::map<std::pair<const Value*, bool>, GraphValue> constants_;
  std::deque<Value> made_;  // literals of texts
  std::vector<std::vector<Held>> outputs_;
  DistinctIds node_names_;
  const Node* node_ = nullptr;
  Scope scope_;
  std::size_t functions_ = 0;  // of the node
};

const std::array<Builder::Function, 4> Builder::kFunctions = {{
    {"onnx::Cast", &Builder::Cast},
    {"onnx::CastLike", &Builder::CastLike},
    {"onnx::Constant", &Builder::Constant},
    {"onnx::Identity", &Builder::Identity},
}};

}  // namespace

std::vector<ValueInfo> InputsOf(const Model& model) {
  std::vector<ValueInfo> inputs;
  for (GraphInput& input : GatherInputs(model)) inputs.push_back(std::move(input.info));
  return inputs;
}

Graph GraphOfModel(const Model& model, const LoadOptions& options) {
  return Builder(model, options).Build();
}

}  // namespace tensorcast::mdf
