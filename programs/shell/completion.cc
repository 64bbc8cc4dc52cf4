// Writes the completion scripts from the commands and options.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/tensor_file.h"
#include "scale/scaled_format.h"
#include "shell/command_tree.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {
namespace {

std::string Joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

template <class Rows> std::string NamesOf(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return Joined(names, " ");
}

std::string TypeNames() { return NamesOf(Types()); }
std::string FormatNames() { return NamesOf(scale::ScaledFormats()); }

// The endings of files without their dots, as alternatives.
std::string Endings(std::string_view before, std::string_view between) {
  std::vector<std::string> endings;
  for (const std::string_view ending : formats::FormatEndings()) {
    endings.push_back(fmt::format("{}{}", before, ending.substr(1)));
  }
  return Joined(endings, between);
}

// ---- bash

// What completes an option's value, as a statement of the function _tensorcast.
std::string BashStatement(const OptionEntry& option) {
  const char* const list = option.is_comma_list ? " ," : "";
  switch (option.kind) {
    case ValueKind::kWord:
      return fmt::format("_tensorcast_words '{}'{}; return", Joined(option.words, " "), list);
    case ValueKind::kLimit:  // a number follows at once
      return fmt::format("_tensorcast_words '{}'; compopt -o nospace 2> /dev/null; return",
                         Joined(option.words, " "));
    case ValueKind::kType: return fmt::format("_tensorcast_words \"$types\"{}; return", list);
    case ValueKind::kGoal:
      return fmt::format("_tensorcast_words \"$types $formats\"{}; return", list);
    case ValueKind::kFile: return "_tensorcast_files; return";
    case ValueKind::kPath: return "_tensorcast_paths; return";
    case ValueKind::kNone:
    case ValueKind::kOther: break;
  }
  return "return";  // nothing that could be listed
}

std::string BashCase(const CommandEntry& command) {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> values;  // a statement, and the options it is of
  for (const OptionEntry& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.kind == ValueKind::kNone) continue;
    const std::string statement = BashStatement(option);
    auto known = std::find_if(values.begin(), values.end(),
                              [&](const auto& value) { return value.first == statement; });
    if (known == values.end()) known = values.insert(known, {statement, ""});
    known->second.append(known->second.empty() ? "" : "|").append(Joined(option.names, "|"));
  }
  std::string text = fmt::format("    {})\n", command.name);
  if (!values.empty()) {
    text += "      case $before in\n";
    for (const auto& [statement, options] : values) {
      text += fmt::format("        {}) {} ;;\n", options, statement);
    }
    text += "      esac\n";
  }
  text += fmt::format("      options='{}'\n", Joined(names, " "));
  for (const OptionEntry& positional : command.positionals) {
    if (positional.kind == ValueKind::kFile) text += "      files=_tensorcast_files\n";
    if (positional.kind == ValueKind::kPath) text += "      files=_tensorcast_paths\n";
    if (positional.kind == ValueKind::kWord) {
      text += fmt::format("      words='{}'\n", Joined(positional.words, " "));
    }
  }
  return text + "      ;;\n";
}

// ---- zsh

// `text` within single quotes and within an option's brackets.
std::string ZshQuoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted;
}

// ":what:how" behind an option or a positional; empty for a flag.
std::string ZshAction(const OptionEntry& option) {
  const std::string what = ZshQuoted(option.value);
  switch (option.kind) {
    case ValueKind::kNone: return {};
    case ValueKind::kOther: return fmt::format(":{}: ", what);
    case ValueKind::kWord:
      return option.is_comma_list
                 ? fmt::format(":{}:_sequence compadd - {}", what, Joined(option.words, " "))
                 : fmt::format(":{}:({})", what, Joined(option.words, " "));
    case ValueKind::kLimit:
      return fmt::format(":{}:compadd -S \"\" - {}", what, Joined(option.words, " "));
    case ValueKind::kType: return fmt::format(":{}:_tensorcast_types", what);
    case ValueKind::kGoal: return fmt::format(":{}:_tensorcast_goals", what);
    case ValueKind::kFile: return fmt::format(":{}:_tensorcast_files", what);
    case ValueKind::kPath: return fmt::format(":{}:_files", what);
  }
  return {};
}

std::string ZshOption(const OptionEntry& option) {
  std::vector<std::string> others = option.excludes;
  if (!option.is_repeatable) others.insert(others.end(), option.names.begin(), option.names.end());
  const std::string prefix = option.is_repeatable ? "*" : "";
  const std::string excluded = others.empty() ? "" : fmt::format("({})", Joined(others, " "));
  std::string text;
  for (const std::string& name : option.names) {
    // "=" behind a long option: the value may be a word of its own or follow the sign.
    const char* const sign = option.kind == ValueKind::kNone ? "" : name[1] == '-' ? "=" : "+";
    text += fmt::format("        '{}{}{}{}[{}]{}'\n", excluded, prefix, name, sign,
                        ZshQuoted(option.help), ZshAction(option));
  }
  return text;
}

