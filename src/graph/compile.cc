// Goes through a graph's nodes: functions are inlined, names bound, types inferred and checked.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/program.h"

#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/onnx_numbers.h"
#include "graph/cast_operator.h"
#include "graph/constant_operator.h"
#include "graph/operator_versions.h"
#include "graph/program_builder.h"
#include "words/error_text.h"

namespace tensorcast::graph {
namespace {

using words::Quoted;

// Instead of a value: no node has given one yet.
constexpr std::uint32_t kNothing = UINT32_MAX;
// Instead of a value: an optional input that a call does not give.
constexpr std::uint32_t kAbsent = UINT32_MAX - 1;

struct FunctionState {
  bool is_open = false;                             // a call of it is being inlined
  std::optional<std::uint32_t> first_name;          // of its nodes, in Program::names
  std::unordered_set<std::string_view> attributes;  // those it takes
};

// The values of the graph, or of one call of a function.
struct Scope {
  const Body& body;
  const Function* function = nullptr;  // none: the graph
  std::size_t function_index = 0;
  const NodePlace* caller = nullptr;
  std::size_t depth = 0;
  std::optional<std::int64_t> opset;  // of ai.onnx
  std::vector<std::uint32_t> values;  // of the body's, what each is here; kNothing: nothing yet
  std::unordered_map<std::string_view, const Attribute*> attributes;  // of the call

  explicit Scope(const Body& names) : body(names), values(names.size(), kNothing) {}
  std::uint32_t Find(ValueId id) const { return id == kNoValue ? kNothing : values[id]; }
};

class Compiler {
 public:
  Compiler(const Graph& graph, const CompileOptions& options)
      : graph_(graph), options_(options), builder_(options.target) {}

  Program Make() {
    IndexFunctions();
    Scope scope(graph_.body);
    scope.opset = OpsetOf(graph_.opsets);
    TakeInputs(scope);
    TakeInitializers(scope);
    Inline(builder_.AddNames(graph_.body), scope);
    CheckDeclared(scope);
    TakeOutputs(scope);
    std::vector<DataType> types;
    for (const std::uint32_t found : scope.values) {
      types.push_back(found == kNothing ? DataType::kUndefined : builder_.TypeOf(found));
    }
    return builder_.Finish(scope.opset.value_or(0), std::move(types), options_.reads_constants);
  }

 private:
  [[noreturn]] static void Fail(ErrorKind kind, const std::string& why) { throw Error(kind, why); }
  [[noreturn]] static void Wrong(const std::string& why) { Fail(ErrorKind::kContents, why); }

  // ------------------------------------------------------------------------ the graph's face

  void IndexFunctions() {
    functions_.resize(graph_.functions.size());
    for (std::size_t i = 0; i < graph_.functions.size(); ++i) {
      const Function& function = graph_.functions[i];
      if (!function_index_.emplace(std::tie(function.domain, function.name, function.overload), i)
               .second) {
        Wrong("has the function " + Quoted(function.name) + " of the domain " +
              Quoted(function.domain) + " twice");
      }
      for (const std::string& name : function.attributes) functions_[i].attributes.insert(name);
      for (const Attribute& attribute : function.default_attributes) {
        functions_[i].attributes.insert(attribute.name);
      }
    }
  }

  ValueInfo Info(const Declaration& declared, DataType type) const {
    ValueInfo info;
    info.name = graph_.body.name(declared.value);
    info.type = type;
    info.has_shape = declared.has_shape;
    for (const Dimension& dimension : declared.shape) info.shape.push_back(dimension.size);
    return info;
  }

  void TakeInputs(Scope& scope) {
    for (const Declaration& input : graph_.inputs) {
      const std::string what = "the input " + Quoted(graph_.body.name(input.value));
      if (!input.has_type) Wrong(what + " has no type");
      if (!input.is_tensor) {
        Fail(ErrorKind::kUnsupported,
             what + " is not a tensor (a sequence, a map or an optional); only tensors are cast");
      }
      const DataType type = core::TypeOfNumber(input.number);
      if (input.number == 0) Wrong(what + " has no element type");
      if (type == DataType::kUndefined) {
        Fail(ErrorKind::kUnsupported, what + " has the element type " +
                                          std::to_string(input.number) +
                                          ", which is not a type that is cast");
      }
      if (!Define(scope, input.value, builder_.AddInput(Info(input, type)))) {
        Wrong(what + " is in the graph twice");
      }
    }
  }

