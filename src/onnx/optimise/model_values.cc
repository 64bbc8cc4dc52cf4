// Goes through the bodies of a model, innermost graphs at the node that holds them.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/optimise/model_values.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/onnx_numbers.h"
#include "core/shape.h"
#include "graph/cast_operator.h"
#include "graph/constant.h"
#include "graph/error.h"
#include "graph/graph.h"
#include "onnx/run/graph_of_model.h"

namespace tensorcast::onnx {
namespace {

// What simple operators keep of their first input.
struct KeptBy {
  std::string_view op_type;
  bool elements = false;  // how many there are, besides their type
};
constexpr KeptBy kKeeping[] = {
    {"Concat"}, {"Flatten", true}, {"Gather"},          {"Identity", true},  {"Reshape", true},
    {"Slice"},  {"Squeeze", true}, {"Transpose", true}, {"Unsqueeze", true},
};

class ValueFinder {
 public:
  ValueFinder(const protobuf::OnnxModel& model, const files::ByteSource& source)
      : model_(model), text_(std::shared_ptr<void>(), &source) {
    for (const protobuf::OnnxFunction& function : model.functions) {
      if (function.domain.empty()) overridden_.insert(function.name);
    }
  }

  ModelValues Find() {
    TakeGraph(0, std::nullopt);
    for (const protobuf::OnnxFunction& function : model_.functions) TakeFunction(function);
    return std::move(found_);
  }

 private:
  // The values that a body gives, of which a name of a graph around it makes both unclear.
  class Scope {
   public:
    Scope(ValueFinder& finder, std::size_t body) : finder_(finder), body_(body) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      for (const std::string_view name : names_) finder_.visible_.erase(name);
    }

    ValueId Define(const std::string& name) {
      if (name.empty()) return kNoValue;
      const auto next = static_cast<ValueId>(finder_.found_.values.size());
      const auto [place, is_new] = finder_.visible_.try_emplace(name, next);
      if (!is_new) {
        finder_.found_.values[place->second].is_unclear = true;
        return place->second;
      }
      // The model's own text, which stays where it is.
      names_.push_back(place->first);
      ModelValue& value = finder_.found_.values.emplace_back();
      value.name = name;
      value.body = body_;
      finder_.is_given_.push_back(false);
      return next;
    }

   private:
    ValueFinder& finder_;
    std::size_t body_;
    std::vector<std::string_view> names_;
  };

  ValueId Look(const std::string& name) const {
    if (name.empty()) return kNoValue;
    const auto found = visible_.find(name);
    return found == visible_.end() ? kNoValue : found->second;
  }

  ModelValue& At(ValueId id) { return found_.values[id]; }

  void Give(ValueId id) {
    if (id != kNoValue) is_given_[id] = true;
  }

  void Fix(const std::string& name) {
    if (const ValueId id = Look(name); id != kNoValue) At(id).is_fixed = true;
  }

  // What is declared must not contradict what is known.
  void Declare(ValueId id, DataType type, std::optional<std::uint64_t> elements) {
    if (id == kNoValue) return;
    ModelValue& value = At(id);
    if (type != DataType::kUndefined && value.type != DataType::kUndefined && type != value.type) {
      value.is_unclear = true;
    }
    if (value.type == DataType::kUndefined) value.type = type;
    if (!value.elements) value.elements = elements;
  }

  void Declare(const protobuf::OnnxValue& declared, std::size_t body) {
    const ValueId id = Look(declared.name);
    if (id == kNoValue || At(id).body != body || !declared.has_type) return;
    const DataType type =
        declared.is_tensor ? core::TypeOfNumber(declared.elem_type) : DataType::kUndefined;
    // A sequence, or a type that is not ours.
    if (type == DataType::kUndefined && (!declared.is_tensor || declared.elem_type != 0)) {
      At(id).is_unclear = true;
      return;
    }
    std::optional<std::uint64_t> elements;
    if (declared.has_shape &&
        std::all_of(declared.shape.begin(), declared.shape.end(),
                    [](const std::optional<std::uint64_t>& size) { return size.has_value(); })) {
      std::vector<std::uint64_t> shape;
      for (const std::optional<std::uint64_t>& size : declared.shape) shape.push_back(*size);
      elements = core::CheckedProduct(shape);
    }
    Declare(id, type, elements);
  }

