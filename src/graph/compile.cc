// Makes steps of a graph's nodes: functions are inlined, types inferred, registers shared.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/program.h"

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/onnx_numbers.h"
#include "graph/cast_operator.h"
#include "graph/constant_operator.h"
#include "graph/registers.h"
#include "text/error_text.h"

namespace tensorcast::graph {
namespace {

using text::Quoted;

// A constant that is read only where a step needs its values.
struct PendingConstant {
  const Tensor* tensor = nullptr;  // none: it stands in Program::constants already
  bool is_needed = false;
};

// Instead of a value: no node has given one yet.
constexpr std::uint32_t kNothing = UINT32_MAX - 2;

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

std::optional<std::int64_t> OpsetOf(const std::map<std::string, std::int64_t>& imports) {
  const auto found = imports.find("");
  return found == imports.end() ? std::nullopt : std::optional(found->second);
}

class Compiler {
 public:
  Compiler(const Graph& graph, const CompileOptions& options) : graph_(graph), options_(options) {}

  Program Make() {
    IndexFunctions();
    Scope scope(graph_.body);
    scope.opset = OpsetOf(graph_.opsets);
    program_.opset = scope.opset.value_or(0);
    TakeInputs(scope);
    TakeInitializers(scope);
    Inline(AddNames(graph_.body), scope);
    CheckDeclared(scope);
    TakeOutputs(scope);
    for (const std::uint32_t found : scope.values) {
      program_.types.push_back(found == kNothing ? DataType::kUndefined : values_[found].type);
    }
    if (options_.reads_constants) ReadConstants();
    PlaceValues();
    return std::move(program_);
  }

 private:
  [[noreturn]] static void Fail(ErrorKind kind, const std::string& why) { throw Error(kind, why); }

  // ------------------------------------------------------------------------ the graph's face

