// Walks JSON by recursion of bounded depth, and notes where its members stand.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/json_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "io/error_text.h"
#include "io/tensor_file.h"

namespace tensorcast::io {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostDepth = 200;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Walker {
 public:
  Walker(const std::string& label, std::string_view text,
         const std::function<void(const JsonText::Member&)>& visit)
      : label_(label), text_(text), visit_(visit) {}

  void Walk() {
    Skip();
    if (Peek() != '{') Fail("an object");
    Value(0);
    Skip();
    if (at_ != text_.size()) Fail("the end");
  }

 private:
  [[noreturn]] void Fail(const std::string& expected) const {
    throw Error(ErrorKind::kContents, PathText(label_) + ": is not JSON at offset " +
                                          std::to_string(at_) + ": expected " + expected);
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Skip() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }
  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void Value(std::size_t depth) {
    if (depth > kMostDepth) {
      throw Error(ErrorKind::kContents, PathText(label_) + ": is nested more than " +
                                            std::to_string(kMostDepth) + " deep at offset " +
                                            std::to_string(at_));
    }
    switch (Peek()) {
      case '{': return Object(depth);
      case '[': return Array(depth);
      case '"': return String();
      default: return Literal();
    }
  }

  void Object(std::size_t depth) {
    Take('{');
    Skip();
    if (Take('}')) return;
    do {
      Skip();
      JsonText::Member member;
      member.begin = at_;
      if (Peek() != '"') Fail("a name in double quotes");
      String();
      std::optional<std::string> key =
          TextOfJsonString(text_.substr(member.begin, at_ - member.begin));
      if (!key) {
        at_ = member.begin;
        Fail("a name of valid UTF-8 and escapes");
      }
      Skip();
      if (!Take(':')) Fail("':'");
      Skip();
      member.value_begin = at_;
      keys_.push_back(std::move(*key));
      Value(depth + 1);
      member.value_end = at_;
      member.keys = keys_;
      visit_(member);
      keys_.pop_back();
      Skip();
    } while (Take(','));
    if (!Take('}')) Fail("',' or '}'");
  }

  void Array(std::size_t depth) {
    Take('[');
    Skip();
    if (Take(']')) return;
    do {
      Skip();
      Value(depth + 1);
      Skip();
    } while (Take(','));
    if (!Take(']')) Fail("',' or ']'");
  }

  void String() {
    Take('"');
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) Fail("no control character in a string");
      if (text_[at_] == '\\') ++at_;
    }
    if (!Take('"')) {
      at_ = std::min(at_, text_.size());
      Fail("the end of a string");
    }
  }

  // Numbers are the spelling of others: they are kept, not read.
  void Literal() {
    constexpr std::string_view kSigns = "+-.";
    const std::size_t begin = at_;
    const auto is_part = [&](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             kSigns.find(c) != std::string_view::npos;
    };
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    constexpr std::string_view kWords[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return;
    const bool is_number = !word.empty() && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
    if (!is_number || !Json::accept(word)) {
      at_ = begin;
      Fail("a value");
    }
  }

  const std::string& label_;
  std::string_view text_;
  const std::function<void(const JsonText::Member&)>& visit_;
  std::size_t at_ = 0;
  std::vector<std::string> keys_;
};

}  // namespace

JsonText::JsonText(std::string label, std::string text)
    : label_(std::move(label)), text_(std::move(text)) {
  ForEach([](const Member&) {});
}

void JsonText::ForEach(const std::function<void(const Member&)>& visit) const {
  Walker(label_, text_, visit).Walk();
}

std::optional<std::string> JsonText::Find(std::string_view key) const {
  std::optional<std::string> found;
  ForEach([&](const Member& member) {
    if (member.keys.size() == 1 && member.keys.front() == key) found = ValueText(member);
  });
  return found;
}

void JsonText::Replace(const std::function<std::optional<std::string>(const Member&)>& value) {
  std::string edited;
  std::size_t done = 0;
  ForEach([&](const Member& member) {
    if (member.value_begin < done) return;  // holds one that was replaced
    const std::optional<std::string> other = value(member);
    if (!other) return;
    edited.append(text_, done, member.value_begin - done).append(*other);
    done = member.value_end;
  });
  edited.append(text_, done, std::string::npos);
  text_ = std::move(edited);
}

void JsonText::Set(std::string_view key, std::string_view value) {
  bool is_there = false;
  Member last;
  ForEach([&](const Member& member) {
    if (member.keys.size() != 1) return;
    is_there = is_there || member.keys.front() == key;
    last.begin = member.begin;
    last.value_end = member.value_end;
  });
  if (is_there) {
    return Replace([&](const Member& member) -> std::optional<std::string> {
      if (member.keys.size() != 1 || member.keys.front() != key) return std::nullopt;
      return std::string(value);
    });
  }
  std::string added = JsonString(key) + ": " + std::string(value);
  if (last.value_end == 0) {
    const std::size_t brace = text_.find('{');
    const std::size_t end = text_.find('}', brace);
    text_.replace(brace + 1, end - brace - 1, "\n  " + added + '\n');
    return;
  }
  // With the white space that stands before the last member.
  std::size_t space = last.begin;
  while (IsSpace(text_[space - 1])) --space;
  added.insert(0, text_, space, last.begin - space);
  text_.insert(last.value_end, ',' + added);
}

bool JsonText::Remove(std::string_view key) {
  return Remove(
      [&](const Member& member) { return member.keys.size() == 1 && member.keys.front() == key; });
}

bool JsonText::Remove(const std::function<bool(const Member&)>& is_one) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  ForEach([&](const Member& member) {
    if (!is_one(member)) return;
    while (!ranges.empty() && ranges.back().first > member.begin) ranges.pop_back();  // within it
    ranges.emplace_back(member.begin, member.value_end);
  });
  std::reverse(ranges.begin(), ranges.end());  // so that those before keep their places
  for (auto [begin, end] : ranges) {
    std::size_t after = end;
    while (IsSpace(text_[after])) ++after;
    if (text_[after] == ',') {  // up to the next member's key
      end = after + 1;
      while (IsSpace(text_[end])) ++end;
    } else {  // the last: from the comma before it, or the brace
      while (IsSpace(text_[begin - 1])) --begin;
      if (text_[begin - 1] == ',') --begin;
    }
    text_.erase(begin, end - begin);
  }
  return !ranges.empty();
}

std::string JsonString(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::string> TextOfJsonString(std::string_view json) {
  const Json value = Json::parse(json, nullptr, false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

}  // namespace tensorcast::io
