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
    case ScaleRule::kAmax: break;
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
    refuse("a global scale stands beside scales of type float8e4m3fn alone");
  }
  return scaling;
}

double GlobalScaleOf(const Scaling& scaling, double amax) {
  if (scaling.global_use == Factor::kNone || amax == 0) return 1;
  const Split top(amax);
  const double largest = LargestCode(scaling.element) * LimitsOf(scaling.scale).greatest;
  const double quotient = scaling.global_use == Factor::kMultiplies
                              ? std::ldexp(core::DivideToOdd(top.fraction, largest), top.exponent)
                              : std::ldexp(core::DivideToOdd(largest, top.fraction), -top.exponent);
  const double stored = RoundedTo(DataType::kFloat32, quotient);
  const double least = LimitsOf(DataType::kFloat32).least_normal;
  return stored >= least && stored <= std::numeric_limits<double>::max() ? stored : 1;
}

double CellScaleOf(const Scaling& scaling, ScaleRule rule, double amax, double global) {
  if (amax == 0) return 1;
  const TypeLimits limits = LimitsOf(scaling.scale);
  const bool powers = scaling.scale == DataType::kFloat8E8M0;
  const double exact = rule == ScaleRule::kAmax
                           ? Quotient(scaling, amax, global)
                           : std::ldexp(1, PowerOf(rule, scaling.element, amax));
  if (rule != ScaleRule::kAmax) {
    // Powers of two: the greatest of another type is not one.
    const double most = std::ldexp(1, std::ilogb(limits.greatest));
    return std::clamp(exact, powers ? limits.least_positive : limits.least_normal, most);
  }
  const double least =
      scaling.global_use == Factor::kNone ? limits.least_normal : limits.least_positive;
  return std::clamp(RoundedTo(scaling.scale, exact), least, limits.greatest);
}

}  // namespace tensorcast::scale

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

std::string_view ScaleRuleName(ScaleRule rule) {
  constexpr std::string_view kNames[] = {"amax", "up", "ocp", "round"};
  return core::NameOf(kNames, rule);
}

std::span<const ScaleRule> ScaleRules() {
  static constexpr ScaleRule kRules[] = {ScaleRule::kRound, ScaleRule::kUp, ScaleRule::kOcp,
                                         ScaleRule::kAmax};
  return kRules;
}

std::optional<ScaleRule> ParseScaleRule(std::string_view name) {
  if (name == "pow2") return ScaleRule::kUp;  // what it is called where scales need not be powers
  return core::MemberNamed(ScaleRules(), ScaleRuleName, name);
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert
