// UTF-8 against the table of well-formed sequences of the Unicode standard (3-7).
//
// SPDX-License-Identifier: Apache-2.0
#include "words/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tensorcast::text {
namespace {

struct Range {
  int from, to;
};
// Each row: the bytes of well-formed sequences.
const std::vector<std::vector<Range>> kWellFormed = {
    {{0x00, 0x7F}},
    {{0xC2, 0xDF}, {0x80, 0xBF}},
    {{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}},
    {{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}},
    {{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}},
    {{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}},
    {{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
    {{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
    {{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}},
};

// How many bytes of a text are a character; 0: none is.
std::size_t Bytes(std::string_view text) {
  for (const std::vector<Range>& row : kWellFormed) {
    std::size_t i = 0;
    while (i < row.size() && i < text.size() &&
           static_cast<unsigned char>(text[i]) >= row[i].from &&
           static_cast<unsigned char>(text[i]) <= row[i].to) {
      ++i;
    }
    if (i == row.size()) return i;
  }
  return 0;
}

TEST(Utf8, WellFormedOrNot) {
  const int edges[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
  std::string text(4, '\0');
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      for (const int c : edges) {
        for (const int d : edges) {
          text[0] = static_cast<char>(a);
          text[1] = static_cast<char>(b);
          text[2] = static_cast<char>(c);
          text[3] = static_cast<char>(d);
          for (std::size_t size = 1; size <= 4; ++size) {
            const std::string_view some = std::string_view(text).substr(0, size);
            const std::size_t bytes = Bytes(some);
            const words::Utf8Character found = words::DecodeUtf8(some);
            ASSERT_EQ(found.valid, bytes != 0) << a << ' ' << b << ' ' << c << ' ' << d;
            ASSERT_EQ(found.bytes, bytes == 0 ? 1 : bytes);
            if (bytes == 0) continue;
            ASSERT_TRUE(words::IsUnicode(found.point));
            char written[4];
            const char* const end = words::PutUtf8(found.point, written);
            ASSERT_EQ(std::string_view(written, static_cast<std::size_t>(end - written)),
                      some.substr(0, bytes));
          }
        }
      }
    }
  }
}

TEST(Utf8, ATextIsCutBetweenCharacters) {
  const std::string_view text = "a\xC3\xA9\xF0\x9F\x98\x80z";  // of 1, 2, 4 and 1 bytes
  const std::size_t whole[] = {0, 1, 1, 3, 3, 3, 3, 7, 8, 8};
  for (std::size_t most = 0; most < std::size(whole); ++most) {
    EXPECT_EQ(words::WholeUtf8(text, most), whole[most]) << most;
  }
  EXPECT_EQ(words::WholeUtf8("\x80\x80", 1), 0u);
  EXPECT_TRUE(words::ContinuesUtf8('\xBF'));
  EXPECT_FALSE(words::ContinuesUtf8('\xC3') || words::ContinuesUtf8('a'));
}

}  // namespace
}  // namespace tensorcast::text
