// Escaping: what of a text may reach a terminal as it is.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/error_text.h"

#include <cstddef>

#include "io/tensor_file.h"
#include "io/utf8.h"

namespace tensorcast::io {
namespace {

constexpr std::size_t kLongestQuote = 120;  // bytes of a name that an error message shows

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
    const Utf8Character c = DecodeUtf8(text);
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
  while (shown < kLongestQuote) shown += DecodeUtf8(text.substr(shown)).bytes;
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

std::string PythonString(std::string_view text) {
  std::string literal;
  for (const char c : text) {
    if (c == '\\' || c == '\'') literal += '\\';
    literal += c;
  }
  return '\'' + Escape(literal) + '\'';
}

std::string CountText(std::uint64_t n, std::string_view what) {
  return std::to_string(n) + ' ' + std::string(what) + (n == 1 ? "" : "s");
}

}  // namespace tensorcast::io
