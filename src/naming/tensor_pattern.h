// What a pattern of a request can ask of a tensor: its name, its type, how many dimensions or
// values it has.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_NAMING_TENSOR_PATTERN_H_
#define TENSORCAST_SRC_NAMING_TENSOR_PATTERN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "naming/name_pattern.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::naming {

// What a pattern looks at.
struct PatternSubject {
  std::string_view name;
  std::string_view alias;  // another name that it answers to; may be empty
  DataType type = DataType::kUndefined;
  std::uint64_t rank = 0;    // dimensions
  std::uint64_t values = 0;  // elements
};

// "dtype:T", a type's name; "rank" or "values" with < <= = >= or > and a number, blanks around the
// sign allowed; anything else is a NamePattern. A \ in front makes a name of what would be another.
class TensorPattern {
 public:
  // Throws files::Error (arguments) where the pattern is not legal.
  explicit TensorPattern(std::string text);

  bool Matches(const PatternSubject& subject) const;
  // Whether it asks for the name, and this is one it takes.
  bool MatchesName(std::string_view name) const;
  bool IsName() const { return std::holds_alternative<NamePattern>(condition_); }
  // Whether it is the name itself, as GlobLiteral writes it: no other tensor can be meant.
  bool IsExactly(std::string_view name) const;
  const std::string& text() const { return text_; }

 private:
  struct Comparison {
    std::uint64_t PatternSubject::*figure;
    bool less, equal, greater;  // the outcomes that match
    std::uint64_t number;
  };
  using Condition = std::variant<NamePattern, DataType, Comparison>;
  static Condition Parse(const std::string& text);

  std::string text_;
  Condition condition_;
};

// `name` as a glob that matches it alone.
std::string GlobLiteral(std::string_view name);

// `name` as a glob in which every run of digits between dots is a *: the same place in every layer.
std::string LayerGlob(std::string_view name);

}  // namespace tensorcast::naming

#endif  // TENSORCAST_SRC_NAMING_TENSOR_PATTERN_H_
