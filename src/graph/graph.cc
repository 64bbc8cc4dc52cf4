// Names of values, and what messages call nodes.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>

#include "text/error_text.h"

namespace tensorcast::graph {

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
  if (!node.name.empty()) return "node " + text::Quoted(node.name);
  if (!node.outputs.empty() && node.outputs[0] != kNoValue) {
    return "the node that gives " + text::Quoted(name(node.outputs[0]));
  }
  return "a node without a name";
}

}  // namespace tensorcast::graph
