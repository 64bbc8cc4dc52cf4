// PyYAML's implicit resolvers (yaml/resolver.py), one by one. They differ from JSON's numbers: 1e5
// is a text, as an exponent needs a point and a sign, and 010 is 8.
//
// SPDX-License-Identifier: Apache-2.0
#include "mdf/yaml_scalar.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

#include "mdf/number_text.h"
#include "words/error_text.h"

namespace tensorcast::mdf {
namespace {

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool IsAll(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

std::string WithoutUnderscores(std::string_view text) {
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
               [](char c) { return c != '_'; });
  return plain;
}

constexpr std::string_view kDecimal = "0123456789_";

// [1-9][0-9_]*(:[0-5]?[0-9])+, and with a fraction, [0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*: 1:30
// is 90.
bool IsBase60(std::string_view digits) {
  const std::size_t point = digits.find('.');
  const bool has_fraction = point != std::string_view::npos;
  if (has_fraction && point + 1 < digits.size() && !IsAll(digits.substr(point + 1), kDecimal)) {
    return false;
  }
  std::string_view rest = digits.substr(0, point);
  std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos || !IsAll(rest.substr(0, colon), kDecimal)) return false;
  if (!IsDigit(rest.front()) || (rest.front() == '0' && !has_fraction)) return false;
  while (colon != std::string_view::npos) {
    rest.remove_prefix(colon + 1);
    colon = rest.find(':');
    const std::string_view part = rest.substr(0, colon);
    const bool is_two = part.size() == 2 && part.front() >= '0' && part.front() <= '5';
    if ((part.size() != 1 && !is_two) || !IsDigit(part.back())) return false;
  }
  return true;
}

std::optional<Value> Whole(std::string_view digits, bool negative) {
  const auto parsed = [&](std::string_view text, unsigned base) -> std::optional<Value> {
    const std::string plain = WithoutUnderscores(text);
    const std::optional<Integer> value = ParseDigits(plain, base, negative);
    if (!value) return std::nullopt;
    return Value(*value);
  };
  if (digits.starts_with("0b") && IsAll(digits.substr(2), "01_")) {
    return parsed(digits.substr(2), 2);
  }
  if (digits.starts_with("0x") && IsAll(digits.substr(2), "0123456789abcdefABCDEF_")) {
    return parsed(digits.substr(2), 16);
  }
  if (digits == "0") return parsed(digits, 10);
  if (digits.starts_with('0')) {
    if (!IsAll(digits, "01234567_")) return std::nullopt;
    return parsed(digits, 8);
  }
  if (!digits.empty() && IsDigit(digits.front()) && IsAll(digits, kDecimal)) {
    return parsed(digits, 10);
  }
  return std::nullopt;
}

// [-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)? and \.[0-9][0-9_]*([eE][-+][0-9]+)?
std::optional<Value> Fraction(std::string_view digits, bool has_sign, bool negative) {
  const std::size_t point = digits.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const std::string_view before = digits.substr(0, point);
  const std::string_view behind = digits.substr(point + 1);
  const std::size_t mark = std::min(behind.find_first_of("eE"), behind.size());
  const std::string_view fraction = behind.substr(0, mark);
  const std::string_view exponent = behind.substr(mark);
  if (before.empty()) {
    if (has_sign || fraction.empty() || !IsDigit(fraction.front())) return std::nullopt;
  } else if (!IsDigit(before.front()) || !IsAll(before, kDecimal)) {
    return std::nullopt;
  }
  if (!fraction.empty() && !IsAll(fraction, kDecimal)) return std::nullopt;
  if (!exponent.empty() && (exponent.size() < 3 || (exponent[1] != '-' && exponent[1] != '+') ||
                            !IsAll(exponent.substr(2), "0123456789"))) {
    return std::nullopt;
  }
  const std::optional<double> value = ParseDecimal(WithoutUnderscores(digits));
  if (!value) return std::nullopt;
  return Value(negative ? -*value : *value);
}

}  // namespace

Value PlainScalar(std::string_view text) {
  if (IsOneOf(text, {"", "~", "null", "Null", "NULL"})) return {};
  if (IsOneOf(text, {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})) return true;
  if (IsOneOf(text, {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})) {
    return false;
  }
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(has_sign ? 1 : 0);
  if (IsOneOf(digits, {".inf", ".Inf", ".INF"})) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return negative ? -kInfinity : kInfinity;
  }
  if (IsOneOf(text, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  if (IsBase60(digits)) {
    Refuse("holds " + words::Quoted(text) +
           ", which YAML 1.1 reads to the base 60; put a text into quotes");
  }
  if (const auto whole = Whole(digits, negative)) return *whole;
  if (const auto fraction = Fraction(digits, has_sign, negative)) return *fraction;
  return std::string(text);
}

}  // namespace tensorcast::mdf