  void TakeInitializers(Scope& scope) {
    std::unordered_set<ValueId> seen;
    for (const Initializer& initializer : graph_.initializers) {
      const Tensor& tensor = initializer.tensor;
      const std::string& name = tensor.name;
      if (!seen.insert(initializer.value).second) {
        Wrong("the initializer " + Quoted(name) + " is in the graph twice");
      }
      const std::uint32_t constant = builder_.AddConstant(tensor);
      const std::uint32_t input = scope.values[initializer.value];
      if (input == kNothing) {
        Define(scope, initializer.value, builder_.AddConstantValue(constant));
        continue;
      }
      if (core::TypeOfNumber(tensor.number) != builder_.TypeOf(input)) {
        Wrong("the initializer " + Quoted(name) + " is " + NumberText(tensor.number) +
              ", the input of its name " + std::string(TypeName(builder_.TypeOf(input))));
      }
      builder_.SetDefault(input, constant);
    }
  }

  void CheckDeclared(const Scope& scope) const {
    for (const Declaration& declared : graph_.between) {
      const std::uint32_t found = scope.values[declared.value];
      if (found != kNothing) CheckType(declared, builder_.TypeOf(found), "the value ");
    }
  }

  void CheckType(const Declaration& declared, DataType type, const char* what) const {
    if (!options_.checks_declared) return;
    if (!declared.has_type || (declared.is_tensor && declared.number == 0)) return;
    if (declared.is_tensor && core::TypeOfNumber(declared.number) == type) return;
    Wrong(what + Quoted(graph_.body.name(declared.value)) + " is declared " +
          (declared.is_tensor ? NumberText(declared.number) : std::string("not to be a tensor")) +
          ", but its node gives " + std::string(TypeName(type)));
  }

  void TakeOutputs(const Scope& scope) {
    std::unordered_set<ValueId> seen;
    for (const Declaration& output : graph_.outputs) {
      const std::string what = "the output " + Quoted(graph_.body.name(output.value));
      if (!seen.insert(output.value).second) {
        Wrong(what + " is in the graph twice");
      }
      const std::uint32_t found = scope.values[output.value];
      if (found == kNothing) {
        Fail(graph_.sparse_initializers != 0 ? ErrorKind::kUnsupported : ErrorKind::kContents,
             what + " is given by no node" + SparseHint(scope));
      }
      const DataType type = builder_.TypeOf(found);
      if (type == DataType::kUndefined) {
        Fail(ErrorKind::kUnsupported,
             what + " is an initializer of a type that tensorcast does not know");
      }
      CheckType(output, type, "the output ");
      builder_.AddOutput(Info(output, type), found);
    }
  }

  // ------------------------------------------------------------------------ values and names

  static bool Define(Scope& scope, ValueId id, std::uint32_t value) {
    if (scope.values[id] != kNothing) return false;
    scope.values[id] = value;
    return true;
  }

  static std::string NumberText(std::uint64_t number) {
    const DataType type = core::TypeOfNumber(number);
    return type == DataType::kUndefined ? "of type " + std::to_string(number)
                                        : std::string(TypeName(type));
  }

  // Counts what inlining makes, so that a small file cannot ask for a large program.
  void Spend(const NodePlace& place, std::uint64_t things) {
    spent_ += things;
    if (spent_ <= kMostInlined) return;
    RefuseNode(place, "is one node too many: with its functions inlined the model has more than " +
                          std::to_string(kMostInlined) + " nodes and names");
  }

  // What finding or keeping a name costs.
  static std::uint64_t Cost(std::string_view name) { return 1 + name.size() / 64; }

