// Reads commands and options out of CLI11's objects.
//
// SPDX-License-Identifier: Apache-2.0
#include "command_tree.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "fail_limits.h"

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

std::string LongestName(const CLI::Option& option) {
  return option.get_lnames().empty() ? "-" + option.get_snames().front()
                                     : "--" + option.get_lnames().front();
}

OptionEntry DescribeOption(const CLI::Option& option) {
  OptionEntry entry;
  if (option.nonpositional()) {
    for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
    if (option.get_items_expected_max() > 0) entry.value = option.get_type_name();
  } else {
    entry.names = {option.get_name()};
    // A set of words says more than the name.
    const std::string type = option.get_type_name();
    entry.value = type.find('|') != std::string::npos ? type : entry.names.front();
  }
  entry.kind = KindOf(entry.value);
  if (entry.kind == ValueKind::kWord) entry.words = SplitWords(entry.value);
  if (entry.kind == ValueKind::kLimit) {
    for (const std::string_view name : LimitNames()) entry.words.push_back(std::string(name) + "=");
  }
  entry.help = option.get_description();
  entry.is_required = option.get_required();
  entry.is_repeatable = option.get_expected_max() > 1;
  entry.is_comma_list = option.get_delimiter() == ',';
  for (const CLI::Option* excluded : option.get_excludes()) {
    entry.excludes.push_back(LongestName(*excluded));
  }
  return entry;
}

// Splits a description: a first line, "Examples:" with indented lines, and the rest.
void ReadDescription(const std::string& description, CommandEntry* command) {
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

}  // namespace

CommandEntry DescribeCommand(const CLI::App& app) {
  CommandEntry command;
  command.name = app.get_name();
  ReadDescription(app.get_description(), &command);
  for (const CLI::Option* option : app.get_options()) {
    (option->nonpositional() ? command.options : command.positionals)
        .push_back(DescribeOption(*option));
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(DescribeCommand(*sub));
  }
  return command;
}

}  // namespace tensorcast::tool
