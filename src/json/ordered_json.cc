// Counts brackets outside of strings before it parses.
//
// SPDX-License-Identifier: Apache-2.0
#include "json/ordered_json.h"

namespace tensorcast::io {
namespace {

std::size_t DepthOf(std::string_view text) {
  std::size_t depth = 0, most = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_string) {
      if (c == '\\') ++i;
      is_string = c != '"';
    } else if (c == '"') {
      is_string = true;
    } else if (c == '{' || c == '[') {
      most = std::max(most, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return most;
}

}  // namespace

std::optional<OrderedJson> ParseJson(std::string_view text, std::size_t deepest) {
  // The parser takes a NUL for the end of its input; no JSON holds one.
  if (DepthOf(text) > deepest || text.find('\0') != std::string_view::npos) return std::nullopt;
  OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

OrderedJson JsonOrNull(std::string_view text) { return ParseJson(text).value_or(nullptr); }

std::string Dumped(const OrderedJson& json, int indent) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace tensorcast::io
