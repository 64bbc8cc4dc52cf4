// Which intermediate a pair goes through, and why one rounding is then enough. docs/design.md has
// the proofs; their conditions are asserted here.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_ROUTE_H_
#define TENSORCAST_SRC_CORE_ROUTE_H_

#include <cstddef>
#include <cstdint>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

enum class Route : std::uint8_t {
  kIdentity,    // copy the codes
  kInteger,     // integers and bool modulo 2^width
  kFloat32,     // decode exactly into float32, encode with the one rounding
  kOddFloat32,  // round to odd into float32, then to the destination: equal to one rounding
  kFloat64,     // through float64, where decoding or encoding is exact
  kOddFloat64,  // round to odd into float64, then to float32
};

constexpr bool FitsFloat32(const TypeInfo& row) {
  return detail::Contains(detail::Row(DataType::kFloat32), row);
}

constexpr bool IsInteger(const TypeInfo& row) {
  return row.is_integer() || row.type_class == TypeClass::kBool;
}

constexpr Route ChooseRoute(const TypeInfo& from, const TypeInfo& to) {
  if (from.type == to.type) return Route::kIdentity;
  if (IsInteger(from) && IsInteger(to)) return Route::kInteger;
  if (FitsFloat32(from)) return Route::kFloat32;
  const bool wide_integer = from.is_integer() && from.bits == 64;
  if (to.type == DataType::kFloat32) return wide_integer ? Route::kOddFloat64 : Route::kFloat64;
  if (to.is_float() && to.type != DataType::kFloat64) return Route::kOddFloat32;
  return Route::kFloat64;
}

// Rounding to odd into a format and then to `to` equals one rounding where the format has two bits
// of precision more than `to` at every magnitude `to` resolves, and range enough that what lies
// beyond it is beyond `to` as well (Boldo and Melquiond, "Emulation of FMA and correctly rounded
// sums: proved algorithms using rounding to odd").
constexpr bool OddIsExact(const TypeInfo& through, const TypeInfo& to) {
  // e8m0 keeps one bit; up, down and nearest ask only on which side of a power of two, or of its
  // 1.5-fold, a value lies.
  const int least_through = 1 - through.bias - through.mantissa_bits;  // exponent of the least unit
  const int least_to = to.has_zero ? 1 - to.bias - to.mantissa_bits : -to.bias - 1;
  return through.mantissa_bits >= to.mantissa_bits + 2 && least_through + 2 <= least_to &&
         through.bias >= to.bias;
}

constexpr bool RoutesAreExact() {
  const TypeInfo& f32 = detail::Row(DataType::kFloat32);
  const TypeInfo& f64 = detail::Row(DataType::kFloat64);
  for (const TypeInfo& from : Types()) {
    for (const TypeInfo& to : Types()) {
      if (from.bits == 0 || to.bits == 0) continue;
      switch (ChooseRoute(from, to)) {
        case Route::kIdentity:
          if (from.type != to.type) return false;
          break;
        case Route::kInteger:
          if (!IsInteger(from) || !IsInteger(to)) return false;
          break;
        case Route::kFloat32:
          if (!FitsFloat32(from)) return false;
          break;
        case Route::kOddFloat32:
          // Into float64 first (exact, or odd with 64-bit integers: odd after odd is odd).
          if (!OddIsExact(f32, to) || !OddIsExact(f64, f32)) return false;
          break;
        case Route::kFloat64:
          // Decoding is exact up to 53 digits; for 64-bit integers encoding must be the identity.
          if (from.is_integer() && from.bits > f64.mantissa_bits + 1 &&
              to.type != DataType::kFloat64) {
            return false;
          }
          break;
        case Route::kOddFloat64:
          if (to.type != DataType::kFloat32 || !OddIsExact(f64, f32)) return false;
          break;
      }
    }
  }
  return true;
}
static_assert(RoutesAreExact());

constexpr std::size_t CountRoute(Route route) {
  std::size_t count = 0;
  for (const TypeInfo& from : Types()) {
    for (const TypeInfo& to : Types()) {
      if (from.bits != 0 && to.bits != 0 && ChooseRoute(from, to) == route) ++count;
    }
  }
  return count;
}
// The formulas of docs/design.md: how many pairs take each route.
constexpr bool RoutesAreCounted() {
  std::size_t fixed_width = 0, integers = 0, narrow_floats = 0, wide = 0;
  for (const TypeInfo& row : Types()) {
    if (row.bits == 0) continue;
    ++fixed_width;
    if (IsInteger(row)) ++integers;
    if (row.is_float() && row.bits <= 16) ++narrow_floats;
    if (!FitsFloat32(row)) ++wide;  // float64 and the integers of 32 and 64 bits
  }
  const std::size_t small_integers = integers - (wide - 1);
  return CountRoute(Route::kIdentity) == fixed_width &&
         CountRoute(Route::kInteger) == integers * (integers - 1) &&
         CountRoute(Route::kFloat32) ==
             (fixed_width - wide) * (fixed_width - 1) - small_integers * (integers - 1) &&
         CountRoute(Route::kOddFloat32) == wide * narrow_floats &&
         CountRoute(Route::kFloat64) == 7 + integers &&  // to and from float64, and to float32
         CountRoute(Route::kOddFloat64) == 2;
}
static_assert(RoutesAreCounted());

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_ROUTE_H_
