// The new name is taken apart once, when it is given.
//
// SPDX-License-Identifier: Apache-2.0
#include "naming/rename.h"

#include <utility>

#include "files/error.h"

namespace tensorcast::naming {

Rename::Rename(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {
  const auto fail = [&](const std::string& why) {
    throw files::Error(core::ErrorKind::kArguments,
                       "'" + words::EscapeName(to_) + "' is not a name that '" +
                           words::EscapeName(from_.text()) + "' can give: " + why);
  };
  const auto take = [&](std::size_t part, const std::string& what) {
    if (part >= from_.parts()) fail("'" + words::EscapeName(from_.text()) + "' has no " + what);
    pieces_.emplace_back(part);
  };
  const auto add = [&](char c) {
    if (pieces_.empty() || pieces_.back().index() != 0) pieces_.emplace_back(std::string());
    std::get<std::string>(pieces_.back()) += c;
  };
  if (to_.empty()) fail("it is empty");
  std::size_t stars = 0;
  for (std::size_t i = 0; i < to_.size(); ++i) {
    if (to_[i] == '*' && !from_.IsExpression()) {
      ++stars;
      take(stars - 1, "* number " + std::to_string(stars));
      continue;
    }
    if (to_[i] == '\\') {
      if (++i == to_.size()) fail("it ends in a backslash");
      if (from_.IsExpression() && to_[i] >= '0' && to_[i] <= '9') {
        take(static_cast<std::size_t>(to_[i] - '0'), "group " + std::string(1, to_[i]));
        continue;
      }
    }
    add(to_[i]);
  }
}

std::optional<std::string> Rename::Apply(std::string_view name) const {
  const std::optional<std::vector<std::string_view>> parts = from_.PartsOf(name);
  if (!parts) return std::nullopt;
  std::string renamed;
  for (const auto& piece : pieces_) {
    const auto* const part = std::get_if<std::size_t>(&piece);
    renamed += part != nullptr ? parts->at(*part) : std::string_view(std::get<std::string>(piece));
  }
  return renamed;
}

std::optional<std::string> Renames::Apply(std::string_view name) {
  std::optional<std::string> renamed;
  for (Noted& one : renames_) {
    if (renamed && one.has_matched) continue;
    std::optional<std::string> found = one.rename.Apply(name);
    if (!found) continue;
    one.has_matched = true;
    if (!renamed) renamed = std::move(found);
  }
  return renamed;
}

std::optional<std::size_t> Renames::Idle() const {
  for (std::size_t i = 0; i < renames_.size(); ++i) {
    if (!renames_[i].has_matched) return i;
  }
  return std::nullopt;
}

}  // namespace tensorcast::naming
