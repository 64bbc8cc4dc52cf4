// The structure of a model: what its objects must have, who sends to whom, and in which order.
//
// SPDX-License-Identifier: Apache-2.0
#include "mdf/model.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "mdf/number_text.h"
#include "words/error_text.h"

namespace tensorcast::mdf {
namespace {

using words::Quoted;

constexpr std::string_view kFormat = "ModECI MDF v";
constexpr std::string_view kVersion = "0.";  // of those that are read

// A member that is there and is not null.
const Value* Given(const Value& object, std::string_view name) {
  const Value* const value = object.Find(name);
  return value == nullptr || value->IsNull() ? nullptr : value;
}

// The same as this kind of value; `expected`: what it is to be.
template <class T>
const T* GivenAs(const Value& object, std::string_view name, const std::string& where,
                 const char* expected) {
  const Value* const value = Given(object, name);
  if (value == nullptr) return nullptr;
  if (const T* const held = value->As<T>()) return held;
  Wrong(where + " has " + std::string(value->Kind()) + " as " + std::string(name) + "; " +
        expected);
}

std::string OptionalText(const Value& object, std::string_view name, const std::string& where) {
  const auto* const text = GivenAs<std::string>(object, name, where, "it is a text");
  return text == nullptr ? std::string() : *text;
}

std::string RequiredText(const Value& object, std::string_view name, const std::string& where) {
  std::string text = OptionalText(object, name, where);
  if (text.empty()) Wrong(where + " has no " + std::string(name));
  return text;
}

// The members of an object of objects, by their ids; none where there is no such member.
const Object& Children(const Value& parent, std::string_view name, const std::string& where) {
  static const Object kNone;
  const auto* const object = GivenAs<Object>(parent, name, where, "it is an object");
  if (object == nullptr) return kNone;
  for (const Member& child : *object) {
    if (child.value.As<Object>() == nullptr) {
      Wrong(where + " has " + std::string(child.value.Kind()) + " as " + Quoted(child.name) +
            " of its " + std::string(name) + "; it is an object");
    }
  }
  return *object;
}

void CheckId(const std::string& id, const std::string& what) {
  if (id.empty()) Wrong(what + " has an empty name");
}

std::string OnnxName(const Value& port, const std::string& id) {
  const Value* const metadata = Given(port, "metadata");
  const Value* const name = metadata == nullptr ? nullptr : metadata->Find(kOnnxName);
  const auto* const text = name == nullptr ? nullptr : name->As<std::string>();
  return text == nullptr || text->empty() ? id : *text;
}

// A list of sizes, or Python's text of a tuple of them, "(2, 3)".
std::optional<std::vector<std::uint64_t>> ShapeOf(const Value& port, const std::string& where) {
  const Value* const given = Given(port, "shape");
  if (given == nullptr) return std::nullopt;
  std::vector<std::uint64_t> shape;
  if (const auto* const list = given->As<List>()) {
    for (const Value& size : *list) {
      const auto* const whole = size.As<Integer>();
      if (whole == nullptr || whole->negative) return std::nullopt;  // -1 and the like: not known
      shape.push_back(whole->magnitude);
    }
    return shape;
  }
  const auto* const text = given->As<std::string>();
  if (text == nullptr) {
    Wrong(where + " has " + std::string(given->Kind()) +
          " as shape; it is a list or a text such as \"(2, 3)\"");
  }
  std::string_view rest = *text;
  const auto blanks = [&] {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  };
  const auto take = [&](char c) {
    blanks();
    if (!rest.starts_with(c)) return false;
    rest.remove_prefix(1);
    return true;
  };
  bool is_whole = take('(');
  while (is_whole && !take(')')) {
    blanks();
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const std::optional<Integer> size = ParseDigits(rest.substr(0, digits), 10, false);
    is_whole = size.has_value();
    if (!is_whole) break;
    shape.push_back(size->magnitude);
    rest.remove_prefix(digits);
    if (!take(',')) {
      is_whole = take(')');
      break;
    }
  }
  blanks();
  if (!is_whole || !rest.empty()) {
    Wrong(where + " has the shape " + Quoted(*text) + "; a text is one such as \"(2, 3)\"");
  }
  return shape;
}

InputPort ReadInput(const Member& member, const std::string& where) {
  const std::string what = "input port " + Quoted(member.name) + " of " + where;
  CheckId(member.name, what);
  InputPort port;
  port.id = member.name;
  port.name = OnnxName(member.value, port.id);
  port.type_text = OptionalText(member.value, "type", what);
  // These stand for more than one type, in Python or among MDF's files: ONNX's importer of MDF
  // writes "float" for every port.
  if (port.type_text != "float" && port.type_text != "int") port.type = ParseType(port.type_text);
  port.shape = ShapeOf(member.value, what);
  port.default_value = Given(member.value, "default_value");
  return port;
}

// A function is named by a text, or by an object that holds its arguments too.
void ReadFunction(const Value& object, const std::string& what, Term& term) {
  term.args = GivenAs<Object>(object, "args", what, "they are an object");
  const Value* const function = Given(object, "function");
  if (function == nullptr) return;
  if (const auto* const text = function->As<std::string>()) {
    term.function = *text;
    return;
  }
  const auto* const named = function->As<Object>();
  if (named == nullptr || named->size() != 1 || named->front().value.As<Object>() == nullptr ||
      term.args != nullptr) {
    Wrong(what + " has a function that is neither a name nor an object of one name and its args");
  }
  term.function = named->front().name;
  term.args = named->front().value.As<Object>();
}

Term ReadTerm(const Member& member, bool is_parameter, const std::string& where) {
  const std::string what =
      (is_parameter ? "parameter " : "function ") + Quoted(member.name) + " of " + where;
  CheckId(member.name, what);
  Term term;
  term.id = member.name;
  term.is_parameter = is_parameter;
  ReadFunction(member.value, what, term);
  term.value = Given(member.value, "value");
  for (const std::string_view state : {"default_initial_value", "time_derivative"}) {
    if (is_parameter && Given(member.value, state) != nullptr) {
      Refuse(what + " has " + std::string(state) + ": it keeps a value from one run to the next");
    }
  }
  if (const Value* const conditions = Given(member.value, "conditions")) {
    const auto* const list = conditions->As<List>();
    const auto* const object = conditions->As<Object>();
    if ((list != nullptr && !list->empty()) || (object != nullptr && !object->empty())) {
      Refuse(what + " has conditions, which graphs of casts do not have");
    }
  }
  if (term.function.empty() == (term.value == nullptr)) {
    Wrong(what + (term.function.empty() ? " has neither a value nor a function"
                                        : " has both a value and a function"));
  }
  return term;
}

Node ReadNode(const Member& member) {
  const std::string where = "node " + Quoted(member.name);
  CheckId(member.name, "a node");
  Node node;
  node.id = member.name;
  std::set<std::string_view> names;
  const auto take_name = [&](const std::string& name) {
    if (!names.insert(name).second) {
      Wrong(where + " has two values named " + Quoted(name) +
            " among its input ports, functions and parameters");
    }
  };
  for (const Member& port : Children(member.value, "input_ports", where)) {
    take_name(port.name);
    node.inputs.push_back(ReadInput(port, where));
  }
  for (const Member& function : Children(member.value, "functions", where)) {
    take_name(function.name);
    node.terms.push_back(ReadTerm(function, false, where));
  }
  for (const Member& parameter : Children(member.value, "parameters", where)) {
    take_name(parameter.name);
    node.terms.push_back(ReadTerm(parameter, true, where));
  }
  for (const Member& port : Children(member.value, "output_ports", where)) {
    const std::string what = "output port " + Quoted(port.name) + " of " + where;
    CheckId(port.name, what);
    node.outputs.push_back(
        {port.name, OnnxName(port.value, port.name), RequiredText(port.value, "value", what)});
  }
  return node;
}

// A weight of 1 leaves a value as it is.
void CheckWeight(const Value& edge, const std::string& what) {
  const Value* const parameters = Given(edge, "parameters");
  const Value* const weight = parameters == nullptr ? nullptr : Given(*parameters, "weight");
  if (weight == nullptr) return;
  const auto* const whole = weight->As<Integer>();
  const auto* const number = weight->As<double>();
  if ((whole != nullptr && *whole == Integer{false, 1}) || (number != nullptr && *number == 1)) {
    return;
  }
  std::string text(weight->Kind());
  if (whole != nullptr) text = IntegerText(*whole);
  if (number != nullptr) text = "another number";
  Refuse(what + " has the weight " + text +
         ", which multiplies; graphs of casts do not: only a weight of 1 is read");
}

class Connector {
 public:
  explicit Connector(Model& model) : model_(model) {
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
      nodes_.emplace(model.nodes[i].id, i);
      auto& ports = ports_.emplace_back();
      for (std::size_t k = 0; k < model.nodes[i].inputs.size(); ++k) {
        ports.inputs.emplace(model.nodes[i].inputs[k].id, k);
      }
      for (std::size_t k = 0; k < model.nodes[i].outputs.size(); ++k) {
        ports.outputs.emplace(model.nodes[i].outputs[k].id, k);
      }
    }
  }

