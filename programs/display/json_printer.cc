// Indents as nlohmann's dump(2) does.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/json_printer.h"

#include <cstdio>
#include <string>

#include "json/ordered_json.h"
#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

constexpr std::size_t kIndent = 2;

}  // namespace

JsonPrinter::JsonPrinter() { Open('{'); }

void JsonPrinter::End() {
  Close('}');
  Print("\n");
}

void JsonPrinter::Member(std::string_view key, const Json& value) {
  Key(key);
  Value(value);
}

void JsonPrinter::Members(const Json& object) {
  for (const auto& [key, value] : object.items()) Member(key, value);
}

void JsonPrinter::Element(const Json& value) {
  Separate();
  Value(value);
}

void JsonPrinter::BeginArray(std::string_view key) {
  Key(key);
  Open('[');
}
void JsonPrinter::EndArray() { Close(']'); }

void JsonPrinter::BeginObject() {
  Separate();
  Open('{');
}
void JsonPrinter::EndObject() { Close('}'); }

void JsonPrinter::NewLine() {
  Print("\n");
  Print(std::string(depth_ * kIndent, ' '));
}

void JsonPrinter::Separate() {
  if (!empty_) Print(",");
  NewLine();
  empty_ = false;
}

void JsonPrinter::Key(std::string_view key) {
  Separate();
  std::string text = JsonText(Json(key));
  text.back() = ':';
  Print(text + " ");
}

void JsonPrinter::Value(const Json& value) {
  std::string text = JsonText(value);
  text.pop_back();
  const std::string indent(depth_ * kIndent, ' ');
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    Print(std::string_view(text).substr(begin, end + 1 - begin));
    Print(indent);
    begin = end + 1;
  }
  Print(std::string_view(text).substr(begin));
}

void JsonPrinter::Open(char bracket) {
  Print({&bracket, 1});
  ++depth_;
  empty_ = true;
}

void JsonPrinter::Close(char bracket) {
  --depth_;
  if (!empty_) NewLine();
  Print({&bracket, 1});
  empty_ = false;
}

}  // namespace tensorcast::tool
