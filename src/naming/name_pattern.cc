// Glob matching in time proportional to pattern × name; regular expressions are io's.
//
// SPDX-License-Identifier: Apache-2.0
#include "naming/name_pattern.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "files/error.h"
#include "words/utf8.h"

namespace tensorcast::naming {
namespace {

constexpr std::string_view kExpression = "re:";

// Matches the set that begins at pattern[at] == '['; on return `at` stands behind it. A set that
// is not closed has been refused before.
bool SetMatches(std::string_view pattern, std::size_t& at, char c) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && pattern[i] == '!';
  if (negated) ++i;
  bool found = false;
  for (bool first = true; first || pattern[i] != ']'; first = false) {
    const auto low = static_cast<unsigned char>(pattern[i]);
    unsigned char high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    const auto value = static_cast<unsigned char>(c);
    found = found || (low <= value && value <= high);
    ++i;
  }
  at = i + 1;
  return found != negated;
}

// One element of the pattern other than *; on a match `at` stands behind it.
bool OneMatches(std::string_view pattern, std::size_t& at, char c) {
  switch (pattern[at]) {
    case '?': ++at; return true;
    case '[': return SetMatches(pattern, at, c);
    case '\\':
      if (pattern[at + 1] != c) return false;
      at += 2;
      return true;
    default:
      if (pattern[at] != c) return false;
      ++at;
      return true;
  }
}

// Only the last * is ever taken up again: what an earlier one could still gain, the last one can
// gain too. `parts`, where given, gets what each * took.
bool GlobMatches(std::string_view pattern, std::string_view name,
                 std::vector<std::string_view>* parts = nullptr) {
  std::size_t p = 0, n = 0;
  std::size_t star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_name = n;
      if (parts != nullptr) parts->push_back(name.substr(n, 0));
      continue;
    }
    std::size_t after = p;
    if (p < pattern.size() && OneMatches(pattern, after, name[n])) {
      const bool whole_character = pattern[p] == '?';
      p = after;
      ++n;
      while (whole_character && n < name.size() && words::ContinuesUtf8(name[n])) ++n;
    } else if (star != std::string_view::npos) {
      p = star;
      n = ++star_name;
      if (parts != nullptr) parts->back() = {parts->back().data(), parts->back().size() + 1};
    } else {
      return false;
    }
  }
  for (; p < pattern.size() && pattern[p] == '*'; ++p) {
    if (parts != nullptr) parts->push_back(name.substr(n, 0));
  }
  return p == pattern.size();
}

// The reason why a glob is not legal, or nothing.
std::string GlobFault(std::string_view pattern) {
  if (pattern.empty()) return "it is empty";
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      if (++i == pattern.size()) return "it ends in a backslash";
      continue;
    }
    if (pattern[i] != '[') continue;
    std::size_t first = i + 1;
    if (first < pattern.size() && pattern[first] == '!') ++first;
    // A ] in the first place is a member of the set.
    const std::size_t close = first < pattern.size() ? pattern.find(']', first + 1) : first;
    if (close >= pattern.size()) return "its [ is not closed";
    i = close;
  }
  return {};
}

}  // namespace

NamePattern::NamePattern(std::string text) : text_(std::move(text)) {
  if (text_.starts_with(kExpression)) {
    expression_.emplace(std::string_view(text_).substr(kExpression.size()),
                        "'" + words::EscapeName(text_) + "'");
  } else if (const std::string fault = GlobFault(text_); !fault.empty()) {
    throw files::Error(core::ErrorKind::kArguments,
                       "'" + words::EscapeName(text_) + "' is not a pattern: " + fault);
  }
}

bool NamePattern::Matches(std::string_view name) const {
  return expression_ ? expression_->MatchesWhole(name) : GlobMatches(text_, name);
}

std::optional<std::vector<std::string_view>> NamePattern::PartsOf(std::string_view name) const {
  if (expression_) return expression_->GroupsOf(name);
  std::vector<std::string_view> parts;
  if (!GlobMatches(text_, name, &parts)) return std::nullopt;
  return parts;
}

std::size_t NamePattern::parts() const {
  if (expression_) return expression_->groups() + 1;
  std::size_t stars = 0;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == '[') {
      SetMatches(text_, i, 0);  // steps behind it
      --i;
    } else if (text_[i] == '*') {
      ++stars;
    }
  }
  return stars;
}

}  // namespace tensorcast::naming
