// Inputs, constants, nodes and outputs, added one after the other and checked as they are.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "core/range.h"
#include "core/shape.h"
#include "graph/cast_operator.h"
#include "graph/constant.h"
#include "graph/graph_state.h"
#include "graph/tensor_check.h"
#include "words/error_text.h"

namespace tensorcast {
namespace {

using graph::CastOperator;
using graph::kNoValue;
using graph::Refuse;
using graph::ValueId;
using words::Quoted;

graph::Constant CopyOf(const TensorView& view, std::uint64_t elements) {
  graph::Constant values;
  values.type = view.type;
  values.shape.assign(view.shape.begin(), view.shape.end());
  values.elements = elements;
  if (view.type == DataType::kString) {
    for (std::uint64_t i = 0; i < elements; ++i) values.Append(view.strings[i]);
    return values;
  }
  const std::span<std::byte> data = values.Allocate(view.data.size());
  std::copy(view.data.begin(), view.data.end(), data.begin());
  core::ClearPadBits(*FindType(view.type), elements, data);
  return values;
}

// The first opset that has a node of this operator and these types.
std::int64_t OpsetFor(CastOperator op, std::initializer_list<DataType> types) {
  std::int64_t needed = graph::FirstOpset(op);
  for (const DataType type : types) {
    const std::int64_t first = graph::FirstOpsetOf(op, type);
    if (first == 0) return 0;
    needed = std::max(needed, first);
  }
  return needed;
}

class Builder {
 public:
  explicit Builder(GraphState& state) : state_(state) {}

  GraphValue Input(std::string_view name, DataType type, bool has_shape,
                   std::span<const GraphDimension> shape) {
    state_.CheckValueName(name, "an input");
    const std::string what = "input " + Quoted(name);
    graph::CheckElementType(type, what + " has the type ");
    RaiseFor(type, what);
    if (shape.size() > core::kMostDimensions) {
      Refuse(what + " has " + std::to_string(shape.size()) + " dimensions; at most " +
             std::to_string(core::kMostDimensions) + " are kept");
    }
    graph::Declaration declared = Declare(type);
    declared.has_shape = has_shape;
    for (const GraphDimension& dimension : shape) {
      if (dimension.size && !dimension.name.empty()) {
        Refuse(what + " has a dimension with both a size and the name " + Quoted(dimension.name) +
               "; give one of them");
      }
      if (dimension.size && *dimension.size > INT64_MAX) {
        Refuse(what + " has a dimension of " + std::to_string(*dimension.size) +
               "; sizes go up to 2^63 - 1");
      }
      if (graph::HasControlCharacter(dimension.name)) {
        Refuse(what + " has the dimension's name " + Quoted(dimension.name) +
               ", which has a control character; leave it out");
      }
      declared.shape.push_back({dimension.size, dimension.name});
    }
    const ValueId id = AddValue(name, type, GraphValueKind::kInput, kNoValue);
    declared.value = id;
    state_.known[id].input = state_.graph.inputs.size();
    state_.graph.inputs.push_back(std::move(declared));
    state_.inputs.push_back(state_.Handle(id));
    return state_.Handle(id);
  }

  GraphValue Constant(std::string_view name, const TensorView& view) {
    const std::string made_up =
        name.empty()
            ? state_.FreeValueName("Constant_" + std::to_string(state_.counters["Constant"]++))
            : "";
    if (!name.empty()) state_.CheckValueName(name, "a constant");
    const std::string_view known = name.empty() ? std::string_view(made_up) : name;
    const std::string what = "constant " + Quoted(known);
    graph::CheckElementType(view.type, what + " has the type ");
    if (view.shape.size() > core::kMostDimensions) {
      Refuse(what + " has " + std::to_string(view.shape.size()) + " dimensions; at most " +
             std::to_string(core::kMostDimensions) + " are kept");
    }
    const std::uint64_t elements = graph::CheckedElements(view, "constant", known);
    RaiseFor(view.type, what);
    graph::Tensor tensor = graph::BuiltTensor(known, CopyOf(view, elements));
    const ValueId id = AddValue(known, view.type, GraphValueKind::kConstant, kNoValue);
    state_.known[id].initializer = state_.graph.initializers.size();
    state_.graph.initializers.push_back({id, std::move(tensor)});
    return state_.Handle(id);
  }

