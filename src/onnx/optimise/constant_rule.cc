// Weighs the bytes of new constants against those of the Casts and constants that go.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/optimise/constant_rule.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/onnx_numbers.h"
#include "files/error.h"
#include "graph/cast_chains.h"
#include "graph/operator_versions.h"
#include "onnx/added_nodes.h"

namespace tensorcast::onnx {
namespace {

class ConstantFolder {
 public:
  ConstantFolder(const protobuf::OnnxModel& model, const files::ByteSource& source, bool fold_all,
                 ModelValues& values, NodeFates& fates)
      : model_(model), source_(source), fold_all_(fold_all), values_(values), fates_(fates) {}

  FoldedConstants Fold() {
    for (std::size_t i = 0; i < values_.nodes.size(); ++i) {
      const ModelNode& node = values_.nodes[i];
      if (!fates_.removed[i] && node.cast) readers_[node.inputs[0]].push_back(i);
    }
    // Constants that come of casts are values too, behind those that they are made of.
    for (ValueId id = 0; id < values_.values.size(); ++id) Take(id);
    for (auto& [node, constant] : made_) folded_.constants.push_back(std::move(constant));
    std::sort(folded_.constants.begin(), folded_.constants.end(),
              [](const NewConstant& a, const NewConstant& b) { return a.node < b.node; });
    return std::move(folded_);
  }

 private:
  // A constant that Casts read.
  struct Root {
    FoldedConstant values;
    bool is_initializer = false;
    std::uint64_t field_bytes = 0;  // what goes with it, where nobody reads it any more
  };

  ModelValue& At(ValueId id) { return values_.values[id]; }

  void Take(ValueId id) {
    if (!readers_.contains(id)) return;
    std::vector<std::pair<ValueId, Root>> roots;
    if (std::optional<Root> root = RootOf(id)) roots.emplace_back(id, std::move(*root));
    // What a fold gives is a constant in its turn.
    while (!roots.empty()) {
      const auto [at, root] = std::move(roots.back());
      roots.pop_back();
      for (const std::size_t node : FoldReaders(at, root)) {
        const ValueId result = values_.nodes[node].outputs[0];
        const NewConstant& made = made_.at(node);
        if (readers_.contains(result)) {
          roots.emplace_back(result, Root{made.values, made.is_initializer,
                                          made.head.size() + made.values.bytes()});
        }
      }
    }
  }

  // Nothing where it is no constant, or none that can be cast here.
  std::optional<Root> RootOf(ValueId id) {
    const ModelValue& value = At(id);
    const protobuf::OnnxTensor* tensor = value.initializer;
    std::uint64_t field_bytes = 0;
    if (tensor != nullptr) {
      field_bytes = tensor->field.end - tensor->field.offset;
    } else if (value.node && values_.nodes[*value.node].constant != nullptr) {
      tensor = values_.nodes[*value.node].constant;
      const protobuf::WireField& field = values_.nodes[*value.node].message->field;
      field_bytes = field.end - field.offset;
    }
    if (tensor == nullptr || value.is_unclear || value.type == DataType::kUndefined ||
        value.type == DataType::kString || !value.elements || tensor->message.is_segment ||
        value.type != core::TypeOfNumber(tensor->message.data_type)) {
      return std::nullopt;
    }
    if (value.initializer != nullptr && model_.ir_version < protobuf::kFirstIrOfConstants) {
      return std::nullopt;
    }
    if (tensor->message.is_external) {
      for (const std::size_t node : readers_.at(id)) fates_.kept[node] = KeptFor::kOtherFile;
      return std::nullopt;
    }
    try {
      return Root{FoldedConstant(source_, tensor->message), value.initializer != nullptr,
                  field_bytes};
    } catch (const files::Error&) {  // left to whoever runs the model
      return std::nullopt;
    }
  }

