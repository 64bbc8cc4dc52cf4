// What a stream shows: is it a terminal, may it have colour, how wide is a text.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_TERMINAL_H_
#define TENSORCAST_PROGRAMS_TERMINAL_H_

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace tensorcast::tool {

inline constexpr std::size_t kReportColumns = 100;

enum class Style { kPlain, kBold, kDim, kRed, kYellow, kGreen };

bool IsTerminal(std::FILE* stream);

// Whether a stream may be coloured: a terminal, and NO_COLOR is not set (no-color.org).
bool UsesColour(std::FILE* stream);

// `text` in a style, or as it is where `colour` is false.
std::string Styled(std::string_view text, Style style, bool colour);

// Columns a UTF-8 text takes: its code points.
std::size_t TextWidth(std::string_view text);

// `text` in at most `columns` columns, the middle replaced by "…": names differ at their ends.
std::string Shorten(std::string_view text, std::size_t columns);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_TERMINAL_H_
