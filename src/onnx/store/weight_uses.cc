// Walks graphs, subgraphs and functions with the names that are in scope.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/store/weight_uses.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/onnx_numbers.h"
#include "files/error.h"
#include "protobuf/onnx_model.h"

namespace tensorcast::onnx {
namespace {

constexpr std::size_t kNoTensor = SIZE_MAX;  // a value that is none of the model's tensors

// The axis of a tensor's output channels where it is this input of the node; none: it is no weight
// of the node, or its attributes do not say.
std::optional<std::uint32_t> ChannelAxis(const protobuf::OnnxNode& node, std::size_t input,
                                         std::size_t rank) {
  constexpr std::size_t kWeightInput = 1;  // of all four
  if (input != kWeightInput || !node.domain.empty() || rank < 2) return std::nullopt;
  if (node.op_type == "Conv") return 0;
  if (node.op_type == "ConvTranspose") return 1;
  if (node.op_type == "MatMul") return static_cast<std::uint32_t>(rank - 1);
  if (node.op_type != "Gemm" || rank != 2) return std::nullopt;
  const protobuf::OnnxAttribute* const transposed = node.Find("transB");
  if (transposed == nullptr) return 1;
  if (transposed->type != core::AttributeType::kInt || !transposed->ref.empty()) {
    return std::nullopt;  // an attribute of the function that the node is in
  }
  return transposed->i != 0 ? 0 : 1;
}

class Walk {
 public:
  explicit Walk(const formats::OnnxTensorReader& reader)
      : reader_(reader), uses_(reader.contents().tensors.size()), users_(uses_.size()) {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      const formats::OnnxTensorPlace& place = reader.place(i);
      if (place.initializer) {
        initializers_[{*place.graph, *place.initializer}] = i;
      } else if (const protobuf::OnnxNode& node = formats::NodeOf(reader.model(), place);
                 node.op_type == "Constant" && node.outputs.size() == 1) {
        constants_[&node] = i;
      }
    }
  }

  std::vector<WeightUse> Run() {
    if (!reader_.model().graphs.empty()) VisitGraph(0);
    for (const protobuf::OnnxFunction& function : reader_.model().functions) {
      std::vector<std::string_view> bound;
      for (const std::string& name : function.inputs) Bind(name, kNoTensor, bound);
      VisitNodes(function.nodes, bound);
      for (const std::string& name : function.outputs) TakeOutput(name);
      Unbind(bound);
    }
    for (WeightUse& use : uses_) {
      if (!use.axis && use.why_none.empty()) use.why_none = "used by no node";
      if (!use.why_none.empty()) use.axis.reset();
    }
    return std::move(uses_);
  }

 private:
  void Bind(std::string_view name, std::size_t tensor, std::vector<std::string_view>& bound) {
    scope_[name].push_back(tensor);
    bound.push_back(name);
  }
  void Unbind(const std::vector<std::string_view>& bound) {
    for (const std::string_view name : bound) scope_.at(name).pop_back();
  }

  void VisitGraph(std::size_t index) {
    const protobuf::OnnxGraph& graph = reader_.model().graphs[index];
    std::vector<std::string_view> bound;
    // Before the initializers: of an old model these are inputs too.
    for (const protobuf::OnnxValue& value : graph.inputs) Bind(value.name, kNoTensor, bound);
    for (std::size_t i = 0; i < graph.initializers.size(); ++i) {
      const auto found = initializers_.find({index, i});
      Bind(graph.initializers[i].message.name,
           found != initializers_.end() ? found->second : kNoTensor, bound);
    }
    VisitNodes(graph.nodes, bound);
    for (const protobuf::OnnxValue& value : graph.outputs) TakeOutput(value.name);
    Unbind(bound);
  }

  void VisitNodes(const std::vector<protobuf::OnnxNode>& nodes,
                  std::vector<std::string_view>& bound) {
    for (const protobuf::OnnxNode& node : nodes) {
      const auto constant = constants_.find(&node);
      for (const std::string& name : node.outputs) {
        Bind(name, constant != constants_.end() ? constant->second : kNoTensor, bound);
      }
    }
    for (const protobuf::OnnxNode& node : nodes) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (const std::size_t tensor = Resolve(node.inputs[i]); tensor != kNoTensor) {
          Take(tensor, node, i);
        }
      }
      for (const protobuf::OnnxAttribute& attribute : node.attributes) {
        for (const std::size_t graph : attribute.graphs) VisitGraph(graph);
      }
    }
  }

  std::size_t Resolve(std::string_view name) const {
    const auto found = scope_.find(name);
    if (name.empty() || found == scope_.end() || found->second.empty()) return kNoTensor;
    return found->second.back();
  }

  void TakeOutput(std::string_view name) {
    const std::size_t tensor = Resolve(name);
    if (tensor != kNoTensor) Refuse(tensor, "an output of its graph");
  }

  void Take(std::size_t tensor, const protobuf::OnnxNode& node, std::size_t input) {
    const std::size_t rank = reader_.contents().tensors[tensor].shape.size();
    const std::optional<std::uint32_t> axis = ChannelAxis(node, input, rank);
    WeightUse& use = uses_[tensor];
    if (!axis) {
      Refuse(tensor, "used by " + words::EscapeName(node.op_type) + ", not as a weight");
    } else if (!use.axis) {
      use.axis = axis;
      users_[tensor] = &node;
    } else if (*use.axis != *axis) {
      Refuse(tensor, "used by " + users_[tensor]->op_type + " along axis " +
                         std::to_string(*use.axis) + " and by " + node.op_type + " along axis " +
                         std::to_string(*axis));
    }
  }

  // The first reason counts.
  void Refuse(std::size_t tensor, std::string why) {
    if (uses_[tensor].why_none.empty()) uses_[tensor].why_none = std::move(why);
  }

  const formats::OnnxTensorReader& reader_;
  std::vector<WeightUse> uses_;
  std::vector<const protobuf::OnnxNode*> users_;  // the first to take each as a weight
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> initializers_;  // by graph and place
  std::unordered_map<const protobuf::OnnxNode*, std::size_t> constants_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> scope_;
};

}  // namespace

std::vector<WeightUse> FindWeightUses(const formats::OnnxTensorReader& model) {
  return Walk(model).Run();
}

}  // namespace tensorcast::onnx
