// Casts one value by the library and judges the result in exact decimals, as docs/semantics.md
// counts losses.
//
// SPDX-License-Identifier: Apache-2.0
#include "explain_cast.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "element_text.h"
#include "io/tensor_file.h"
#include "type_range.h"

namespace tensorcast::tool {
namespace {

using io::Error;
using io::ErrorKind;

constexpr std::size_t kRatioDigits = 17;

std::uint64_t LastCode(const TypeInfo& row) {
  return row.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << row.bits) - 1;
}

std::uint64_t SignOf(const TypeInfo& row) {
  return row.has_sign ? std::uint64_t{1} << (row.bits - 1) : 0;
}

ExactValue FiniteValue(ExactDecimal decimal) {
  ExactValue value;
  value.negative = decimal.is_negative();
  value.decimal = std::move(decimal);
  return value;
}

// The value of a text that is a number.
ExactValue ValueOfText(std::string_view text) {
  const std::size_t letter = text.find_first_of("nN");  // of nan, inf and infinity alone
  if (letter == std::string_view::npos) return FiniteValue(ExactDecimal::FromText(text));
  ExactValue value;
  value.negative = text.find('-') != std::string_view::npos;
  value.kind = text.find_first_of("aA") != std::string_view::npos ? ExactValue::Kind::kNan
                                                                  : ExactValue::Kind::kInfinity;
  return value;
}

bool IsNumber(std::string_view text) {
  std::uint64_t code = 0;
  return ParseValue(text, DataType::kFloat64, &code).ok();
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool LooksLikeBits(std::string_view text) {
  return text.starts_with("0x") || text.starts_with("0X") || text.starts_with("0b") ||
         text.starts_with("0B");
}

std::uint64_t ParseCode(std::string_view text, const TypeInfo& row) {
  std::string_view digits = text;
  int base = 10;
  if (LooksLikeBits(text)) {
    base = text[1] == 'x' || text[1] == 'X' ? 16 : 2;
    digits.remove_prefix(2);
  }
  std::uint64_t code = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, code, base);
  const bool is_code = stop == end && error != std::errc::invalid_argument;
  if (!is_code || error == std::errc::result_out_of_range || code > LastCode(row)) {
    throw Error(
        ErrorKind::kArguments,
        fmt::format("explain: '{}' {} of {}: 0 to 0x{:X} in hexadecimal (0x7E), binary "
                    "(0b0111) or decimal{}",
                    io::Escape(text.substr(0, 64)), is_code ? "is beyond the codes" : "is no code",
                    row.name, LastCode(row), is_code ? "" : "; a number is given without --bits"));
  }
  return code;
}

CastResult CastSource(const ExplainSource& source, DataType to, const CastOptions& options) {
  CastResult result;
  if (to == DataType::kString) {
    if (source.is_text()) {
      result.text = source.text;
      return result;
    }
    std::array<char, kLongestPrinted> buffer{};
    std::string_view text;
    result.status = PrintValue(source.type, source.code, buffer, &text, options);
    result.text = text;
  } else if (source.is_text()) {
    result.status = ParseValue(source.text, to, &result.code, options);
    if (!result.status.ok()) result.code = 0;
  } else {
    result.code = CastBits(source.type, to, source.code, options);
  }
  return result;
}

// Where a type's range ends: beyond it a value, rounded with the exponent unbounded, has left it.
struct RangeEnd {
  ExactDecimal at;
  bool itself_beyond = false;
};

struct RangeEnds {
  RangeEnd high;
  RangeEnd low;
  bool IsBeyond(const ExactDecimal& x) const {
    const int above = x.Compare(high.at);
    const int below = low.at.Compare(x);
    return above > 0 || (above == 0 && high.itself_beyond) || below > 0 ||
           (below == 0 && low.itself_beyond);
  }
};

RangeEnds IntegerEnds(const TypeInfo& row) {
  const double span = std::ldexp(1.0, row.has_sign ? row.bits - 1 : row.bits);
  const ExactDecimal least = ExactDecimal::FromDouble(row.has_sign ? -span : 0);
  bool exact = true;
  if (row.bits >= 8) {  // truncation
    return {{ExactDecimal::FromDouble(span), true},
            {least.Minus(ExactDecimal::FromUnsigned(1), &exact), true}};
  }
  // Ties to even: the greatest integer is odd, the least is even.
  return {{ExactDecimal::FromDouble(span - 0.5), true},
          {least.Minus(ExactDecimal::FromDouble(0.5), &exact), false}};
}

RangeEnds PowerOfTwoEnds(const TypeRange& range, RoundingMode mode) {
  const auto ends = [&](double high, bool high_beyond, double low, bool low_beyond) {
    return RangeEnds{{ExactDecimal::FromDouble(range.max * high), high_beyond},
                     {ExactDecimal::FromDouble(range.lowest * low), low_beyond}};
  };
  switch (mode) {
    case RoundingMode::kUp: return ends(1, false, 0.5, true);
    case RoundingMode::kDown: return ends(2, true, 1, false);
    case RoundingMode::kNearest: break;
  }
  return ends(1.5, true, 0.75, false);
}

// Of a floating type that does not go on to Inf: others have no use for it.
RangeEnds FloatEnds(const TypeInfo& row, const TypeRange& range) {
  const std::uint64_t greatest =
      CastBits(DataType::kFloat64, row.type, std::bit_cast<std::uint64_t>(range.max));
  const double unit = range.max - ElementValue(row.type, greatest - 1);
  const ExactDecimal midpoint = ExactDecimal::FromDouble(range.max + unit / 2);
  const bool tie_leaves = (greatest & 1) != 0;
  return {{midpoint, tie_leaves}, {midpoint.Negated(), tie_leaves}};
}

std::optional<RangeEnds> EndsOf(const TypeInfo& row, const CastOptions& options) {
  if (row.is_integer()) return IntegerEnds(row);
  if (!row.is_float() || row.type == DataType::kFloat64) return std::nullopt;
  const TypeRange range = RangeOf(row.type);
  return row.has_zero ? FloatEnds(row, range) : PowerOfTwoEnds(range, options.round_mode);
}

bool IsBeyond(const ExactValue& x, const std::optional<RangeEnds>& ends) {
  if (!ends || x.is_nan()) return false;
  return !x.is_finite() || ends->IsBeyond(x.decimal);
}

bool AreEqual(const ExactValue& x, const ExactValue& y) {
  if (x.kind != y.kind || x.is_nan()) return false;
  return x.is_finite() ? x.decimal.Compare(y.decimal) == 0 : x.negative == y.negative;
}

Loss Classify(const ExplainSource& source, const ExactValue& y, const TypeInfo& to,
              const CastOptions& options) {
  const ExactValue& x = source.value;
  if (x.is_nan()) return y.is_nan() ? Loss::kNan : Loss::kNanLost;
  if (y.is_nan()) return Loss::kToNan;
  if (AreEqual(x, y)) return Loss::kExact;
  const bool from_integer = !source.is_text() && !FindType(source.type)->is_float();
  const bool wraps =
      to.is_integer() && (from_integer || options.integer_overflow == IntegerOverflow::kWrap);
  const bool beyond = IsBeyond(x, EndsOf(to, options));
  if (beyond && wraps && x.is_finite()) return Loss::kWrapped;
  if (!y.is_finite()) return Loss::kToInfinity;
  if (beyond && !wraps) return Loss::kToLimit;
  return y.decimal.is_zero() ? Loss::kToZero : Loss::kRounded;
}

// Whether ONNX's text leaves the result open.
bool IsUndefined(const ExplainSource& source, const TypeInfo& to, const CastOptions& options) {
  const ExactValue& x = source.value;
  if (to.is_integer()) {
    const bool from_float = source.is_text() || FindType(source.type)->is_float();
    return from_float && (x.is_nan() || IsBeyond(x, EndsOf(to, options)));
  }
  if (!to.is_float()) return false;
  if (!to.has_zero) {
    return !x.is_nan() && (x.negative || (x.is_finite() && x.decimal.is_zero()));
  }
  return !to.has_nan() && x.is_nan();
}

// The code `step` places up in value; none beyond either end. `code` is no NaN.
std::optional<std::uint64_t> Neighbour(const TypeInfo& row, std::uint64_t code, int step) {
  if (row.type_class == TypeClass::kBool) {
    const bool value = code != 0;
    if (value == (step > 0)) return std::nullopt;
    return value ? 0 : 1;
  }
  const std::uint64_t sign = SignOf(row);
  if (row.is_integer()) {
    const std::uint64_t least = sign;
    const std::uint64_t greatest = LastCode(row) & ~sign;
    if (code == (step > 0 ? greatest : least)) return std::nullopt;
    return (code + static_cast<std::uint64_t>(step)) & LastCode(row);
  }
  // Codes of floats ascend with the magnitude.
  CastOptions to_the_end;
  if (row.has_infinity()) to_the_end.saturate = false;
  const std::uint64_t end =
      CastBits(DataType::kFloat64, row.type,
               std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity()), to_the_end);
  const std::uint64_t magnitude = code & ~sign;
  const bool is_below_zero = (code & sign) != 0 && magnitude != 0;
  if (is_below_zero == (step < 0)) {
    if (magnitude == end) return std::nullopt;
    return (magnitude + 1) | (is_below_zero ? sign : 0);
  }
  if (magnitude != 0) return (magnitude - 1) | (is_below_zero && magnitude > 1 ? sign : 0);
  // From zero to the other side, where there is one.
  if (!row.has_sign) return std::nullopt;
  return sign | 1;
}

