// What a stream shows: is it a terminal, may it have colour, how wide is it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_TERMINAL_H_
#define TENSORCAST_PROGRAMS_SHELL_TERMINAL_H_

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "words/text_width.h"

namespace tensorcast::tool {

using words::Shorten;
using words::TextWidth;

// The width of running text, and of tables that hold nothing of a file.
inline constexpr std::size_t kReportColumns = 100;
// What a stream takes that is no terminal: nothing is shortened there.
inline constexpr std::size_t kUnlimitedColumns = std::size_t{1} << 30;

enum class Style { kPlain, kBold, kRed, kYellow, kGreen };

bool IsTerminal(std::FILE* stream);

// Whether a terminal moves its cursor back: any but TERM=dumb.
bool MovesCursor(std::FILE* stream);

// Whether a stream may be coloured: a terminal that is not dumb, and NO_COLOR is not set
// (no-color.org).
bool UsesColour(std::FILE* stream);

// The columns of a terminal: $COLUMNS, else what the terminal says, else kReportColumns; 40 at
// least. A stream that is no terminal has kUnlimitedColumns.
std::size_t Columns(std::FILE* stream);

// The columns that a line has which is drawn over and must not wrap: those of the window as it is
// now, however few, or of $COLUMNS where these are fewer.
std::size_t ColumnsOfLine(std::FILE* stream);

// How wide running text, and a table that holds nothing of a file, is in a stream: kReportColumns,
// or less on a terminal that has less.
std::size_t TextColumns(std::FILE* stream);

// `text` in a style, or as it is where `colour` is false.
std::string Styled(std::string_view text, Style style, bool colour);

// `text` behind `head`, broken between words where it is too long, later lines indented like it.
std::string Wrapped(std::string_view head, std::string_view text, std::size_t columns);

// Paragraphs, with blank lines between them, each broken anew between words; lines that are
// indented, and titles, lines that end in ':', stand as they are.
std::string FilledParagraphs(std::string_view text, std::size_t columns);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_TERMINAL_H_
