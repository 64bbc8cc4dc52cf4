// Reads JSON strictly: what is missing or of another kind is refused in one line that says where.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_JSON_PLACE_H_
#define TENSORCAST_SRC_CONVERT_JSON_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "files/error.h"
#include "json/ordered_json.h"
#include "tensorcast/tensorcast.hpp"
#include "words/utf8.h"

namespace tensorcast::convert {

// JSON's strings are UTF-8, and names and paths may be any bytes: those that are not stand as an
// array of their bytes.
inline json::OrderedJson BytesJson(std::string_view text) {
  if (words::IsUtf8(text)) return json::OrderedJson(text);
  json::OrderedJson bytes = json::OrderedJson::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

// The canonical name, or null where it is no type of the library's.
inline json::OrderedJson TypeJson(DataType type) {
  return FindType(type) != nullptr ? json::OrderedJson(TypeName(type)) : json::OrderedJson();
}

// A value and where it stands, for messages.
class Place {
 public:
  // `what` the JSON is, for as long as this.
  Place(const json::OrderedJson& json, const char* what, std::string where)
      : json_(json), what_(what), where_(std::move(where)) {}

  // Throws files::Error (contents).
  [[noreturn]] void Refuse(const std::string& why) const {
    throw files::Error(core::ErrorKind::kContents, std::string(what_) + ": " + where_ + " " + why);
  }
  Place Member(const char* key) const {
    if (!json_.is_object()) Refuse("is not an object");
    const auto found = json_.find(key);
    if (found == json_.end()) Refuse("has no \"" + std::string(key) + "\"");
    return {*found, what_, where_ == "it" ? '"' + std::string(key) + '"' : where_ + "." + key};
  }
  std::size_t size() const {
    if (!json_.is_array()) Refuse("is not an array");
    return json_.size();
  }
  Place operator[](std::size_t i) const {
    if (i >= size()) Refuse("has too few elements");
    return {json_[i], what_, where_ + '[' + std::to_string(i) + ']'};
  }
  std::uint64_t Number() const {
    if (!json_.is_number_unsigned()) Refuse("is not a number from 0 to 2^64 - 1");
    return json_.get<std::uint64_t>();
  }
  // What `parse` makes of a string, a std::optional; `why` it is refused where that is nothing.
  template <class Parse> auto Parsed(const Parse& parse, const char* why) const {
    const auto value = parse(Text());
    if (!value) Refuse(why);
    return *value;
  }
  bool IsNull() const { return json_.is_null(); }
  bool Bool() const {
    if (!json_.is_boolean()) Refuse("is neither true nor false");
    return json_.get<bool>();
  }
  std::string Text() const {
    if (!json_.is_string()) Refuse("is not a string");
    return json_.get<std::string>();
  }
  std::string Bytes() const {
    if (!json_.is_array()) return Text();
    std::string bytes;
    for (std::size_t i = 0; i < json_.size(); ++i) {
      const std::uint64_t byte = (*this)[i].Number();
      if (byte > 255) (*this)[i].Refuse("is not a byte");
      bytes += static_cast<char>(static_cast<unsigned char>(byte));
    }
    return bytes;
  }
  // The type of a canonical name; null: not a type of the library's.
  DataType Type() const {
    if (json_.is_null()) return DataType::kUndefined;
    const std::string name = Text();
    for (const TypeInfo& row : Types()) {
      if (row.name == name) return row.type;
    }
    Refuse("names no type");
  }

 private:
  const json::OrderedJson& json_;
  const char* what_;
  std::string where_;
};

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_JSON_PLACE_H_
