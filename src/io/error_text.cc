// Escaping: what of a text may reach a terminal as it is.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/error_text.h"

#include <cstddef>

#include "io/tensor_file.h"

namespace tensorcast::io {
namespace {

constexpr std::size_t kLongestQuote = 120;  // bytes of a name that an error message shows

struct Character {
  std::size_t bytes;    // 1 where the bytes are no UTF-8
  std::uint32_t point;  // meaningful where `valid`
  bool valid;
};

// The character at the start of `text`, which is not empty. Overlong forms, surrogates and values
// beyond U+10FFFF are no UTF-8.
Character Decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead, true};
  std::size_t bytes = 0;
  std::uint32_t point = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    bytes = 2;
    point = lead & 0x1Fu;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    bytes = 3;
    point = lead & 0x0Fu;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    bytes = 4;
    point = lead & 0x07u;
  } else {
    return {1, 0, false};
  }
  if (text.size() < bytes) return {1, 0, false};
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {1, 0, false};
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (overlong || surrogate || point > 0x10FFFF) return {1, 0, false};
  return {bytes, point, true};
}

// Characters that steer a terminal or turn the reading direction of the text around them.
bool IsControl(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x200E || point == 0x200F ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) ||
         point == 0xFEFF;
}

}  // namespace

std::string Escape(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = Decode(text);
    for (std::size_t i = 0; i < c.bytes; ++i) {
      if (c.valid && !IsControl(c.point)) {
        out += text[i];
      } else {
        const auto byte = static_cast<unsigned char>(text[i]);
        out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      }
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::string Quoted(std::string_view text) {
  if (text.size() <= kLongestQuote) return '"' + Escape(text) + '"';
  std::size_t shown = 0;
  while (shown < kLongestQuote) shown += Decode(text.substr(shown)).bytes;
  return '"' + Escape(text.substr(0, shown)) + "\"... (" + std::to_string(text.size()) + " bytes)";
}

std::string ShapeText(std::span<const std::uint64_t> shape) {
  constexpr std::size_t kMostShown = 16;
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    if (i == kMostShown) {
      text += "...";
      break;
    }
    text += std::to_string(shape[i]);
  }
  return text + ']';
}

std::string PathText(std::string_view path) { return path.empty() ? "\"\"" : Escape(path); }

std::string CountText(std::uint64_t n, std::string_view what) {
  return std::to_string(n) + ' ' + std::string(what) + (n == 1 ? "" : "s");
}

}  // namespace tensorcast::io
