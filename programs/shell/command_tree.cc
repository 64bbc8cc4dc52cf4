// What descriptions, and the names that the commands give to values, stand for.
//
// SPDX-License-Identifier: Apache-2.0
#include "shell/command_tree.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "tensorcast/report.hpp"

namespace tensorcast::tool {
namespace {

// The names that the commands give to values, by what they stand for.
ValueKind KindOf(std::string_view value) {
  if (value.empty()) return ValueKind::kNone;
  if (value.find('|') != std::string_view::npos) return ValueKind::kWord;
  if (value == "KIND=LIMIT") return ValueKind::kLimit;
  if (value == "T") return ValueKind::kType;
  if (value == "TYPE") return ValueKind::kGoal;
  if (value == "IN" || value == "OUT" || value == "FILE") return ValueKind::kFile;
  if (value == "PATH" || value == "DIR") return ValueKind::kPath;
  return ValueKind::kOther;
}

std::vector<std::string> SplitWords(std::string_view value) {
  std::vector<std::string> words(1);
  for (const char c : value) {
    if (c == '|') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

void SetKind(OptionEntry* option) {
  option->kind = KindOf(option->value);
  if (option->kind == ValueKind::kWord) option->words = SplitWords(option->value);
  if (option->kind == ValueKind::kLimit) {
    for (const std::string_view name : LimitNames()) {
      option->words.push_back(std::string(name) + "=");
    }
  }
}

void SetDescription(const std::string& description, CommandEntry* command) {
  bool in_examples = false;
  std::size_t begin = 0;
  for (std::size_t line_number = 0; begin < description.size(); ++line_number) {
    const std::size_t end = std::min(description.find('\n', begin), description.size());
    const std::string line = description.substr(begin, end - begin);
    begin = end + 1;
    if (line_number == 0) {
      command->summary = line;
    } else if (line == "Examples:") {
      in_examples = true;
    } else if (in_examples && line.starts_with("  ")) {
      command->examples.push_back(line.substr(2));
    } else {
      in_examples = false;
      if (!command->text.empty() || !line.empty()) command->text += line + "\n";
    }
  }
}

}  // namespace tensorcast::tool
