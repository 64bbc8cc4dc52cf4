// Scanning decimals, comparing them, and their nearest binary numbers.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/decimal.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <limits>
#include <system_error>

namespace tensorcast::text {
namespace {

constexpr std::int64_t kExponentLimit = 100'000'000'000'000'000;

constexpr bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// `word` is in lower case.
bool IsWord(std::string_view text, std::string_view word) {
  return text.size() == word.size() &&
         std::equal(text.begin(), text.end(), word.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

// [eE][+-]?[0-9]+, all of `text`.
bool ScanExponent(std::string_view text, std::int64_t* exponent) {
  text.remove_prefix(1);
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text.empty()) return false;
  std::int64_t value = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return false;
    value = std::min(value * 10 + (c - '0'), kExponentLimit);
  }
  *exponent = negative ? -value : value;
  return true;
}

// The digits of a decimal one after the other, without its point; then zeros.
class DigitStream {
 public:
  explicit DigitStream(std::string_view digits) : rest_(digits) {}
  bool AtEnd() const { return rest_.empty(); }
  char Next() {
    if (!rest_.empty() && rest_.front() == '.') rest_.remove_prefix(1);
    if (rest_.empty()) return '0';
    const char digit = rest_.front();
    rest_.remove_prefix(1);
    return digit;
  }

 private:
  std::string_view rest_;
};

// More significant digits than any midpoint between two doubles has; what follows them can only
// say "a little more".
constexpr std::size_t kEnoughDigits = 800;

template <class Float> Float Nearest(const Decimal& decimal) {
  constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
  // Outside these, and with them the exponent is short.
  if (decimal.is_zero() || decimal.exponent < -400) return 0;
  if (decimal.exponent > 400) return kInfinity;

  char buffer[kEnoughDigits + 16];
  const char* begin = decimal.number.data();
  const char* end = begin + decimal.number.size();
  if (decimal.number.size() > kEnoughDigits) {
    // Written anew: d.ddd...e+xx, with a final 1 where digits were left out. The last digit of a
    // decimal is not 0, so what is left out is not 0.
    std::size_t size = 0;
    DigitStream digits(decimal.digits);
    buffer[size++] = digits.Next();
    buffer[size++] = '.';
    while (!digits.AtEnd() && size < kEnoughDigits) buffer[size++] = digits.Next();
    if (!digits.AtEnd()) buffer[size++] = '1';
    buffer[size++] = 'e';
    begin = buffer;
    end = std::to_chars(buffer + size, buffer + sizeof(buffer), static_cast<int>(decimal.exponent))
              .ptr;
  }
  Float value = 0;
  const std::from_chars_result result = std::from_chars(begin, end, value);
  if (result.ec == std::errc::result_out_of_range) {
    return decimal.exponent > 0 ? kInfinity : Float{0};
  }
  return value;
}

}  // namespace

Decimal ScanDecimal(std::string_view text) {
  Decimal decimal;
  text = Trim(text);
  std::string_view body = text;
  if (!body.empty() && (body.front() == '-' || body.front() == '+')) {
    decimal.negative = body.front() == '-';
    body.remove_prefix(1);
  }
  const char* const begin = body.data();
  const char* const end = begin + body.size();
  const char* const units_end = std::find_if_not(begin, end, IsDigit);
  const bool has_point = units_end != end && *units_end == '.';
  const char* const digits_end =
      has_point ? std::find_if_not(units_end + 1, end, IsDigit) : units_end;
  if (digits_end - begin > (has_point ? 1 : 0)) {
    std::int64_t exponent = 0;
    if (digits_end != end) {
      if (*digits_end != 'e' && *digits_end != 'E') return decimal;
      if (!ScanExponent({digits_end, static_cast<std::size_t>(end - digits_end)}, &exponent)) {
        return decimal;
      }
    }
    decimal.kind = Decimal::Kind::kFinite;
    decimal.number = body;
    const auto is_zero_or_point = [](char c) { return c == '0' || c == '.'; };
    const char* const first = std::find_if_not(begin, digits_end, is_zero_or_point);
    if (first == digits_end) return decimal;
    const char* last = digits_end;
    while (is_zero_or_point(last[-1])) --last;
    decimal.digits = {first, static_cast<std::size_t>(last - first)};
    decimal.exponent = exponent + (units_end - first) - (first < units_end ? 1 : 0);
    return decimal;
  }
  if (IsWord(body, "inf") || IsWord(body, "infinity")) {
    decimal.kind = Decimal::Kind::kInfinity;
  } else if (IsWord(body, "nan")) {
    decimal.kind = Decimal::Kind::kNan;
  } else if (IsWord(text, "true")) {
    decimal.kind = Decimal::Kind::kTrue;
  } else if (IsWord(text, "false")) {
    decimal.kind = Decimal::Kind::kFalse;
  }
  return decimal;
}

std::strong_ordering CompareMagnitudes(const Decimal& a, const Decimal& b) {
  if (a.is_zero() || b.is_zero()) return !a.is_zero() <=> !b.is_zero();
  if (a.exponent != b.exponent) return a.exponent <=> b.exponent;
  DigitStream left(a.digits), right(b.digits);
  while (!left.AtEnd() || !right.AtEnd()) {
    const char l = left.Next(), r = right.Next();
    if (l != r) return l <=> r;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering CompareMagnitude(const Decimal& decimal, double value) {
  // A double is a whole number times a power of two: with as many decimals as that power has
  // negative exponent, its expansion is exact.
  constexpr int kMantissaBits = 52;
  constexpr int kLeastExponent = -1074;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto field = static_cast<int>(bits >> kMantissaBits);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << kMantissaBits) - 1);
  const int trailing = mantissa != 0 ? std::countr_zero(mantissa) : kMantissaBits;
  const int exponent = kLeastExponent + (field == 0 ? 0 : field - 1) + trailing;
  char buffer[1100];
  const std::to_chars_result printed =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed,
                    value == 0 ? 0 : std::max(0, -exponent));
  return CompareMagnitudes(decimal,
                           ScanDecimal({buffer, static_cast<std::size_t>(printed.ptr - buffer)}));
}

double NearestDouble(const Decimal& decimal) { return Nearest<double>(decimal); }
float NearestFloat(const Decimal& decimal) { return Nearest<float>(decimal); }

}  // namespace tensorcast::text
