// Why nothing here leaves the range of a double: codes lie between 2^-17 and 2^16, scales and a
// global scale between 2^-149 and 2^128, so that what any two multiplications and divisions give
// lies between 2^-315 and 2^314, and the errors are multiples of 2^-400.
//
// Why one operation rounds: a code has at most 8 significant bits (an integer of 8 bits less a zero
// point), a scale and a global scale 24 each. A divisor of two factors has 48, a code times a scale
// 32, and a product that stands above a divisor has no second factor. What is left is code * scale
// * global, of up to 56 bits: scale * global is exact, and the product with it is rounded.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/cell_values.h"

#include <bit>
#include <cmath>
#include <limits>

#include "core/round_to_odd.h"

namespace tensorcast::scale {
namespace {

bool IsOrdinary(double factor) {
  return factor != 0 && std::fabs(factor) <= std::numeric_limits<double>::max();
}

int DigitsOf(DataType type) { return detail::NumbersOf(detail::Row(type)).digits; }

// Zero, Inf or NaN among the factors: as IEEE has them, in whatever order they are multiplied.
void RunExtreme(double* values, std::size_t n, double multiplier, double divisor) {
  for (std::size_t i = 0; i < n; ++i) {
    if (values[i] != values[i]) continue;
    const double result = values[i] * multiplier / divisor;
    values[i] = result != result ? std::numeric_limits<double>::quiet_NaN() : result;
  }
}

}  // namespace

CellArithmetic::CellArithmetic(const Scaling& how, Rounding to)
    : scaling(how),
      rounding(to),
      divides(how.scale_use == Factor::kDivides || how.global_use == Factor::kDivides),
      exact_product(DigitsOf(how.element) + (how.zero_point ? 1 : 0) +
                        (how.scale_use == Factor::kMultiplies ? DigitsOf(how.scale) : 0) +
                        (how.global_use == Factor::kMultiplies ? 24 : 0) <=
                    53),
      two_mantissas(how.element == DataType::kFloat4E2M1) {}

CellArithmetic::Factors CellArithmetic::FactorsOf(double scale, double global) const {
  Factors factors;
  const auto take = [&factors](Factor use, double factor) {
    if (use == Factor::kMultiplies) factors.multiplier *= factor;
    if (use == Factor::kDivides) factors.divisor *= factor;
  };
  take(scaling.scale_use, scale);
  take(scaling.global_use, global);
  return factors;
}

core::CellFactors CellArithmetic::CellFactorsOf(double scale, double global) const {
  const auto [multiplier, divisor] = FactorsOf(scale, global);
  if (!HasFactors() || !IsOrdinary(multiplier) || !IsOrdinary(divisor)) return {0, 0};
  if (!divides) return {multiplier, 0};
  return {Divide(multiplier, divisor), Divide(1.5 * multiplier, divisor)};
}

double CellArithmetic::Divide(double a, double b) const {
  return rounding == Rounding::kNearest ? a / b : core::DivideToOdd(a, b);
}

template <class Code>
void CellArithmetic::Run(const Code* codes, double* values, std::size_t n, double scale,
                         double global, double zero) const {
  const auto [multiplier, divisor] = FactorsOf(scale, global);
  if (scaling.zero_point) {
    for (std::size_t i = 0; i < n; ++i) values[i] = double{codes[i]} - zero;
  } else if (exact_product && divisor == 1 && IsOrdinary(multiplier)) {
    for (std::size_t i = 0; i < n; ++i) values[i] = double{codes[i]} * multiplier;
    return;
  } else {
    for (std::size_t i = 0; i < n; ++i) values[i] = codes[i];
  }
  if (!IsOrdinary(multiplier) || !IsOrdinary(divisor)) {
    return RunExtreme(values, n, multiplier, divisor);
  }
  if (divisor == 1) {
    if (exact_product || rounding == Rounding::kNearest) {
      for (std::size_t i = 0; i < n; ++i) values[i] *= multiplier;
    } else {
      for (std::size_t i = 0; i < n; ++i) values[i] = core::MultiplyToOdd(values[i], multiplier);
    }
    return;
  }
  if (two_mantissas) {
    // Powers of two do not change how a quotient is rounded. Chosen without a branch or a look-up,
    // so that compilers make lanes of it.
    const auto one = std::bit_cast<std::uint64_t>(Divide(multiplier, divisor));
    const auto differ = one ^ std::bit_cast<std::uint64_t>(Divide(1.5 * multiplier, divisor));
    constexpr std::uint64_t kMantissa = detail::LowMask(52);
    for (std::size_t i = 0; i < n; ++i) {
      const auto bits = std::bit_cast<std::uint64_t>(values[i]);
      const std::uint64_t quotient = one ^ (differ & -(bits >> 51 & 1));
      values[i] = std::bit_cast<double>(bits & ~kMantissa) * std::bit_cast<double>(quotient);
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double numerator = values[i] * multiplier;
    // Zero, Inf and NaN of the codes' own have no remainder.
    values[i] = IsOrdinary(numerator) ? Divide(numerator, divisor) : numerator / divisor;
  }
}

template void CellArithmetic::Run(const float*, double*, std::size_t, double, double, double) const;
template void CellArithmetic::Run(const double*, double*, std::size_t, double, double,
                                  double) const;

}  // namespace tensorcast::scale
