// The parts of error messages: quoted names, numbers, one line whatever the file holds.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_ERROR_TEXT_H_
#define TENSORCAST_SRC_IO_ERROR_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tensorcast::io {

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

// How the refusal of external data with hard links ends: a program that can allow them says how.
inline constexpr std::string_view kHardLinkRemedy = "copy it, or allow hard links";

// "1 byte", "2 bytes".
std::string CountText(std::uint64_t n, std::string_view what);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_ERROR_TEXT_H_
