// A checkpoint may have a million weights: what is kept of each is a few bytes, and names are
// compared where they stand.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/shared_globals.h"

#include <algorithm>
#include <utility>

#include "scale/fused_names.h"

namespace tensorcast::convert {

SharedGlobals::SharedGlobals(std::vector<const formats::TensorReader*> readers,
                             std::vector<Member> members)
    : readers_(std::move(readers)) {
  const auto part_of = [&](const Member& member) {
    return scale::FusedPartOf(readers_[member.file]->contents().tensors[member.tensor].name);
  };
  std::erase_if(members, [&](const Member& member) { return !part_of(member); });
  std::stable_sort(members.begin(), members.end(),
                   [&](const Member& a, const Member& b) { return *part_of(a) < *part_of(b); });
  for (auto first = members.begin(); first != members.end();) {
    const scale::FusedPart part = *part_of(*first);
    const auto end = std::find_if(first, members.end(), [&](const Member& member) {
      return !part_of(member)->IsBeside(part);
    });
    if (end - first > 1) {
      members_.insert(members_.end(), first, end);
      ends_.push_back(static_cast<std::uint32_t>(members_.size()));
    }
    first = end;
  }
  amax_.assign(ends_.size(), kUnknown);
  if (ends_.empty()) return;
  groups_.resize(readers_.front()->contents().tensors.size());
  for (std::uint32_t group = 0; group < ends_.size(); ++group) {
    for (const Member& member : MembersOf(group)) {
      if (member.file == 0) groups_[member.tensor] = group + 1;
    }
  }
}

std::span<const SharedGlobals::Member> SharedGlobals::MembersOf(std::uint32_t group) const {
  const std::uint32_t begin = group == 0 ? 0 : ends_[group - 1];
  return std::span(members_).subspan(begin, ends_[group] - begin);
}

std::optional<std::uint32_t> SharedGlobals::GroupOf(std::size_t tensor) const {
  if (tensor >= groups_.size() || groups_[tensor] == 0) return std::nullopt;
  return groups_[tensor] - 1;
}

std::uint64_t SharedGlobals::BytesToRead(std::uint32_t group) const {
  std::uint64_t bytes = 0;
  if (amax_[group] != kUnknown) return bytes;
  for (const Member& member : MembersOf(group)) {
    bytes += readers_[member.file]->contents().tensors[member.tensor].bytes;
  }
  return bytes;
}

double SharedGlobals::AmaxOf(std::uint32_t group, const Measure& measure) {
  if (amax_[group] != kUnknown) return amax_[group];
  double amax = 0;
  for (const Member& member : MembersOf(group)) {
    amax = std::max(amax, measure(*readers_[member.file], member.tensor));
  }
  return amax_[group] = amax;
}

}  // namespace tensorcast::convert
