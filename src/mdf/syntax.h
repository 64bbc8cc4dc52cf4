// The syntaxes that MDF files have: the row each has in syntax.cc, and its functions. All give the
// tree that Python's readers of them give MDF (json, PyYAML's SafeLoader, pymongo's bson).
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_MDF_SYNTAX_H_
#define TENSORCAST_SRC_MDF_SYNTAX_H_

#include <array>
#include <string>
#include <string_view>

#include "mdf/value.h"

namespace tensorcast::mdf {

struct Syntax {
  std::string_view name;
  std::array<std::string_view, 2> endings;  // with their dots; the second may be empty
  // Whether a file that begins so is in this syntax, by its contents alone; `head` is its first
  // bytes, or all.
  bool (*looks_like)(std::string_view head);
  // `path`: the file's, for messages that begin with it. Throws files::Error (contents), and
  // graph::Error (contents; unsupported: a part of the syntax that is not read), which does not
  // name the file.
  Value (*read)(const std::string& path, const std::string& text);
  // Throws graph::Error (unsupported) where it cannot hold the value.
  std::string (*write)(const Value& value);
};

// By the ending of a path, in any case of letters; null where none has it.
const Syntax* SyntaxOfEnding(std::string_view path);
// By what a file begins with: the one that says within it that it is MDF.
const Syntax* SyntaxOfHead(std::string_view head);
// ".json, .yaml, .yml and .bson".
std::string JoinedSyntaxEndings(std::string_view conjunction);

Value ReadJson(const std::string& path, const std::string& text);
std::string WriteJson(const Value& value);
// A build without libyaml refuses both (unsupported).
Value ReadYaml(const std::string& path, const std::string& text);
std::string WriteYaml(const Value& value);
Value ReadBson(const std::string& path, const std::string& bytes);
std::string WriteBson(const Value& value);

}  // namespace tensorcast::mdf

#endif  // TENSORCAST_SRC_MDF_SYNTAX_H_
