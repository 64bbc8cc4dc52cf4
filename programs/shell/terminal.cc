// Terminal detection and text measured in columns.
//
// SPDX-License-Identifier: Apache-2.0
#include "shell/terminal.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "shell/process.h"

namespace tensorcast::tool {

bool IsTerminal(std::FILE* stream) { return IsConsole(stream); }

bool MovesCursor(std::FILE* stream) {
  const char* const terminal = std::getenv("TERM");
  return IsTerminal(stream) && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

bool UsesColour(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && MovesCursor(stream);
}

namespace {

// $COLUMNS; 0: it says none.
std::size_t ColumnsAsked() {
  const char* const variable = std::getenv("COLUMNS");
  if (variable == nullptr) return 0;
  const std::string_view text(variable);
  std::uint16_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  return error == std::errc() && end == text.data() + text.size() ? columns : 0;
}

}  // namespace

std::size_t Columns(std::FILE* stream) {
  constexpr std::size_t kLeast = 40;
  if (!IsTerminal(stream)) return kUnlimitedColumns;
  std::size_t columns = ColumnsAsked();
  if (columns == 0) columns = ConsoleColumns(stream);
  return columns == 0 ? kReportColumns : std::max(kLeast, columns);
}

std::size_t ColumnsOfLine(std::FILE* stream) {
  if (!IsTerminal(stream)) return kUnlimitedColumns;
  const std::size_t asked = ColumnsAsked(), window = ConsoleColumns(stream);
  if (asked == 0 && window == 0) return kReportColumns;
  return asked == 0 || window == 0 ? asked + window : std::min(asked, window);
}

std::size_t TextColumns(std::FILE* stream) { return std::min(Columns(stream), kReportColumns); }

std::string Styled(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::kPlain) return std::string(text);
  constexpr std::string_view kCodes[] = {"", "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[32m"};
  return std::string(kCodes[static_cast<std::size_t>(style)]).append(text).append("\x1b[0m");
}

std::string Wrapped(std::string_view head, std::string_view text, std::size_t columns) {
  std::string lines;
  std::string line(head);
  const std::string indent(TextWidth(head), ' ');
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (TextWidth(line) + 1 + TextWidth(word) > columns && line != head && line != indent) {
      lines += line + "\n";
      line = indent;
    }
    line.append(" ").append(word);
  }
  return lines + line + "\n";
}

std::string FilledParagraphs(std::string_view text, std::size_t columns) {
  std::string filled;
  std::size_t width = 0;  // of the last line, where a paragraph may go on
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const bool stands = line.empty() || line.starts_with(' ') || line.ends_with(':');
    if (stands) {
      if (width != 0) filled += '\n';
      filled.append(line).append("\n");
      width = 0;
      continue;
    }
    while (!line.empty()) {
      const std::string_view word = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(line.size(), word.size() + 1));
      const bool fits = width + 1 + TextWidth(word) <= columns;
      if (width != 0) filled += fits ? ' ' : '\n';
      width = (width != 0 && fits ? width + 1 : 0) + TextWidth(word);
      filled += word;
    }
  }
  return width != 0 ? filled + "\n" : filled;
}

}  // namespace tensorcast::tool