  void Connect(const Member& member) {
    const std::string what = "edge " + Quoted(member.name);
    CheckWeight(member.value, what);
    const std::size_t sender = NodeOf(member.value, "sender", what);
    const std::size_t receiver = NodeOf(member.value, "receiver", what);
    const std::size_t from =
        PortOf(member.value, "sender_port", ports_[sender].outputs, sender, what);
    const std::size_t to =
        PortOf(member.value, "receiver_port", ports_[receiver].inputs, receiver, what);
    InputPort& port = model_.nodes[receiver].inputs[to];
    const std::string port_text =
        "input port " + Quoted(port.id) + " of node " + Quoted(model_.nodes[receiver].id);
    if (port.edge != SIZE_MAX) {
      Refuse(port_text + " has two edges, " + Quoted(model_.edges[port.edge].id) + " and " +
             Quoted(member.name) + ", whose values would be reduced to one");
    }
    if (port.default_value != nullptr) {
      Refuse(port_text + " has a default_value and the edge " + Quoted(member.name) +
             ": which of them it takes is up to a schedule");
    }
    port.edge = model_.edges.size();
    model_.nodes[sender].outputs[from].is_taken = true;
    model_.edges.push_back({member.name, sender, from});
  }

  // Puts the nodes into an order in which they can run: that of the file as far as it is one.
  void Sort() {
    const std::size_t n = model_.nodes.size();
    std::vector<std::size_t> waits(n, 0);
    std::vector<std::vector<std::size_t>> receivers(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (const InputPort& port : model_.nodes[i].inputs) {
        if (port.edge == SIZE_MAX) continue;
        receivers[model_.edges[port.edge].sender].push_back(i);
        ++waits[i];
      }
    }
    std::set<std::size_t> ready;
    for (std::size_t i = 0; i < n; ++i) {
      if (waits[i] == 0) ready.insert(i);
    }
    std::vector<std::size_t> order;
    std::vector<std::size_t> places(n, SIZE_MAX);
    while (!ready.empty()) {
      const std::size_t next = *ready.begin();
      ready.erase(ready.begin());
      places[next] = order.size();
      order.push_back(next);
      for (const std::size_t receiver : receivers[next]) {
        if (--waits[receiver] == 0) ready.insert(receiver);
      }
    }
    if (order.size() != n) {
      const auto first = std::find(places.begin(), places.end(), SIZE_MAX) - places.begin();
      Refuse("node " + Quoted(model_.nodes[static_cast<std::size_t>(first)].id) +
             " waits for itself: edges go round in a circle");
    }
    std::vector<Node> nodes;
    nodes.reserve(n);
    for (const std::size_t i : order) nodes.push_back(std::move(model_.nodes[i]));
    model_.nodes = std::move(nodes);
    for (Edge& edge : model_.edges) edge.sender = places[edge.sender];
  }

