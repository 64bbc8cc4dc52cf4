// Decimal arithmetic on strings of digits: slow, obvious, and never rounded unawares.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "tensorcast/explain.hpp"
#include "text/decimal.h"

namespace tensorcast {
inline namespace TENSORCAST_ABI {
namespace {

constexpr std::int64_t kGreatestExponent = 1'000'000'000'000'000;
constexpr std::int64_t kLongest = std::int64_t{1} << 18;

// Adds 1 to the last digit; true where a digit is carried out of the first.
bool Increment(std::string* digits) {
  for (std::size_t i = digits->size(); i-- > 0;) {
    if ((*digits)[i] != '9') {
      ++(*digits)[i];
      return false;
    }
    (*digits)[i] = '0';
  }
  return true;
}

// a - b, of one length, a >= b.
void Subtract(std::string* a, const std::string& b) {
  int borrow = 0;
  for (std::size_t i = a->size(); i-- > 0;) {
    const int difference = (*a)[i] - b[i] - borrow;
    borrow = difference < 0 ? 1 : 0;
    (*a)[i] = static_cast<char>('0' + difference + 10 * borrow);
  }
}

// a + b, of one length, with room for the carry.
void Add(std::string* a, const std::string& b) {
  int carry = 0;
  for (std::size_t i = a->size(); i-- > 0;) {
    const int sum = ((*a)[i] - '0') + (b[i] - '0') + carry;
    (*a)[i] = static_cast<char>('0' + sum % 10);
    carry = sum / 10;
  }
}

// Rounds to the first `size` digits, ties to even; `rest` says whether more digits followed.
bool RoundDigits(std::string* digits, std::size_t size, bool rest) {
  if (digits->size() <= size) return false;
  const char next = (*digits)[size];
  rest = rest || digits->find_first_not_of('0', size + 1) != std::string::npos;
  const bool odd = size > 0 && ((*digits)[size - 1] - '0') % 2 != 0;
  digits->resize(size);
  const bool up = next > '5' || (next == '5' && (rest || odd));
  return up && Increment(digits);
}

}  // namespace

void ExactDecimal::Normalise() {
  const std::size_t first = digits_.find_first_not_of('0');
  if (first == std::string::npos) {
    digits_.clear();
    point_ = 0;
    clamped_ = false;
    return;
  }
  digits_.erase(0, first);
  point_ -= static_cast<std::int64_t>(first);
  digits_.resize(digits_.find_last_not_of('0') + 1);
}

ExactDecimal ExactDecimal::FromUnsigned(std::uint64_t value) {
  ExactDecimal number;
  number.digits_ = std::to_string(value);
  number.point_ = static_cast<std::int64_t>(number.digits_.size());
  number.Normalise();
  return number;
}

ExactDecimal ExactDecimal::FromDouble(double value) {
  // 309 digits at most before the point, and never more than 1074 behind it.
  std::array<char, 1500> buffer;
  char* const end = buffer.data() + buffer.size();
  const std::to_chars_result printed =
      std::to_chars(buffer.data(), end, value, std::chars_format::fixed, 1074);
  return FromText({buffer.data(), printed.ptr});
}

ExactDecimal ExactDecimal::FromText(std::string_view text) {
  const text::Decimal scanned = text::ScanDecimal(text);
  ExactDecimal number;
  number.negative_ = scanned.negative;
  number.digits_ = scanned.digits;
  std::erase(number.digits_, '.');
  number.point_ = 1 + std::clamp(scanned.exponent, -kGreatestExponent, kGreatestExponent);
  number.clamped_ = std::abs(scanned.exponent) >= kGreatestExponent;
  number.Normalise();
  return number;
}

ExactDecimal ExactDecimal::Negated() const {
  ExactDecimal number = *this;
  number.negative_ = !negative_;
  return number;
}

ExactDecimal ExactDecimal::Magnitude() const {
  ExactDecimal number = *this;
  number.negative_ = false;
  return number;
}

int ExactDecimal::Compare(const ExactDecimal& other) const {
  if (is_zero() && other.is_zero()) return 0;
  if (is_zero()) return other.negative_ ? 1 : -1;
  if (other.is_zero()) return negative_ ? -1 : 1;
  if (negative_ != other.negative_) return negative_ ? -1 : 1;
  const int sign = negative_ ? -1 : 1;
  if (point_ != other.point_) return point_ < other.point_ ? -sign : sign;
  return sign * digits_.compare(other.digits_);
}

// `size` digits, the first worth 10^(point - 1), which is at least the first of ours.
std::string ExactDecimal::DigitsFrom(std::int64_t point, std::size_t size) const {
  std::string digits(static_cast<std::size_t>(point - point_), '0');
  digits += digits_;
  digits.resize(size, '0');
  return digits;
}

ExactDecimal ExactDecimal::Minus(const ExactDecimal& other, bool* exact) const {
  if (other.is_zero()) return *this;
  if (is_zero()) return other.Negated();
  const std::int64_t point = std::max(point_, other.point_) + 1;
  const std::int64_t last =
      std::min(point_ - static_cast<std::int64_t>(digits_.size()),
               other.point_ - static_cast<std::int64_t>(other.digits_.size()));
  const int order = Magnitude().Compare(other.Magnitude());
  if (point - last > kLongest) {
    *exact = false;
    return order < 0 ? other.Negated() : *this;
  }
  const auto size = static_cast<std::size_t>(point - last);
  ExactDecimal result;
  result.point_ = point;
  std::string ours = DigitsFrom(point, size);
  std::string theirs = other.DigitsFrom(point, size);
  if (negative_ == other.negative_) {
    if (order < 0) std::swap(ours, theirs);
    Subtract(&ours, theirs);
    result.negative_ = order == 0 ? false : negative_ != (order < 0);
  } else {
    Add(&ours, theirs);  // the digit in front takes the carry
    result.negative_ = negative_;
  }
  result.digits_ = std::move(ours);
  result.Normalise();
  return result;
}

ExactDecimal ExactDecimal::Over(const ExactDecimal& other, std::size_t digits) const {
  if (is_zero()) return {};
  // Long division of 0.A by 0.B, both made of one length with a digit in front.
  const std::size_t size = std::max(digits_.size(), other.digits_.size()) + 1;
  std::string rest = "0" + digits_;
  std::string divisor = "0" + other.digits_;
  rest.resize(size, '0');
  divisor.resize(size, '0');
  ExactDecimal quotient;
  quotient.negative_ = negative_ != other.negative_;
  quotient.point_ = point_ - other.point_ + 1;
  // The first digit may be 0, the last decides the rounding.
  for (std::size_t i = 0; i < digits + 2; ++i) {
    char digit = '0';
    for (; rest >= divisor; ++digit) Subtract(&rest, divisor);
    quotient.digits_ += digit;
    rest.erase(0, 1);
    rest += '0';
  }
  const std::size_t kept = digits + (quotient.digits_.front() == '0' ? 1 : 0);
  if (RoundDigits(&quotient.digits_, kept, rest.find_first_not_of('0') != std::string::npos)) {
    quotient.digits_ = '1';  // what was carried out of nines
    ++quotient.point_;
  }
  quotient.Normalise();
  return quotient;
}

ExactDecimal ExactDecimal::Rounded(std::size_t digits) const {
  ExactDecimal number = *this;
  if (RoundDigits(&number.digits_, digits, false)) {
    number.digits_ = '1';
    ++number.point_;
  }
  number.Normalise();
  return number;
}

std::string ExactDecimal::Text(int whole_digits) const {
  std::string text = negative_ ? "-" : "";
  if (is_zero()) return text + "0";
  if (point_ > -4 && point_ <= whole_digits) {
    const std::int64_t size = static_cast<std::int64_t>(digits_.size());
    if (point_ <= 0)
      return text + "0." + std::string(static_cast<std::size_t>(-point_), '0') + digits_;
    const auto whole = static_cast<std::size_t>(std::min(point_, size));
    text.append(digits_, 0, whole).append(static_cast<std::size_t>(point_) - whole, '0');
    if (size > point_) text.append(".").append(digits_, whole);
    return text;
  }
  text += digits_[0];
  if (digits_.size() > 1) text.append(".").append(digits_, 1);
  const std::int64_t exponent = point_ - 1;
  const std::string magnitude = std::to_string(std::abs(exponent));
  return text + (exponent < 0 ? "e-" : "e+") + (magnitude.size() < 2 ? "0" : "") + magnitude;
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
