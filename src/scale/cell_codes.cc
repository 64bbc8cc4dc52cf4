// Why a quotient rounded to nearest serves: rounding is monotone, so that x / s and its nearest
// double q are on the same side of every double but q, and the points m at which a code changes are
// doubles. Were q = m and x / s not, then x would differ from m * s. That is a double too, m having
// at most nine bits and s 28, so that x is at least one unit of it away, and x / s from m by the
// unit over s, which is more than half a unit of m: q would not be m.
//
// With a global scale that divides, x / (s / t) is x * t / s, and the double nearest to x * t does
// not serve: it is rounded to odd, and so on the side of m * s on which x * t is.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/cell_codes.h"

#include <bit>
#include <cmath>
#include <limits>

#include "core/loss.h"
#include "core/round_to_odd.h"
#include "scale/scale_rule.h"

namespace tensorcast::scale {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

bool IsPowerOfTwo(double value) {
  return (std::bit_cast<std::uint64_t>(value) & detail::LowMask(52)) == 0;
}

void Divide(const double* x, double* quotients, std::size_t n, double divisor) {
  if (IsPowerOfTwo(divisor)) {
    const double factor = 1 / divisor;
    for (std::size_t i = 0; i < n; ++i) quotients[i] = x[i] * factor;
    return;
  }
  for (std::size_t i = 0; i < n; ++i) quotients[i] = x[i] / divisor;
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
  least_normal_ = integer_ ? 1 : detail::LimitsOf(row).least_normal;
}

void CellQuotients::Run(const double* x, double* quotients, std::size_t n, double scale,
                        double global) const {
  if (global_use_ != Factor::kDivides) {
    Divide(x, quotients, n, global_use_ == Factor::kMultiplies ? scale * global : scale);
  } else {
    double numerators[core::kLossBlock];
    for (std::size_t i = 0; i < n; ++i) numerators[i] = x[i] * global;
    for (std::size_t i = 0; !exact_values_ && i < n; ++i) {
      // Outside of this the quotient is far from where codes change, or beyond them all.
      const double magnitude = std::fabs(x[i]);
      if (magnitude > 0x1p-400 && magnitude < 0x1p400)
        numerators[i] = core::MultiplyToOdd(x[i], global);
    }
    Divide(numerators, quotients, n, scale);
  }
  if (integer_) RoundToInteger(quotients, n);
}

core::CellLimits CellQuotients::Limits(double scale, double global) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto next = [](double value) {
    // Of cells of 16 elements a call of nextafter takes longer than they do.
    return value > 0 && value < kInfinity
               ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) + 1)
               : std::nextafter(value, kInfinity);
  };
  const auto both = [](double beyond, double least) {
    return core::CellLimits{beyond, beyond, least};
  };
  if (global_use_ != Factor::kDivides) {
    const double factor = global_use_ == Factor::kMultiplies ? scale * global : scale;
    const double beyond = beyond_ * factor;  // of a few bits more than the factor: exact
    return both(itself_ ? beyond : next(beyond), least_normal_ * factor);
  }
  const double wanted = beyond_ * scale, beyond = wanted / global, product = beyond * global;
  const double rest = (wanted - product) - core::ProductError(beyond, global, product);
  return both(rest > 0 || (rest == 0 && !itself_) ? next(beyond) : beyond,
              least_normal_ * scale / global);
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
