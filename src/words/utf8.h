// UTF-8, one character at a time.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_WORDS_UTF8_H_
#define TENSORCAST_SRC_WORDS_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tensorcast::words {

struct Utf8Character {
  std::size_t bytes;    // 1 where the bytes are no UTF-8
  std::uint32_t point;  // meaningful where `valid`
  bool valid;
};

// The character at the start of `text`, which is not empty. Overlong forms, surrogates and values
// beyond U+10FFFF are no UTF-8.
Utf8Character DecodeUtf8(std::string_view text);

// Whether all of `text` is UTF-8.
bool IsUtf8(std::string_view text);

// Whether a byte is within a character, and not its first.
constexpr bool ContinuesUtf8(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// How much of a text of at most `most` bytes ends where a character does.
std::size_t WholeUtf8(std::string_view text, std::size_t most);

// Whether a number is a character that UTF-8 (and any form of Unicode) holds.
constexpr bool IsUnicode(std::uint32_t point) {
  return point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
}

// Whether a character steers a terminal, turns the reading direction of the text around it, ends a
// line, or is not seen at all: C0 and C1 controls, DEL, the soft hyphen, marks and embeddings of
// direction, zero-width characters, line and paragraph separators.
bool IsDeceptive(std::uint32_t point);

// Writes the UTF-8 of a point for which IsUnicode holds, at most 4 bytes; returns its end.
char* PutUtf8(std::uint32_t point, char* out);

}  // namespace tensorcast::words

#endif  // TENSORCAST_SRC_WORDS_UTF8_H_
