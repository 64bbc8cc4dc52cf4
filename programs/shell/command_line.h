// The command line's grammar: commands with their options, flags and positionals. CLI11 reads it,
// which no other source includes: each that does takes seconds more to compile.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_COMMAND_LINE_H_
#define TENSORCAST_PROGRAMS_SHELL_COMMAND_LINE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tensorcast::tool {

struct CommandEntry;  // command_tree.h

// An option, a flag or a positional of a command. Copies are the same one, and each function
// returns it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option Required();
  // Each time it is given it takes one value; otherwise a list takes all that follow.
  Option OneValue();
  // Splits values too.
  Option Delimiter(char delimiter);
  // Other options of the command, added before: what cannot stand beside it, and what has to.
  Option Excludes(const std::string& name);
  Option Needs(const std::string& name);
  // Where this option is given, those need not be.
  Option InPlaceOf(const std::vector<Option>& required);

 private:
  CLI::Option* option_;
};

// One command; copies are the same one. What values and flags are read into outlives the parsing.
class Command {
 public:
  Command(CLI::App* app, std::function<int()>* run, const std::vector<std::string>* arguments,
          std::string title = {})
      : app_(app), run_(run), arguments_(arguments), title_(std::move(title)) {}

  // The same command, to which options are added under a title of --help.
  Command Under(const std::string& title) const { return {app_, run_, arguments_, title}; }

  // `names` are "-o,--output", or of a positional "IN"; behind a blank stands what --help writes
  // for the value: "--to TYPE", "--saturate true|false". A Value is a string, an optional or a list
  // of them, or an unsigned number.
  template <class Value>
  Option AddOption(const std::string& names, Value& value, const std::string& help);
  Option AddFlag(const std::string& names, bool& is_given, const std::string& help);
  // A flag that may have a word behind a '=', the one in "--resume[=strict]", which `help` tells
  // of; alone it is "true".
  Option AddFlag(const std::string& names, std::string& value, const std::string& help);

  // What the command does where it is chosen, and its exit code (exit_codes.h). May throw
  // files::Error.
  void Runs(std::function<int()> run);

  // In `run`: the names of all options, flags and positionals that stand on the command line.
  std::vector<std::string> Given() const;
  // In `run`: the command line, from the command's name on.
  const std::vector<std::string>& Arguments() const { return *arguments_; }

 private:
  CLI::App* app_;
  std::function<int()>* run_;  // of the command line: that of the command chosen
  const std::vector<std::string>* arguments_;
  std::string title_;  // of the options that are added; empty: that of all others
};

class CommandLine {
 public:
  // `version` makes what --version prints.
  CommandLine(const std::string& name, const std::string& description, std::string (*version)());
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // The first line of the description is what the list of commands says.
  Command AddCommand(const std::string& name, const std::string& description);

  // Runs the command that the arguments choose, or prints the help or the version; what they break
  // of the grammar is said in one line. Returns the exit code.
  int Run(const std::vector<std::string>& arguments);

  // All of it, as --help has it.
  CommandEntry Describe() const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::string (*version_)();
  std::function<int()> run_;  // of the command chosen
  std::vector<std::string> arguments_;
};

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_COMMAND_LINE_H_
