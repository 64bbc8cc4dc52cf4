// JSON as a sequence of events, for whoever keeps what of it: the grammar, once.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_JSON_JSON_EVENTS_H_
#define TENSORCAST_SRC_JSON_JSON_EVENTS_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tensorcast::json {

// What a document consists of, in its order. Offsets are those of the text.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void BeginObject() {}
  virtual void EndObject() {}
  virtual void BeginArray() {}
  virtual void EndArray() {}
  // A member of the innermost object: its key begins at `begin`, its value at `value_begin`.
  virtual void BeginMember(std::string /*key*/, std::size_t /*begin*/,
                           std::size_t /*value_begin*/) {}
  virtual void EndMember(std::size_t /*value_end*/) {}
  virtual void String(std::string_view /*json*/) {}   // with its quotes and escapes
  virtual void Literal(std::string_view /*json*/) {}  // a number, true, false, null, NaN ...
};

// How deep JSON that is walked may be nested.
inline constexpr std::size_t kMostJsonDepth = 200;

// What JSON allows between its parts.
constexpr bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Walks one object, by recursion of bounded depth. NaN, Infinity and -Infinity, which Python
// writes, are literals too. Throws Error (contents), which begins with the label as a path, where
// the text is not one JSON object or is nested deeper than any configuration. Strings that are
// values have their escapes and bytes looked at by whoever reads them.
void WalkJson(const std::string& label, std::string_view text, JsonEvents& events);

}  // namespace tensorcast::json

#endif  // TENSORCAST_SRC_JSON_JSON_EVENTS_H_
