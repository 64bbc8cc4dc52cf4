// Fuzzes the editing of JSON as text. What nlohmann-json takes for an object is taken here too, and
// after an edit it reads what the same edit gives in its own terms.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "demand.h"
#include "files/error.h"
#include "fuzzers.h"
#include "json/json_text.h"

namespace {

using Json = nlohmann::json;

// As deep as JsonText reads.
bool IsShallow(const std::string& text) {
  int depth = 0, most = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') most = std::max(most, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return most < 100;
}

void FuzzJsonText(const std::uint8_t* data, std::size_t size) {
  using tensorcast::json::JsonText;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // A parser of its own takes a NUL for the end.
  Json expected = text.find('\0') == std::string::npos ? Json::parse(text, nullptr, false) : Json();
  std::optional<JsonText> json;
  try {
    json.emplace("x.json", text);
  } catch (const tensorcast::files::Error&) {
    // A mark of byte order is not JSON; nlohmann-json skips it.
    Demand(!expected.is_object() || !IsShallow(text) || text.starts_with("\xEF\xBB\xBF"),
           "an object is refused");
    return;
  }
  Demand(json->text() == text, "the text is another");
  if (!expected.is_object()) return;  // NaN and Infinity, strings of invalid UTF-8
  const std::string first = expected.empty() ? "a" : expected.begin().key();
  const std::optional<std::string> found = json->Find(first);
  Demand(found.has_value() == expected.contains(first), "a member is not found, or found");
  if (found) Demand(Json::parse(*found) == expected[first], "a member is another");
  for (const std::string& key : {first, std::string("b\"\n")}) {
    JsonText set = *json;
    set.Set(key, "[1, {}]");
    Json other = expected;
    other[key] = Json::parse("[1, {}]");
    Demand(Json::parse(set.text()) == other, "Set gives another object");
    Demand(set.Remove(key), "Remove finds nothing");
    other.erase(key);
    Demand(Json::parse(set.text()) == other, "Remove gives another object");
  }
  JsonText replaced = *json;
  replaced.Replace([](const JsonText::Member& member) -> std::optional<std::string> {
    if (member.keys.size() != 1) return std::nullopt;
    return "null";
  });
  for (auto& [key, value] : expected.items()) value = nullptr;
  Demand(Json::parse(replaced.text()) == expected, "Replace gives another object");
}

const Fuzzer kJsonTextFuzzer("json_text", FuzzJsonText);

}  // namespace
