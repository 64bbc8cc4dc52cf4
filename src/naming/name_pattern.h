// Patterns over whole tensor names: globs, and regular expressions behind "re:".
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_NAMING_NAME_PATTERN_H_
#define TENSORCAST_SRC_NAMING_NAME_PATTERN_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "naming/regular_expression.h"

namespace tensorcast::naming {

// A pattern matches a whole dotted name or not at all: "wo" must not hit "word_embedding".
// Globs: * any run of characters (dots too), ? one character, [a-z] [!a-z] one of a set, \x the
// character x itself. "re:" in front makes it a regular expression.
class NamePattern {
 public:
  // Throws files::Error (arguments) where the pattern is not legal.
  explicit NamePattern(std::string text);

  // Throws as naming::RegularExpression does.
  bool Matches(std::string_view name) const;
  // What was taken of a name that matches: by each * of a glob, in order, the earlier ones as
  // little as can be; by the whole regular expression and then by each of its groups. Nothing where
  // the name does not match.
  std::optional<std::vector<std::string_view>> PartsOf(std::string_view name) const;
  // How many parts that gives.
  std::size_t parts() const;
  bool IsExpression() const { return expression_.has_value(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::optional<naming::RegularExpression> expression_;  // none: a glob
};

}  // namespace tensorcast::naming

#endif  // TENSORCAST_SRC_NAMING_NAME_PATTERN_H_
