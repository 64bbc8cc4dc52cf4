// What a row of the type table means: its codes with a name, the ends of its range, where a value
// leaves it, and which types hold every value of another. Said here once; the codecs, the kernels'
// limits, the loss, the routes and whoever explains a cast ask it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_DETAIL_FORMAT_ALGEBRA_HPP_
#define TENSORCAST_DETAIL_FORMAT_ALGEBRA_HPP_

#include <bit>
#include <cstdint>
#include <limits>

#include "tensorcast/detail/type_table.hpp"
#include "tensorcast/types.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

namespace detail {

constexpr std::uint64_t LowMask(int bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

// 2^exponent, subnormal ones included; exponent in [-1074, 1023].
constexpr double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(exponent >= -1022 ? static_cast<std::uint64_t>(exponent + 1023) << 52
                                                 : std::uint64_t{1} << (exponent + 1074));
}

// ---- codes with a name (magnitudes: without the sign bit)

constexpr std::uint64_t SignBit(const TypeInfo& row) {
  return row.has_sign ? std::uint64_t{1} << (row.bits - 1) : 0;
}
constexpr std::uint64_t MagnitudeMask(const TypeInfo& row) {
  return LowMask(row.exponent_bits + row.mantissa_bits);
}
// The exponent field all ones, mantissa zero: Inf where the format has it.
constexpr std::uint64_t AllOnesExponent(const TypeInfo& row) {
  return LowMask(row.exponent_bits) << row.mantissa_bits;
}
constexpr std::uint64_t MaxFiniteMagnitude(const TypeInfo& row) {
  switch (row.non_finite) {
    case NonFinite::kIeee: return AllOnesExponent(row) - 1;
    case NonFinite::kNanAllOnes: return MagnitudeMask(row) - 1;
    case NonFinite::kNanNegativeZero:
    case NonFinite::kNone: break;
  }
  return MagnitudeMask(row);
}
// The canonical NaN, sign included where the format fixes it. No meaning for a finite-only format.
constexpr std::uint64_t CanonicalNan(const TypeInfo& row, bool negative) {
  switch (row.non_finite) {
    case NonFinite::kIeee:
      return (negative ? SignBit(row) : 0) | AllOnesExponent(row) |
             (std::uint64_t{1} << (row.mantissa_bits - 1));
    case NonFinite::kNanAllOnes: return (negative ? SignBit(row) : 0) | MagnitudeMask(row);
    case NonFinite::kNanNegativeZero: return SignBit(row);
    case NonFinite::kNone: break;
  }
  return 0;
}
// The limits of an integer type, as codes.
constexpr std::uint64_t GreatestInteger(const TypeInfo& row) {
  return LowMask(row.has_sign ? row.bits - 1 : row.bits);
}
constexpr std::uint64_t LeastInteger(const TypeInfo& row) { return SignBit(row); }

// ---- the numbers a type holds

// Every finite number of a type is an integer of at most `digits` binary digits times 2^exponent
// with exponent >= unit, between -lowest and greatest; and every such number is one of the type.
struct NumberSet {
  int digits;  // of an odd integer: those of -2^k are 1
  int unit;
  // The ends' magnitudes as integer times 2^exponent; lowest 0: no negative number.
  std::uint64_t greatest, lowest;
  int greatest_exponent, lowest_exponent;
  bool zero, minus_zero, infinity, nan;
};

constexpr NumberSet NumbersOf(const TypeInfo& row) {
  if (!row.is_float()) {
    const bool is_bool = row.type_class == TypeClass::kBool;
    const int digits = is_bool ? 1 : row.bits - (row.has_sign ? 1 : 0);
    return {digits, 0, LowMask(digits), LeastInteger(row), 0, 0, true, false, false, false};
  }
  // Without a zero (e8m0) field 0 is a normal number like the others.
  const int least_exponent = (row.has_zero ? 1 : 0) - row.bias;
  const std::uint64_t code = MaxFiniteMagnitude(row);
  const int field = static_cast<int>(code >> row.mantissa_bits);
  const std::uint64_t significand =
      (code & LowMask(row.mantissa_bits)) | (std::uint64_t{1} << row.mantissa_bits);
  const int exponent = field - row.bias - row.mantissa_bits;
  return {row.mantissa_bits + 1,
          least_exponent - row.mantissa_bits,
          significand,
          row.has_sign ? significand : 0,
          exponent,
          exponent,
          row.has_zero,
          row.has_sign && row.has_zero && !row.is_fnuz(),
          row.has_infinity(),
          row.has_nan()};
}

// a * 2^ea <= b * 2^eb.
constexpr bool NotAbove(std::uint64_t a, int ea, std::uint64_t b, int eb) {
  if (a == 0 || b == 0) return a == 0;
  const int a_zeros = std::countl_zero(a), b_zeros = std::countl_zero(b);
  const int a_top = ea - a_zeros, b_top = eb - b_zeros;
  return a_top != b_top ? a_top < b_top : a << a_zeros <= b << b_zeros;
}

// Whether every value of `inner` is a value of `outer`, -0, Inf and NaN (whatever its payload)
// among them: a cast from one to the other then loses nothing, and one back gives what it was. A
// bool is 0 or 1, whatever its byte.
constexpr bool Contains(const TypeInfo& outer, const TypeInfo& inner) {
  if (outer.type == inner.type) return true;
  if (outer.bits == 0 || inner.bits == 0) return false;
  if (outer.type_class == TypeClass::kBool) return false;  // no other type holds 0 and 1 alone
  const NumberSet in = NumbersOf(inner), out = NumbersOf(outer);
  return in.digits <= out.digits && in.unit >= out.unit &&
         NotAbove(in.greatest, in.greatest_exponent, out.greatest, out.greatest_exponent) &&
         NotAbove(in.lowest, in.lowest_exponent, out.lowest, out.lowest_exponent) &&
         (out.zero || !in.zero) && (out.minus_zero || !in.minus_zero) &&
         (out.infinity || !in.infinity) && (out.nan || !in.nan);
}

// ---- the ends of the range as doubles

constexpr TypeLimits LimitsOf(const TypeInfo& row) {
  if (row.bits == 0) return {};
  const NumberSet set = NumbersOf(row);
  const auto value = [](std::uint64_t digits, int exponent) {
    return static_cast<double>(digits) * PowerOfTwo(exponent);
  };
  TypeLimits limits;
  limits.greatest = value(set.greatest, set.greatest_exponent);
  limits.lowest = set.lowest != 0 ? -value(set.lowest, set.lowest_exponent)
                  : !row.has_zero ? PowerOfTwo(set.unit)
                                  : 0;
  limits.least_normal = row.is_float() ? PowerOfTwo((row.has_zero ? 1 : 0) - row.bias) : 1;
  limits.least_positive = PowerOfTwo(set.unit);
  return limits;
}

// ---- where a value leaves the range, judged after rounding with the exponent unbounded

// The value at + further, as no double holds -2^63 - 1; it is beyond the range itself, or it is the
// last that is not.
struct RangeEnd {
  double at = 0;
  double further = 0;
  bool itself = false;
};
struct RangeEnds {
  bool bounded = false;  // false: no finite value is beyond (float64, bool, string)
  RangeEnd high;
  RangeEnd low;
};

// To powers of two: a value of 2^k * at and more (itself) or of more than that becomes 2^(k+1).
constexpr RangeEnd NextPowerFrom(RoundingMode mode) {
  switch (mode) {
    case RoundingMode::kUp: return {1, 0, false};
    case RoundingMode::kDown: return {2, 0, true};
    case RoundingMode::kNearest: break;
  }
  return {1.5, 0, true};
}

constexpr RangeEnds EndsOfRange(const TypeInfo& to, RoundingMode mode) {
  if (to.is_integer()) {
    const double span = PowerOfTwo(to.has_sign ? to.bits - 1 : to.bits);  // the greatest plus 1
    const double least = to.has_sign ? -span : 0;
    // Truncated; below 8 bits ties go to even: above the greatest, which is odd, out of the range,
    // below the least, which is even, into it.
    if (to.bits >= 8) return {true, {span, 0, true}, {least, -1, true}};
    return {true, {span, -0.5, true}, {least, -0.5, false}};
  }
  if (!to.is_float() || to.type == DataType::kFloat64) return {};
  const TypeLimits limits = LimitsOf(to);
  if (!to.has_zero) {
    const RangeEnd next = NextPowerFrom(mode);
    return {true,
            {limits.greatest * next.at, 0, next.itself},
            {limits.lowest * next.at / 2, 0, !next.itself}};
  }
  // The midpoint between the greatest and the next number, were there one; ties to even.
  const NumberSet set = NumbersOf(to);
  const double half_unit = PowerOfTwo(set.greatest_exponent - 1);
  const bool tie_leaves = (set.greatest & 1) != 0;
  return {true,
          {limits.greatest + half_unit, 0, tie_leaves},
          {-limits.greatest - half_unit, 0, tie_leaves}};
}

// The doubles beyond an end are those from this one on, outwards (`high`: upwards).
constexpr double FirstBeyond(const RangeEnd& end, bool high) {
  const double at = end.at + end.further;
  const bool is_exact = end.further == 0 || at - end.at == end.further;
  if (end.itself && is_exact) return at;
  // The next double outwards; `at` is zero for no type.
  const auto bits = std::bit_cast<std::uint64_t>(at);
  const bool grows = (at > 0) == high;
  return std::bit_cast<double>(grows ? bits + 1 : bits - 1);
}

}  // namespace detail
}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_DETAIL_FORMAT_ALGEBRA_HPP_
