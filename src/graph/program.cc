// What a program is looked at by.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/program.h"

#include <algorithm>
#include <numeric>

namespace tensorcast::graph {

Status CheckTarget(Target target) {
  CastPlan plan;
  return CastPlan::Bind(DataType::kFloat32, DataType::kFloat16, {}, &plan, target);
}

NameIndex::NameIndex(std::span<const ValueInfo> values) : values_(values), by_name_(values.size()) {
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::stable_sort(by_name_.begin(), by_name_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return values_[a].name < values_[b].name;
  });
}

std::optional<std::size_t> NameIndex::Find(std::string_view name) const {
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](std::uint32_t index, std::string_view wanted) { return values_[index].name < wanted; });
  if (found == by_name_.end() || values_[*found].name != name) return std::nullopt;
  return *found;
}

}  // namespace tensorcast::graph
