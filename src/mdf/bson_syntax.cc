// BSON (bsonspec.org, version 1.1), of which MDF's files have documents, arrays, texts, numbers,
// truth values and null.
//
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "core/little_endian.h"
#include "files/error.h"
#include "mdf/syntax.h"
#include "words/utf8.h"

namespace tensorcast::mdf {
namespace {

enum Type : std::uint8_t {
  kDouble = 0x01,
  kText = 0x02,
  kDocument = 0x03,
  kArray = 0x04,
  kBool = 0x08,
  kNull = 0x0A,
  kInt32 = 0x10,
  kInt64 = 0x12,
};

class BsonReader {
 public:
  explicit BsonReader(std::string_view bytes) : bytes_(bytes) {}

  Value Read() {
    Document(bytes_.size(), false);
    if (at_ != bytes_.size()) Fail("the end of the file");
    return builder_.Take();
  }

 private:
  [[noreturn]] void Fail(const std::string& expected) const {
    Wrong("is not BSON at offset " + std::to_string(at_) + ": expected " + expected);
  }

  template <class T> T Number(std::size_t end) {
    if (end - at_ < sizeof(T)) Fail(words::CountText(sizeof(T), "byte") + " of a number");
    const std::uint64_t bits =
        core::LoadLittle(std::as_bytes(std::span(bytes_)).data() + at_, sizeof(T));
    at_ += sizeof(T);
    if constexpr (sizeof(T) == 4) {
      return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
    } else {
      return std::bit_cast<T>(bits);
    }
  }

  std::string Utf8(std::string_view text, std::size_t begin) {
    if (!words::IsUtf8(text)) {
      at_ = begin;
      Fail("UTF-8");
    }
    return std::string(text);
  }

  std::string Name(std::size_t end) {
    const std::size_t zero = bytes_.substr(0, end).find('\0', at_);
    if (zero == std::string_view::npos) Fail("a name that ends with a zero");
    const std::size_t begin = std::exchange(at_, zero + 1);
    return Utf8(bytes_.substr(begin, zero - begin), begin);
  }

  std::string Text(std::size_t end) {
    const std::size_t begin = at_;
    const auto size = Number<std::int32_t>(end);
    if (size < 1 || static_cast<std::size_t>(size) > end - at_ ||
        bytes_[at_ + static_cast<std::size_t>(size) - 1] != '\0') {
      at_ = begin;
      Fail("a text with its length and a zero behind it");
    }
    const std::string_view text = bytes_.substr(at_, static_cast<std::size_t>(size) - 1);
    at_ += static_cast<std::size_t>(size);
    return Utf8(text, begin);
  }

  // `end`: of what it stands in. An array is a document whose names are not read.
  void Document(std::size_t end, bool is_array) {
    const std::size_t begin = at_;
    const auto size = Number<std::int32_t>(end);
    if (size < 5 || static_cast<std::size_t>(size) > end - begin) {
      at_ = begin;
      Fail("the length of a document of at most " + words::CountText(end - begin, "byte"));
    }
    const std::size_t own_end = begin + static_cast<std::size_t>(size) - 1;
    if (is_array) {
      builder_.BeginList();
    } else {
      builder_.BeginObject();
    }
    while (at_ < own_end) {
      const std::size_t type_at = at_;
      const auto type = static_cast<std::uint8_t>(bytes_[at_++]);
      std::string name = Name(own_end);
      if (!is_array) builder_.Key(std::move(name));
      Element(type, type_at, own_end);
    }
    if (bytes_[own_end] != '\0') Fail("the zero that ends a document");
    at_ = own_end + 1;
    builder_.End();
  }

