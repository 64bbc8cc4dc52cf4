// numpy cuts the NULs at the end of a string, so a string that ends with one cannot be stored.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/npy_strings.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "files/error.h"
#include "formats/element_index.h"
#include "words/utf8.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::size_t kUnit = 4;  // of UCS-4

[[noreturn]] void FailElement(ErrorKind kind, const std::string& where, const TensorInfo& info,
                              std::uint64_t index, const std::string& why) {
  throw Error(kind, where + ": tensor " + words::Quoted(info.name) + ' ' + why + " at " +
                        (info.shape.empty() ? "its only element" : IndexText(info, index)));
}

std::uint32_t LoadUnit(const std::byte* at, bool big_endian) {
  std::uint32_t unit = 0;
  std::memcpy(&unit, at, kUnit);
  return big_endian ? __builtin_bswap32(unit) : unit;
}

std::string Hexadecimal(std::uint32_t value) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[value >> shift & 15];
  return text;
}

}  // namespace

void DecodeNpyStrings(const std::string& where, const TensorInfo& info, const NpyDtype& dtype,
                      std::uint64_t first, std::span<const std::byte> rows,
                      text::StringPiece& piece) {
  const auto item = static_cast<std::size_t>(dtype.item_bytes);
  const std::size_t begin = piece.bytes.size();
  // UTF-8 takes no more bytes than UCS-4.
  piece.bytes.resize(begin + rows.size());
  char* out = piece.bytes.data() + begin;
  for (std::size_t row = 0; row < rows.size(); row += item) {
    const std::byte* const text = rows.data() + row;
    std::size_t end = item;
    while (end > 0 && text[end - 1] == std::byte{0}) --end;
    if (dtype.is_ucs4) {
      end = (end + kUnit - 1) / kUnit * kUnit;
      for (std::size_t i = 0; i < end; i += kUnit) {
        const std::uint32_t point = LoadUnit(text + i, dtype.big_endian);
        if (!words::IsUnicode(point)) {
          FailElement(ErrorKind::kContents, where, info, first + row / item,
                      "holds 0x" + Hexadecimal(point) + ", which is not a Unicode character,");
        }
        out = words::PutUtf8(point, out);
      }
    } else {
      std::memcpy(out, text, end);
      out += end;
    }
    piece.offsets.push_back(static_cast<std::uint64_t>(out - piece.bytes.data()));
  }
  piece.bytes.resize(static_cast<std::size_t>(piece.offsets.back()));
}

void EncodeNpyStrings(const std::string& where, const TensorInfo& info, const NpyDtype& dtype,
                      std::uint64_t first, const Strings& texts, std::uint64_t begin,
                      std::span<std::byte> rows) {
  const auto item = static_cast<std::size_t>(dtype.item_bytes);
  std::fill(rows.begin(), rows.end(), std::byte{0});
  const auto fail = [&](std::uint64_t i, ErrorKind kind, const std::string& why) {
    FailElement(kind, where, info, first + i, why);
  };
  for (std::size_t row = 0; row < rows.size(); row += item) {
    const std::uint64_t i = begin + row / item;
    std::string_view text = texts[i];
    if (!text.empty() && text.back() == '\0') {
      fail(i, ErrorKind::kUnsupported, "holds a text that ends with NUL, which numpy would cut,");
    }
    std::byte* out = rows.data() + row;
    const std::byte* const end = out + item;
    // The width was taken from the input, so only one that has changed since does not fit.
    const auto too_long = [&] {
      fail(i, ErrorKind::kSystem, "has become longer while it was read,");
    };
    if (!dtype.is_ucs4) {
      if (text.size() > item) too_long();
      std::memcpy(out, text.data(), text.size());
      continue;
    }
    while (!text.empty()) {
      const words::Utf8Character c = words::DecodeUtf8(text);
      if (!c.valid) {
        fail(i, ErrorKind::kUnsupported,
             "holds the text " + words::Quoted(texts[i]) + ", which is not UTF-8, as <U needs it,");
      }
      if (out == end) too_long();
      std::memcpy(out, &c.point, kUnit);
      out += kUnit;
      text.remove_prefix(c.bytes);
    }
  }
}

}  // namespace tensorcast::formats