  GraphValue Cast(CastOperator op, GraphValue input, GraphValue target, const CastNode& node) {
    const bool is_like = op == CastOperator::kCastLike;
    const ValueId source =
        state_.ValueOf(input, is_like ? "the input of a CastLike" : "the input of a Cast");
    const ValueId like = is_like ? state_.ValueOf(target, "the target of a CastLike") : kNoValue;
    const DataType to = is_like ? state_.known[like].type : node.to;
    if (!is_like && node.to == DataType::kUndefined) {
      Refuse("a Cast has no type to cast to: `to` is UNDEFINED; set it");
    }
    if (to != DataType::kUndefined) {
      graph::CheckElementType(to, "a Cast is asked to cast to type ");
    }
    (void)graph::RoundModeText(node.round_mode);
    graph::Node made;
    made.op_type = is_like ? "CastLike" : "Cast";
    made.inputs = is_like ? std::vector<ValueId>{source, like} : std::vector<ValueId>{source};
    made.name = NodeName(node.name, made.op_type);
    made.trains = node.training;
    made.lda = node.lda_coeff;
    const std::string output = OutputName(node.output_names, made.name);
    const std::int64_t opset = OpsetOf(made, op, to);
    GraphState::SetOptions(made, opset, node.saturate, node.round_mode);
    if (!is_like) made.attributes.push_back(GraphState::ToAttribute(opset, to));
    state_.CheckCast(made, opset);
    if (opset != state_.opset()) state_.ChangeOpset(opset);
    return AddNode(std::move(made), output, node.output_names.empty(), to);
  }

  GraphValue Identity(GraphValue input, std::string_view name, std::string_view output_name) {
    const ValueId source = state_.ValueOf(input, "the input of an Identity");
    const TypeInfo& type = *FindType(state_.known[source].type);
    if (!graph::IdentityTakes(type)) {
      Refuse("Identity takes no " + std::string(type.name) + " in any opset up to " +
             std::to_string(graph::CastVersions().back().since) +
             "; a Cast to the type that the value has gives the same");
    }
    graph::Node made;
    made.op_type = "Identity";
    made.inputs = {source};
    made.name = NodeName(name, made.op_type);
    std::vector<std::string> names;
    if (!output_name.empty()) names.emplace_back(output_name);
    const std::string output = OutputName(names, made.name);
    return AddNode(std::move(made), output, names.empty(), state_.known[source].type);
  }

  void Output(GraphValue handle, std::string_view name) {
    ValueId id = state_.ValueOf(handle, "an output");
    const std::string& own = state_.graph.body.name(id);
    const bool has_other_name = !name.empty() && name != own;
    const GraphState::Known& known = state_.known[id];
    if (has_other_name) {
      state_.CheckValueName(name, "an output");
      if (known.is_named_here && !known.is_output) {
        state_.RenameValue(id, name);
      } else {
        id = Copy(handle, name).index;
      }
    } else if (known.is_output) {
      Refuse("the value " + Quoted(own) +
             " is an output already; give another name to have it as two");
    }
    state_.known[id].is_output = true;
    state_.known[id].is_named_here = false;
    graph::Declaration declared = Declare(state_.known[id].type);
    declared.value = id;
    CopyShape(state_.known[id].Origin(id), declared);
    state_.known[id].output = state_.graph.outputs.size();
    state_.graph.outputs.push_back(std::move(declared));
    state_.outputs.push_back(state_.Handle(id));
  }

 private:
  // The same value under another name.
  GraphValue Copy(GraphValue of, std::string_view name) {
    const DataType type = state_.known[of.index].type;
    if (graph::IdentityTakes(*FindType(type))) return Identity(of, {}, name);
    CastNode node;
    node.to = type;
    node.output_names = {std::string(name)};
    return Cast(CastOperator::kCast, of, {}, node);
  }

  static graph::Declaration Declare(DataType type) {
    graph::Declaration declared;
    declared.has_type = true;
    declared.is_tensor = true;
    declared.number = static_cast<std::uint64_t>(type);
    return declared;
  }

  // Raises the opset, where it may, for a value that no node checks.
  void RaiseFor(DataType type, const std::string& what) {
    const std::int64_t first = GraphState::FirstOpsetOf(type);
    if (first <= state_.opset()) return;
    if (!state_.options.raises_opset) {
      Refuse(what + " is " + std::string(TypeName(type)) + ", which needs opset " +
             std::to_string(first) + "; the graph has opset " + std::to_string(state_.opset()) +
             ": raise it");
    }
    state_.ChangeOpset(first);
  }

