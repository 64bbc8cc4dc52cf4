// What a cast can be told, and which values are legal. docs/semantics.md says what each does.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_DETAIL_CAST_OPTIONS_HPP_
#define TENSORCAST_DETAIL_CAST_OPTIONS_HPP_

#include <cstdint>

#include "tensorcast/version.h"

namespace tensorcast::inline TENSORCAST_ABI {

// Each enum's zero is its default; a default CastOptions is ONNX's Cast-25 and later.

// Destination float8e8m0: which power of two. kNearest takes ties up.
enum class RoundingMode : std::uint8_t { kUp = 0, kDown = 1, kNearest = 2 };

// Floating (and string) sources to integer destinations, out of range: the low bits of the exact
// integer, or the nearest limit.
enum class IntegerOverflow : std::uint8_t { kWrap = 0, kSaturate = 1 };

// Inf to the FNUZ types where saturate is true: the largest finite value, or NaN.
enum class FnuzInfinity : std::uint8_t { kMax = 0, kNan = 1 };

// NaN to float4e2m1, float6e2m3, float6e3m2: the zero of the opposite sign, or the largest
// positive.
enum class FiniteOnlyNan : std::uint8_t { kZero = 0, kMax = 1 };

// How numbers are printed: as numpy up to 2.2, or as ONNX Runtime.
enum class StringStyle : std::uint8_t { kNumpy = 0, kOrt = 1 };

// An option that does not apply to a pair is ignored, but its value is always checked.
struct CastOptions {
  // Destinations float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz and float8e8m0: beyond
  // the largest finite value, give that value (true) or the format's NaN or Inf (false).
  bool saturate = true;
  RoundingMode round_mode = RoundingMode::kUp;
  IntegerOverflow integer_overflow = IntegerOverflow::kWrap;
  FnuzInfinity fnuz_infinity = FnuzInfinity::kMax;
  FiniteOnlyNan finite_only_nan = FiniteOnlyNan::kZero;
  StringStyle string_style = StringStyle::kNumpy;

  friend constexpr bool operator==(const CastOptions&, const CastOptions&) = default;
};

constexpr bool IsValid(const CastOptions& options) {
  return static_cast<int>(options.round_mode) <= 2 &&
         static_cast<int>(options.integer_overflow) <= 1 &&
         static_cast<int>(options.fnuz_infinity) <= 1 &&
         static_cast<int>(options.finite_only_nan) <= 1 &&
         static_cast<int>(options.string_style) <= 1;
}

}  // namespace tensorcast::inline TENSORCAST_ABI

#endif  // TENSORCAST_DETAIL_CAST_OPTIONS_HPP_
