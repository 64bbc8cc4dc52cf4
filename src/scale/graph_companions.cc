// One row for each operator that takes scales: ONNX's own and ONNX Runtime's.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/graph_companions.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scale/scale_names.h"

namespace tensorcast::scale {
namespace {

// An input that is a companion, and the input or output that it serves.
struct ServingInput {
  std::size_t input;
  CompanionRole role;
  std::size_t served;
};

struct ServingOperator {
  std::string_view op_type;
  std::vector<ServingInput> inputs;
};

const std::vector<ServingOperator>& Operators() {
  using enum CompanionRole;
  // a, its scale, its zero point, b, its scale, its zero point, the result's scale and zero point
  static const std::vector<ServingInput> kOfTwo = {
      {1, kScale, 0},     {2, kZeroPoint, 0},       {4, kScale, 3},
      {5, kZeroPoint, 3}, {6, kActivationScale, 0}, {7, kActivationScale, 0}};
  static const std::vector<ServingInput> kOfOne = {
      {1, kScale, 0}, {2, kZeroPoint, 0}, {3, kActivationScale, 0}, {4, kActivationScale, 0}};
  static const std::vector<ServingOperator> kOperators = {
      {"DequantizeLinear", {{1, kScale, 0}, {2, kZeroPoint, 0}}},
      {"QuantizeLinear", {{1, kScale, 0}, {2, kZeroPoint, 0}}},
      {"QLinearConv", kOfTwo},
      {"QLinearMatMul", kOfTwo},
      {"QLinearAdd", kOfTwo},
      {"QLinearMul", kOfTwo},
      {"QLinearSigmoid", kOfOne},
      {"QLinearLeakyRelu", kOfOne},
      {"QLinearSoftmax", kOfOne},
      {"QLinearReduceMean", kOfOne},
      {"QLinearAveragePool", kOfOne},
      {"QLinearGlobalAveragePool", kOfOne},
      {"QGemm",
       {{1, kScale, 0},
        {2, kZeroPoint, 0},
        {4, kScale, 3},
        {5, kZeroPoint, 3},
        {7, kActivationScale, 0},
        {8, kActivationScale, 0}}},
      {"QAttention", {{3, kScale, 0}, {4, kScale, 1}, {6, kZeroPoint, 0}, {7, kZeroPoint, 1}}},
      {"MatMulInteger", {{2, kZeroPoint, 0}, {3, kZeroPoint, 1}}},
      {"ConvInteger", {{2, kZeroPoint, 0}, {3, kZeroPoint, 1}}},
      {"MatMulIntegerToFloat",
       {{2, kScale, 0}, {3, kScale, 1}, {4, kZeroPoint, 0}, {5, kZeroPoint, 1}}},
      {"DynamicQuantizeMatMul", {{2, kScale, 1}, {3, kZeroPoint, 1}}},
      {"MatMulNBits", {{2, kScale, 1}, {3, kZeroPoint, 1}, {4, kOrder, 1}}},
      {"MatMulBnb4", {{2, kScale, 1}}},
      {"GatherBlockQuantized", {{2, kScale, 0}, {3, kZeroPoint, 0}}},
  };
  return kOperators;
}

class GraphSearch {
 public:
  GraphSearch(const formats::OnnxTensorReader& model, ScaleCompanions& found)
      : model_(model), found_(found) {
    const std::size_t count = model.contents().tensors.size();
    for (std::size_t i = 0; i < count; ++i) {
      const formats::OnnxTensorPlace& place = model.place(i);
      if (place.initializer) {
        by_value_.emplace(model.tensor(i).message.name, i);
      } else if (const protobuf::OnnxNode& node = NodeOf(model.model(), place);
                 node.op_type == "Constant" && !node.outputs.empty()) {
        by_value_.emplace(node.outputs.front(), i);
      }
    }
  }

  void Run() {
    for (const protobuf::OnnxGraph& graph : model_.model().graphs) Look(graph.nodes);
    for (const protobuf::OnnxFunction& function : model_.model().functions) Look(function.nodes);
    Merge();
  }

 private:
  void Look(const std::vector<protobuf::OnnxNode>& nodes) {
    for (const protobuf::OnnxNode& node : nodes) {
      for (const ServingOperator& row : Operators()) {
        if (node.op_type != row.op_type) continue;
        for (const ServingInput& one : row.inputs) {
          if (one.input >= node.inputs.size() || node.inputs[one.input].empty()) continue;
          Take(node, one);
        }
      }
    }
  }

  // Values of one name in several graphs are all taken: a scale too many costs a Cast, one too few
  // the model.
  void Take(const protobuf::OnnxNode& node, const ServingInput& one) {
    const std::string of = one.served < node.inputs.size() && !node.inputs[one.served].empty()
                               ? node.inputs[one.served]
                               : node.name;
    for (auto [at, end] = by_value_.equal_range(node.inputs[one.input]); at != end; ++at) {
      companions_.emplace(at->second, Companion{at->second, RoleText(one.role), of, nullptr, {}});
    }
    if (one.role != CompanionRole::kScale || node.op_type == "QuantizeLinear") return;
    for (auto [at, end] = by_value_.equal_range(of); at != end; ++at) {
      if (!IsNarrowFloat(model_.contents().tensors[at->second])) continue;
      scaled_.emplace(at->second, ScaledTensor{at->second, node.inputs[one.input], {}});
    }
  }

  // What the names told stays as it is; each tensor once, in the order of the contents.
  void Merge() {
    const auto by_tensor = [](const auto& a, const auto& b) { return a.tensor < b.tensor; };
    for (const Companion& one : found_.companions) companions_.erase(one.tensor);
    for (const ScaledTensor& one : found_.scaled) scaled_.erase(one.tensor);
    for (auto& [tensor, one] : companions_) found_.companions.push_back(std::move(one));
    for (auto& [tensor, one] : scaled_) found_.scaled.push_back(std::move(one));
    std::sort(found_.companions.begin(), found_.companions.end(), by_tensor);
    std::sort(found_.scaled.begin(), found_.scaled.end(), by_tensor);
    found_.unscaled.clear();
  }

  const formats::OnnxTensorReader& model_;
  ScaleCompanions& found_;
  std::unordered_multimap<std::string, std::size_t> by_value_;
  std::unordered_map<std::size_t, Companion> companions_;
  std::unordered_map<std::size_t, ScaledTensor> scaled_;
};

}  // namespace

void AddGraphCompanions(const formats::OnnxTensorReader& model, ScaleCompanions& found) {
  GraphSearch(model, found).Run();
}

}  // namespace tensorcast::scale
