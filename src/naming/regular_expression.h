// A regular expression over names of tensors, whose time and memory are bounded whatever the
// expression and the names are.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_NAMING_REGULAR_EXPRESSION_H_
#define TENSORCAST_SRC_NAMING_REGULAR_EXPRESSION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorcast::naming {

// Perl's syntax, as PCRE2 reads it. Names and expressions are UTF-8: a dot is one character, and a
// name that is not UTF-8 matches nothing. \d and \w mean ASCII. Copies share what was compiled; any
// number of threads may match at once.
class RegularExpression {
 public:
  // Throws Error (arguments) where `text` is not legal, or more than a name can need. `quoted` is
  // what messages call it.
  RegularExpression(std::string_view text, std::string quoted);

  // These match as Python's re.fullmatch and re.match do: the whole name, or some beginning of it.
  // They throw Error (arguments) if that would take too many steps or too much memory.
  bool MatchesWhole(std::string_view name) const;
  bool MatchesBeginning(std::string_view name) const;
  // Of a name that matches whole: the name, and what each group took of it, empty where it took
  // nothing. Throws as they do.
  std::optional<std::vector<std::string_view>> GroupsOf(std::string_view name) const;
  std::size_t groups() const;

 private:
  bool Matches(std::string_view name, bool is_whole,
               std::vector<std::string_view>* groups = nullptr) const;

  struct Compiled;
  std::string quoted_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tensorcast::naming

#endif  // TENSORCAST_SRC_NAMING_REGULAR_EXPRESSION_H_
