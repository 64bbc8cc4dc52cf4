// The parts of error messages: quoted names, numbers, one line whatever the file holds.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_WORDS_ERROR_TEXT_H_
#define TENSORCAST_SRC_WORDS_ERROR_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::words {

// `text` fit for a terminal: what would steer it or deceive its reader (control characters, marks
// of direction, what is not seen) and bytes that are not UTF-8 as \xNN.
std::string Escape(std::string_view text);

// The same of a name from a file, for a line: of one that is too long both ends, and its size.
std::string EscapeName(std::string_view name);

// `text` in double quotes, escaped; where it is too long for a line its middle is left out and its
// size said.
std::string Quoted(std::string_view text);

// A shape as Python writes it: [2, 3].
std::string ShapeText(std::span<const std::uint64_t> shape);

// The path of a file or its last part, as messages begin: escaped, not quoted, cut where it is
// longer than paths are.
std::string PathText(std::string_view path);

// A Python string literal.
std::string PythonString(std::string_view text);

// "1 byte", "2 bytes".
std::string CountText(std::uint64_t n, std::string_view what);

// What a text is that cannot be parsed, behind "is": of kNotANumber or kNotAnInteger.
std::string_view UnparsedText(StatusCode code);

}  // namespace tensorcast::words

#endif  // TENSORCAST_SRC_WORDS_ERROR_TEXT_H_
