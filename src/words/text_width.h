// Text measured in columns of a terminal, and cut to them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_WORDS_TEXT_WIDTH_H_
#define TENSORCAST_SRC_WORDS_TEXT_WIDTH_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tensorcast::words {

// Columns a UTF-8 text takes: two for a wide character (CJK, emoji), none for a combining one.
std::size_t TextWidth(std::string_view text);

// The end of the longest beginning of `text`, and the begin of its longest end, of at most
// `columns` columns.
std::size_t EndOfFront(std::string_view text, std::size_t columns);
std::size_t BeginOfBack(std::string_view text, std::size_t columns);

// `text` in at most `columns` columns, the middle replaced by "…": names differ at their ends.
std::string Shorten(std::string_view text, std::size_t columns);

}  // namespace tensorcast::words

#endif  // TENSORCAST_SRC_WORDS_TEXT_WIDTH_H_
