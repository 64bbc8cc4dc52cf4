// A SAX handler that accepts exactly the form of a safetensors header: nothing nests deeper than
// the form does, and no value is kept but those of the entry at hand.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors_entries.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/shape.h"
#include "files/error.h"
#include "formats/safetensors_dtype.h"
#include "formats/safetensors_header.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

using Json = nlohmann::json;

// Watches JSON go by for numbers that no header holds: the parser would keep all of their digits.
class NumberLength {
 public:
  // Whether the number that this byte is part of is still of a sane length.
  bool Accept(char c) {
    if (in_string_) {
      in_string_ = is_escaped_ || c != '"';
      is_escaped_ = !is_escaped_ && c == '\\';
      return true;
    }
    in_string_ = c == '"';
    const bool in_number =
        (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
    length_ = in_number ? length_ + 1 : 0;
    return length_ <= kMostLength;
  }

  static std::string Refusal(std::string_view what, std::uint64_t offset) {
    return std::string(what) + " has a number of more than " + std::to_string(kMostLength) +
           " digits at offset " + std::to_string(offset) +
           "; expected whole numbers from 0 to 2^64 - 1";
  }

 private:
  static constexpr std::size_t kMostLength = 100;
  bool in_string_ = false;
  bool is_escaped_ = false;
  std::size_t length_ = 0;
};

// The bytes of a header, one by one, through a small buffer.
class HeaderBytes {
 public:
  HeaderBytes(const files::ByteSource& file, std::uint64_t offset, std::uint64_t bytes)
      : file_(file), next_(offset), end_(offset + bytes) {
    Fill();
  }

  bool AtEnd() const { return used_ == filled_; }
  char Front() const { return static_cast<char>(buffer_[used_]); }
  void Advance() {
    if (++used_ == filled_) Fill();
  }

 private:
  void Fill() {
    used_ = 0;
    filled_ = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), end_ - next_));
    const auto filled = std::span(buffer_).first(filled_);
    file_.Read(next_, filled);
    // The JSON parser takes a NUL for the end of its input; no JSON holds one.
    const auto nul = std::find(filled.begin(), filled.end(), std::byte{0});
    if (nul != filled.end()) {
      const auto at = next_ + static_cast<std::uint64_t>(nul - filled.begin());
      throw Error(ErrorKind::kContents,
                  words::PathText(file_.path()) +
                      ": the header is not JSON: a NUL byte at offset " + std::to_string(at),
                  file_.path());
    }
    for (std::size_t i = 0; i < filled_; ++i) {
      if (!number_.Accept(static_cast<char>(filled[i]))) {
        throw Error(
            ErrorKind::kContents,
            words::PathText(file_.path()) + ": " + NumberLength::Refusal("the header", next_ + i),
            file_.path());
      }
    }
    next_ += filled_;
  }

  const files::ByteSource& file_;
  std::uint64_t next_;
  const std::uint64_t end_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(std::size_t{64} << 10);
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  NumberLength number_;
};

// The input iterator the JSON parser reads through.
class HeaderIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  HeaderIterator() = default;  // the end
  explicit HeaderIterator(HeaderBytes* bytes) : bytes_(bytes) {}
  char operator*() const { return bytes_->Front(); }
  HeaderIterator& operator++() {
    bytes_->Advance();
    return *this;
  }
  HeaderIterator operator++(int) { return ++*this; }
  bool operator==(const HeaderIterator& other) const { return AtEnd() == other.AtEnd(); }

 private:
  bool AtEnd() const { return bytes_ == nullptr || bytes_->AtEnd(); }
  HeaderBytes* bytes_ = nullptr;
};

class EntryHandler {
 public:
  // `what` is the text that is parsed ("the header"); `offset` is added to the parser's positions;
  // without `metadata` the entries have no data_offsets and __metadata__ is a name like any other.
  EntryHandler(const std::string& path, std::string what, std::uint64_t offset,
               const std::function<void(TensorEntry&&)>& take,
               std::map<std::string, std::string>* metadata)
      : path_(path), what_(std::move(what)), offset_(offset), take_(take), metadata_(metadata) {}