std::optional<double> UlpOf(const TypeInfo& row, std::uint64_t code) {
  if (!row.is_float()) return 1;
  const double value = std::fabs(ElementValue(row.type, code));
  if (!std::isfinite(value)) return std::nullopt;
  const int least = row.has_zero ? 1 - row.bias : -row.bias;
  const int exponent = value == 0 ? least : std::max(least, std::ilogb(value));
  return std::ldexp(1.0, exponent - row.mantissa_bits);
}

void MeasureError(const ExactValue& x, Explanation* explanation) {
  const ExactValue& y = explanation->value;
  if (!x.is_finite() || !y.is_finite() || x.decimal.is_clamped()) return;
  Explanation& e = *explanation;
  e.error = x.decimal.Minus(y.decimal, &e.error_is_exact).Magnitude();
  if (!x.decimal.is_zero()) {
    e.relative_error = e.error->Over(x.decimal.Magnitude(), kRatioDigits);
  }
  if (e.ulp) e.error_in_ulps = e.error->Over(ExactDecimal::FromDouble(*e.ulp), kRatioDigits);
}

// The options, each with one value changed.
std::vector<std::pair<OtherResult, CastOptions>> OtherOptions(const CastOptions& options) {
  std::vector<std::pair<OtherResult, CastOptions>> others;
  const auto add = [&](const char* option, const char* value, auto member, auto choice) {
    if (options.*member == choice) return;
    CastOptions changed = options;
    changed.*member = choice;
    others.push_back({{option, value, {}, {}}, changed});
  };
  add("saturate", "true", &CastOptions::saturate, true);
  add("saturate", "false", &CastOptions::saturate, false);
  add("round-mode", "up", &CastOptions::round_mode, RoundingMode::kUp);
  add("round-mode", "down", &CastOptions::round_mode, RoundingMode::kDown);
  add("round-mode", "nearest", &CastOptions::round_mode, RoundingMode::kNearest);
  add("integer-overflow", "wrap", &CastOptions::integer_overflow, IntegerOverflow::kWrap);
  add("integer-overflow", "saturate", &CastOptions::integer_overflow, IntegerOverflow::kSaturate);
  add("fnuz-infinity", "max", &CastOptions::fnuz_infinity, FnuzInfinity::kMax);
  add("fnuz-infinity", "nan", &CastOptions::fnuz_infinity, FnuzInfinity::kNan);
  add("finite-only-nan", "zero", &CastOptions::finite_only_nan, FiniteOnlyNan::kZero);
  add("finite-only-nan", "max", &CastOptions::finite_only_nan, FiniteOnlyNan::kMax);
  add("string-style", "numpy", &CastOptions::string_style, StringStyle::kNumpy);
  add("string-style", "ort", &CastOptions::string_style, StringStyle::kOrt);
  return others;
}

}  // namespace

