// JSON as Python's module json reads and writes it, with its NaN and Infinity.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "json/json_events.h"
#include "json/json_text.h"
#include "mdf/number_text.h"
#include "mdf/syntax.h"
#include "words/error_text.h"
#include "words/utf8.h"

namespace tensorcast::mdf {
namespace {

Value Scalar(std::string_view word) {
  if (word == "null") return {};
  if (word == "true") return true;
  if (word == "false") return false;
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  const bool negative = word.starts_with('-');
  if (const auto whole = ParseDigits(word.substr(negative ? 1 : 0), 10, negative)) return *whole;
  if (const auto number = ParseDecimal(word)) return *number;
  Wrong(words::Quoted(word) + " is not a number of JSON");
}

class JsonReader final : public json::JsonEvents {
 public:
  void BeginObject() override { builder_.BeginObject(); }
  void EndObject() override { builder_.End(); }
  void BeginArray() override { builder_.BeginList(); }
  void EndArray() override { builder_.End(); }
  void BeginMember(std::string key, std::size_t /*begin*/, std::size_t /*value_begin*/) override {
    builder_.Key(std::move(key));
  }
  void String(std::string_view json) override {
    std::optional<std::string> text = json::TextOfJsonString(json);
    if (!text) {
      Wrong("the string " + words::Quoted(json) + " has bytes or escapes that are not JSON's");
    }
    builder_.Add(std::move(*text));
  }
  void Literal(std::string_view json) override { builder_.Add(Scalar(json)); }

  Value Take() { return builder_.Take(); }

 private:
  ValueBuilder builder_;
};

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return DoubleText(value);
}

// Lists of scalars stand on one line: tensors have many.
bool IsFlat(const List& list) {
  for (const Value& each : list) {
    if (each.As<List>() != nullptr || each.As<Object>() != nullptr) return false;
  }
  return true;
}

class JsonWriter {
 public:
  void Write(const Value& value, std::size_t indent) {
    if (const auto* const object = value.As<Object>()) return WriteObject(*object, indent);
    if (const auto* const list = value.As<List>()) return WriteList(*list, indent);
    text_ += ScalarText(value);
  }
  std::string Take() { return std::move(text_); }

 private:
  static std::string ScalarText(const Value& value) {
    if (const auto* const flag = value.As<bool>()) return *flag ? "true" : "false";
    if (const auto* const whole = value.As<Integer>()) return IntegerText(*whole);
    if (const auto* const number = value.As<double>()) return NumberText(*number);
    if (const auto* const text = value.As<std::string>()) {
      if (!words::IsUtf8(*text)) {
        Refuse("the text " + words::Quoted(*text) + " is not UTF-8, which JSON's texts are");
      }
      return json::JsonString(*text);
    }
    return "null";
  }

  void Line(std::size_t indent) { text_.append(1, '\n').append(indent * 4, ' '); }

  void WriteObject(const Object& object, std::size_t indent) {
    text_ += '{';
    for (const Member& member : object) {
      if (&member != &object.front()) text_ += ',';
      Line(indent + 1);
      text_ += ScalarText(member.name) + ": ";
      Write(member.value, indent + 1);
    }
    if (!object.empty()) Line(indent);
    text_ += '}';
  }

  void WriteList(const List& list, std::size_t indent) {
    const bool is_flat = IsFlat(list);
    text_ += '[';
    for (const Value& each : list) {
      if (&each != &list.front()) text_ += is_flat ? ", " : ",";
      if (!is_flat) Line(indent + 1);
      Write(each, indent + 1);
    }
    if (!is_flat) Line(indent);
    text_ += ']';
  }

  std::string text_;
};

}  // namespace

Value ReadJson(const std::string& path, const std::string& text) {
  JsonReader reader;
  json::WalkJson(path, text, reader);
  return reader.Take();
}

std::string WriteJson(const Value& value) {
  JsonWriter writer;
  writer.Write(value, 0);
  return writer.Take() + '\n';
}

}  // namespace tensorcast::mdf
