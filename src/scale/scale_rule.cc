// A quotient is rounded to odd into a double and then once more, to the scale's type. amax is split
// into fraction and exponent first, as a float64's may be near the ends of a double's range.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scale_rule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/enum_names.h"
#include "core/failure.h"
#include "core/round_to_odd.h"

namespace tensorcast::scale {
namespace {

// 2^exponent * fraction, 0.5 <= fraction < 1.
struct Split {
  explicit Split(double value) : fraction(std::frexp(value, &exponent)) {}
  int exponent = 0;
  double fraction;
};

double RoundedTo(DataType type, double value) {
  const std::uint64_t code =
      CastBits(DataType::kFloat64, type, std::bit_cast<std::uint64_t>(value));
  return ValueOf(type, code);
}

bool IsFloat6(DataType type) {
  return type == DataType::kFloat6E2M3 || type == DataType::kFloat6E3M2;
}

// The exponent of the power of two that a rule gives.
int PowerOf(ScaleRule rule, DataType element, double amax) {
  const Split top(amax), code(LargestCode(element));
  const int exponent = top.exponent - code.exponent;
  switch (rule) {
    case ScaleRule::kUp: return exponent + (top.fraction > code.fraction ? 1 : 0);
    case ScaleRule::kRound: {
      // From 1.75 (float6: 1.9375) times a power of two on it rounds to the next.
      const double next = IsFloat6(element) ? 1 - 0x1p-5 : 1 - 0x1p-3;
      return exponent + (top.fraction >= next ? 1 : 0);
    }
    case ScaleRule::kOcp:
    case ScaleRule::kAmax:
    case ScaleRule::kMse:
    case ScaleRule::kMseFine:
    case ScaleRule::kFourOverSix: break;
  }
  return exponent;
}

// amax / M, or what is left of it under a global scale, to odd.
double Quotient(const Scaling& scaling, double amax, double global) {
  const Split top(amax);
  const double numerator = scaling.global_use == Factor::kDivides
                               ? core::MultiplyToOdd(top.fraction, global)
                               : top.fraction;
  const double largest = LargestCode(scaling.element);  // of at most 7 bits: products are exact
  const double divisor = scaling.global_use == Factor::kMultiplies ? largest * global : largest;
  return std::ldexp(core::DivideToOdd(numerator, divisor), top.exponent);
}

// The least and the greatest scale.
struct ScaleEnds {
  ScaleEnds(const Scaling& scaling, ScaleRule rule) {
    const TypeLimits limits = LimitsOf(scaling.scale);
    // A type of eight bits has subnormal scales, too.
    const bool is_whole = rule == ScaleRule::kAmax ? scaling.scale != DataType::kFloat8E4M3FN
                                                   : scaling.scale != DataType::kFloat8E8M0;
    least = is_whole ? limits.least_normal : limits.least_positive;
    // Of powers of two: the greatest value of another type is none.
    most = rule == ScaleRule::kAmax ? limits.greatest : std::ldexp(1, std::ilogb(limits.greatest));
  }
  double least, most;
};

}  // namespace

double LargestCode(DataType element) {
  return element == DataType::kInt8 ? 127 : LimitsOf(element).greatest;
}

const Scaling& CheckedWritten(const Scaling& scaling, ScaleRule rule) {
  const auto refuse = [](const std::string& text) {
    throw core::Failure(StatusCode::kUnsupported, text);
  };
  const TypeInfo& element = detail::Row(Checked(scaling).element);
  if (scaling.scale_use != Factor::kMultiplies || scaling.zero_point ||
      !(element.is_float() || element.type == DataType::kInt8)) {
    refuse("scaled tensors are written as a float or int8 times a scale");
  }
  const bool powers = scaling.scale == DataType::kFloat8E8M0;
  if (powers ? rule == ScaleRule::kAmax : rule >= ScaleRule::kOcp) {
    refuse("no scale of type " + std::string(TypeName(scaling.scale)) + " follows this rule");
  }
  if (scaling.global_use != Factor::kNone &&
      (rule != ScaleRule::kAmax || scaling.scale != DataType::kFloat8E4M3FN)) {
    refuse("a global scale goes only with scales of type float8e4m3fn");
  }
  return scaling;
}

double GlobalScaleOf(const Scaling& scaling, double amax, double most) {
  if (scaling.global_use == Factor::kNone || amax == 0) return 1;
  const Split top(amax);
  const double largest = LargestCode(scaling.element) * most;
  const double quotient = scaling.global_use == Factor::kMultiplies
                              ? std::ldexp(core::DivideToOdd(top.fraction, largest), top.exponent)
                              : std::ldexp(core::DivideToOdd(largest, top.fraction), -top.exponent);
  const double stored = RoundedTo(DataType::kFloat32, quotient);
  const double least = LimitsOf(DataType::kFloat32).least_normal;
  return stored >= least && stored <= std::numeric_limits<double>::max() ? stored : 1;
}

double CellScaleOf(const Scaling& scaling, ScaleRule rule, double amax, double global) {
  if (amax == 0) return 1;
  const ScaleEnds ends(scaling, rule);
  const double exact = rule == ScaleRule::kAmax
                           ? RoundedTo(scaling.scale, Quotient(scaling, amax, global))
                           : std::ldexp(1, PowerOf(rule, scaling.element, amax));
  return std::clamp(exact, ends.least, ends.most);
}

ScalesOfCells::ScalesOfCells(const Scaling& scaling, ScaleRule rule, Target target)
    : scaling_(scaling),
      rule_(rule),
      largest_code_(LargestCode(scaling.element)),
      lanes_(FindCellLanes(target)) {
  const ScaleEnds ends(scaling, rule);
  least_ = ends.least;
  most_ = ends.most;
}

void ScalesOfCells::Run(const double* amax, double global, double* scales, std::size_t n) const {
  if (lanes_ == nullptr) {
    for (std::size_t i = 0; i < n; ++i) scales[i] = CellScaleOf(scaling_, rule_, amax[i], global);
    return;
  }
  if (rule_ != ScaleRule::kAmax) return lanes_->powers_of(amax, n, Powers(), scales);
  // The nearest double to a quotient serves, and need not be odd: amax, with a global scale, has at
  // most 48 bits and the divisor 31, and where the scale changes stand doubles of at most 25 bits,
  // so that a quotient is one of them or differs from it in more than the last of a double's bits.
  const TypeInfo& row = detail::Row(scaling_.scale);
  const RoundStep step = {
      scaling_.global_use == Factor::kDivides ? global : 1,
      scaling_.global_use == Factor::kMultiplies ? largest_code_ * global : largest_code_,
      row.mantissa_bits,
      detail::LimitsOf(row).least_normal,
      least_,
      most_};
  lanes_->rounded_scales(amax, n, step, scales);
}

// As PowerOf, from the bits of a double, which is a normal one for every float32.
PowerStep ScalesOfCells::Powers() const {
  const auto bits_of = [](double value) { return std::bit_cast<std::int64_t>(value); };
  const auto mantissa = static_cast<std::int64_t>(detail::LowMask(52));
  const std::int64_t code = bits_of(largest_code_);
  // The last mantissa before the next power: the code's, any, or below what rounds up.
  const std::int64_t last = rule_ == ScaleRule::kUp      ? code & mantissa
                            : rule_ == ScaleRule::kOcp   ? mantissa
                            : IsFloat6(scaling_.element) ? (bits_of(2 - 0x1p-4) & mantissa) - 1
                                                         : (bits_of(2 - 0x1p-2) & mantissa) - 1;
  return {last, bits_of(1) - (code & ~mantissa), least_, most_};
}

}  // namespace tensorcast::scale

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

std::string_view ScaleRuleName(ScaleRule rule) {
  constexpr std::string_view kNames[] = {"amax",          "up",      "ocp", "round", "mse",
                                         "four-over-six", "mse-fine"};
  return core::NameOf(kNames, rule);
}

std::span<const ScaleRule> ScaleRules() {
  static constexpr ScaleRule kRules[] = {
      ScaleRule::kRound, ScaleRule::kUp,          ScaleRule::kOcp,    ScaleRule::kAmax,
      ScaleRule::kMse,   ScaleRule::kFourOverSix, ScaleRule::kMseFine};
  return kRules;
}

std::optional<ScaleRule> ParseScaleRule(std::string_view name) {
  if (name == "pow2") return ScaleRule::kUp;  // what it is called where scales need not be powers
  return core::MemberNamed(ScaleRules(), ScaleRuleName, name);
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert
