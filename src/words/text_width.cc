// Measures and cuts UTF-8 text by the columns it takes.
//
// SPDX-License-Identifier: Apache-2.0
#include "words/text_width.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "words/utf8.h"

namespace tensorcast::words {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Blocks of combining characters and of wide ones: coarser than Unicode's tables, and enough to
// keep columns straight.
constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
    {0x20D0, 0x20FF}, {0x302A, 0x302F}, {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},  {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <std::size_t kSize> bool IsIn(const Range (&ranges)[kSize], std::uint32_t point) {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](const Range& range) {
    return point >= range.first && point <= range.last;
  });
}

std::size_t Width(std::uint32_t point) {
  if (point < 0x300) return 1;
  return IsIn(kCombining, point) ? 0 : IsIn(kWide, point) ? 2 : 1;
}

}  // namespace

std::size_t TextWidth(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const words::Utf8Character c = words::DecodeUtf8(text);
    columns += c.valid ? Width(c.point) : 1;
    text.remove_prefix(c.bytes);
  }
  return columns;
}

std::size_t EndOfFront(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  while (end < text.size()) {
    const words::Utf8Character c = words::DecodeUtf8(text.substr(end));
    const std::size_t width = c.valid ? Width(c.point) : 1;
    if (width > columns) break;
    columns -= width;
    end += c.bytes;
  }
  return end;
}

std::size_t BeginOfBack(std::string_view text, std::size_t columns) {
  std::size_t begin = 0;
  for (std::size_t width = TextWidth(text); width > columns;) {
    const words::Utf8Character c = words::DecodeUtf8(text.substr(begin));
    width -= c.valid ? Width(c.point) : 1;
    begin += c.bytes;
  }
  return begin;
}

std::string Shorten(std::string_view text, std::size_t columns) {
  if (text.size() <= columns || TextWidth(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  const std::size_t front = (columns - 1) / 2;
  return std::string(text.substr(0, EndOfFront(text, front))) + "…" +
         std::string(text.substr(BeginOfBack(text, columns - 1 - front)));
}

}  // namespace tensorcast::words
