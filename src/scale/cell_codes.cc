// Why a quotient rounded to nearest serves: rounding is monotone, so that x / s and its nearest
// double q are on the same side of every double but q. The points at which a code changes are
// doubles of at most nine bits. Only where q itself has so few can it be one of them; then q * s is
// a double, which is compared with x, and q moved by one unit to the side on which x / s lies.
//
// With a global scale that divides, x / (s / t) is x * t / s, x * t being rounded to odd: it is on
// the side of x * t of any product of so few bits.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/cell_codes.h"

#include <bit>
#include <cmath>
#include <limits>

#include "scale/round_to_odd.h"
#include "scale/scale_rule.h"

namespace tensorcast::scale {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr std::uint64_t kLowBits = detail::LowMask(44);

bool IsPowerOfTwo(double value) {
  return (std::bit_cast<std::uint64_t>(value) & detail::LowMask(52)) == 0;
}

void Divide(double* x, std::size_t n, double divisor) {
  if (IsPowerOfTwo(divisor)) {
    const double factor = 1 / divisor;
    for (std::size_t i = 0; i < n; ++i) x[i] *= factor;
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double quotient = x[i] / divisor;
    const auto bits = std::bit_cast<std::uint64_t>(quotient);
    const double wanted = std::fabs(x[i]), product = std::fabs(quotient) * divisor;
    const std::uint64_t few = static_cast<std::uint64_t>((bits & kLowBits) == 0);
    const std::uint64_t outward = static_cast<std::uint64_t>(wanted > product);
    const std::uint64_t inward = static_cast<std::uint64_t>(wanted < product);
    x[i] = std::bit_cast<double>(bits + (outward - inward) * few);
  }
}

// To even, within 127; NaN stays.
void RoundToInteger(double* x, std::size_t n) {
  constexpr double kWhole = 0x1.8p52;  // a double from here on to 2^53 is an integer
  for (std::size_t i = 0; i < n; ++i) {
    double value = x[i] > 127 ? 127 : x[i];
    value = value < -127 ? -127 : value;
    x[i] = (value + kWhole) - kWhole;
  }
}

}  // namespace

CellQuotients::CellQuotients(const Scaling& scaling, bool exact_values)
    : global_use_(scaling.global_use),
      integer_(scaling.element == DataType::kInt8),
      exact_values_(exact_values) {
  const TypeInfo& row = detail::Row(scaling.element);
  const detail::RangeEnd end = detail::EndsOfRange(row, RoundingMode::kUp).high;
  beyond_ = integer_ ? 127.5 : end.at;  // rounded to even it is 128
  itself_ = integer_ || end.itself;
  least_normal_ = integer_ ? 0 : detail::LimitsOf(row).least_normal;
}

void CellQuotients::Run(const double* x, double* quotients, std::size_t n, double scale,
                        double global) const {
  const bool inverse = global_use_ == Factor::kDivides;
  for (std::size_t i = 0; i < n; ++i) {
    quotients[i] = !inverse ? x[i] : x[i] * global;
  }
  if (inverse && !exact_values_) {
    for (std::size_t i = 0; i < n; ++i) {
      // Outside of this the quotient is far from where codes change, or beyond them all.
      const double magnitude = std::fabs(x[i]);
      if (magnitude > 0x1p-400 && magnitude < 0x1p400) quotients[i] = MultiplyToOdd(x[i], global);
    }
  }
  Divide(quotients, n, global_use_ == Factor::kMultiplies ? scale * global : scale);
  if (integer_) RoundToInteger(quotients, n);
}

CellLimits CellQuotients::Limits(double scale, double global) const {
  const auto next = [](double value) {
    return std::nextafter(value, std::numeric_limits<double>::infinity());
  };
  if (global_use_ != Factor::kDivides) {
    const double factor = global_use_ == Factor::kMultiplies ? scale * global : scale;
    const double beyond = beyond_ * factor;  // of a few bits more than the factor: exact
    return {itself_ ? beyond : next(beyond), least_normal_ * factor};
  }
  const double wanted = beyond_ * scale, beyond = wanted / global, product = beyond * global;
  const double rest = (wanted - product) - ProductError(beyond, global, product);
  return {rest > 0 || (rest == 0 && !itself_) ? next(beyond) : beyond,
          least_normal_ * scale / global};
}

double LargestFinite(const double* x, std::size_t n, double known) {
  constexpr std::size_t kParts = 8;
  double parts[kParts] = {known};
  std::size_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const double magnitude = std::fabs(x[i + part]);
      parts[part] = magnitude > parts[part] ? magnitude : parts[part];  // NaN is not
    }
  }
  for (; i < n; ++i) {
    const double magnitude = std::fabs(x[i]);
    if (magnitude > parts[0]) parts[0] = magnitude;
  }
  double largest = 0;
  for (const double part : parts) largest = part > largest ? part : largest;
  if (largest <= kLargest) return largest;
  // An infinity is among them.
  largest = known;
  for (i = 0; i < n; ++i) {
    const double magnitude = std::fabs(x[i]);
    if (magnitude > largest && magnitude <= kLargest) largest = magnitude;
  }
  return largest;
}

}  // namespace tensorcast::scale