 private:
  struct Ports {
    std::unordered_map<std::string, std::size_t> inputs, outputs;
  };

  std::size_t NodeOf(const Value& edge, std::string_view end, const std::string& what) const {
    const std::string id = RequiredText(edge, end, what);
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) {
      Wrong(what + " has the " + std::string(end) + " " + Quoted(id) + ", which is not a node");
    }
    return found->second;
  }

  std::size_t PortOf(const Value& edge, std::string_view end,
                     const std::unordered_map<std::string, std::size_t>& ports, std::size_t node,
                     const std::string& what) const {
    const std::string id = RequiredText(edge, end, what);
    const auto found = ports.find(id);
    if (found == ports.end()) {
      Wrong(what + " has the " + std::string(end) + " " + Quoted(id) + ", which node " +
            Quoted(model_.nodes[node].id) + " does not have");
    }
    return found->second;
  }

  Model& model_;
  std::unordered_map<std::string, std::size_t> nodes_;
  std::vector<Ports> ports_;
};

void CheckConditions(const Value& graph, const std::string& where) {
  const Value* const conditions = Given(graph, "conditions");
  if (conditions == nullptr) return;
  for (const std::string_view kind : {"node_specific", "termination"}) {
    const Value* const given = Given(*conditions, kind);
    const auto* const object = given == nullptr ? nullptr : given->As<Object>();
    if (given == nullptr || (object != nullptr && object->empty())) continue;
    Refuse(where + " has conditions (" + std::string(kind) +
           "); here each node runs once, when those before it have");
  }
}