  std::string SparseHint(const Scope& scope) const {
    return scope.function == nullptr && graph_.sparse_initializers != 0
               ? "; sparse initializers are not read"
               : "";
  }

  // The value that input `index` of a node reads.
  std::uint32_t Read(const NodePlace& place, const Scope& scope, std::size_t index) {
    const ValueId id = place.node.inputs[index];
    if (id == kNoValue) WrongNode(place, "leaves out an input that it needs");
    const std::string& name = scope.body.name(id);
    Spend(place, Cost(name));
    const std::uint32_t found = scope.values[id];
    if (found == kNothing) RefuseName(place, scope, id);
    if (found == kAbsent) {
      WrongNode(place,
                "reads " + Quoted(name) + ", an input of its function that the call leaves out");
    }
    if (builder_.TypeOf(found) == DataType::kUndefined) {
      RefuseNode(place, "reads " + Quoted(name) + ", a tensor " +
                            NumberText(builder_.TensorOf(found).number) +
                            ", which is not a type that is cast");
    }
    return found;
  }

  [[noreturn]] void RefuseName(const NodePlace& place, const Scope& scope, ValueId id) const {
    const std::string& name = scope.body.name(id);
    for (const Node& node : scope.body.nodes) {
      for (const ValueId output : node.outputs) {
        if (output != id) continue;
        WrongNode(place,
                  "reads " + Quoted(name) +
                      (&node == &place.node ? ", which it gives itself"
                                            : ", which a later node gives; nodes are in the order "
                                              "in which they run"));
      }
    }
    const bool is_sparse = scope.function == nullptr && graph_.sparse_initializers != 0;
    FailNode(place, is_sparse ? ErrorKind::kUnsupported : ErrorKind::kContents,
             "reads " + Quoted(name) + ", which nothing gives" + SparseHint(scope));
  }

  // Gives output `index` of a node a value; an output without a name is not wanted.
  void Give(const NodePlace& place, Scope& scope, std::size_t index, std::uint32_t value) {
    const ValueId id = place.node.outputs[index];
    if (id == kNoValue) return;
    const std::string& name = scope.body.name(id);
    Spend(place, Cost(name));
    if (Define(scope, id, value)) return;
    WrongNode(place, "gives " + Quoted(name) + ", which is given before; a name has one value");
  }

  // ------------------------------------------------------------------------ nodes

  // `first_name`: of the body's nodes, in Program::names.
  void Inline(std::uint32_t first_name, Scope& scope) {
    const std::vector<Node>& nodes = scope.body.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodePlace place{scope.body, nodes[i], scope.function, scope.caller};
      Spend(place, 1);
      step_ = {};
      step_.name = first_name + static_cast<std::uint32_t>(i);
      step_.trains = nodes[i].trains;
      step_.lda = nodes[i].lda;
      if (nodes[i].domain.empty() && TakeOperator(place, scope)) continue;
      Call(place, scope);
    }
  }

  bool TakeOperator(const NodePlace& place, Scope& scope) {
    const std::string& op = place.node.op_type;
    if (op == "Cast") {
      TakeCast(place, scope, Operator::kCast);
    } else if (op == "CastLike") {
      TakeCast(place, scope, Operator::kCastLike);
    } else if (op == "Identity") {
      TakeIdentity(place, scope);
    } else if (op == "Constant") {
      TakeConstant(place, scope);
    } else {
      return false;
    }
    return true;
  }

  static void CheckCounts(const NodePlace& place, std::size_t inputs) {
    if (place.node.inputs.size() != inputs) {
      WrongNode(place, "has " + words::CountText(place.node.inputs.size(), "input") +
                           "; it takes " + std::to_string(inputs));
    }
    if (place.node.outputs.size() != 1) {
      WrongNode(place,
                "has " + words::CountText(place.node.outputs.size(), "output") + "; it gives 1");
    }
  }

