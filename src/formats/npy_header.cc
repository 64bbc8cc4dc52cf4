// A parser of exactly the Python literals that npy headers hold; nothing is evaluated.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/npy_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "core/little_endian.h"
#include "core/shape.h"
#include "files/error.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::uint64_t kMostNpyHeaderBytes = 1'000'000;  // a plain dtype takes a few hundred

class LiteralParser {
 public:
  // `offset` is the place of `text` in the file, for messages.
  LiteralParser(const files::ByteSource& file, std::string_view text, std::uint64_t offset)
      : file_(file), text_(text), offset_(offset) {}

  void Parse(NpyHeader& header) {
    SkipSpace();
    Expect('{', "a dict");
    bool has_descr = false, has_order = false, has_shape = false;
    SkipSpace();
    while (!Take('}')) {
      const std::size_t at = at_;
      const std::string key = String("a key");
      SkipSpace();
      Expect(':', "':' after the key " + words::Quoted(key));
      SkipSpace();
      bool* const seen = key == "descr"           ? &has_descr
                         : key == "fortran_order" ? &has_order
                         : key == "shape"         ? &has_shape
                                                  : nullptr;
      if (seen == nullptr) {
        Fail(at,
             "the unknown key " + words::Quoted(key) + "; expected descr, fortran_order and shape");
      }
      if (*seen) Fail(at, "the key " + words::Quoted(key) + " a second time");
      *seen = true;
      if (key == "descr") header.descr = Descr();
      if (key == "fortran_order") header.fortran_order = Bool();
      if (key == "shape") header.shape = Shape();
      SkipSpace();
      if (Take('}')) break;
      Expect(',', "',' or '}'");
      SkipSpace();
    }
    if (!has_descr || !has_order || !has_shape) {
      Fail(at_, std::string("no key \"") +
                    (!has_descr   ? "descr"
                     : !has_order ? "fortran_order"
                                  : "shape") +
                    '"');
    }
    SkipSpace();
    if (at_ != text_.size()) FailExpected("nothing after the dict");
  }