std::int64_t OpsetOf(const Value& model) {
  const Value* const given = Given(model, "onnx_opset_version");
  if (given == nullptr) return 0;
  std::optional<Integer> version;
  if (const auto* const whole = given->As<Integer>()) version = *whole;
  if (const auto* const text = given->As<std::string>()) version = ParseDigits(*text, 10, false);
  if (!version || version->negative || version->magnitude > INT32_MAX) {
    Wrong("the model's onnx_opset_version is not a number of an opset");
  }
  return static_cast<std::int64_t>(version->magnitude);
}

// The one model of a document; null where there are others, or none.
const Member* OnlyModel(const Value& document) {
  const auto* const object = document.As<Object>();
  if (object == nullptr || object->size() != 1) return nullptr;
  return &object->front();
}

}  // namespace

bool IsModel(const Value& document) {
  const Member* const model = OnlyModel(document);
  const Value* const format = model == nullptr ? nullptr : model->value.Find("format");
  const auto* const text = format == nullptr ? nullptr : format->As<std::string>();
  return text != nullptr && text->starts_with(kFormat) && Given(model->value, "graphs") != nullptr;
}

Model ReadModel(const Value& document) {
  if (!IsModel(document)) {
    Wrong("is not an MDF model: an object of one model that has a format (\"" +
          std::string(kFormat) + "0.4\") and graphs");
  }
  const Member& top = *OnlyModel(document);
  const std::string format = *top.value.Find("format")->As<std::string>();
  if (!std::string_view(format).substr(kFormat.size()).starts_with(kVersion)) {
    Refuse("has the format " + Quoted(format) + "; versions 0.x are read");
  }
  Model model;
  model.id = top.name;
  model.opset = OpsetOf(top.value);
  const Object& graphs = Children(top.value, "graphs", "the model");
  if (graphs.size() != 1) {
    Refuse("has " + words::CountText(graphs.size(), "graph") + "; a model of one is read");
  }
  model.graph = graphs.front().name;
  const Value& graph = graphs.front().value;
  const std::string where = "graph " + Quoted(model.graph);
  CheckConditions(graph, where);
  for (const Member& node : Children(graph, "nodes", where)) model.nodes.push_back(ReadNode(node));
  Connector connector(model);
  for (const Member& edge : Children(graph, "edges", where)) connector.Connect(edge);
  connector.Sort();
  return model;
}

}  // namespace tensorcast::mdf
