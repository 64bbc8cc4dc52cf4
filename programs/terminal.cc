// Terminal detection and text measured in columns.
//
// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <cstdlib>
#include <vector>

#include <unistd.h>

namespace tensorcast::tool {
namespace {

bool BeginsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

bool IsTerminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

bool UsesColour(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && IsTerminal(stream);
}

std::string Styled(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::kPlain) return std::string(text);
  std::string_view code;
  switch (style) {
    case Style::kPlain: break;
    case Style::kBold: code = "\x1b[1m"; break;
    case Style::kDim: code = "\x1b[2m"; break;
    case Style::kRed: code = "\x1b[31m"; break;
    case Style::kYellow: code = "\x1b[33m"; break;
    case Style::kGreen: code = "\x1b[32m"; break;
  }
  return std::string(code).append(text).append("\x1b[0m");
}

std::size_t TextWidth(std::string_view text) {
  std::size_t columns = 0;
  for (const char c : text) columns += BeginsCodePoint(c) ? 1 : 0;
  return columns;
}

std::string Shorten(std::string_view text, std::size_t columns) {
  if (text.size() <= columns) return std::string(text);
  std::vector<std::size_t> starts;  // of code points
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (BeginsCodePoint(text[i])) starts.push_back(i);
  }
  if (starts.size() <= columns) return std::string(text);
  if (columns == 0) return {};
  const std::size_t kept = columns - 1;
  const std::size_t front = kept / 2;
  const std::size_t back = kept - front;
  std::string result(text.substr(0, starts[front]));
  result += "…";
  if (back > 0) result += text.substr(starts[starts.size() - back]);
  return result;
}

}  // namespace tensorcast::tool
