// The table of syntaxes, and the choice among them.
//
// SPDX-License-Identifier: Apache-2.0
#include "mdf/syntax.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace tensorcast::mdf {
namespace {

bool IsJson(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head[first] == '{';
}

// Its bytes are text, and the first stands in a name of the outermost object.
bool IsYaml(std::string_view head) {
  if (head.empty() || head.find('\0') != std::string_view::npos) return false;
  const auto first = static_cast<unsigned char>(head.front());
  return first > ' ' && first != '{';
}

// The length, of which no such file uses the upper byte, and an object as the first element.
bool IsBson(std::string_view head) {
  return head.size() > 5 && head[3] == '\0' && head[4] == '\x03';
}

constexpr Syntax kSyntaxes[] = {
    {"JSON", {".json", ""}, IsJson, ReadJson, WriteJson},
    {"BSON", {".bson", ""}, IsBson, ReadBson, WriteBson},
    {"YAML", {".yaml", ".yml"}, IsYaml, ReadYaml, WriteYaml},
};

// As MDF's "format" begins in every file that it writes.
constexpr std::string_view kMark = "ModECI MDF v";

bool HasEnding(std::string_view path, std::string_view ending) {
  if (ending.empty() || path.size() < ending.size()) return false;
  return std::equal(ending.rbegin(), ending.rend(), path.rbegin(), [](char a, char b) {
    return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
  });
}

}  // namespace

const Syntax* SyntaxOfEnding(std::string_view path) {
  const auto* const found =
      std::find_if(std::begin(kSyntaxes), std::end(kSyntaxes), [&](const Syntax& row) {
        return HasEnding(path, row.endings[0]) || HasEnding(path, row.endings[1]);
      });
  return found == std::end(kSyntaxes) ? nullptr : found;
}

const Syntax* SyntaxOfHead(std::string_view head) {
  if (head.find(kMark) == std::string_view::npos) return nullptr;
  const auto* const found = std::find_if(std::begin(kSyntaxes), std::end(kSyntaxes),
                                         [&](const Syntax& row) { return row.looks_like(head); });
  return found == std::end(kSyntaxes) ? nullptr : found;
}

std::string JoinedSyntaxEndings(std::string_view conjunction) {
  return std::string(".json, .yaml, .yml ").append(conjunction).append(" .bson");
}

}  // namespace tensorcast::mdf
