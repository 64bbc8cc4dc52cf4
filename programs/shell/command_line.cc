// CLI11 behind the grammar, and one line for arguments that break it.
//
// SPDX-License-Identifier: Apache-2.0
#include "shell/command_line.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "files/error.h"
#include "shell/command_tree.h"
#include "shell/exit_codes.h"
#include "shell/streams.h"
#include "shell/suggestions.h"
#include "shell/terminal.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {
namespace {

// How wide help is: as the terminal, and no wider than running text.
std::size_t HelpColumns() {
  constexpr std::size_t kLeast = 60;
  constexpr std::size_t kElsewhere = 80;
  const std::size_t columns = Columns(stdout);
  return columns == kUnlimitedColumns ? kElsewhere : std::clamp(columns, kLeast, kReportColumns);
}

// A line that ends at a "|" where it would be wider than help is, and goes on below the first word.
std::string BrokenAtBars(std::string line) {
  constexpr std::size_t kBarIndent = 6;
  for (std::size_t begin = 0; line.size() - begin > HelpColumns();) {
    const std::size_t bar = line.rfind('|', begin + HelpColumns() - 1);
    if (bar == std::string::npos || bar <= begin + kBarIndent) break;
    line.insert(bar + 1, "\n" + std::string(kBarIndent, ' '));
    begin = bar + 2;
  }
  return line;
}

// A name in a column of its own, what is said of it in lines beside it, or below where the name is
// too long.
std::string HelpEntry(const std::string& name, std::size_t column, std::string_view text) {
  const std::string left = "  " + name;
  if (left.size() + 1 > column) {
    return BrokenAtBars(left) + "\n" + Wrapped(std::string(column, ' '), text, HelpColumns());
  }
  return Wrapped(left + std::string(column - left.size(), ' '), text, HelpColumns());
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_description(const CLI::App* app) const override {
    return FilledParagraphs(app->get_description(), HelpColumns()) + "\n";
  }

  // By the first line of its description; the rest is for its own --help.
  std::string make_subcommand(const CLI::App* sub) const override {
    constexpr std::size_t kColumn = 13;
    const std::string description = sub->get_description();
    return HelpEntry(sub->get_name(), kColumn, description.substr(0, description.find('\n')));
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    constexpr std::size_t kColumn = 31;
    std::string name = make_option_name(option, is_positional);
    const std::string value = option->get_type_size() != 0 ? option->get_type_name() : "";
    // Only a set of words says more than an argument's name.
    if (!value.empty() && (!is_positional || value.find('|') != std::string::npos)) {
      name += " " + value;
    }
    if (option->get_expected_max() > 1) name += " ...";
    std::string text = option->get_description();
    if (option->get_required() && !is_positional) text += " (required)";
    for (const CLI::Option* other : option->get_excludes()) {
      text += " (not with " + other->get_name() + ")";
    }
    for (const CLI::Option* other : option->get_needs()) {
      text += " (with " + other->get_name() + ")";
    }
    return HelpEntry(name, kColumn, text);
  }
};

// The long names of a command's options, with their dashes.
std::vector<std::string> LongNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// What a parse error has to say, in one line, and where to read on.
std::string ParseErrorText(const CLI::App& app, const CLI::ParseError& error,
                           std::string_view first) {
  constexpr std::size_t kLongestWord = 64;  // of an argument
  std::string what = error.what();
  const std::vector<CLI::App*> commands = app.get_subcommands();
  if (commands.empty() && !first.empty() && first.front() != '-') {
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
    std::string meant;
    if (const std::string nearest = NearestCommand(names, first); !nearest.empty()) {
      meant = "did you mean " + nearest + "? ";
    }
    what = fmt::format("'{}' is not a command; {}there are", first.substr(0, kLongestWord), meant);
    for (const CLI::App* sub : app.get_subcommands({})) {
      if (!sub->get_group().empty()) what += " " + sub->get_name();
    }
  } else if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const CLI::App& command = commands.empty() ? app : *commands.front();
    const std::vector<std::string> left = app.remaining(true);
    const auto option = std::find_if(
        left.begin(), left.end(), [](const std::string& word) { return word.starts_with("--"); });
    if (option != left.end()) {
      const std::string nearest = NearestOption(LongNames(command), *option);
      what =
          fmt::format("{} is not an option of {}{}", option->substr(0, kLongestWord),
                      command.get_name(), nearest.empty() ? "" : "; did you mean " + nearest + "?");
    }
  }
  for (char& c : what) {
    if (c == '\n') c = ' ';
  }
  std::string command = app.get_name();
  for (const CLI::App* sub : commands) command += " " + sub->get_name();
  return fmt::format("{} (see '{} --help')", words::Escape(what), command);
}