ExactValue ValueOf(DataType type, std::uint64_t code) {
  const TypeInfo& row = *FindType(type);
  switch (row.type_class) {
    case TypeClass::kBool: return FiniteValue(ExactDecimal::FromUnsigned(code != 0 ? 1 : 0));
    case TypeClass::kUnsigned: return FiniteValue(ExactDecimal::FromUnsigned(code));
    case TypeClass::kSigned: {
      const std::int64_t value = SignedElement(type, code);
      const auto magnitude = static_cast<std::uint64_t>(value);
      return value < 0 ? FiniteValue(ExactDecimal::FromUnsigned(0 - magnitude).Negated())
                       : FiniteValue(ExactDecimal::FromUnsigned(magnitude));
    }
    case TypeClass::kFloat:
    case TypeClass::kString: break;
  }
  const double value = ElementValue(type, code);
  if (std::isfinite(value)) return FiniteValue(ExactDecimal::FromDouble(value));
  return {std::isnan(value) ? ExactValue::Kind::kNan : ExactValue::Kind::kInfinity,
          std::signbit(value),
          {}};
}

std::string ShortestText(DataType type, std::uint64_t code) {
  std::array<char, kLongestPrinted> buffer{};
  std::string_view text;
  const Status status = PrintValue(type, code, buffer, &text);
  return status.ok() ? std::string(text) : "?";
}

