// Documents as trees.
//
// SPDX-License-Identifier: Apache-2.0
#include "mdf/value.h"

#include <algorithm>
#include <array>

#include "graph/error.h"
#include "words/error_text.h"

namespace tensorcast::mdf {

void Wrong(const std::string& what) { throw graph::Error(graph::ErrorKind::kContents, what); }
void Refuse(const std::string& what) { throw graph::Error(graph::ErrorKind::kUnsupported, what); }

Value::Value(const char* text) : held_(std::string(text)) {}

std::string_view Value::Kind() const {
  static constexpr std::array<std::string_view, 7> kKinds = {
      "null", "a truth value", "a whole number", "a number", "a text", "a list", "an object"};
  return kKinds[held_.index()];
}

const Value* Value::Find(std::string_view name) const {
  const auto* const object = As<Object>();
  if (object == nullptr) return nullptr;
  const auto found = std::find_if(object->begin(), object->end(),
                                  [&](const Member& member) { return member.name == name; });
  return found == object->end() ? nullptr : &found->value;
}

void ValueBuilder::BeginList() {
  Count({}, open_.size());
  open_.push_back({List(), {}});
}

void ValueBuilder::BeginObject() {
  Count({}, open_.size());
  open_.push_back({Object(), {}});
}

void ValueBuilder::Key(std::string name) { open_.back().key = std::move(name); }

void ValueBuilder::Add(Value value) {
  Count(value, open_.size());
  Place(std::move(value));
}

void ValueBuilder::End() {
  Value done = std::move(open_.back().value);
  open_.pop_back();
  if (const auto* const object = done.As<Object>()) {
    std::vector<std::string_view> names;
    names.reserve(object->size());
    for (const Member& member : *object) names.emplace_back(member.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) {
      Wrong("an object has two members named " + words::Quoted(*twice));
    }
  }
  Place(std::move(done));
}

const Value& ValueBuilder::last() const {
  if (open_.empty()) return root_;
  const Value& inner = open_.back().value;
  const auto* const list = inner.As<List>();
  return list != nullptr ? list->back() : inner.As<Object>()->back().value;
}

// What is within it counts too.
void ValueBuilder::Count(const Value& value, std::size_t depth) {
  if (++count_ > kMostValues) {
    Wrong("holds more than " + std::to_string(kMostValues) + " values, the most that are read");
  }
  if (depth >= kMostDepth) {
    Wrong("is nested more than " + std::to_string(kMostDepth) + " deep");
  }
  if (const auto* const list = value.As<List>()) {
    for (const Value& each : *list) Count(each, depth + 1);
  } else if (const auto* const object = value.As<Object>()) {
    for (const Member& each : *object) Count(each.value, depth + 1);
  }
}

void ValueBuilder::Place(Value value) {
  if (open_.empty()) {
    root_ = std::move(value);
    return;
  }
  Open& open = open_.back();
  if (auto* const list = open.value.As<List>()) {
    list->push_back(std::move(value));
  } else {
    open.value.As<Object>()->push_back({std::move(open.key), std::move(value)});
  }
}

}  // namespace tensorcast::mdf
