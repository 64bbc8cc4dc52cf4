// Texts to codes; see text.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <cctype>

#include "oracle/text.h"

namespace oracle {
namespace {

// Every type's finite values, and the midpoints on which roundings turn, lie between 10^-330 and
// 10^330, zero apart: the widest is float64, from 2^-1075 (2.5e-324) to 2^1024 (1.8e308). So a
// magnitude beyond 10^400 is to every type the same as any other such (too large, also for an
// integer), and one below 10^-400 the same as any other nonzero one (below half the least value).
constexpr long kFar = 400;

constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && kWhiteSpace.find(text.front()) != std::string_view::npos) {
    text.remove_prefix(1);
  }
  while (!text.empty() && kWhiteSpace.find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  return text;
}

// Whether the text is this lower-case word in any case; ASCII alone has cases.
bool IsWord(std::string_view text, std::string_view word) {
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 32) : text[i];
    if (c != word[i]) return false;
  }
  return true;
}

std::string TakeDigits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  std::string digits(text.substr(0, n));
  text.remove_prefix(n);
  return digits;
}

bool Take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

mpz_class PowerOfTen(long exponent) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(exponent));
  return power;
}

// -1, 0, +1 as the text's magnitude is less than, equal to, greater than digits * 2^exponent.
int CompareWith(const Text& text, const mpz_class& digits, int exponent) {
  mpz_class left = text.numerator;
  mpz_class right = digits * text.denominator;
  if (exponent >= 0) {
    right <<= static_cast<unsigned>(exponent);
  } else {
    left <<= static_cast<unsigned>(-exponent);
  }
  return cmp(left, right);
}

// The magnitude of a code that has no sign bit set; of the one behind the largest too, as if the
// type went on.
Value MagnitudeValue(const Row& row, std::uint64_t code) {
  if (code <= row.largest) return Decode(row, code);
  Value next = Decode(row, row.largest);
  if (row.kind == Kind::kPowerOfTwo) {
    ++next.exponent;
  } else {
    ++next.digits;
  }
  return next;
}

// The sign of (text - midpoint of the codes `code` and `code` + 1).
int CompareWithMidpoint(const Text& text, const Row& row, std::uint64_t code) {
  const Value low = MagnitudeValue(row, code);
  const Value high = MagnitudeValue(row, code + 1);
  const int exponent = low.exponent < high.exponent ? low.exponent : high.exponent;
  const mpz_class a = mpz_class(low.digits) << static_cast<unsigned>(low.exponent - exponent);
  const mpz_class b = mpz_class(high.digits) << static_cast<unsigned>(high.exponent - exponent);
  return CompareWith(text, a + b, exponent - 1);
}

int CompareWithCode(const Text& text, const Row& row, std::uint64_t code) {
  const Value value = MagnitudeValue(row, code);
  return CompareWith(text, mpz_class(value.digits), value.exponent);
}

// The largest code whose magnitude is at most the text's; the least code where there is none.
std::uint64_t Floor(const Text& text, const Row& row) {
  std::uint64_t low = 0;
  std::uint64_t high = row.largest;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (CompareWithCode(text, row, middle) >= 0) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// A number that every type takes for too large, and one that e8m0 takes for too small.
Value Beyond(bool negative) { return {Value::Is::kFinite, negative, 1, 5000, 0}; }
Value Below(bool negative) { return {Value::Is::kFinite, negative, 1, -5000, 0}; }

// A text is cast as a floating source that can hold it.
const Row& Source() { return RowOf(11); }

std::uint64_t ToFloating(const Text& text, const Row& to, const Options& options) {
  std::uint64_t code = Floor(text, to);
  const int half = CompareWithMidpoint(text, to, code);
  if (half > 0 || (half == 0 && code % 2 != 0)) ++code;
  if (code > to.largest) return Outside(Source(), to, Beyond(text.negative), options);
  if (text.negative && (to.minus_zero || code != 0)) code |= to.minus;
  return code;
}

std::uint64_t ToPowerOfTwo(const Text& text, const Row& to, const Options& options) {
  if (text.negative || text.numerator == 0 || CompareWithCode(text, to, 0) < 0) {
    return Outside(Source(), to, Below(text.negative), options);
  }
  if (CompareWithCode(text, to, to.largest) > 0) {
    return Outside(Source(), to, Beyond(false), options);
  }
  const std::uint64_t code = Floor(text, to);
  if (CompareWithCode(text, to, code) == 0) return code;
  switch (options.round_mode) {
    case RoundingMode::kDown: return code;
    case RoundingMode::kUp: return code + 1;
    case RoundingMode::kNearest: break;
  }
  return CompareWithMidpoint(text, to, code) >= 0 ? code + 1 : code;
}

Parsed ToInteger(const Text& text, const Row& to, const Options& options) {
  mpz_class whole = text.numerator / text.denominator;
  if (to.bits < 8) {
    const mpz_class twice_rest = 2 * (text.numerator - whole * text.denominator);
    const int half = cmp(twice_rest, text.denominator);
    if (half > 0 || (half == 0 && mpz_odd_p(whole.get_mpz_t()) != 0)) ++whole;
  }
  const mpz_class two_to_63 = mpz_class(1) << 63;
  if (text.negative ? whole > two_to_63 : whole >= 2 * two_to_63) {
    return {TextError::kNotAnInteger, 0};
  }
  // An integer of 64 bits is what the oracle of the numbers knows.
  const Value value = {Value::Is::kFinite, text.negative, whole.get_ui(), 0, 0};
  const Rounded rounded = RoundFinite(to, true, value, options.round_mode);
  if (rounded.inside) return {TextError::kNone, rounded.code};
  return {TextError::kNone, Outside(Source(), to, value, options)};
}

}  // namespace

