// A number as nearly every text has it, read in one scan, eight digits at a time.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_PLAIN_DECIMAL_H_
#define TENSORCAST_SRC_TEXT_PLAIN_DECIMAL_H_

#include <cstddef>
#include <cstdint>

#include "text/digit_bytes.h"
#include "text/powers_of_ten.h"

namespace tensorcast::text {

// The scan reads as many characters behind a text as this, whatever they are.
inline constexpr std::size_t kReadBehind = 8;
// No longer text is plain.
inline constexpr std::ptrdiff_t kLongestPlain = 64;

// In bits, since a sign cannot be foretold.
constexpr int IsSign(char c) { return static_cast<int>(c == '-') | static_cast<int>(c == '+'); }

// Digits in a row, as a number.
class DigitRun {
 public:
  // Appends the digits from `at` on; returns where they end.
  const char* Read(const char* at, const char* end) {
    for (;;) {
      const std::uint64_t word = LoadEight(at) ^ kZeros;
      // What lies behind the text may be digits too. The lesser in bits: no branch could be
      // foretold.
      const std::ptrdiff_t beyond = LeadingDigits(word) - (end - at);
      const std::ptrdiff_t count = (end - at) + (beyond & (beyond >> 63));
      at += count;
      if (count < 8) {
        Append(word << (56 - 8 * count) << 8, static_cast<std::size_t>(count));
        return at;
      }
      Append(word, 8);
    }
  }
  std::uint64_t number() const { return number_; }
  // Whether the number is below 2^64.
  bool fits() const { return fits_; }

 private:
  void Append(std::uint64_t digits, std::size_t count) {
    const bool overflows = __builtin_mul_overflow(number_, kTenTo[count], &number_) |
                           __builtin_add_overflow(number_, FromDigitBytes(digits), &number_);
    fits_ &= !overflows;
  }
  std::uint64_t number_ = 0;
  bool fits_ = true;
};

// (-1)^negative x digits x 10^exponent.
struct PlainDecimal {
  bool negative;
  std::uint64_t digits;
  int exponent;
};

// Digits and nothing else, which make a number below 2^64.
[[gnu::always_inline]] inline bool ScanDigits(const char* begin, const char* end,
                                              std::uint64_t* number) {
  constexpr std::ptrdiff_t kMostDigits = 20;  // of 2^64 - 1
  const std::ptrdiff_t size = end - begin;
  if (size < 1 || size > kMostDigits) return false;
  // Whole words up to the end, and before them one of which a part is of the text.
  const std::ptrdiff_t in_words = (size - 1) / 8 * 8;
  const std::uint64_t head = (LoadEight(begin) ^ kZeros) << (64 - 8 * (size - in_words));
  *number = FromDigitBytes(head);
  if (in_words == 0) return OtherThanDigits(head) == 0;
  constexpr std::uint64_t kEightDigits = 100'000'000;
  const std::uint64_t last = LoadEight(end - 8) ^ kZeros;
  if (in_words == 8) {
    *number = *number * kEightDigits + FromDigitBytes(last);
    return (OtherThanDigits(head) | OtherThanDigits(last)) == 0;
  }
  const std::uint64_t middle = LoadEight(end - 16) ^ kZeros;
  const std::uint64_t sixteen = FromDigitBytes(middle) * kEightDigits + FromDigitBytes(last);
  const bool overflows = __builtin_mul_overflow(*number, kEightDigits * kEightDigits, number) |
                         __builtin_add_overflow(*number, sixteen, number);
  return (OtherThanDigits(head) | OtherThanDigits(middle) | OtherThanDigits(last)) == 0 &&
         !overflows;
}

// Whether a text is a finite number whose digits make one below 2^64, with an exponent of at most
// six digits and nothing around it; `decimal` is then that number. Of any other text, a number or
// none, ScanDecimal has to say what it is.
[[gnu::always_inline]] inline bool ScanPlain(const char* begin, const char* end,
                                             PlainDecimal* decimal) {
  if (begin == end || end - begin > kLongestPlain) return false;
  decimal->negative = *begin == '-';
  begin += IsSign(*begin);
  decimal->exponent = 0;
  // Most have one digit before the point, and digits alone behind it.
  const auto units = static_cast<unsigned char>(*begin - '0');
  const std::ptrdiff_t places = end - begin - 2;
  constexpr std::ptrdiff_t kMostPlaces = 18;  // 19 digits are below 2^64
  if (begin[1] == '.' && units < 10 && places <= kMostPlaces &&
      ScanDigits(begin + 2, end, &decimal->digits)) {
    decimal->digits += units * kTenTo[static_cast<std::size_t>(places)];
    decimal->exponent = -static_cast<int>(places);
    return true;
  }
  DigitRun run;
  const char* at = run.Read(begin, end);
  std::ptrdiff_t count = at - begin;
  if (at < end && *at == '.') {
    const char* const fraction = ++at;
    at = run.Read(at, end);
    decimal->exponent = static_cast<int>(fraction - at);
    count += at - fraction;
  }
  decimal->digits = run.number();
  if (count == 0 || !run.fits()) return false;
  if (at == end) return true;
  if ((*at != 'e' && *at != 'E') || ++at == end) return false;
  const bool is_below = *at == '-';
  at += IsSign(*at);
  DigitRun exponent;
  if (at == end || end - at > 6 || exponent.Read(at, end) != end) return false;
  const auto magnitude = static_cast<int>(exponent.number());
  decimal->exponent += is_below ? -magnitude : magnitude;
  return true;
}

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_PLAIN_DECIMAL_H_
