// Looks at what stands outside of strings before it parses.
//
// SPDX-License-Identifier: Apache-2.0
#include "json/ordered_json.h"

#include <iterator>
#include <string>

namespace tensorcast::json {
namespace {

// Calls use(i) for the index of each character outside of strings.
template <class Use> void ForEachOutsideOfStrings(std::string_view text, const Use& use) {
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_string && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      is_string = !is_string;
    } else if (!is_string) {
      use(i);
    }
  }
}

std::size_t DepthOf(std::string_view text) {
  std::size_t depth = 0, most = 0;
  ForEachOutsideOfStrings(text, [&](std::size_t i) {
    if (text[i] == '{' || text[i] == '[') {
      most = std::max(most, ++depth);
    } else if ((text[i] == '}' || text[i] == ']') && depth > 0) {
      --depth;
    }
  });
  return most;
}

}  // namespace

std::string WithoutInfinities(std::string_view text) {
  constexpr std::string_view kWords[] = {"NaN", "Infinity", "-Infinity"};
  std::string plain;
  std::size_t taken = 0;
  ForEachOutsideOfStrings(text, [&](std::size_t i) {
    const std::string_view rest = text.substr(i);
    const auto* const word = std::find_if(std::begin(kWords), std::end(kWords),
                                          [&](auto one) { return rest.starts_with(one); });
    if (i < taken || word == std::end(kWords)) return;
    plain.append(text, taken, i - taken).append("null");
    taken = i + word->size();
  });
  return plain.append(text, taken);
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

}  // namespace tensorcast::json