ExplainSource ParseExplainSource(const std::string& text, std::optional<DataType> bits_of) {
  ExplainSource source;
  source.text = Trimmed(text);
  if (bits_of) {
    source.type = *bits_of;
    source.code = ParseCode(source.text, *FindType(*bits_of));
    source.value = ValueOf(source.type, source.code);
    return source;
  }
  if (!IsNumber(source.text)) {
    throw Error(ErrorKind::kArguments,
                fmt::format("explain: '{}' is no number{}", io::Escape(text.substr(0, 64)),
                            LooksLikeBits(source.text) ? "; --bits TYPE takes the code of a type"
                                                       : " (0.1, 1e-9, -300, nan, inf)"));
  }
  source.value = ValueOfText(source.text);
  return source;
}

Explanation ExplainCast(const ExplainSource& source, DataType to, const CastOptions& options) {
  const TypeInfo& row = *FindType(to);
  Explanation explanation;
  explanation.to = to;
  explanation.result = CastSource(source, to, options);
  const auto loss_of = [&](const CastResult& result,
                           const CastOptions& chosen) -> std::optional<Loss> {
    if (row.bits == 0 || !result.status.ok()) return std::nullopt;
    return Classify(source, ValueOf(to, result.code), row, chosen);
  };
  for (auto& [other, changed] : OtherOptions(options)) {
    other.result = CastSource(source, to, changed);
    if (other.result == explanation.result) continue;
    other.loss = loss_of(other.result, changed);
    explanation.others.push_back(std::move(other));
  }
  if (!explanation.result.status.ok()) return explanation;
  explanation.loss = loss_of(explanation.result, options);
  const std::uint64_t code = explanation.result.code;
  if (row.bits == 0) {
    if (source.is_text() || !IsNumber(explanation.result.text)) return explanation;
    explanation.value = ValueOfText(explanation.result.text);
    MeasureError(source.value, &explanation);
    return explanation;
  }
  explanation.value = ValueOf(to, code);
  explanation.undefined = IsUndefined(source, row, options);
  const ExactValue& y = explanation.value;
  if (y.is_nan()) return explanation;
  explanation.below = Neighbour(row, code, -1);
  explanation.above = Neighbour(row, code, 1);
  if (!y.is_finite()) return explanation;
  explanation.ulp = UlpOf(row, code);
  if (row.is_float()) {
    const bool is_zero = y.decimal.is_zero();
    explanation.to_subnormal =
        !is_zero && row.has_zero && std::fabs(ElementValue(to, code)) < RangeOf(to).min_normal;
    explanation.zero_sign_lost = is_zero && !y.negative && source.value.is_finite() &&
                                 source.value.decimal.is_zero() && source.value.negative;
  }
  MeasureError(source.value, &explanation);
  return explanation;
}

}  // namespace tensorcast::tool
