// Escaping: what of a text may reach a terminal as it is.
//
// SPDX-License-Identifier: Apache-2.0
#include "words/error_text.h"

#include <algorithm>
#include <cstddef>

#include "words/utf8.h"

namespace tensorcast::words {
namespace {

// Bytes of a text from a file that an error message shows: of a longer one both ends, where names
// differ, and how long it is.
constexpr std::size_t kLongestQuote = 120;
constexpr std::size_t kLongestPath = 1000;

// The first place from `at` on where a character can begin; one has at most three bytes more.
std::size_t NextCharacter(std::string_view text, std::size_t at) {
  const std::size_t last = std::min(text.size(), at + 3);
  while (at < last && ContinuesUtf8(text[at])) ++at;
  return at;
}

// Escaped; of more than `longest` bytes the middle is left out.
std::string Cut(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return Escape(text);
  const std::size_t front = longest / 3 * 2;
  return Escape(text.substr(0, NextCharacter(text, front))) + "…" +
         Escape(text.substr(NextCharacter(text, text.size() - (longest - front))));
}

// What is said behind a text that was cut.
std::string SizeNote(std::string_view text, std::size_t longest) {
  return text.size() <= longest ? "" : " (" + CountText(text.size(), "byte") + ")";
}

}  // namespace

std::string Escape(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character c = DecodeUtf8(text);
    for (std::size_t i = 0; i < c.bytes; ++i) {
      if (c.valid && !IsDeceptive(c.point)) {
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

std::string EscapeName(std::string_view name) {
  return Cut(name, kLongestQuote) + SizeNote(name, kLongestQuote);
}

std::string Quoted(std::string_view text) {
  return '"' + Cut(text, kLongestQuote) + '"' + SizeNote(text, kLongestQuote);
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

std::string PathText(std::string_view path) {
  return path.empty() ? "\"\"" : Cut(path, kLongestPath) + SizeNote(path, kLongestPath);
}

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

std::string_view UnparsedText(StatusCode code) {
  return code == StatusCode::kNotANumber
             ? "not a number"
             : "not an integer from -2^63 to 2^64 - 1; a floating type holds it";
}

}  // namespace tensorcast::words
