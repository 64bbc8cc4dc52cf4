// The commands and their options as the parser knows them: what completion and the manual page are
// made from, so that neither can differ from --help.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_COMMAND_TREE_H_
#define TENSORCAST_PROGRAMS_SHELL_COMMAND_TREE_H_

#include <string>
#include <vector>

namespace tensorcast::tool {

// What stands for an option's value.
enum class ValueKind {
  kNone,   // a flag
  kOther,  // nothing that could be listed
  kWord,   // one of `words`
  kLimit,  // one of `words`, each with its =, and a number behind it
  kType,   // a name of an element type
  kGoal,   // a name of an element type or of a scaled format
  kFile,   // a tensor file
  kPath,   // any other file, or a directory
};

struct OptionEntry {
  std::vector<std::string> names;  // "-o", "--output"; of a positional its name
  std::string value;               // as --help writes it: "GLOB", "true|false"; empty for a flag
  ValueKind kind = ValueKind::kNone;
  std::vector<std::string> words;
  std::string help;
  bool is_required = false;
  bool is_repeatable = false;
  bool is_comma_list = false;
  std::vector<std::string> excludes;  // names of other options
};

struct CommandEntry {
  std::string name;
  std::string summary;                // the first line of its description
  std::vector<std::string> examples;  // lines of shell
  std::string text;                   // the rest of the description
  std::vector<OptionEntry> options;
  std::vector<OptionEntry> positionals;
  std::vector<CommandEntry> commands;
};

// Sets `kind` and `words` by `value`.
void SetKind(OptionEntry* option);
// Splits a description: a first line, "Examples:" with indented lines, and the rest.
void SetDescription(const std::string& description, CommandEntry* command);

// Scripts that complete the tool's command line.
std::string BashCompletion(const CommandEntry& tool);
std::string ZshCompletion(const CommandEntry& tool);
// tensorcast(1) in roff, with the man macros.
std::string ManPage(const CommandEntry& tool);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_COMMAND_TREE_H_