std::string ZshCase(const CommandEntry& command) {
  std::string text = fmt::format("    {})\n      arguments=(\n", command.name);
  for (const OptionEntry& option : command.options) text += ZshOption(option);
  int place = 0;
  for (const OptionEntry& positional : command.positionals) {
    const std::string where = positional.is_repeatable ? "*" : fmt::format("{}", ++place);
    text += fmt::format("        '{}{}'\n", where, ZshAction(positional));
  }
  return text + "      )\n      ;;\n";
}

}  // namespace

std::string BashCompletion(const CommandEntry& tool) {
  std::vector<std::string> commands;
  std::vector<std::string> names;
  std::string cases;
  for (const CommandEntry& command : tool.commands) {
    commands.push_back(command.name);
    cases += BashCase(command);
  }
  for (const OptionEntry& option : tool.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return fmt::format(
      R"(# Completion of tensorcast's command line in bash, made by 'tensorcast completion bash'.

# Offers those of the words in $1 that begin as the current one; with $2, behind its last comma.
_tensorcast_words() {{
  local front='' IFS=$' \t\n'
  if [[ -n $2 && $current == *,* ]]; then front=${{current%,*}},; fi
  mapfile -t COMPREPLY < <(compgen -P "$front" -W "$1" -- "${{current#"$front"}}")
}}

# Offers folders, and the files with an ending that the tool knows, in any case.
_tensorcast_files() {{
  local name
  # compgen knows what ~ stands for; a test of the name does not.
  mapfile -t COMPREPLY < <(compgen -d -- "$current")
  while IFS= read -r name; do
    case ${{name,,}} in
      {}) COMPREPLY+=("$name") ;;
    esac
  done < <(compgen -f -- "$current")
  # Folders get their slash, names with blanks their quotes. Outside a completion there is no such
  # thing as its options.
  compopt -o filenames 2> /dev/null
}}

_tensorcast_paths() {{
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
  compopt -o filenames 2> /dev/null
}}

_tensorcast() {{
  local types='{}'
  local formats='{}'
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command='' options='' words='' files='' i
  COMPREPLY=()
  # bash takes --option=value for three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $before == '=' ]]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${{COMP_WORDS[i]}} != -* ]]; then
      command=${{COMP_WORDS[i]}}
      break
    fi
  done
  case $command in
    '')
      options='{}'
      words='{}'
      ;;
{}  esac
  if [[ $current == -* ]]; then
    _tensorcast_words "$options"
  elif [[ -n $files ]]; then
    $files
  else
    _tensorcast_words "$words"
  fi
}}

complete -F _tensorcast tensorcast
)",
      Endings("*.", "|"), TypeNames(), FormatNames(), Joined(names, " "), Joined(commands, " "),
      cases);
}

std::string ZshCompletion(const CommandEntry& tool) {
  std::string commands;
  std::string cases;
  for (const CommandEntry& command : tool.commands) {
    commands += fmt::format("    '{}:{}'\n", command.name, ZshQuoted(command.summary));
    cases += ZshCase(command);
  }
  std::string options;
  for (const OptionEntry& option : tool.options) options += ZshOption(option);
  return fmt::format(
      R"(#compdef tensorcast
# Completion of tensorcast's command line in zsh, made by 'tensorcast completion zsh'.

# Names of types, behind the last comma.
_tensorcast_types() {{
  local -a types=({})
  compset -P '*,'
  compadd -- $types
}}

# The same, and names of scaled formats.
_tensorcast_goals() {{
  local -a goals=({} {})
  compset -P '*,'
  compadd -- $goals
}}

_tensorcast_files() {{
  _files -g '*.({})(-.)'
}}

_tensorcast() {{
  local curcontext=$curcontext state state_descr line
  local -A opt_args
  local -a arguments commands=(
{}  )
  arguments=(
{}  )
  _arguments -C $arguments '1:command:->command' '*::argument:->argument' && return
  if [[ $state == command ]]; then
    _describe -t commands command commands
    return
  fi
  case $line[1] in
{}    *) return 1 ;;
  esac
  _arguments -S $arguments
}}

if [[ $funcstack[1] == _tensorcast ]]; then
  _tensorcast "$@"
else
  compdef _tensorcast tensorcast
fi
)",
      TypeNames(), TypeNames(), FormatNames(), Endings("", "|"), commands, options, cases);
}

}  // namespace tensorcast::tool
