// Where the members of a document stand, and what is put in their place.
//
// SPDX-License-Identifier: Apache-2.0
#include "json/json_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "json/json_events.h"
#include "json/ordered_json.h"

namespace tensorcast::json {
namespace {

// Says where members stand, those in a member's value before it.
class MemberVisitor final : public JsonEvents {
 public:
  explicit MemberVisitor(const std::function<void(const JsonText::Member&)>& visit)
      : visit_(visit) {}

  void BeginMember(std::string key, std::size_t begin, std::size_t value_begin) override {
    keys_.push_back(std::move(key));
    begins_.emplace_back(begin, value_begin);
  }
  void EndMember(std::size_t value_end) override {
    visit_({keys_, begins_.back().first, begins_.back().second, value_end});
    keys_.pop_back();
    begins_.pop_back();
  }

 private:
  const std::function<void(const JsonText::Member&)>& visit_;
  std::vector<std::string> keys_;
  std::vector<std::pair<std::size_t, std::size_t>> begins_;
};

}  // namespace

JsonText::JsonText(std::string label, std::string text)
    : label_(std::move(label)), text_(std::move(text)) {
  ForEach([](const Member&) {});
}

void JsonText::ForEach(const std::function<void(const Member&)>& visit) const {
  MemberVisitor visitor(visit);
  WalkJson(label_, text_, visitor);
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
  // The white space that stands before the last member goes before the new one too.
  std::size_t space = last.begin;
  while (IsJsonSpace(text_[space - 1])) --space;
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
  std::string edited;
  std::size_t done = 0;
  for (const auto& [begin, end] : ranges) {
    edited.append(text_, done, begin - done);
    std::size_t after = end;
    while (IsJsonSpace(text_[after])) ++after;
    if (text_[after] == ',') {  // up to the next member's key
      done = after + 1;
      while (IsJsonSpace(text_[done])) ++done;
    } else {  // the last: with the comma before it, or from the brace on
      while (IsJsonSpace(edited.back())) edited.pop_back();
      if (edited.back() == ',') edited.pop_back();
      done = end;
    }
  }
  edited.append(text_, done, std::string::npos);
  text_ = std::move(edited);
  return !ranges.empty();
}

std::string JsonString(std::string_view text) { return Dumped(text); }

std::optional<std::string> TextOfJsonString(std::string_view json) {
  const OrderedJson value = JsonOrNull(json);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

}  // namespace tensorcast::json