  void IndexFunctions() {
    functions_.resize(graph_.functions.size());
    for (std::size_t i = 0; i < graph_.functions.size(); ++i) {
      const Function& function = graph_.functions[i];
      if (!function_index_.emplace(std::tie(function.domain, function.name, function.overload), i)
               .second) {
        Fail(ErrorKind::kContents, "has the function " + Quoted(function.name) + " of the domain " +
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
      if (!input.has_type) Fail(ErrorKind::kContents, what + " has no type");
      if (!input.is_tensor) {
        Fail(ErrorKind::kUnsupported,
             what + " is not a tensor (a sequence, a map or an optional); only tensors are cast");
      }
      const DataType type = core::TypeOfNumber(input.number);
      if (input.number == 0) Fail(ErrorKind::kContents, what + " has no element type");
      if (type == DataType::kUndefined) {
        Fail(ErrorKind::kUnsupported, what + " has the element type " +
                                          std::to_string(input.number) +
                                          ", which is not a type that is cast");
      }
      const auto index = static_cast<std::uint32_t>(program_.inputs.size());
      if (!Define(scope, input.value, AddValue({type, Value::Is::kInput, index}))) {
        Fail(ErrorKind::kContents, what + " is in the graph twice");
      }
      program_.inputs.push_back(Info(input, type));
    }
    input_defaults_.resize(program_.inputs.size(), kNoDefault);
  }

  void TakeInitializers(Scope& scope) {
    std::unordered_set<ValueId> seen;
    for (const Initializer& initializer : graph_.initializers) {
      const Tensor& tensor = initializer.tensor;
      const std::string& name = tensor.name;
      if (!seen.insert(initializer.value).second) {
        Fail(ErrorKind::kContents, "the initializer " + Quoted(name) + " is in the graph twice");
      }
      const std::uint32_t constant = AddConstant(tensor);
      const DataType type = core::TypeOfNumber(tensor.number);
      const std::uint32_t found = scope.values[initializer.value];
      if (found == kNothing) {
        Define(scope, initializer.value, AddValue({type, Value::Is::kConstant, constant}));
        continue;
      }
      const std::uint32_t input = values_[found].index;
      if (type != program_.inputs[input].type) {
        Fail(ErrorKind::kContents, "the initializer " + Quoted(name) + " is " +
                                       NumberText(tensor.number) + ", the input of its name " +
                                       std::string(TypeName(program_.inputs[input].type)));
      }
      program_.inputs[input].has_default = true;
      input_defaults_[input] = constant;
      pending_[constant].is_needed = true;
    }
  }

  void CheckDeclared(const Scope& scope) const {
    for (const Declaration& declared : graph_.between) {
      const std::uint32_t found = scope.values[declared.value];
      if (found != kNothing) CheckType(declared, values_[found].type, "the value ");
    }
  }

  void CheckType(const Declaration& declared, DataType type, const char* what) const {
    if (!options_.checks_declared) return;
    if (!declared.has_type || (declared.is_tensor && declared.number == 0)) return;
    if (declared.is_tensor && core::TypeOfNumber(declared.number) == type) return;
    Fail(ErrorKind::kContents,
         what + Quoted(graph_.body.name(declared.value)) + " is declared " +
             (declared.is_tensor ? NumberText(declared.number) : std::string("to be no tensor")) +
             ", but its node gives " + std::string(TypeName(type)));
  }

  void TakeOutputs(const Scope& scope) {
    std::unordered_set<ValueId> seen;
    for (const Declaration& output : graph_.outputs) {
      const std::string what = "the output " + Quoted(graph_.body.name(output.value));
      if (!seen.insert(output.value).second) {
        Fail(ErrorKind::kContents, what + " is in the graph twice");
      }
      const std::uint32_t found = scope.values[output.value];
      if (found == kNothing) {
        Fail(graph_.sparse_initializers != 0 ? ErrorKind::kUnsupported : ErrorKind::kContents,
             what + " is given by no node" + SparseHint(scope));
      }
      Value& value = values_[found];
      if (value.type == DataType::kUndefined) {
        Fail(ErrorKind::kUnsupported,
             what + " is an initializer of a type that tensorcast does not know");
      }
      CheckType(output, value.type, "the output ");
      if (value.is == Value::Is::kConstant) pending_[value.index].is_needed = true;
      value.last_read = kKept;
      program_.outputs.push_back(Info(output, value.type));
      output_values_.push_back(found);
    }
  }

  // ------------------------------------------------------------------------ values and names

  // What a node gives has the shape of its source's origin; other values are origins themselves.
  std::uint32_t AddValue(Value value) {
    const auto index = static_cast<std::uint32_t>(values_.size());
    if (value.is != Value::Is::kResult) value.origin = index;
    values_.push_back(value);
    return index;
  }

  std::uint32_t AddConstant(const Tensor& tensor) {
    program_.constants.emplace_back();
    pending_.push_back({&tensor});
    return static_cast<std::uint32_t>(pending_.size() - 1);
  }

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
    FailNode(place, ErrorKind::kUnsupported,
             "is one node too many: with its functions inlined the model has more than " +
                 std::to_string(kMostInlined) + " nodes and names");
  }

  // What finding or keeping a name costs.
  static std::uint64_t Cost(std::string_view name) { return 1 + name.size() / 64; }

  std::uint32_t AddNames(const Body& body) {
    const auto first = static_cast<std::uint32_t>(program_.names.size());
    for (const Node& node : body.nodes) {
      NodeName& name = program_.names.emplace_back();
      name.is_output = node.name.empty();
      if (!name.is_output) {
        name.text = node.name;
      } else if (!node.outputs.empty() && node.outputs[0] != kNoValue) {
        name.text = body.name(node.outputs[0]);
      }
    }
    return first;
  }

  std::string SparseHint(const Scope& scope) const {
    return scope.function == nullptr && graph_.sparse_initializers != 0
               ? "; sparse initializers are not read"
               : "";
  }

  // The value that input `index` of a node reads.
  std::uint32_t Read(const NodePlace& place, const Scope& scope, std::size_t index) {
    const ValueId id = place.node.inputs[index];
    if (id == kNoValue) FailNode(place, ErrorKind::kContents, "leaves out an input that it needs");
    const std::string& name = scope.body.name(id);
    Spend(place, Cost(name));
    const std::uint32_t found = scope.values[id];
    if (found == kNothing) RefuseName(place, scope, id);
    if (found == kAbsent) {
      FailNode(place, ErrorKind::kContents,
               "reads " + Quoted(name) + ", an input of its function that the call leaves out");
    }
    if (values_[found].type == DataType::kUndefined) {
      FailNode(place, ErrorKind::kUnsupported,
               "reads " + Quoted(name) + ", a tensor " +
                   NumberText(pending_[values_[found].index].tensor->number) +
                   ", which is not a type that is cast");
    }
    return found;
  }

  [[noreturn]] void RefuseName(const NodePlace& place, const Scope& scope, ValueId id) const {
    const std::string& name = scope.body.name(id);
    for (const Node& node : scope.body.nodes) {
      for (const ValueId output : node.outputs) {
        if (output != id) continue;
        FailNode(place, ErrorKind::kContents,
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
    FailNode(place, ErrorKind::kContents,
             "gives " + Quoted(name) + ", which is given before; a name has one value");
  }

  // ------------------------------------------------------------------------ nodes

  // `first_name`: of the body's nodes, in Program::names.
  void Inline(std::uint32_t first_name, Scope& scope) {
    const std::vector<Node>& nodes = scope.body.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodePlace place{scope.body, nodes[i], scope.function, scope.caller};
      Spend(place, 1);
      name_ = first_name + static_cast<std::uint32_t>(i);
      if (nodes[i].domain.empty() && TakeOperator(place, scope)) continue;
      Call(place, scope);
    }
  }

  bool TakeOperator(const NodePlace& place, Scope& scope) {
    const std::string& op = place.node.op_type;
    if (op == "Cast") {
      TakeCast(place, scope);
    } else if (op == "CastLike") {
      TakeCastLike(place, scope);
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
      FailNode(place, ErrorKind::kContents,
               "has " + text::CountText(place.node.inputs.size(), "input") + "; it takes " +
                   std::to_string(inputs));
    }
    if (place.node.outputs.size() != 1) {
      FailNode(place, ErrorKind::kContents,
               "has " + text::CountText(place.node.outputs.size(), "output") + "; it gives 1");
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
          FailNode(place, ErrorKind::kContents,
                   "has the attribute " + Quoted(attribute.name) + ", a reference to " +
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
    FailNode(place, ErrorKind::kContents,
             std::string("has no version: the ") +
                 (scope.function == nullptr ? "model" : "function") +
                 " has no opset_import of the domain ai.onnx");
  }

  void TakeCast(const NodePlace& place, Scope& scope) {
    CheckCounts(place, 1);
    const std::int64_t opset = Opset(place, scope);
    const std::uint32_t source = Read(place, scope, 0);
    const CastRequest request =
        ReadCast(place, Attributes(place, scope), opset, values_[source].type, options_.as_tests);
    AddCast(place, scope, Operator::kCast, source, request);
  }

  void TakeCastLike(const NodePlace& place, Scope& scope) {
    CheckCounts(place, 2);
    const std::int64_t opset = Opset(place, scope);
    const std::uint32_t source = Read(place, scope, 0);
    const std::uint32_t like = Read(place, scope, 1);
    const CastRequest request =
        ReadCastLike(place, Attributes(place, scope), opset, values_[source].type,
                     values_[like].type, options_.as_tests);
    AddCast(place, scope, Operator::kCastLike, source, request);
  }

  void TakeIdentity(const NodePlace& place, Scope& scope) {
    CheckCounts(place, 1);
    const auto& attributes = Attributes(place, scope);
    if (!attributes.empty()) {
      FailNode(place, ErrorKind::kContents,
               "has the attribute " + Quoted(attributes[0].name) + "; Identity has none");
    }
    const std::uint32_t source = Read(place, scope, 0);
    Step step;
    AddStep(place, scope, source, values_[source].type, step);
  }

  void AddCast(const NodePlace& place, Scope& scope, Operator op, std::uint32_t source,
               const CastRequest& request) {
    const DataType from = values_[source].type;
    Step step;
    step.op = op;
    step.trains = place.node.trains;
    step.lda = place.node.lda;
    // A cast to the same type copies bits. A packed tensor's pad bits are not its own, so it is
    // one.
    const bool is_view = from == request.to && !FindType(from)->is_packed();
    if (!is_view) {
      step.kind = from == DataType::kString         ? Step::Kind::kParse
                  : request.to == DataType::kString ? Step::Kind::kPrint
                                                    : Step::Kind::kNumbers;
      step.plan = PlanOf(from, request);
    }
    AddStep(place, scope, source, request.to, step);
  }

  void AddStep(const NodePlace& place, Scope& scope, std::uint32_t source, DataType type,
               Step step) {
    const auto index = static_cast<std::uint32_t>(program_.steps.size());
    step.source = source;
    step.name = name_;
    step.from = values_[source].type;
    step.to = type;
    values_[source].last_read = index;
    if (values_[source].is == Value::Is::kConstant) {
      pending_[values_[source].index].is_needed = true;
    }
    step.result = AddValue({type, Value::Is::kResult, index, kAbsent, values_[source].origin});
    program_.steps.push_back(step);
    Give(place, scope, 0, step.result);
  }

  std::uint32_t PlanOf(DataType from, const CastRequest& request) {
    const CastOptions& o = request.options;
    const auto key = std::tuple(from, request.to, o.saturate, o.round_mode, o.integer_overflow,
                                o.fnuz_infinity, o.finite_only_nan);
    const auto [found, is_new] =
        plans_.emplace(key, static_cast<std::uint32_t>(program_.plans.size()));
    if (is_new) {
      CastPlan plan;
      const Status status = CastPlan::Bind(from, request.to, o, &plan, options_.target);
      if (!status.ok()) Fail(ErrorKind::kArguments, std::string(status.message()));
      program_.plans.push_back(plan);
    }
    return found->second;
  }

  // ------------------------------------------------------------------------ Constant

  void TakeConstant(const NodePlace& place, Scope& scope) {
    CheckCounts(place, 0);
    const auto& attributes = Attributes(place, scope);
    if (attributes.size() != 1) {
      FailNode(place, ErrorKind::kContents,
               "has " + text::CountText(attributes.size(), "attribute") +
                   "; a Constant has one, its value");
    }
    const auto [found, is_new] =
        constants_.emplace(attributes[0].value, static_cast<std::uint32_t>(pending_.size()));
    if (is_new) AddConstantOf(place, scope, attributes[0]);
    const PendingConstant& pending = pending_[found->second];
    const DataType type = pending.tensor != nullptr ? core::TypeOfNumber(pending.tensor->number)
                                                    : program_.constants[found->second].type;
    Give(place, scope, 0, AddValue({type, Value::Is::kConstant, found->second}));
  }

  void AddConstantOf(const NodePlace& place, const Scope& scope, const NodeAttribute& attribute) {
    if (attribute.name == "value") {
      AddConstant(ReadConstantTensor(place, attribute));
      return;
    }
    program_.constants.push_back(ReadConstantValues(place, attribute, scope.opset));
    pending_.emplace_back();
  }

  // ------------------------------------------------------------------------ functions

  void Call(const NodePlace& place, Scope& scope) {
    const Node& node = place.node;
    const auto found = function_index_.find(std::tie(node.domain, node.op_type, node.overload));
    if (found == function_index_.end()) {
      FailNode(
          place, ErrorKind::kUnsupported,
          std::string("is ") +
              (node.domain.empty() ? "an operator of ai.onnx"
                                   : "of the domain " + Quoted(node.domain)) +
              " that is not run here; only Cast, CastLike, Identity, Constant and functions of "
              "the model are");
    }
    const Function& function = graph_.functions[found->second];
    if (functions_[found->second].is_open) {
      FailNode(place, ErrorKind::kContents,
               "calls the function " + Quoted(function.name) + " from within itself");
    }
    if (scope.depth == kMostNestedCalls) {
      FailNode(place, ErrorKind::kUnsupported,
               "is a call of a function inside " + std::to_string(kMostNestedCalls) +
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
    if (!state.first_name) state.first_name = AddNames(function.body);
    state.is_open = true;
    Inline(*state.first_name, inner);
    state.is_open = false;
    GiveOutputs(place, scope, function, inner);
  }

  void BindInputs(const NodePlace& place, const Scope& scope, const Function& function,
                  Scope& inner) {
    const Node& node = place.node;
    if (node.inputs.size() > function.inputs.size()) {
      FailNode(place, ErrorKind::kContents,
               "has " + text::CountText(node.inputs.size(), "input") + "; the function takes " +
                   std::to_string(function.inputs.size()));
    }
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      const std::string& name = function.body.name(function.inputs[i]);
      Spend(place, Cost(name));
      const bool is_given = i < node.inputs.size() && node.inputs[i] != kNoValue;
      // What the caller was not given either stays absent.
      std::uint32_t value = kAbsent;
      if (is_given && scope.values[node.inputs[i]] != kAbsent) value = Read(place, scope, i);
      if (!Define(inner, function.inputs[i], value)) {
        FailNode(place, ErrorKind::kContents,
                 "calls the function " + Quoted(function.name) + ", which has the input " +
                     Quoted(name) + " twice");
      }
    }
  }

  void BindAttributes(const NodePlace& place, const Scope& scope, const Function& function,
                      Scope& inner) {
    const FunctionState& state = functions_[inner.function_index];
    for (const NodeAttribute& attribute : Attributes(place, scope)) {
      if (state.attributes.count(attribute.name) == 0) {
        FailNode(
            place, ErrorKind::kContents,
            "has the attribute " + Quoted(attribute.name) + ", which its function does not have");
      }
      if (!inner.attributes.emplace(attribute.name, attribute.value).second) {
        FailNode(place, ErrorKind::kContents,
                 "has the attribute " + Quoted(attribute.name) + " twice");
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
      FailNode(place, ErrorKind::kContents,
               "has " + text::CountText(node.outputs.size(), "output") + "; the function gives " +
                   std::to_string(function.outputs.size()));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& name = function.body.name(function.outputs[i]);
      Spend(place, Cost(name));
      const std::uint32_t found = inner.values[function.outputs[i]];
      if (found == kNothing || found == kAbsent) {
        FailNode(place, ErrorKind::kContents,
                 "calls the function " + Quoted(function.name) + ", whose output " + Quoted(name) +
                     (found == kNothing ? " no node of it gives"
                                        : " is an input that the call leaves out"));
      }
      Give(place, scope, i, found);
    }
  }

  // ------------------------------------------------------------------------ the end

  void ReadConstants() {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const Tensor* const tensor = pending_[i].tensor;
      if (tensor == nullptr || !pending_[i].is_needed) continue;
      program_.constants[i] = tensor->data->Read();
    }
  }

  void PlaceValues() {
    const auto inputs = static_cast<std::uint32_t>(program_.inputs.size());
    for (const std::uint32_t constant : input_defaults_) {
      program_.defaults.push_back(constant == kNoDefault ? kNoDefault : inputs + constant);
    }
    program_.results = output_values_;
    for (const std::uint32_t value : output_values_) {
      const Value& origin = values_[values_[value].origin];
      program_.origins.push_back(origin.is == Value::Is::kInput ? origin.index
                                                                : inputs + origin.index);
    }
    AssignRegisters(values_, program_);
  }

  const Graph& graph_;
  const CompileOptions& options_;
  Program program_;

  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::size_t>
      function_index_;
  std::vector<FunctionState> functions_;
  std::vector<Value> values_;
  std::vector<PendingConstant> pending_;  // beside Program::constants
  std::unordered_map<const Attribute*, std::uint32_t> constants_;
  std::map<std::tuple<DataType, DataType, bool, RoundingMode, IntegerOverflow, FnuzInfinity,
                      FiniteOnlyNan>,
           std::uint32_t>
      plans_;
  std::vector<std::uint32_t> input_defaults_;  // constants
  std::vector<std::uint32_t> output_values_;
  std::vector<NodeAttribute> attributes_;  // of the node at hand
  std::uint32_t name_ = 0;                 // of the node at hand
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