  void TakeGraph(std::size_t index, std::optional<std::size_t> parent) {
    const protobuf::OnnxGraph& graph = model_.graphs.at(index);
    const std::size_t body = found_.bodies.size();
    found_.bodies.push_back(
        {&graph, nullptr, parent,
         graph::OpsetOf(graph.opset_scope == 0
                            ? model_.opset_imports
                            : model_.functions.at(graph.opset_scope - 1).opset_imports)});
    Scope scope(*this, body);
    std::set<std::string_view> inputs;
    for (const protobuf::OnnxValue& input : graph.inputs) {
      inputs.insert(input.name);
      Give(scope.Define(input.name));
    }
    for (const protobuf::OnnxTensor& tensor : graph.initializers)
      TakeInitializer(tensor, inputs, scope);
    for (const std::string& name : graph.sparse_names) Give(scope.Define(name));
    DefineOutputs(graph.nodes, scope);
    for (const auto* const values : {&graph.inputs, &graph.value_infos, &graph.outputs}) {
      for (const protobuf::OnnxValue& value : *values) Declare(value, body);
    }
    for (const std::string& name : graph.annotated) Fix(name);
    for (const protobuf::OnnxValue& output : graph.outputs) Fix(output.name);
    for (const protobuf::OnnxNode& node : graph.nodes) TakeNode(node, body);
  }

  void TakeInitializer(const protobuf::OnnxTensor& tensor, const std::set<std::string_view>& inputs,
                       Scope& scope) {
    const std::string& name = tensor.message.name;
    const DataType type = core::TypeOfNumber(tensor.message.data_type);
    if (inputs.contains(name)) {  // a default, of the input's type but maybe of another shape
      Declare(Look(name), type, std::nullopt);
      return;
    }
    const ValueId id = scope.Define(name);
    if (id == kNoValue) return;
    At(id).initializer = &tensor;
    Give(id);
    Declare(id, type, core::CheckedProduct(tensor.message.dims));
  }

  void TakeFunction(const protobuf::OnnxFunction& function) {
    const std::size_t body = found_.bodies.size();
    found_.bodies.push_back(
        {nullptr, &function, std::nullopt, graph::OpsetOf(function.opset_imports)});
    Scope scope(*this, body);
    for (const std::string& input : function.inputs) Give(scope.Define(input));
    DefineOutputs(function.nodes, scope);
    for (const std::string& output : function.outputs) Fix(output);
    for (const protobuf::OnnxNode& node : function.nodes) TakeNode(node, body);
  }

  // All of them before any is read: one that is read too early is found out.
  static void DefineOutputs(const std::vector<protobuf::OnnxNode>& nodes, Scope& scope) {
    for (const protobuf::OnnxNode& node : nodes) {
      for (const std::string& output : node.outputs) scope.Define(output);
    }
  }

  void TakeNode(const protobuf::OnnxNode& message, std::size_t body) {
    ModelNode node;
    node.message = &message;
    node.body = body;
    for (const std::string& input : message.inputs) {
      const ValueId id = Look(input);
      node.inputs.push_back(id);
      if (id == kNoValue) continue;
      ModelValue& value = At(id);
      ++value.reads;
      if (!is_given_[id]) value.is_unclear = true;
      if (message.has_other_fields) value.is_fixed = true;
    }
    for (const protobuf::OnnxAttribute& attribute : message.attributes) {
      for (const std::size_t graph : attribute.graphs) TakeGraph(graph, body);
    }
    for (const std::string& output : message.outputs) {
      const ValueId id = Look(output);
      node.outputs.push_back(id);
      if (id == kNoValue) continue;
      ModelValue& value = At(id);
      // Given twice, or by a graph around this one.
      if (value.body != body || is_given_[id]) value.is_unclear = true;
      value.node = found_.nodes.size();
      if (message.has_other_fields) value.is_fixed = true;
      Give(id);
    }
    InferOutput(node);
    found_.nodes.push_back(std::move(node));
  }

  bool IsOfOnnx(const protobuf::OnnxNode& node) const {
    return node.domain.empty() && node.overload.empty() && !overridden_.contains(node.op_type);
  }