  // The node's attributes, those that are references resolved; one that refers to an attribute that
  // the call does not give is left out, as ONNX has it.
  const std::vector<NodeAttribute>& Attributes(const NodePlace& place, const Scope& scope) {
    attributes_.clear();
    for (const Attribute& attribute : place.node.attributes) {
      Spend(place, Cost(attribute.name) + Cost(attribute.ref));
      const Attribute* value = &attribute;
      if (!attribute.ref.empty()) {
        if (scope.function == nullptr) {
          WrongNode(place, "has the attribute " + Quoted(attribute.name) + ", a reference to " +
                               Quoted(attribute.ref) +
                               "; only in a function there is something to refer to");
        }
        const auto found = scope.attributes.find(attribute.ref);
        if (found == scope.attributes.end()) continue;
        value = found->second;
      }
      attributes_.push_back({attribute.name, value});
    }
    return attributes_;
  }

  std::int64_t Opset(const NodePlace& place, const Scope& scope) const {
    if (scope.opset) return *scope.opset;
    WrongNode(place, std::string("has no version: the ") +
                         (scope.function == nullptr ? "model" : "function") +
                         " has no opset_import of the domain ai.onnx");
  }

  void TakeCast(const NodePlace& place, Scope& scope, Operator op) {
    const bool is_like = op == Operator::kCastLike;
    CheckCounts(place, is_like ? 2 : 1);
    const std::int64_t opset = Opset(place, scope);
    const std::uint32_t source = Read(place, scope, 0);
    const DataType from = builder_.TypeOf(source);
    const DataType like = is_like ? builder_.TypeOf(Read(place, scope, 1)) : DataType::kUndefined;
    const auto& attributes = Attributes(place, scope);
    step_.op = op;
    Give(place, scope, 0,
         builder_.AddCast(
             step_, source,
             is_like ? ReadCastLike(place, attributes, opset, from, like, options_.as_tests)
                     : ReadCast(place, attributes, opset, from, options_.as_tests)));
  }

  void TakeIdentity(const NodePlace& place, Scope& scope) {
    CheckCounts(place, 1);
    const auto& attributes = Attributes(place, scope);
    if (!attributes.empty()) {
      WrongNode(place, "has the attribute " + Quoted(attributes[0].name) + "; Identity has none");
    }
    Give(place, scope, 0, builder_.AddIdentity(step_, Read(place, scope, 0)));
  }

  // ------------------------------------------------------------------------ Constant

  void TakeConstant(const NodePlace& place, Scope& scope) {
    CheckCounts(place, 0);
    const auto& attributes = Attributes(place, scope);
    if (attributes.size() != 1) {
      WrongNode(place, "has " + words::CountText(attributes.size(), "attribute") +
                           "; a Constant has one, its value");
    }
    const auto [constant, is_new] = constants_.try_emplace(attributes[0].value);
    if (is_new) constant->second = AddConstant(place, scope, attributes[0]);
    Give(place, scope, 0, builder_.AddConstantValue(constant->second));
  }

  std::uint32_t AddConstant(const NodePlace& place, const Scope& scope,
                            const NodeAttribute& attribute) {
    if (attribute.name == "value") {
      return builder_.AddConstant(ReadConstantTensor(place, attribute));
    }
    return builder_.AddConstant(ReadConstantValues(place, attribute, scope.opset));
  }

  // ------------------------------------------------------------------------ functions

  void Call(const NodePlace& place, Scope& scope) {
    const Node& node = place.node;
    const auto found = function_index_.find(std::tie(node.domain, node.op_type, node.overload));
    if (found == function_index_.end()) {
      RefuseNode(
          place,
          std::string("is ") +
              (node.domain.empty() ? "an operator of ai.onnx"
                                   : "of the domain " + Quoted(node.domain)) +
              " that is not run here; only Cast, CastLike, Identity, Constant and functions of "
              "the model are");
    }
    const Function& function = graph_.functions[found->second];
    if (functions_[found->second].is_open) {
      WrongNode(place, "calls the function " + Quoted(function.name) + " from within itself");
    }
    if (scope.depth == kMostNestedCalls) {
      RefuseNode(place, "is a call of a function inside " + std::to_string(kMostNestedCalls) +
                            " others; no more are followed");
    }
    Scope inner(function.body);
    inner.function = &function;
    inner.function_index = found->second;
    inner.caller = &place;
    inner.depth = scope.depth + 1;
    inner.opset = OpsetOf(function.opsets);
    BindInputs(place, scope, function, inner);
    BindAttributes(place, scope, function, inner);

    FunctionState& state = functions_[found->second];
    if (!state.first_name) state.first_name = builder_.AddNames(function.body);
    state.is_open = true;
    Inline(*state.first_name, inner);
    state.is_open = false;
    GiveOutputs(place, scope, function, inner);
  }

