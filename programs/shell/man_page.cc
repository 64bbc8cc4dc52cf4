// Writes the manual page from the commands and options.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shell/build_info.h"
#include "shell/command_tree.h"
#include "shell/exit_codes.h"
#include "tensorcast/tensorcast.hpp"
#include "words/utf8.h"

namespace tensorcast::tool {
namespace {

// Text as roff: nothing in it is a request, and every character is itself.
std::string Roff(std::string_view text) {
  std::string roff;
  while (!text.empty()) {
    const bool begins_line = roff.empty() || roff.back() == '\n';
    const auto [bytes, point, valid] = words::DecodeUtf8(text);
    text.remove_prefix(bytes);
    switch (point) {
      case '\\': roff += "\\e"; break;
      case '-': roff += "\\-"; break;
      case '\'': roff += "\\(aq"; break;
      case '`': roff += "\\(ga"; break;
      case '^': roff += "\\(ha"; break;
      case '~': roff += "\\(ti"; break;
      case '"': roff += "\\(dq"; break;
      case '.': roff += begins_line ? "\\&." : "."; break;
      default:
        if (point < 0x80) {
          roff += static_cast<char>(point);
        } else {
          roff += fmt::format("\\[u{:04X}]", point);
        }
    }
  }
  return roff;
}

// Text as roff, in lines of at most 80 bytes.
std::string Filled(std::string_view text) {
  std::string roff;
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string word = Roff(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const bool fits = width + 1 + word.size() <= 80;
    if (!roff.empty()) roff += fits ? " " : "\n";
    width = (fits && !roff.empty() ? width + 1 : 0) + word.size();
    roff += word;
  }
  return roff;
}

std::string Bold(std::string_view text) { return fmt::format("\\fB{}\\fR", Roff(text)); }
std::string Italic(std::string_view text) { return fmt::format("\\fI{}\\fR", Roff(text)); }

std::string Verbatim(const std::vector<std::string>& lines) {
  std::string text = ".PP\n.nf\n.RS 4\n";
  for (const std::string& line : lines) text += Roff(line) + "\n";
  return text + ".RE\n.fi\n";
}

// Paragraphs are filled; lines that are indented stand as they are.
std::string Paragraphs(std::string_view text) {
  std::string roff;
  std::string paragraph;
  std::vector<std::string> verbatim;
  const auto close = [&] {
    if (!paragraph.empty()) roff += fmt::format(".PP\n{}\n", Filled(paragraph));
    if (!verbatim.empty()) roff += Verbatim(verbatim);
    paragraph.clear();
    verbatim.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("  ")) {
      verbatim.emplace_back(line.substr(2));
      continue;
    }
    if (line.empty() || !verbatim.empty()) close();
    if (line.empty()) continue;
    paragraph.append(line).append(" ");
  }
  close();
  return roff;
}

// An option's value: the words of a set as they are typed, a name that stands for others in
// italics.
std::string OptionValueText(const OptionEntry& option) {
  return option.kind == ValueKind::kWord ? Bold(option.value) : Italic(option.value);
}

std::string OptionText(const OptionEntry& option) {
  std::string text = ".TP\n";
  for (std::size_t i = 0; i < option.names.size(); ++i) {
    text.append(i == 0 ? "" : ", ").append(Bold(option.names[i]));
  }
  if (option.kind != ValueKind::kNone) text.append(" ").append(OptionValueText(option));
  text += fmt::format("\n{}.\n", Filled(option.help));
  if (option.is_required) text += "Required.\n";
  for (const std::string& excluded : option.excludes) {
    text += fmt::format("Not together with {}.\n", Bold(excluded));
  }
  return text;
}

std::string Usage(const std::string& tool, const CommandEntry& command) {
  std::string text = fmt::format("{} {}", Bold(tool), Bold(command.name));
  bool has_options = false;
  for (const OptionEntry& option : command.options) {
    if (!option.is_required) {
      has_options = has_options || option.names.back() != "--help";
      continue;
    }
    text += fmt::format(" {} {}", Bold(option.names.front()), OptionValueText(option));
  }
  if (has_options) text += " [options]";
  for (const OptionEntry& positional : command.positionals) {
    text +=
        fmt::format(" {}{}", OptionValueText(positional), positional.is_repeatable ? " ..." : "");
  }
  return text;
}

std::string CommandText(const std::string& tool, const CommandEntry& command) {
  std::string text = fmt::format(".SS {}\n{}\n.PP\n{}\n", Roff(command.name), Usage(tool, command),
                                 Filled(command.summary));
  text += Paragraphs(command.text);
  for (const OptionEntry& positional : command.positionals) {
    text += fmt::format(".TP\n{}\n{}.\n", OptionValueText(positional), Filled(positional.help));
  }
  for (const OptionEntry& option : command.options) text += OptionText(option);
  return text;
}

std::string ExitStatus() {
  const std::pair<int, const char*> codes[] = {
      {kExitDone, "Done"},
      {kExitLimitCrossed, "Done, but a --fail-on limit was crossed"},
      {kExitArguments,
       "Wrong arguments: an unknown type, a rule that matches nothing, an output that exists"},
      {kExitContents, "Bad contents of an input file"},
      {kExitSystem,
       "An error of the system: a file is missing, not permitted or shrank while it was read, or a "
       "disk is full"},
      {kExitUnsupported, "Legal, but not supported: an unknown format, or an array of objects"},
      {kExitInterrupted, "Interrupted"},
  };
  std::string text = ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : codes) {
    text += fmt::format(".TP\n.B {}\n{}.\n", code, Filled(meaning));
  }
  return text;
}

}  // namespace