  // The opset that the graph will have with this node.
  std::int64_t OpsetOf(const graph::Node& node, CastOperator op, DataType to) const {
    const std::int64_t now = state_.opset();
    if (state_.options.raises_opset) {
      return std::max(now, OpsetFor(op, {state_.known[node.inputs[0]].type, to}));
    }
    if (graph::FirstOpset(op) > now) {
      Refuse(node.op_type + " came with opset " + std::to_string(graph::FirstOpset(op)) +
             "; the graph has opset " + std::to_string(now) + ": raise it");
    }
    return now;
  }

  std::string NodeName(std::string_view wanted, const std::string& op_type) {
    if (wanted.empty()) return state_.FreeNodeName(op_type);
    state_.CheckNodeName(wanted);
    return std::string(wanted);
  }

  std::string OutputName(const std::vector<std::string>& wanted, const std::string& node) const {
    if (wanted.empty()) return state_.FreeValueName(node + "_output_0");
    if (wanted.size() != 1) {
      Refuse("node " + Quoted(node) + " is given names for " +
             words::CountText(wanted.size(), "output") + "; it has 1");
    }
    state_.CheckValueName(wanted[0], "the output of node " + Quoted(node));
    return wanted[0];
  }

  ValueId AddValue(std::string_view name, DataType type, GraphValueKind kind, ValueId origin) {
    const ValueId id = state_.graph.body.ValueOf(name);
    if (state_.known.size() <= id) state_.known.resize(id + std::size_t{1});
    GraphState::Known& known = state_.known[id] = {};
    known.type = type;
    known.kind = kind;
    known.is_there = true;
    known.origin = origin;
    return id;
  }

  GraphValue AddNode(graph::Node node, const std::string& output, bool is_named_here,
                     DataType type) {
    const ValueId source = node.inputs[0];
    const ValueId origin = state_.known[source].Origin(source);
    for (const ValueId input : node.inputs) ++state_.known[input].readers;
    const ValueId id = AddValue(output, type, GraphValueKind::kResult, origin);
    state_.known[id].is_named_here = is_named_here;
    node.outputs = {id};
    state_.names[node.name] = {state_.graph.body.nodes.size(), 1};
    state_.graph.body.nodes.push_back(std::move(node));
    return state_.Handle(id);
  }

  // What is known of the shape that a value has of its origin.
  void CopyShape(ValueId origin, graph::Declaration& declared) const {
    if (origin == kNoValue) return;
    auto [has_shape, shape] = state_.ShapeOf(origin);
    declared.has_shape = has_shape;
    for (GraphDimension& each : shape) {
      declared.shape.push_back({each.size, std::move(each.name)});
    }
  }

  GraphState& state_;
};

// Calls `add` with a builder of the graph.
template <class Add>
Status Build(Graph& graph, GraphValue* value, std::string* error, const Add& add) {
  return graph::GuardedGraph(error, [&] {
    Builder builder(GraphAccess::State(graph));
    const GraphValue made = add(builder);
    if (value != nullptr) *value = made;
    return Status();
  });
}

}  // namespace

inline namespace TENSORCAST_ABI {

Status Graph::AddInput(std::string_view name, DataType type, std::span<const GraphDimension> shape,
                       GraphValue* value, std::string* error) {
  return Build(*this, value, error,
               [&](Builder& builder) { return builder.Input(name, type, true, shape); });
}

Status Graph::AddInput(std::string_view name, DataType type, GraphValue* value,
                       std::string* error) {
  return Build(*this, value, error,
               [&](Builder& builder) { return builder.Input(name, type, false, {}); });
}

Status Graph::AddConstant(std::string_view name, const TensorView& tensor, GraphValue* value,
                          std::string* error) {
  return Build(*this, value, error,
               [&](Builder& builder) { return builder.Constant(name, tensor); });
}

Status Graph::AddCast(GraphValue input, const CastNode& node, GraphValue* output,
                      std::string* error) {
  return Build(*this, output, error, [&](Builder& builder) {
    return builder.Cast(CastOperator::kCast, input, {}, node);
  });
}

Status Graph::AddCastLike(GraphValue input, GraphValue target, const CastNode& node,
                          GraphValue* output, std::string* error) {
  return Build(*this, output, error, [&](Builder& builder) {
    return builder.Cast(CastOperator::kCastLike, input, target, node);
  });
}

Status Graph::AddIdentity(GraphValue input, std::string_view name, std::string_view output_name,
                          GraphValue* output, std::string* error) {
  return Build(*this, output, error,
               [&](Builder& builder) { return builder.Identity(input, name, output_name); });
}

Status Graph::MarkOutput(GraphValue value, std::string_view name, std::string* error) {
  return graph::GuardedGraph(error, [&] {
    Builder(GraphAccess::State(*this)).Output(value, name);
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
