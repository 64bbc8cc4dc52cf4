// Casts one value by the library and judges the result in exact decimals, as docs/semantics.md
// counts losses.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/explain.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "tensorcast/detail/format_algebra.hpp"
#include "text/decimal.h"

namespace tensorcast {
inline namespace TENSORCAST_ABI {
namespace {

constexpr std::size_t kRatioDigits = 17;

// Exact but for integers of 64 bits, which do not ask it.
double FloatValue(DataType type, std::uint64_t code) {
  return std::bit_cast<double>(CastBits(type, DataType::kFloat64, code));
}

ExactValue FiniteValue(ExactDecimal decimal) {
  ExactValue value;
  value.negative = decimal.is_negative();
  value.decimal = std::move(decimal);
  return value;
}

// The value of a text that is a number; nothing of another.
std::optional<ExactValue> ValueOfText(std::string_view text) {
  using Kind = text::Decimal::Kind;
  const text::Decimal scanned = text::ScanDecimal(text);
  switch (scanned.kind) {
    case Kind::kFinite: return FiniteValue(ExactDecimal::FromText(text));
    case Kind::kInfinity: return ExactValue{ExactValue::Kind::kInfinity, scanned.negative, {}};
    case Kind::kNan: return ExactValue{ExactValue::Kind::kNan, scanned.negative, {}};
    case Kind::kNotANumber:
    case Kind::kTrue:
    case Kind::kFalse: break;
  }
  return std::nullopt;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
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

// Beyond the range of a type with these ends, rounded with the exponent unbounded.
bool IsBeyond(const ExactValue& x, const detail::RangeEnds& ends) {
  if (!ends.bounded || x.is_nan()) return false;
  if (!x.is_finite()) return true;
  const auto place = [&](const detail::RangeEnd& end) {
    bool exact = true;  // as doubles of like size are
    const ExactDecimal minus_further = ExactDecimal::FromDouble(-end.further);
    return x.decimal.Compare(ExactDecimal::FromDouble(end.at).Minus(minus_further, &exact));
  };
  const int high = place(ends.high), low = place(ends.low);
  return high > 0 || (high == 0 && ends.high.itself) || low < 0 || (low == 0 && ends.low.itself);
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
  const bool beyond = IsBeyond(x, detail::EndsOfRange(to, options.round_mode));
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
    return from_float && (x.is_nan() || IsBeyond(x, detail::EndsOfRange(to, options.round_mode)));
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
  const std::uint64_t sign = detail::SignBit(row);
  if (row.is_integer()) {
    if (code == (step > 0 ? detail::GreatestInteger(row) : detail::LeastInteger(row))) {
      return std::nullopt;
    }
    return (code + static_cast<std::uint64_t>(step)) & detail::LowMask(row.bits);
  }
  // Codes of floats ascend with the magnitude.
  const std::uint64_t end =
      row.has_infinity() ? detail::AllOnesExponent(row) : detail::MaxFiniteMagnitude(row);
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
  const double value = std::fabs(FloatValue(row.type, code));
  if (!std::isfinite(value)) return std::nullopt;
  // Subnormals and zero have the unit of the least binade.
  return std::ldexp(
      1.0, std::ilogb(std::max(value, detail::LimitsOf(row).least_normal)) - row.mantissa_bits);
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
std::vector<std::pair<CastOption, CastOptions>> OtherOptions(const CastOptions& options) {
  std::vector<std::pair<CastOption, CastOptions>> others;
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    for (const std::string_view value : CastOptionValues(option)) {
      if (value == CastOptionValue(option, options)) continue;
      others.emplace_back(option, options);
      SetCastOption(option, value, &others.back().second);
    }
  }
  return others;
}

Explanation Refused(DataType to, StatusCode code) {
  Explanation explanation;
  explanation.to = to;
  explanation.result.status = Status(code);
  return explanation;
}

}  // namespace

std::string ExactValue::Text() const {
  if (is_nan()) return "nan";
  if (!is_finite()) return negative ? "-inf" : "inf";
  return decimal.Text();
}

ExactValue ExactValueOf(DataType type, std::uint64_t code) {
  const TypeInfo* row = FindType(type);
  if (row == nullptr || row->bits == 0) return {ExactValue::Kind::kNan, false, {}};
  code &= detail::LowMask(row->bits);
  switch (row->type_class) {
    case TypeClass::kBool: return FiniteValue(ExactDecimal::FromUnsigned(code != 0 ? 1 : 0));
    case TypeClass::kUnsigned: return FiniteValue(ExactDecimal::FromUnsigned(code));
    case TypeClass::kSigned: {
      if ((code & detail::SignBit(*row)) == 0) {
        return FiniteValue(ExactDecimal::FromUnsigned(code));
      }
      const std::uint64_t magnitude = (0 - code) & detail::LowMask(row->bits);
      return FiniteValue(ExactDecimal::FromUnsigned(magnitude).Negated());
    }
    case TypeClass::kFloat:
    case TypeClass::kString: break;
  }
  const double value = FloatValue(type, code);
  if (std::isfinite(value)) return FiniteValue(ExactDecimal::FromDouble(value));
  return {std::isnan(value) ? ExactValue::Kind::kNan : ExactValue::Kind::kInfinity,
          std::signbit(value),
          {}};
}

std::optional<ExplainSource> ExplainSource::FromText(std::string_view text) {
  ExplainSource source;
  source.text = Trimmed(text);
  const std::optional<ExactValue> value = ValueOfText(source.text);
  if (!value) return std::nullopt;
  source.value = *value;
  return source;
}

std::optional<ExplainSource> ExplainSource::FromCode(DataType type, std::uint64_t code) {
  const TypeInfo* row = FindType(type);
  if (row == nullptr || row->bits == 0 || code > detail::LowMask(row->bits)) return std::nullopt;
  ExplainSource source;
  source.type = type;
  source.code = code;
  source.value = ExactValueOf(type, code);
  return source;
}

Explanation Explain(const ExplainSource& source, DataType to, const CastOptions& options) {
  if (FindType(to) == nullptr || FindType(source.type) == nullptr) {
    return Refused(to, StatusCode::kInvalidType);
  }
  if (!IsValid(options)) return Refused(to, StatusCode::kInvalidOption);
  const TypeInfo& row = *FindType(to);
  Explanation explanation;
  explanation.to = to;
  explanation.result = CastSource(source, to, options);
  const auto loss_of = [&](const CastResult& result,
                           const CastOptions& chosen) -> std::optional<Loss> {
    if (row.bits == 0 || !result.status.ok()) return std::nullopt;
    return Classify(source, ExactValueOf(to, result.code), row, chosen);
  };
  for (const auto& [option, changed] : OtherOptions(options)) {
    CastResult result = CastSource(source, to, changed);
    if (result == explanation.result) continue;
    const std::optional<Loss> loss = loss_of(result, changed);
    explanation.others.push_back({option, changed, std::move(result), loss});
  }
  if (!explanation.result.status.ok()) return explanation;
  explanation.loss = loss_of(explanation.result, options);
  const std::uint64_t code = explanation.result.code;
  if (row.bits == 0) {
    const std::optional<ExactValue> value = ValueOfText(explanation.result.text);
    if (!value) return explanation;
    explanation.value = *value;
    if (!source.is_text())
      MeasureError(source.value, &explanation);  // a text is passed on as it is
    return explanation;
  }
  explanation.value = ExactValueOf(to, code);
  explanation.undefined = IsUndefined(source, row, options);
  const ExactValue& y = explanation.value;
  if (y.is_nan()) return explanation;
  explanation.below = Neighbour(row, code, -1);
  explanation.above = Neighbour(row, code, 1);
  if (!y.is_finite()) return explanation;
  explanation.ulp = UlpOf(row, code);
  if (row.is_float()) {
    const bool is_zero = y.decimal.is_zero();
    explanation.to_subnormal = !is_zero && row.has_zero &&
                               std::fabs(FloatValue(to, code)) < detail::LimitsOf(row).least_normal;
    explanation.zero_sign_lost = is_zero && !y.negative && source.value.is_finite() &&
                                 source.value.decimal.is_zero() && source.value.negative;
  }
  MeasureError(source.value, &explanation);
  return explanation;
}

Explanation Explain(std::string_view text, DataType to, const CastOptions& options) {
  const std::optional<ExplainSource> source = ExplainSource::FromText(text);
  return source ? Explain(*source, to, options) : Refused(to, StatusCode::kNotANumber);
}

Explanation Explain(DataType from, std::uint64_t code, DataType to, const CastOptions& options) {
  const std::optional<ExplainSource> source = ExplainSource::FromCode(from, code);
  return source ? Explain(*source, to, options) : Refused(to, StatusCode::kInvalidType);
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
