// Strings of a tensor as they are read: pieces of bounded memory, and what formats must know of all
// before they write the first.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_STRING_PIECE_H_
#define TENSORCAST_SRC_TEXT_STRING_PIECE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::text {

// What a tensor of strings takes, for formats that must know before they write the first.
struct TextSize {
  std::uint64_t most_code_points = 0;  // of one string, read as UTF-8
  std::uint64_t most_bytes = 0;        // of one string
  std::uint64_t total_bytes = 0;
};

// Adds what some texts take.
void AddTextSize(const Strings& texts, TextSize& size);

// What bounds the memory that strings take: a longer one is refused by the readers, and a piece
// ends with the string that makes it longer.
inline constexpr std::uint64_t kMostStringBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kStringPieceBytes = std::uint64_t{8} << 20;

// A piece of a tensor of strings, owned, laid out as tensorcast::Strings.
struct StringPiece {
  std::vector<std::uint64_t> offsets = {0};
  std::vector<char> bytes;

  Strings view() const { return {offsets, bytes}; }
  void Append(std::string_view text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    offsets.push_back(bytes.size());
  }
};

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_STRING_PIECE_H_