 private:
  [[noreturn]] void Fail(std::size_t at, const std::string& found) const {
    throw Error(ErrorKind::kContents,
                words::PathText(file_.path()) + ": its header has " + found + " (offset " +
                    std::to_string(offset_ + at) + ")",
                file_.path());
  }
  [[noreturn]] void FailExpected(const std::string& expected) const {
    const std::string found =
        at_ < text_.size() ? words::Quoted(text_.substr(at_, 1)) : std::string("its end");
    Fail(at_, found + " where " + expected + " is expected");
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c, const std::string& what) {
    if (!Take(c)) FailExpected(what);
  }
  bool TakeWord(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void SkipSpace() {
    while (at_ < text_.size() &&
           std::string_view(" \t\n\r\f").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  std::string String(const std::string& what) {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') FailExpected(what + " in quotes");
    ++at_;
    std::string value;
    while (!Take(quote)) {
      if (at_ == text_.size() || Peek() == '\n') FailExpected("the end of a string");
      value += Peek() == '\\' ? Escaped() : text_[at_++];
    }
    return value;
  }

  char Escaped() {
    const std::size_t start = at_++;
    const char c = Peek();
    if (at_ < text_.size()) ++at_;
    switch (c) {
      case '\\':
      case '\'':
      case '"': return c;
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'x': {
        const int high = HexDigit();
        const int low = HexDigit();
        if (high >= 0 && low >= 0) return static_cast<char>(high << 4 | low);
        break;
      }
      default: break;
    }
    Fail(start, "an escape other than \\\\ \\' \\\" \\n \\r \\t \\xHH");
  }
  int HexDigit() {
    const char c = Peek();
    if (at_ < text_.size()) ++at_;
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  }

  std::string Descr() {
    if (Peek() == '[' || Peek() == '(' || Peek() == '{') {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(file_.path()) +
                      ": is a structured array (records with named fields); " +
                      "save each field as an array of its own",
                  file_.path());
    }
    return String("a dtype");
  }

  bool Bool() {
    if (TakeWord("True")) return true;
    if (TakeWord("False")) return false;
    FailExpected("True or False");
  }

  std::vector<std::uint64_t> Shape() {
    std::vector<std::uint64_t> shape;
    Expect('(', "a tuple of dimensions");
    SkipSpace();
    bool comma = true;
    while (!Take(')')) {
      if (!comma) FailExpected("',' or ')'");
      if (shape.size() == core::kMostDimensions) {
        throw Error(ErrorKind::kUnsupported,
                    words::PathText(file_.path()) + ": has more than " +
                        std::to_string(core::kMostDimensions) + " dimensions",
                    file_.path());
      }
      shape.push_back(Dimension());
      SkipSpace();
      comma = Take(',');
      SkipSpace();
    }
    if (shape.size() == 1 && !comma)
      Fail(at_ - 1,
           "a number in parentheses as its shape; "
           "expected a tuple, as (3,)");
    return shape;
  }

  std::uint64_t Dimension() {
    const std::size_t start = at_;
    std::uint64_t value = 0;
    bool fits = true;
    while (Peek() >= '0' && Peek() <= '9') {
      const auto digit = static_cast<std::uint64_t>(Peek() - '0');
      fits = fits && value <= (UINT64_MAX - digit) / 10;
      value = value * 10 + digit;
      ++at_;
    }
    if (at_ == start) FailExpected("a dimension from 0 up, in digits");
    if (at_ - start > 1 && text_[start] == '0') Fail(start, "a dimension with a leading zero");
    if (!fits) Fail(start, "a dimension of 2^64 or more");
    Take('L');  // Python 2's long
    return value;
  }

  const files::ByteSource& file_;
  const std::string_view text_;
  const std::uint64_t offset_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader ReadNpyHeader(const files::ByteSource& file) {
  constexpr std::size_t kVersionEnd = 8;
  std::array<std::byte, 12> start{};
  const auto head = std::span(start).first(
      static_cast<std::size_t>(std::min<std::uint64_t>(start.size(), file.size())));
  file.Read(0, head);
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint64_t>(start[i]); };
  const std::string_view magic(reinterpret_cast<const char*>(head.data()),
                               std::min(head.size(), kNpyMagic.size()));
  if (magic != kNpyMagic) {
    files::FailFile(file, "does not begin with \\x93NUMPY, as an npy file does");
  }
  if (head.size() < kVersionEnd)
    files::FailFile(file, "ends inside its npy version; the file is cut short");
  if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(file.path()) + ": has the npy version " + std::to_string(byte(6)) +
                    '.' + std::to_string(byte(7)) + "; versions 1.0, 2.0 and 3.0 are known",
                file.path());
  }
  const std::size_t length_bytes = byte(6) == 1 ? 2 : 4;
  const std::size_t text_begin = kVersionEnd + length_bytes;
  if (head.size() < text_begin) {
    files::FailFile(file, "ends inside the length of its header; the file is cut short");
  }
  const std::uint64_t length = core::LoadLittle(&head[kVersionEnd], length_bytes);
  if (length > kMostNpyHeaderBytes) {
    files::FailFile(file, "gives its header " + std::to_string(length) +
                              " bytes at offset 8; expected at "
                              "most " +
                              std::to_string(kMostNpyHeaderBytes));
  }
  if (length > file.size() - text_begin) {
    files::FailFile(file, "gives its header " + words::CountText(length, "byte") +
                              " at offset 8, but has only " +
                              std::to_string(file.size() - text_begin) +
                              " after it; the file is cut short");
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  file.Read(text_begin, std::as_writable_bytes(std::span(text)));

  NpyHeader header;
  header.data_begin = text_begin + length;
  LiteralParser(file, text, text_begin).Parse(header);
  return header;
}

std::string MakeNpyHeader(const NpyHeader& header) {
  std::string dict = "{'descr': '" + header.descr +
                     "', 'fortran_order': " + (header.fortran_order ? "True" : "False") +
                     ", 'shape': (";
  for (std::size_t i = 0; i < header.shape.size(); ++i) {
    if (i != 0) dict += ", ";
    dict += std::to_string(header.shape[i]);
  }
  dict += header.shape.size() == 1 ? ",), }" : "), }";

  const auto with_length = [&](char major, std::size_t length_bytes) {
    const std::size_t begin = kNpyMagic.size() + 2 + length_bytes;
    const std::size_t total =
        (begin + dict.size() + 1 + kNpyAlignment - 1) / kNpyAlignment * kNpyAlignment;
    std::string bytes(kNpyMagic);
    bytes += {major, '\0'};
    core::AppendLittle(bytes, total - begin, length_bytes);
    bytes += dict;
    bytes.resize(total - 1, ' ');
    return bytes + '\n';
  };
  constexpr std::size_t kMostOfVersion1 = 65'535;
  const std::string version1 = with_length(1, 2);
  return version1.size() - 10 <= kMostOfVersion1 ? version1 : with_length(2, 4);
}

}  // namespace tensorcast::formats