  void BindInputs(const NodePlace& place, const Scope& scope, const Function& function,
                  Scope& inner) {
    const Node& node = place.node;
    if (node.inputs.size() > function.inputs.size()) {
      WrongNode(place, "has " + words::CountText(node.inputs.size(), "input") +
                           "; the function takes " + std::to_string(function.inputs.size()));
    }
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      const std::string& name = function.body.name(function.inputs[i]);
      Spend(place, Cost(name));
      const bool is_given = i < node.inputs.size() && node.inputs[i] != kNoValue;
      // What the caller was not given either stays absent.
      std::uint32_t value = kAbsent;
      if (is_given && scope.values[node.inputs[i]] != kAbsent) value = Read(place, scope, i);
      if (!Define(inner, function.inputs[i], value)) {
        WrongNode(place, "calls the function " + Quoted(function.name) + ", which has the input " +
                             Quoted(name) + " twice");
      }
    }
  }

  void BindAttributes(const NodePlace& place, const Scope& scope, const Function& function,
                      Scope& inner) {
    const FunctionState& state = functions_[inner.function_index];
    for (const NodeAttribute& attribute : Attributes(place, scope)) {
      if (state.attributes.count(attribute.name) == 0) {
        WrongNode(place, "has the attribute " + Quoted(attribute.name) +
                             ", which its function does not have");
      }
      if (!inner.attributes.emplace(attribute.name, attribute.value).second) {
        WrongNode(place, "has the attribute " + Quoted(attribute.name) + " twice");
      }
    }
    for (const Attribute& attribute : function.default_attributes) {
      Spend(place, Cost(attribute.name));
      inner.attributes.emplace(attribute.name, &attribute);
    }
  }

  void GiveOutputs(const NodePlace& place, Scope& scope, const Function& function,
                   const Scope& inner) {
    const Node& node = place.node;
    if (node.outputs.size() > function.outputs.size()) {
      WrongNode(place, "has " + words::CountText(node.outputs.size(), "output") +
                           "; the function gives " + std::to_string(function.outputs.size()));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& name = function.body.name(function.outputs[i]);
      Spend(place, Cost(name));
      const std::uint32_t found = inner.values[function.outputs[i]];
      if (found == kNothing || found == kAbsent) {
        WrongNode(place, "calls the function " + Quoted(function.name) + ", whose output " +
                             Quoted(name) +
                             (found == kNothing ? " no node of it gives"
                                                : " is an input that the call leaves out"));
      }
      Give(place, scope, i, found);
    }
  }

  const Graph& graph_;
  const CompileOptions& options_;
  ProgramBuilder builder_;

  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::size_t>
      function_index_;
  std::vector<FunctionState> functions_;
  std::unordered_map<const Attribute*, std::uint32_t> constants_;
  std::vector<NodeAttribute> attributes_;  // of the node at hand
  Step step_;                              // that the node at hand becomes
  std::uint64_t spent_ = 0;
};

}  // namespace

Program Compile(const Graph& graph, const CompileOptions& options) {
  return Compiler(graph, options).Make();
}

std::vector<DataType> TypesOf(const Graph& graph, bool as_tests, bool checks_declared) {
  const CompileOptions options{as_tests, Target::kBest, false, checks_declared};
  return Compiler(graph, options).Make().types;
}

}  // namespace tensorcast::graph
