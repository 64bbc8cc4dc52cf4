// Tells conditions from names by how a pattern begins.
//
// SPDX-License-Identifier: Apache-2.0
#include "naming/tensor_pattern.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "files/error.h"
#include "naming/name_parts.h"

namespace tensorcast::naming {
namespace {

constexpr std::string_view kDtype = "dtype:";

struct Figure {
  std::string_view word;
  std::uint64_t PatternSubject::*figure;
};
constexpr Figure kFigures[] = {{"rank", &PatternSubject::rank},
                               {"values", &PatternSubject::values}};

struct Sign {
  std::string_view text;
  bool less, equal, greater;
};
// The longer ones first.
constexpr Sign kSigns[] = {{"<=", true, true, false},
                           {">=", false, true, true},
                           {"<", true, false, false},
                           {">", false, false, true},
                           {"=", false, true, false}};

std::string_view WithoutBlanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// A text that begins with a figure and a sign.
struct ComparisonText {
  const Figure* figure;
  const Sign* sign;
  std::string_view number;  // what stands behind
};

std::optional<ComparisonText> Split(std::string_view text) {
  for (const Figure& figure : kFigures) {
    if (!text.starts_with(figure.word)) continue;
    const std::string_view rest = WithoutBlanks(text.substr(figure.word.size()));
    for (const Sign& sign : kSigns) {
      if (!rest.starts_with(sign.text)) continue;
      return ComparisonText{&figure, &sign, WithoutBlanks(rest.substr(sign.text.size()))};
    }
  }
  return std::nullopt;
}

[[noreturn]] void RefusePattern(std::string_view text, const std::string& why) {
  throw files::Error(core::ErrorKind::kArguments,
                     "'" + words::EscapeName(text) + "' is not a pattern: " + why +
                         "; for tensors whose names begin like that, put \\ in front");
}

bool IsGlobSyntax(char c) { return c == '*' || c == '?' || c == '[' || c == ']' || c == '\\'; }

}  // namespace

TensorPattern::Condition TensorPattern::Parse(const std::string& text) {
  if (text.starts_with(kDtype)) {
    const std::string_view name = std::string_view(text).substr(kDtype.size());
    const std::optional<DataType> type = ParseType(name);
    if (!type) RefusePattern(text, "'" + words::EscapeName(name) + "' is not a type");
    return *type;
  }
  if (const std::optional<ComparisonText> comparison = Split(text)) {
    const std::string_view digits = comparison->number;
    std::uint64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc() || stop != end) {
      RefusePattern(text, "'" + words::EscapeName(digits) + "' is not a number from 0 to 2^64 - 1");
    }
    const Sign& sign = *comparison->sign;
    return Comparison{comparison->figure->figure, sign.less, sign.equal, sign.greater, number};
  }
  return NamePattern(text);
}

TensorPattern::TensorPattern(std::string text) : text_(std::move(text)), condition_(Parse(text_)) {}

bool TensorPattern::Matches(const PatternSubject& subject) const {
  if (const auto* const type = std::get_if<DataType>(&condition_)) return subject.type == *type;
  if (const auto* const comparison = std::get_if<Comparison>(&condition_)) {
    const std::uint64_t figure = subject.*comparison->figure;
    return figure < comparison->number   ? comparison->less
           : figure > comparison->number ? comparison->greater
                                         : comparison->equal;
  }
  return MatchesName(subject.name) || (!subject.alias.empty() && MatchesName(subject.alias));
}

bool TensorPattern::MatchesName(std::string_view name) const {
  const auto* const pattern = std::get_if<NamePattern>(&condition_);
  return pattern != nullptr && pattern->Matches(name);
}

bool TensorPattern::IsExactly(std::string_view name) const {
  return IsName() && (text_ == name || text_ == GlobLiteral(name)) && MatchesName(name);
}

std::string GlobLiteral(std::string_view name) {
  const bool means_more = name.starts_with("re:") || name.starts_with(kDtype) || Split(name);
  std::string glob(means_more ? "\\" : "");
  for (const char c : name) {
    if (IsGlobSyntax(c)) glob += '\\';
    glob += c;
  }
  return glob;
}

std::string LayerGlob(std::string_view name) {
  std::string glob;
  ForEachPart(name, ".", [&](std::string_view part, std::size_t begin) {
    if (begin > 0) glob += '.';
    glob += IsNumber(part) ? "*" : GlobLiteral(part);
  });
  return glob;
}

}  // namespace tensorcast::naming
