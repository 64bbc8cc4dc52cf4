// A JSON document that is edited where it stands: what is not edited keeps its bytes, its order and
// its spelling of numbers.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_JSON_JSON_TEXT_H_
#define TENSORCAST_SRC_JSON_JSON_TEXT_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tensorcast::json {

// One object as text. NaN and Infinity, which Python writes, are read too.
class JsonText {
 public:
  // A member of the object or of one in it, as offsets in the text.
  struct Member {
    std::span<const std::string> keys;  // the outermost first, its own last; arrays have none
    std::size_t begin = 0;              // of its key
    std::size_t value_begin = 0;
    std::size_t value_end = 0;
  };

  // `label`: the file's path, for messages. Throws Error (contents) where the text is not one JSON
  // object, or is nested deeper than any configuration.
  JsonText(std::string label, std::string text);

  const std::string& text() const { return text_; }
  std::string_view ValueText(const Member& member) const {
    return std::string_view(text_).substr(member.value_begin,
                                          member.value_end - member.value_begin);
  }

  // Calls `visit` with each member, those in its value before it.
  void ForEach(const std::function<void(const Member&)>& visit) const;

  // The value of a member of the outermost object, as JSON; of several of that name the last, which
  // is the one that JSON's readers take.
  std::optional<std::string> Find(std::string_view key) const;
  // Gives members of that name another value, or adds one behind the last. `value` is JSON, of
  // lines that are indented by as much as the outermost members are.
  void Set(std::string_view key, std::string_view value);
  // Takes members away, with their commas. Whether there was one.
  bool Remove(const std::function<bool(const Member&)>& is_one);
  // The same of the outermost object's members of that name.
  bool Remove(std::string_view key);
  // Gives members other values: `value` is asked for each, and gives one as JSON, or nothing.
  void Replace(const std::function<std::optional<std::string>(const Member&)>& value);

 private:
  std::string label_;
  std::string text_;
};

// A JSON string of a text, quotes included; bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);
// The text of a JSON string, quotes included; nullopt if it is no string.
std::optional<std::string> TextOfJsonString(std::string_view json);

}  // namespace tensorcast::json

#endif  // TENSORCAST_SRC_JSON_JSON_TEXT_H_