Text ReadText(std::string_view text) {
  text = Trimmed(text);
  Text result;
  if (IsWord(text, "true")) result.is = Text::Is::kTrue;
  if (IsWord(text, "false")) result.is = Text::Is::kFalse;
  if (result.is != Text::Is::kNotANumber) return result;

  if (Take(text, '-')) {
    result.negative = true;
  } else {
    Take(text, '+');
  }
  if (IsWord(text, "inf") || IsWord(text, "infinity")) result.is = Text::Is::kInfinite;
  if (IsWord(text, "nan")) result.is = Text::Is::kNan;
  if (result.is != Text::Is::kNotANumber) return result;

  std::string digits = TakeDigits(text);
  const bool leading = !digits.empty();
  long scale = 0;  // the value is digits * 10^scale
  if (Take(text, '.')) {
    const std::string fraction = TakeDigits(text);
    if (!leading && fraction.empty()) return {};
    digits += fraction;
    scale = -static_cast<long>(fraction.size());
  } else if (!leading) {
    return {};
  }
  if (Take(text, 'e') || Take(text, 'E')) {
    const bool down = Take(text, '-');
    if (!down) Take(text, '+');
    std::string exponent = TakeDigits(text);
    if (exponent.empty()) return {};
    exponent.erase(0, exponent.find_first_not_of('0'));
    // No text has 10^15 digits, so that beyond 10^15 an exponent decides alone.
    const long number = exponent.size() > 15 ? 1'000'000'000'000'000
                        : exponent.empty()   ? 0
                                             : std::stol(exponent);
    scale += down ? -number : number;
  }
  if (!text.empty()) return {};

  result.is = Text::Is::kFinite;
  digits.erase(0, digits.find_first_not_of('0'));
  if (digits.empty()) return result;
  const long top = static_cast<long>(digits.size()) + scale;  // the magnitude is below 10^top
  if (top > kFar) {
    result.numerator = PowerOfTen(kFar);
  } else if (top < -kFar) {
    result.numerator = 1;
    result.denominator = PowerOfTen(kFar);
  } else {
    result.numerator.set_str(digits, 10);
    if (scale >= 0) {
      result.numerator *= PowerOfTen(scale);
    } else {
      result.denominator = PowerOfTen(-scale);
    }
  }
  return result;
}

Parsed CastText(const Text& text, const Row& to, const Options& options) {
  const bool boolean = to.kind == Kind::kBoolean;
  Value value;
  value.negative = text.negative;
  switch (text.is) {
    case Text::Is::kNotANumber: return {TextError::kNotANumber, 0};
    case Text::Is::kTrue:
    case Text::Is::kFalse:
      if (!boolean) return {TextError::kNotANumber, 0};
      return {TextError::kNone, text.is == Text::Is::kTrue ? 1u : 0u};
    case Text::Is::kNan:
    case Text::Is::kInfinite:
      if (to.integer()) return {TextError::kNotAnInteger, 0};
      value.is = text.is == Text::Is::kNan ? Value::Is::kNan : Value::Is::kInfinite;
      value.payload = text.is == Text::Is::kNan ? 1ull << 63 : 0;  // the quiet bit
      return {TextError::kNone, Outside(Source(), to, value, options)};
    case Text::Is::kFinite: break;
  }
  if (boolean) return {TextError::kNone, text.numerator != 0 ? 1u : 0u};
  if (to.integer()) return ToInteger(text, to, options);
  if (to.kind == Kind::kPowerOfTwo) return {TextError::kNone, ToPowerOfTwo(text, to, options)};
  return {TextError::kNone, ToFloating(text, to, options)};
}

Parsed ParseText(std::string_view text, const Row& to, const Options& options) {
  return CastText(ReadText(text), to, options);
}

}  // namespace oracle
