// Decodes and encodes UTF-8 strictly.
//
// SPDX-License-Identifier: Apache-2.0
#include "words/utf8.h"

namespace tensorcast::words {

Utf8Character DecodeUtf8(std::string_view text) {
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
    if (!ContinuesUtf8(text[i])) return {1, 0, false};
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  if (overlong || !IsUnicode(point)) return {1, 0, false};
  return {bytes, point, true};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character c = DecodeUtf8(text);
    if (!c.valid) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

std::size_t WholeUtf8(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  while (most > 0 && ContinuesUtf8(text[most])) --most;
  return most;
}

bool IsDeceptive(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0xAD || point == 0x61C ||
         point == 0x115F || point == 0x1160 || point == 0x180E || point == 0x3164 ||
         point == 0xFFA0 || (point >= 0x1D173 && point <= 0x1D17A) ||
         (point >= 0x200B && point <= 0x200F) || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF ||
         (point >= 0xFFF9 && point <= 0xFFFB) || (point >= 0xE0000 && point <= 0xE007F);
}

char* PutUtf8(std::uint32_t point, char* out) {
  const auto put = [&](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
  return out;
}

}  // namespace tensorcast::words
