// Products and quotients of doubles rounded to odd: where the exact result is no double, the
// neighbour whose last bit is 1. Rounded once more to a type with at least two mantissa bits fewer
// it gives what the exact result gives (docs/design.md, "Rounding to odd").
//
// Operands and results are nonzero and between 2^-900 and 2^900 in magnitude, so that what is
// computed on the way is a double too. No fused multiply-add: where it is no instruction it takes
// 40 ns.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_ROUND_TO_ODD_H_
#define TENSORCAST_SRC_CORE_ROUND_TO_ODD_H_

#include <bit>
#include <cstdint>

namespace tensorcast::core {

// a * b - product, exactly, `product` being a * b rounded to nearest (Dekker).
inline double ProductError(double a, double b, double product) {
  const auto high = [](double x) {  // of 26 bits; x less it has 26 too (Veltkamp)
    const double shifted = x * 0x1.0000002p27;
    return shifted - (shifted - x);
  };
  const double a_high = high(a), a_low = a - a_high;
  const double b_high = high(b), b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

// `nearest` is the exact value less `error`, of which the sign alone counts.
inline double ToOdd(double nearest, double error) {
  // Without branches, which could not be foretold.
  const auto bits = std::bit_cast<std::uint64_t>(nearest);
  const std::uint64_t inward = (bits ^ std::bit_cast<std::uint64_t>(error)) >> 63;
  const std::uint64_t moves = static_cast<std::uint64_t>(error != 0) & ~bits;
  return std::bit_cast<double>(bits + ((1 - 2 * inward) & (0 - (moves & 1))));
}

inline double MultiplyToOdd(double a, double b) {
  const double product = a * b;
  return ToOdd(product, ProductError(a, b, product));
}

inline double DivideToOdd(double a, double b) {
  const double quotient = a / b, product = quotient * b;
  // a - product is a double, as the two are neighbours or next to them; so is the remainder.
  const double remainder = (a - product) - ProductError(quotient, b, product);
  return ToOdd(quotient, b > 0 ? remainder : -remainder);
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_ROUND_TO_ODD_H_
