// Rounds by searching for the neighbours and comparing with them, or with their midpoint.
//
// SPDX-License-Identifier: Apache-2.0
#include "oracle/scaled.h"

#include <bit>
#include <cmath>
#include <limits>

#include "oracle/rational.h"

namespace oracle {
namespace {

Number Nan() { return {Number::Is::kNan, false, 0}; }
Number Infinite(bool negative) { return {Number::Is::kInfinite, negative, 0}; }
Number Finite(bool negative, const mpq_class& magnitude) {
  return {Number::Is::kFinite, negative, magnitude};
}

mpq_class ExactMagnitude(const Row& row, std::uint64_t code) {
  return abs(RationalOf(Decode(row, code)));
}

// The sign and, where they decide, NaN and the infinities: true where `rounded` has to be looked
// at.
bool IsFiniteMatch(double rounded, const Number& exact, bool* matches) {
  if (exact.is == Number::Is::kNan) {
    *matches = std::isnan(rounded);
    return false;
  }
  *matches = std::signbit(rounded) == exact.negative &&
             std::isinf(rounded) == (exact.is == Number::Is::kInfinite) && !std::isnan(rounded);
  if (exact.zero()) *matches = *matches && rounded == 0;
  return *matches && exact.is == Number::Is::kFinite && !exact.zero();
}

struct Neighbours {
  mpq_class below, at, above;  // magnitudes
  bool odd;
};
Neighbours NeighboursOf(double rounded) {
  const double at = std::fabs(rounded);
  const double infinity = std::numeric_limits<double>::infinity();
  return {mpq_class(std::nextafter(at, 0.0)), mpq_class(at),
          mpq_class(std::nextafter(at, infinity)), (std::bit_cast<std::uint64_t>(at) & 1) != 0};
}

}  // namespace

Number NumberOf(const Row& row, std::uint64_t code) {
  const Value value = Decode(row, code);
  if (value.is == Value::Is::kNan) return Nan();
  if (value.is == Value::Is::kInfinite) return Infinite(value.negative);
  return Finite(value.negative, abs(RationalOf(value)));
}

Number NumberOf(double value) { return NumberOf(RowOf(11), std::bit_cast<std::uint64_t>(value)); }

Number Minus(const Number& a, const Number& b) {
  const mpq_class x = a.negative ? mpq_class(-a.magnitude) : a.magnitude;
  const mpq_class y = b.negative ? mpq_class(-b.magnitude) : b.magnitude;
  return Finite(x < y, abs(x - y));
}

Number Times(const Number& a, const Number& b) {
  if (a.is == Number::Is::kNan || b.is == Number::Is::kNan) return Nan();
  const bool negative = a.negative != b.negative;
  if (a.is == Number::Is::kInfinite || b.is == Number::Is::kInfinite) {
    return a.zero() || b.zero() ? Nan() : Infinite(negative);
  }
  return Finite(negative, a.magnitude * b.magnitude);
}

Number Over(const Number& a, const Number& b) {
  if (a.is == Number::Is::kNan || b.is == Number::Is::kNan) return Nan();
  const bool negative = a.negative != b.negative;
  if (a.is == Number::Is::kInfinite) {
    return b.is == Number::Is::kInfinite ? Nan() : Infinite(negative);
  }
  if (b.is == Number::Is::kInfinite) return Finite(negative, 0);
  if (b.zero()) return a.zero() ? Nan() : Infinite(negative);
  return Finite(negative, a.magnitude / b.magnitude);
}

bool IsNearest(double rounded, const Number& exact) {
  bool matches = false;
  if (!IsFiniteMatch(rounded, exact, &matches)) return matches;
  const Neighbours near = NeighboursOf(rounded);
  const mpq_class low = (near.below + near.at) / 2, high = (near.at + near.above) / 2;
  return near.odd ? low < exact.magnitude && exact.magnitude < high
                  : low <= exact.magnitude && exact.magnitude <= high;
}

bool IsOdd(double rounded, const Number& exact) {
  bool matches = false;
  if (!IsFiniteMatch(rounded, exact, &matches)) return matches;
  const Neighbours near = NeighboursOf(rounded);
  return near.at == exact.magnitude ||
         (near.odd && near.below < exact.magnitude && exact.magnitude < near.above);
}

NearestCode Nearest(const Row& to, const mpq_class& value) {
  std::uint64_t low = 0, high = to.largest;  // the largest code whose value is at most `value`
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (ExactMagnitude(to, middle) <= value) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const mpq_class floor = ExactMagnitude(to, low);
  const bool last = low == to.largest;
  // Beyond the largest the next would follow at the same distance.
  const mpq_class above =
      last ? mpq_class(2 * floor - ExactMagnitude(to, low - 1)) : ExactMagnitude(to, low + 1);
  const mpq_class middle = (floor + above) / 2;
  const bool up = value > middle || (value == middle && (low & 1) != 0);
  if (last) return {low, up};
  return {low + (up ? 1 : 0), false};
}

std::uint64_t QuotientCode(const Row& to, const Number& quotient) {
  if (to.kind == Kind::kSigned) {
    if (quotient.is == Number::Is::kNan) return 0;
    mpz_class whole = 127;
    if (quotient.is == Number::Is::kFinite && quotient.magnitude < 128) {
      whole = quotient.magnitude.get_num() / quotient.magnitude.get_den();
      const mpq_class rest = quotient.magnitude - whole;
      if (rest > mpq_class(1, 2) ||
          (rest == mpq_class(1, 2) && mpz_odd_p(whole.get_mpz_t()) != 0)) {
        ++whole;
      }
      if (whole > 127) whole = 127;
    }
    const std::uint64_t magnitude = whole.get_ui();
    return (quotient.negative ? 0 - magnitude : magnitude) & to.mask();
  }
  const std::uint64_t sign = quotient.negative ? to.minus : 0;
  if (quotient.is == Number::Is::kNan) {
    // The sign of NaN is not a number's: the caller compares it apart.
    return to.nan;
  }
  if (quotient.is == Number::Is::kInfinite) return sign | to.largest;
  const std::uint64_t magnitude = Nearest(to, quotient.magnitude).code;
  return magnitude == 0 && !to.minus_zero ? 0 : sign | magnitude;
}

mpq_class PowerOfTwo(long exponent) {
  mpq_class power = 1;
  if (exponent >= 0) {
    power <<= static_cast<unsigned long>(exponent);
  } else {
    power >>= static_cast<unsigned long>(-exponent);
  }
  return power;
}

long FloorLog2(const mpq_class& value) {
  long exponent = static_cast<long>(mpz_sizeinbase(value.get_num().get_mpz_t(), 2)) -
                  static_cast<long>(mpz_sizeinbase(value.get_den().get_mpz_t(), 2)) + 1;
  while (PowerOfTwo(exponent) > value) --exponent;
  return exponent;
}

long CeilLog2(const mpq_class& value) {
  const long floor = FloorLog2(value);
  return PowerOfTwo(floor) == value ? floor : floor + 1;
}

}  // namespace oracle
