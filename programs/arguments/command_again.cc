// Words are quoted where a shell would take them for more than they are.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/command_again.h"

#include <algorithm>
#include <cstddef>

#include "words/error_text.h"

namespace tensorcast::tool {
namespace {

constexpr std::string_view kSafeSigns =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%";

std::string Word(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(kSafeSigns) == std::string::npos;
  return is_plain ? text : ShellQuoted(text);
}

// Puts `type` in the place of what --to has; false where it is not there.
bool ReplaceTo(const std::string& type, std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--to=")) {
      words[i] = "--to=" + type;
      return true;
    }
    if (words[i] == "--to" && i + 1 < words.size()) {
      words[i + 1] = type;
      return true;
    }
  }
  return false;
}

}  // namespace

std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string CommandAgainText(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& flags) {
  std::vector<std::string> line = arguments;
  const auto is_plan = [](const std::string& word) {
    return word == "--plan" || word.starts_with("--plan=");
  };
  if (line.empty() || std::ranges::any_of(line, is_plan)) return "";
  if (flags.size() == 2 && flags[0] == "--to") {
    if (!ReplaceTo(flags[1], line)) return "";
  } else {
    line.insert(line.begin() + 1, flags.begin(), flags.end());
  }
  if (std::ranges::find(line, "--force") == line.end()) line.emplace_back("--force");
  std::string text = "tensorcast";
  for (const std::string& word : line) {
    if (words::Escape(word) != word) return "";
    text += " " + Word(word);
  }
  return text;
}

}  // namespace tensorcast::tool