std::string ManPage(const CommandEntry& tool) {
  std::string text = fmt::format(
      ".\\\" Made by 'tensorcast man' from what --help says.\n"
      ".TH TENSORCAST 1 {} \"tensorcast {}\" \"User Commands\"\n"
      ".SH NAME\n"
      "tensorcast \\- exact casts of tensor files, and what each cast loses\n"
      ".SH SYNOPSIS\n",
      CommitDate(), TENSORCAST_VERSION);
  for (const CommandEntry& command : tool.commands) {
    text += fmt::format("{}{}\n", &command == tool.commands.data() ? "" : ".br\n",
                        Usage(tool.name, command));
  }
  text += fmt::format("{}\n{} {}|{}\n", ".br", Bold(tool.name), Bold("--help"), Bold("--version"));
  text += fmt::format(
      ".SH DESCRIPTION\n"
      "A cast changes the element type of a tensor.\n"
      "{} casts the tensors of files between the {} element types of ONNX\n"
      "with one rounding each, and reports tensor by tensor what was lost.\n"
      "The same bytes come out on every machine and for any number of threads.\n"
      ".PP\n"
      "Reports and other results go to standard output,\n"
      "everything else to standard error.\n"
      ".PP\n"
      "Wherever a type {} is asked for,\n"
      "every usual name is understood in any case; {} lists them.\n",
      Bold(tool.name), Types().size(), Italic("T"), Bold(tool.name + " types"));
  text += ".SH COMMANDS\n";
  for (const CommandEntry& command : tool.commands) text += CommandText(tool.name, command);
  text += ExitStatus();
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n"
      ".B NO_COLOR\n"
      "If it is set and not empty, nothing is coloured.\n";
  const char* heading = ".SH EXAMPLES\n";
  for (const CommandEntry& command : tool.commands) {
    if (command.examples.empty()) continue;
    text += fmt::format("{}{}\n", heading, Filled(command.summary)) + Verbatim(command.examples);
    heading = ".PP\n";
  }
  return text +
         ".SH SEE ALSO\n"
         ".UR https://onnx.ai/onnx/operators/onnx__Cast.html\n"
         "The Cast operator of ONNX\n"
         ".UE ;\n"
         "what a cast means here, to the bit, is in docs/semantics.md of the source.\n";
}

}  // namespace tensorcast::tool
