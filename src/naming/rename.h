// Names that are changed by a pattern: what it took of a name stands in the new one.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_NAMING_RENAME_H_
#define TENSORCAST_SRC_NAMING_RENAME_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "naming/name_pattern.h"

namespace tensorcast::naming {

// "model.*" to "*": the first * of the new name is what the first * of the glob took, and so on.
// "re:layers\.(\d+)\.(.*)" to "h.\1.\2": \1 is what the first group took, \0 the whole name. In
// the new name \ makes any other character itself.
class Rename {
 public:
  // Throws files::Error (arguments) where the pattern is not legal, or the new name asks for more
  // than it takes.
  Rename(std::string from, std::string to);

  // The new name of one that matches. Throws as NamePattern does.
  std::optional<std::string> Apply(std::string_view name) const;
  const std::string& from() const { return from_.text(); }
  const std::string& to() const { return to_; }

 private:
  NamePattern from_;
  std::string to_;
  std::vector<std::variant<std::string, std::size_t>> pieces_;  // of it: texts, and parts by place
};

// Several: the first that matches a name wins.
class Renames {
 public:
  void Add(Rename rename) { renames_.push_back({std::move(rename)}); }
  bool empty() const { return renames_.empty(); }

  // The new name of one that some match; all that do are noted. Throws as Rename::Apply.
  std::optional<std::string> Apply(std::string_view name);
  // Which is the first that has matched no name; empty: each has.
  std::optional<std::size_t> Idle() const;

 private:
  struct Noted {
    Rename rename;
    bool has_matched = false;
  };
  std::vector<Noted> renames_;
};

}  // namespace tensorcast::naming

#endif  // TENSORCAST_SRC_NAMING_RENAME_H_