  void Element(std::uint8_t type, std::size_t type_at, std::size_t end) {
    switch (type) {
      case kDouble: return builder_.Add(Number<double>(end));
      case kText: return builder_.Add(Text(end));
      case kDocument: return Document(end, false);
      case kArray: return Document(end, true);
      case kBool: {
        const char flag = at_ < end ? bytes_[at_] : '\x7F';
        if (flag != '\0' && flag != '\x01') Fail("0 or 1 of a truth value");
        ++at_;
        return builder_.Add(flag == '\x01');
      }
      case kNull: return builder_.Add({});
      case kInt32: return builder_.Add(Integer::OfSigned(Number<std::int32_t>(end)));
      case kInt64: return builder_.Add(Integer::OfSigned(Number<std::int64_t>(end)));
      default:
        Refuse("has an element of BSON's type " + std::to_string(type) + " at offset " +
               std::to_string(type_at) +
               "; documents, arrays, texts, numbers, truth values and null are read");
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  ValueBuilder builder_;
};

class BsonWriter {
 public:
  std::string Write(const Value& value) {
    const auto* const object = value.As<Object>();
    if (object == nullptr) Refuse("BSON holds an object and nothing else");
    Members(*object);
    return std::move(bytes_);
  }

 private:
  void Put(std::uint64_t bits, std::size_t size) { core::AppendLittle(bytes_, bits, size); }

  void Name(Type type, std::string_view name) {
    if (name.find('\0') != std::string_view::npos || !words::IsUtf8(name)) {
      Refuse("the name " + words::Quoted(name) + " is not one of BSON's: UTF-8 without a zero");
    }
    bytes_ += static_cast<char>(type);
    bytes_.append(name).append(1, '\0');
  }

  // `put_elements` writes what is in it.
  template <class PutElements> void Document(const PutElements& put_elements) {
    const std::size_t begin = bytes_.size();
    Put(0, 4);
    put_elements();
    bytes_ += '\0';
    const std::size_t size = bytes_.size() - begin;
    if (size > std::numeric_limits<std::int32_t>::max()) {
      Refuse("would have more than 2 GiB, the most that BSON holds");
    }
    core::StoreLittle(std::as_writable_bytes(std::span(bytes_)).data() + begin, size, 4);
  }
  void Members(const Object& object) {
    Document([&] {
      for (const Member& member : object) Element(member.name, member.value);
    });
  }

  void Element(std::string_view name, const Value& value) {
    if (const auto* const object = value.As<Object>()) {
      Name(kDocument, name);
      Members(*object);
    } else if (const auto* const list = value.As<List>()) {
      Name(kArray, name);
      Document([&] {
        for (std::size_t i = 0; i < list->size(); ++i) Element(std::to_string(i), (*list)[i]);
      });
    } else if (const auto* const text = value.As<std::string>()) {
      if (!words::IsUtf8(*text)) {
        Refuse("the text " + words::Quoted(*text) + " is not UTF-8, which BSON's texts are");
      }
      Name(kText, name);
      Put(text->size() + 1, 4);
      bytes_.append(*text).append(1, '\0');
    } else if (const auto* const flag = value.As<bool>()) {
      Name(kBool, name);
      Put(*flag ? 1 : 0, 1);
    } else if (const auto* const number = value.As<double>()) {
      Name(kDouble, name);
      Put(std::bit_cast<std::uint64_t>(*number), 8);
    } else if (const auto* const whole = value.As<Integer>()) {
      Whole(name, *whole);
    } else {
      Name(kNull, name);
    }
  }

  // In 32 bits where it fits, as pymongo's writer does.
  void Whole(std::string_view name, const Integer& value) {
    if (!value.negative && value.magnitude > INT64_MAX) {
      Refuse("the number " + std::to_string(value.magnitude) +
             " is beyond int64, which BSON's whole numbers are; write .json or .yaml");
    }
    const auto number = static_cast<std::int64_t>(value.bits());
    const bool is_short = number >= INT32_MIN && number <= INT32_MAX;
    Name(is_short ? kInt32 : kInt64, name);
    Put(value.bits(), is_short ? 4 : 8);
  }

  std::string bytes_;
};

}  // namespace

Value ReadBson(const std::string& /*path*/, const std::string& bytes) {
  return BsonReader(bytes).Read();
}

std::string WriteBson(const Value& value) { return BsonWriter().Write(value); }

}  // namespace tensorcast::mdf