  void InferOutput(ModelNode& node) {
    const protobuf::OnnxNode& message = *node.message;
    if (!IsOfOnnx(message) || node.outputs.size() != 1 || node.outputs[0] == kNoValue) return;
    const ValueId first = node.inputs.empty() ? kNoValue : node.inputs[0];
    node.cast = ReadCast(node);
    if (node.cast) {
      Declare(node.outputs[0], node.cast->to, At(first).elements);
      return;
    }
    if (message.op_type == "Constant") return InferConstant(node);
    const auto* const kept =
        std::find_if(std::begin(kKeeping), std::end(kKeeping),
                     [&](const KeptBy& each) { return each.op_type == message.op_type; });
    if (kept == std::end(kKeeping) || first == kNoValue || At(first).is_unclear) return;
    Declare(node.outputs[0], At(first).type, kept->elements ? At(first).elements : std::nullopt);
  }

  void InferConstant(ModelNode& node) {
    const std::vector<protobuf::OnnxAttribute>& attributes = node.message->attributes;
    if (attributes.size() != 1 || attributes[0].name != "value" || !attributes[0].ref.empty() ||
        attributes[0].tensors.size() != 1) {
      return;
    }
    node.constant = &attributes[0].tensors[0];
    const protobuf::TensorProtoMessage& tensor = node.constant->message;
    Declare(node.outputs[0], core::TypeOfNumber(tensor.data_type),
            core::CheckedProduct(tensor.dims));
  }

  // Nothing where the node breaks a rule of its opset, or stands for what each call of its function
  // says anew.
  std::optional<ModelCast> ReadCast(const ModelNode& node) {
    const protobuf::OnnxNode& message = *node.message;
    const bool is_like = message.op_type == "CastLike";
    const std::optional<std::int64_t> opset = found_.bodies[node.body].opset;
    if ((!is_like && message.op_type != "Cast") || !opset || message.has_other_fields ||
        node.inputs.size() != (is_like ? 2u : 1u)) {
      return std::nullopt;
    }
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || At(input).is_unclear) return std::nullopt;
    }
    std::vector<graph::Attribute> attributes;
    attributes.reserve(message.attributes.size());
    for (const protobuf::OnnxAttribute& attribute : message.attributes) {
      if (!attribute.ref.empty()) return std::nullopt;
      attributes.push_back(PlainAttribute(attribute, text_));
    }
    std::vector<graph::NodeAttribute> by_name;
    by_name.reserve(attributes.size());
    for (const graph::Attribute& each : attributes) by_name.push_back({each.name, &each});
    const DataType from = At(node.inputs[0]).type;
    const DataType like = is_like ? At(node.inputs[1]).type : DataType::kUndefined;
    if (is_like && like == DataType::kUndefined) return std::nullopt;
    try {
      const auto read = [&](bool as_tests) {
        const graph::NodePlace place{nobody_, nothing_};
        if (is_like) {
          return graph::ReadCastLike(place, by_name, *opset,
                                     from == DataType::kUndefined ? like : from, like, as_tests);
        }
        // Every version casts from float32, should the type not be known.
        return graph::ReadCast(place, by_name, *opset,
                               from == DataType::kUndefined ? DataType::kFloat32 : from, as_tests);
      };
      const graph::CastRequest request = read(false);
      return ModelCast{is_like ? graph::CastOperator::kCastLike : graph::CastOperator::kCast,
                       request.to, request.options, read(true).options};
    } catch (const graph::Error&) {
      return std::nullopt;
    }
  }

  const protobuf::OnnxModel& model_;
  std::shared_ptr<const graph::ByteStore> text_;  // of attributes
  std::set<std::string, std::less<>>
      overridden_;  // operators that a function of the model stands for
  ModelValues found_;
  std::unordered_map<std::string_view, ValueId> visible_;  // by name, where it is read
  std::vector<bool> is_given_;                             // by value: its node has been
  const graph::Body nobody_;
  const graph::Node nothing_;
};

}  // namespace

ModelValues FindValues(const protobuf::OnnxModel& model, const files::ByteSource& source) {
  return ValueFinder(model, source).Find();
}

}  // namespace tensorcast::onnx