// CLI11 takes -1.5 for a number, but -inf, -nan and -.5 for options: a blank in front, which the
// reading of numbers passes over, tells it otherwise.
std::string Argument(std::string text) {
  if (text.size() < 2 || text[0] != '-') return text;
  std::uint64_t code = 0;
  const bool is_number = ParseValue(text, DataType::kFloat64, &code).ok();
  return is_number && (text[1] < '0' || text[1] > '9') ? " " + text : text;
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
  SetKind(&entry);
  entry.help = option.get_description();
  entry.is_required = option.get_required();
  entry.is_repeatable = option.get_expected_max() > 1;
  entry.is_comma_list = option.get_delimiter() == ',';
  for (const CLI::Option* excluded : option.get_excludes()) {
    entry.excludes.push_back(excluded->get_name());
  }
  return entry;
}

CommandEntry DescribeCommand(const CLI::App& app) {
  CommandEntry command;
  command.name = app.get_name();
  SetDescription(app.get_description(), &command);
  for (const CLI::Option* option : app.get_options()) {
    (option->nonpositional() ? command.options : command.positionals)
        .push_back(DescribeOption(*option));
  }
  for (const CLI::App* sub : app.get_subcommands({})) {
    command.commands.push_back(DescribeCommand(*sub));
  }
  return command;
}

}  // namespace

Option Option::Required() { return Option(option_->required()); }

Option Option::OneValue() { return Option(option_->allow_extra_args(false)); }

Option Option::Delimiter(char delimiter) { return Option(option_->delimiter(delimiter)); }

Option Option::Excludes(const std::string& name) { return Option(option_->excludes(name)); }

Option Option::Needs(const std::string& name) { return Option(option_->needs(name)); }

Option Option::InPlaceOf(const std::vector<Option>& required) {
  return Option(option_->each([required](const std::string&) {
    for (const Option& one : required) one.option_->required(false);
  }));
}

template <class Value>
Option Command::AddOption(const std::string& names, Value& value, const std::string& help) {
  const std::size_t end = std::min(names.find(' '), names.size());
  CLI::Option* const option = app_->add_option(names.substr(0, end), value, help);
  if (end != names.size()) option->type_name(names.substr(end + 1));
  if (!title_.empty()) option->group(title_);
  return Option(option);
}
template Option Command::AddOption(const std::string&, std::string&, const std::string&);
template Option Command::AddOption(const std::string&, std::vector<std::string>&,
                                   const std::string&);
template Option Command::AddOption(const std::string&, std::optional<std::string>&,
                                   const std::string&);
template Option Command::AddOption(const std::string&, unsigned&, const std::string&);

Option Command::AddFlag(const std::string& names, bool& is_given, const std::string& help) {
  CLI::Option* const flag = app_->add_flag(names, is_given, help);
  if (!title_.empty()) flag->group(title_);
  return Option(flag);
}

Option Command::AddFlag(const std::string& names, std::string& value, const std::string& help) {
  const std::size_t end = names.find('[');
  const std::string word = names.substr(end + 2, names.size() - end - 3);
  CLI::Option* const flag = app_->add_flag(names.substr(0, end), value, help);
  flag->check([word](const std::string& given) {
    return given == "true" || given == word ? std::string() : given + ": is not " + word;
  });
  flag->type_name("");
  if (!title_.empty()) flag->group(title_);
  return Option(flag);
}

void Command::Runs(std::function<int()> run) {
  app_->callback([chosen = run_, run = std::move(run)] { *chosen = run; });
}

std::vector<std::string> Command::Given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    if (option->count() != 0) names.push_back(option->get_name());
  }
  return names;
}

CommandLine::CommandLine(const std::string& name, const std::string& description,
                         std::string (*version)())
    : app_(std::make_unique<CLI::App>(description, name)), version_(version) {
  app_->require_subcommand(1);
  app_->set_version_flag("--version", "");
  app_->formatter(std::make_shared<HelpFormatter>());
}

CommandLine::~CommandLine() = default;

Command CommandLine::AddCommand(const std::string& name, const std::string& description) {
  return {app_->add_subcommand(name, description)->group("Commands"), &run_, &arguments_};
}

int CommandLine::Run(const std::vector<std::string>& arguments) {
  arguments_ = arguments;
  std::vector<std::string> reversed;  // as CLI11 wants them
  for (const std::string& argument : arguments) reversed.push_back(Argument(argument));
  std::reverse(reversed.begin(), reversed.end());
  try {
    app_->parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    Print(app_->help());
    return kExitDone;
  } catch (const CLI::CallForVersion&) {
    Print(version_() + '\n');
    return kExitDone;
  } catch (const CLI::ParseError& error) {
    SayLine(ParseErrorText(*app_, error, arguments.empty() ? "" : arguments.front()));
    return kExitArguments;
  }
  return run_();
}

CommandEntry CommandLine::Describe() const { return DescribeCommand(*app_); }

}  // namespace tensorcast::tool