  // What the parser calls; the names are nlohmann's.
  bool null() {
    // As MLX writes it where there is none, and safetensors reads it.
    if (place_ != Place::kTop || metadata_ == nullptr || entry_.name != "__metadata__") {
      return Refuse("null");
    }
    BeginMetadata();
    return true;
  }
  bool boolean(bool value) { return Refuse(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) {  // negative, or -0
    return Refuse("the number " + (value == 0 ? "-0" : std::to_string(value)));
  }
  bool number_float(double, const std::string& text) {  // a point, an exponent, or 2^64 and more
    return Refuse("the number " + text);
  }
  bool number_unsigned(std::uint64_t value) {
    if (place_ == Place::kShape) {
      if (entry_.shape.size() == core::kMostDimensions) {
        throw Error(
            ErrorKind::kUnsupported,
            Where() + ": has more than " + std::to_string(core::kMostDimensions) + " dimensions");
      }
      entry_.shape.push_back(value);
    } else if (place_ == Place::kOffsets) {
      if (offsets_seen_ == 2) Fail("\"data_offsets\" holds more than two numbers");
      (offsets_seen_++ == 0 ? entry_.begin : entry_.end) = value;
    } else {
      return Refuse("the number " + std::to_string(value));
    }
    return true;
  }
  bool string(std::string& value) {
    if (place_ == Place::kMetadata) {
      metadata_->find(metadata_key_)->second = value;
    } else if (place_ == Place::kEntry && field_ == Field::kDtype) {
      entry_.dtype = value;
    } else {
      return Refuse("a string");
    }
    return true;
  }
  bool binary(Json::binary_t&) { return Refuse("binary data"); }

  bool start_object(std::size_t) {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      if (metadata_ != nullptr && entry_.name == "__metadata__") {
        BeginMetadata();
        place_ = Place::kMetadata;
      } else {
        place_ = Place::kEntry;
        fields_seen_ = 0;
      }
    } else {
      return Refuse("an object");
    }
    return true;
  }
  bool key(std::string& value) {
    if (place_ == Place::kTop) {
      entry_ = {};
      entry_.name = value;
    } else if (place_ == Place::kMetadata) {
      AddMetadataKey(value);
    } else {
      StartField(value);
    }
    return true;
  }
  bool end_object() {
    if (place_ == Place::kTop) {
      place_ = Place::kDone;
      return true;
    }
    if (place_ == Place::kEntry) {
      for (const Field field : {Field::kDtype, Field::kShape, Field::kOffsets}) {
        if ((fields_seen_ & Bit(field)) == 0 &&
            (field != Field::kOffsets || metadata_ != nullptr)) {
          Fail("has no \"" + std::string(FieldName(field)) + "\"");
        }
      }
      take_(std::move(entry_));
    }
    place_ = Place::kTop;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == Place::kEntry && field_ == Field::kShape) {
      place_ = Place::kShape;
    } else if (place_ == Place::kEntry && field_ == Field::kOffsets) {
      place_ = Place::kOffsets;
      offsets_seen_ = 0;
    } else {
      return Refuse("an array");
    }
    return true;
  }
  bool end_array() {
    if (place_ == Place::kOffsets && offsets_seen_ != 2) {
      Fail("\"data_offsets\" holds " + words::CountText(offsets_seen_, "number") +
           "; expected two");
    }
    place_ = Place::kEntry;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
    // "[json.exception...] parse error at line 1, column 2: syntax error while ... - why; ...", or
    // without " - " where a number overflows.
    std::string_view why = error.what();
    for (const std::string_view before : {"] ", " - "}) {
      if (const std::size_t at = why.find(before); at != std::string_view::npos) {
        why.remove_prefix(at + before.size());
      }
    }
    // Neither the text around the place nor a number of any length belongs in a line.
    constexpr std::size_t kLongestReason = 200;
    why = why.substr(0, std::min(why.find("; last read: "), kLongestReason));
    throw Error(ErrorKind::kContents,
                words::PathText(path_) + ": " + what_ + " is not JSON at offset " +
                    std::to_string(offset_ + (position == 0 ? 0 : position - 1)) + ": " +
                    words::Escape(why),
                path_);
  }

 private:
  enum class Place { kStart, kTop, kMetadata, kEntry, kShape, kOffsets, kDone };
  enum class Field { kDtype, kShape, kOffsets };

  void BeginMetadata() {
    if (metadata_seen_) Fail("is there twice");
    metadata_seen_ = true;
  }

  static unsigned Bit(Field field) { return 1u << static_cast<unsigned>(field); }
  static std::string_view FieldName(Field field) {
    switch (field) {
      case Field::kDtype: return "dtype";
      case Field::kShape: return "shape";
      case Field::kOffsets: break;
    }
    return "data_offsets";
  }

  void AddMetadataKey(const std::string& value) {
    if (metadata_->size() == kMostMetadataEntries) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(path_) + ": __metadata__ has more than " +
                      std::to_string(kMostMetadataEntries) + " entries",
                  path_);
    }
    if (!metadata_->emplace(value, std::string()).second) {
      Fail("has the key " + words::Quoted(value) + " twice");
    }
    metadata_key_ = value;
  }

  void StartField(const std::string& value) {
    for (const Field field : {Field::kDtype, Field::kShape, Field::kOffsets}) {
      if (value != FieldName(field) || (field == Field::kOffsets && metadata_ == nullptr)) continue;
      if ((fields_seen_ & Bit(field)) != 0) Fail("has the key " + words::Quoted(value) + " twice");
      fields_seen_ |= Bit(field);
      field_ = field;
      return;
    }
    Fail("has the unknown key " + words::Quoted(value) + "; expected dtype" +
         (metadata_ != nullptr ? ", shape and data_offsets" : " and shape"));
  }

  // The file and the entry at hand.
  std::string Where() const {
    const std::string where = words::PathText(path_) + ": ";
    if (metadata_ == nullptr) return where + what_ + ": tensor " + words::Quoted(entry_.name);
    if (entry_.name == "__metadata__") return where + "__metadata__";
    return where + "tensor " + words::Quoted(entry_.name);
  }
  [[noreturn]] void Fail(const std::string& why) const {
    // After "__metadata__" and after a tensor's name alike: "has the key ... twice".
    throw Error(ErrorKind::kContents, Where() + (why.starts_with('"') ? ": " : " ") + why);
  }

  // `found` stands where something else has to.
  bool Refuse(const std::string& found) const {
    switch (place_) {
      case Place::kStart:
        throw Error(ErrorKind::kContents,
                    words::PathText(path_) + ": " + what_ + " is " + found +
                        "; expected an object of tensors",
                    path_);
      case Place::kTop:
        Fail("is " + found +
             (metadata_ == nullptr            ? "; expected an object with dtype and shape"
              : entry_.name == "__metadata__" ? "; expected an object of strings"
                                              : "; expected an object with dtype, shape and "
                                                "data_offsets"));
      case Place::kMetadata:
        Fail("has " + found + " under the key " + words::Quoted(metadata_key_) +
             "; expected a string");
      case Place::kEntry:
        Fail("has " + found + " as its " + std::string(FieldName(field_)) +
             (field_ == Field::kDtype   ? "; expected a string"
              : field_ == Field::kShape ? "; expected an array of whole numbers"
                                        : "; expected an array of two whole numbers"));
      case Place::kShape:
      case Place::kOffsets:
        Fail("has " + found + " in its " + std::string(FieldName(field_)) +
             "; expected whole numbers from 0 to 2^64 - 1, without point or exponent");
      case Place::kDone: break;
    }
    return false;
  }

  const std::string& path_;
  const std::string what_;
  const std::uint64_t offset_;
  const std::function<void(TensorEntry&&)>& take_;
  std::map<std::string, std::string>* const metadata_;

  Place place_ = Place::kStart;
  Field field_ = Field::kDtype;
  unsigned fields_seen_ = 0;
  unsigned offsets_seen_ = 0;
  bool metadata_seen_ = false;
  std::string metadata_key_;
  TensorEntry entry_;
};

}  // namespace

void ParseHeaderEntries(const files::ByteSource& file, std::uint64_t offset, std::uint64_t bytes,
                        const std::function<void(TensorEntry&&)>& take,
                        std::map<std::string, std::string>& metadata) {
  HeaderBytes source(file, offset, bytes);
  EntryHandler handler(file.path(), "the header", offset, take, &metadata);
  Json::sax_parse(HeaderIterator(&source), HeaderIterator(), &handler);
}

void ParsePackedTypes(const std::string& path, const std::string& text,
                      const std::function<void(TensorEntry&&)>& take) {
  const std::string what = "__metadata__[\"" + std::string(kPackedTypesKey) + "\"]";
  if (text.find('\0') != std::string::npos) {
    throw Error(ErrorKind::kContents,
                words::PathText(path) + ": " + what + " is not JSON: a NUL byte", path);
  }
  NumberLength number;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!number.Accept(text[i])) {
      throw Error(ErrorKind::kContents,
                  words::PathText(path) + ": " + NumberLength::Refusal(what, i), path);
    }
  }
  EntryHandler handler(path, what, 0, take, nullptr);
  Json::sax_parse(text, &handler);
}

}  // namespace tensorcast::formats
