// Names of values, and what messages call nodes.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "words/error_text.h"

namespace tensorcast::graph {
namespace {

// Values in memory, and the same as bytes for a file.
class HeldValues final : public TensorData,
                         public ByteStore,
                         public std::enable_shared_from_this<HeldValues> {
 public:
  explicit HeldValues(Constant values) : values_(std::move(values)) {}

  // A view, which holds this.
  Constant Read() const override {
    Constant view;
    view.type = values_.type;
    view.shape = values_.shape;
    view.elements = values_.elements;
    view.data = values_.data;
    view.text_offsets = values_.text_offsets;
    view.texts = values_.texts;
    view.holder = shared_from_this();
    return view;
  }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto part = values_.data.subspan(static_cast<std::size_t>(offset), out.size());
    std::copy(part.begin(), part.end(), out.begin());
  }

 private:
  const Constant values_;
};

}  // namespace

Tensor BuiltTensor(std::string_view name, Constant values) {
  Tensor tensor;
  tensor.name = name;
  tensor.number = static_cast<std::uint64_t>(values.type);
  tensor.shape = values.shape;
  const std::uint64_t bytes = values.data.size();
  auto held = std::make_shared<const HeldValues>(std::move(values));
  tensor.values = {held, 0, bytes};
  tensor.data = std::move(held);
  return tensor;
}

Attribute IntAttribute(std::string_view name, std::int64_t value) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = AttributeType::kInt;
  attribute.i = value;
  return attribute;
}

Attribute TextAttribute(std::string_view name, std::string_view value) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = AttributeType::kString;
  attribute.s = BlobOf(value);
  return attribute;
}

ValueId Body::ValueOf(std::string_view name) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  const auto id = static_cast<ValueId>(names_.size());
  by_name_.emplace(names_.emplace_back(name), id);
  return id;
}

std::optional<ValueId> Body::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

void Body::Rename(ValueId id, std::string_view name) {
  std::string given(name);
  by_name_.erase(names_[id]);
  names_[id].swap(given);
  by_name_.emplace(names_[id], id);
  renamed_.insert(id);
}

bool Body::HasRenamed(const Node& node) const {
  if (renamed_.empty()) return false;
  const auto is_renamed = [&](ValueId id) { return IsRenamed(id); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_renamed) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is_renamed);
}

void Body::Forget(ValueId id) { by_name_.erase(names_[id]); }

std::string Body::NodeText(const Node& node) const {
  if (!node.name.empty()) return "node " + words::Quoted(node.name);
  if (!node.outputs.empty() && node.outputs[0] != kNoValue) {
    return "the node that gives " + words::Quoted(name(node.outputs[0]));
  }
  return "a node without a name";
}

}  // namespace tensorcast::graph
