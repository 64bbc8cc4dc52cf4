// Patterns over whole tensor names: globs, and regular expressions behind "re:".
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_NAME_PATTERN_H_
#define TENSORCAST_SRC_CONVERT_NAME_PATTERN_H_

#include <memory>
#include <string>
#include <string_view>

namespace tensorcast::convert {

// A pattern matches a whole dotted name or not at all: "wo" must not hit "word_embedding".
// Globs: * any run of characters (dots too), ? one character, [a-z] [!a-z] one of a set, \x the
// character x itself. "re:" in front makes it an ECMAScript regular expression.
class NamePattern {
 public:
  // Throws io::Error (arguments) where the pattern is not legal.
  explicit NamePattern(std::string text);

  bool Matches(std::string_view name) const;
  const std::string& text() const { return text_; }

 private:
  struct Regex;  // so that <regex>, which is long, is read where it is used

  std::string text_;
  std::shared_ptr<const Regex> regex_;  // null: a glob; copies share it
};

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_NAME_PATTERN_H_
