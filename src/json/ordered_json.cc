// Looks at what stands outside of strings before it parses.
//
// SPDX-License-Identifier: Apache-2.0
#include "json/ordered_json.h"

#include <iterator>
#include <string>

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

std::string WithoutInfinities(std::string_view text) {
  constexpr std::string_view kWords[] = {"NaN", "Infinity", "-Infinity"};
  std::string plain;
  plain.reserve(text.size());
  bool is_string = false;
  while (!text.empty()) {
    std::size_t taken = 1;
    if (is_string && text[0] == '\\') {
      taken = std::min<std::size_t>(2, text.size());
    } else if (text[0] == '"') {
      is_string = !is_string;
    } else if (!is_string) {
      const auto* const word = std::find_if(std::begin(kWords), std::end(kWords),
                                            [&](auto one) { return text.starts_with(one); });
      if (word != std::end(kWords)) {
        plain += "null";
        text.remove_prefix(word->size());
        continue;
      }
    }
    plain += text.substr(0, taken);
    text.remove_prefix(taken);
  }
  return plain;
}

std::optional<OrderedJson> ParseJson(std::string_view text, std::size_t deepest) {
  // The parser takes a NUL for the end of its input; no JSON holds one.
  if (DepthOf(text) > deepest || text.find('\0') != std::string_view::npos) return std::nullopt;
  const bool may_have =
      text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
  const std::string plain = may_have ? WithoutInfinities(text) : std::string();
  OrderedJson json = OrderedJson::parse(may_have ? plain : text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

OrderedJson JsonOrNull(std::string_view text) { return ParseJson(text).value_or(nullptr); }

std::string Dumped(const OrderedJson& json, int indent) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace tensorcast::io
