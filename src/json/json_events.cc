// Walks JSON by recursion of bounded depth.
//
// SPDX-License-Identifier: Apache-2.0
#include "json/json_events.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "files/error.h"
#include "json/json_text.h"
#include "json/ordered_json.h"

namespace tensorcast::json {

using core::ErrorKind;
using files::Error;
namespace {

class JsonWalker {
 public:
  JsonWalker(const std::string& label, std::string_view text, JsonEvents& events)
      : label_(label), text_(text), events_(events) {}

  void Walk() {
    Skip();
    if (at_ < text_.size() && text_[at_] != '{') {
      throw Error(ErrorKind::kContents, words::PathText(label_) + ": is not a JSON object", label_);
    }
    if (at_ == text_.size()) Fail("an object");
    Value(0);
    Skip();
    if (at_ != text_.size()) Fail("the end");
  }

 private:
  [[noreturn]] void Fail(const std::string& expected) const {
    throw Error(ErrorKind::kContents,
                words::PathText(label_) + ": is not JSON at offset " + std::to_string(at_) +
                    ": expected " + expected,
                label_);
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Skip() {
    while (at_ < text_.size() && IsJsonSpace(text_[at_])) ++at_;
  }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void Value(std::size_t depth) {
    if (depth > kMostJsonDepth) {
      throw Error(ErrorKind::kContents,
                  words::PathText(label_) + ": is nested more than " +
                      std::to_string(kMostJsonDepth) + " deep at offset " + std::to_string(at_),
                  label_);
    }
    switch (Peek()) {
      case '{': return Object(depth);
      case '[': return Array(depth);
      case '"': {
        const std::size_t begin = at_;
        String();
        return events_.String(text_.substr(begin, at_ - begin));
      }
      default: return Literal();
    }
  }

  void Object(std::size_t depth) {
    Take('{');
    events_.BeginObject();
    Skip();
    if (Take('}')) return events_.EndObject();
    do {
      Skip();
      const std::size_t begin = at_;
      if (Peek() != '"') Fail("a name in double quotes");
      String();
      std::optional<std::string> key = TextOfJsonString(text_.substr(begin, at_ - begin));
      if (!key) {
        at_ = begin;
        Fail("a name of valid UTF-8 and escapes");
      }
      Skip();
      if (!Take(':')) Fail("':'");
      Skip();
      events_.BeginMember(std::move(*key), begin, at_);
      Value(depth + 1);
      events_.EndMember(at_);
      Skip();
    } while (Take(','));
    if (!Take('}')) Fail("',' or '}'");
    events_.EndObject();
  }

  void Array(std::size_t depth) {
    Take('[');
    events_.BeginArray();
    Skip();
    if (Take(']')) return events_.EndArray();
    do {
      Skip();
      Value(depth + 1);
      Skip();
    } while (Take(','));
    if (!Take(']')) Fail("',' or ']'");
    events_.EndArray();
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
    if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) {
      return events_.Literal(word);
    }
    const bool is_number = !word.empty() && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
    if (!is_number || !ParseJson(word)) {
      at_ = begin;
      Fail("a value");
    }
    events_.Literal(word);
  }

  const std::string& label_;
  std::string_view text_;
  JsonEvents& events_;
  std::size_t at_ = 0;
};

}  // namespace

void WalkJson(const std::string& label, std::string_view text, JsonEvents& events) {
  JsonWalker(label, text, events).Walk();
}

}  // namespace tensorcast::json