  bool CanFold(std::size_t index, const Root& root) {
    const ModelNode& node = values_.nodes[index];
    const ModelBody& body = values_.bodies[node.body];
    if (fates_.removed[index] || node.cast->to == DataType::kString) return false;
    const auto effect = [&](const CastOptions& options) {
      return graph::OptionsInEffect(root.values.type(), node.cast->to, options);
    };
    // What the text and the tests of an opset say otherwise is for whoever runs the model.
    if (effect(node.cast->options) != effect(node.cast->as_tests)) return false;
    if (At(node.outputs[0]).is_fixed) return false;
    return root.is_initializer || *body.opset >= graph::kFirstConstantOfAllTypes;
  }

  // The Casts of the constant that are folded: all, or those for which that pays.
  std::vector<std::size_t> FoldReaders(ValueId id, const Root& root) {
    std::vector<std::size_t> folds;
    std::uint64_t cost = 0, saved = 0;
    for (const std::size_t node : readers_.at(id)) {
      if (!CanFold(node, root)) continue;
      const NewConstant& made = made_.emplace(node, Make(node, root)).first->second;
      cost += Bytes(made);
      saved += NodeBytes(node);
      folds.push_back(node);
    }
    const bool none_left = At(id).reads == folds.size() && !At(id).is_fixed;
    if (none_left) saved += root.field_bytes;
    if (!fold_all_ && cost > saved) {
      const auto grows = [&](std::size_t node) {
        if (Bytes(made_.at(node)) <= NodeBytes(node)) return false;
        fates_.kept[node] = KeptFor::kLarger;
        made_.erase(node);
        return true;
      };
      folds.erase(std::remove_if(folds.begin(), folds.end(), grows), folds.end());
    }
    for (const std::size_t node : folds) {
      fates_.removed[node] = OptimizeRule::kConstant;
      for (const ValueId input : values_.nodes[node].inputs) --At(input).reads;
    }
    if (!folds.empty() && At(id).reads == 0 && !At(id).is_fixed) Remove(id);
    return folds;
  }

  void Remove(ValueId id) {
    const ModelValue& value = At(id);
    if (value.initializer != nullptr) {
      folded_.unread_initializers.push_back(value.initializer);
    } else if (const std::size_t node = *value.node; made_.contains(node)) {
      made_.erase(node);  // it was made on the way to another
    } else {
      fates_.removed[node] = OptimizeRule::kConstant;
    }
  }

  NewConstant Make(std::size_t index, const Root& root) {
    const ModelNode& node = values_.nodes[index];
    const std::string_view name = At(node.outputs[0]).name;
    FoldedConstant values = root.values.Cast(node.cast->to, node.cast->options);
    const std::uint64_t bytes = values.bytes();
    NewConstant made{index, false, {}, std::move(values)};
    if (root.is_initializer && values_.bodies[node.body].graph != nullptr) {
      made.is_initializer = true;
      made.head = InitializerHead(made.values.Head(name), bytes);
    } else {
      made.head = ConstantHead(node.message->field.number, name, node.message->name,
                               made.values.Head({}), bytes);
    }
    return made;
  }

  static std::uint64_t Bytes(const NewConstant& made) {
    return made.head.size() + made.values.bytes();
  }

  std::uint64_t NodeBytes(std::size_t index) const {
    const protobuf::WireField& field = values_.nodes[index].message->field;
    return field.end - field.offset;
  }

  const protobuf::OnnxModel& model_;
  const files::ByteSource& source_;
  const bool fold_all_;
  ModelValues& values_;
  NodeFates& fates_;
  std::unordered_map<ValueId, std::vector<std::size_t>> readers_;  // Casts, by what they read
  std::unordered_map<std::size_t, NewConstant> made_;              // by the Cast's node
  FoldedConstants folded_;
};

}  // namespace

FoldedConstants FoldConstants(const protobuf::OnnxModel& model, const files::ByteSource& source,
                              bool fold_all, ModelValues& values, NodeFates& fates) {
  return ConstantFolder(model, source, fold_all, values, fates).Fold();
}

}  // namespace tensorcast::onnx
