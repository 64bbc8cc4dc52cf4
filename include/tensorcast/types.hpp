// Element types and the facts about each, the options of a cast, and instruction sets.
// tensorcast.hpp includes this and is the manual.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TYPES_HPP_
#define TENSORCAST_TYPES_HPP_

#include <cstdint>
#include <string_view>

#include "tensorcast/version.h"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

// ------------------------------------------------------------------------- element types

// An element type; the values are those of ONNX's TensorProto.DataType.
enum class DataType : std::int32_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};

enum class TypeClass : std::uint8_t { kBool, kUnsigned, kSigned, kFloat, kString };

// How a floating format spells what is not a number (LLVM's fltSemantics makes the same split).
enum class NonFinite : std::uint8_t {
  kIeee,             // all-ones exponent: mantissa 0 is Inf, anything else NaN
  kNanAllOnes,       // no Inf; NaN is all exponent and mantissa bits set
  kNanNegativeZero,  // no Inf, no -0; NaN is the code of -0 (the FNUZ formats)
  kNone,             // neither Inf nor NaN (finite-only)
};

// One row: everything that the library knows about a type's bits.
struct TypeInfo {
  DataType type;
  std::string_view name;       // canonical spelling: ONNX's in lower case, float32 and float64
  std::string_view onnx_name;  // TensorProto.DataType's spelling
  TypeClass type_class;
  int bits;           // storage bits per element, packed; 0 for string
  int exponent_bits;  // 0 for integers
  int mantissa_bits;  // stored (trailing) significand bits; 0 for integers
  int bias;
  NonFinite non_finite;
  bool has_sign;
  bool has_zero;  // false for float8e8m0 only: code 0 is 2^-bias

  constexpr bool is_float() const { return type_class == TypeClass::kFloat; }
  constexpr bool is_integer() const {
    return type_class == TypeClass::kUnsigned || type_class == TypeClass::kSigned;
  }
  constexpr bool is_packed() const { return bits != 0 && bits < 8; }
  constexpr bool has_infinity() const { return is_float() && non_finite == NonFinite::kIeee; }
  constexpr bool has_nan() const { return is_float() && non_finite != NonFinite::kNone; }
  constexpr bool is_fnuz() const { return is_float() && non_finite == NonFinite::kNanNegativeZero; }
};

// The ends of a type's range as doubles. They are finite, and exact except for 64-bit integers,
// whose ends are rounded.
struct TypeLimits {
  double lowest = 0;  // for float8e8m0, which has no zero, the least positive value
  double greatest = 0;
  double least_normal = 0;    // positive; 1 for integers and bool
  double least_positive = 0;  // the least subnormal if there are subnormals
};

// ------------------------------------------------------------------------------- options

// The options of a cast; docs/semantics.md says what each does. The zero of each enum is its
// default, and a default CastOptions is ONNX's Cast-25 and later.

// To float8e8m0: which power of two is chosen. kNearest rounds ties up.
enum class RoundingMode : std::uint8_t { kUp = 0, kDown = 1, kNearest = 2 };

// From floating types and strings to integers, values out of range: the low bits of the exact
// integer, or the nearest limit.
enum class IntegerOverflow : std::uint8_t { kWrap = 0, kSaturate = 1 };

// Inf to the FNUZ types, if saturate is true: the largest finite value, or NaN.
enum class FnuzInfinity : std::uint8_t { kMax = 0, kNan = 1 };

// NaN to float4e2m1, float6e2m3, float6e3m2: the zero of the opposite sign, or the largest
// positive.
enum class FiniteOnlyNan : std::uint8_t { kZero = 0, kMax = 1 };

// How numbers are printed: as numpy up to 2.2, or as ONNX Runtime.
enum class StringStyle : std::uint8_t { kNumpy = 0, kOrt = 1 };

// An option that does not apply to a pair of types is ignored, but its value is always checked.
struct CastOptions {
  // To float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz and float8e8m0, values beyond the
  // largest finite value: that value (true), or the format's NaN or Inf (false).
  bool saturate = true;
  RoundingMode round_mode = RoundingMode::kUp;
  IntegerOverflow integer_overflow = IntegerOverflow::kWrap;
  FnuzInfinity fnuz_infinity = FnuzInfinity::kMax;
  FiniteOnlyNan finite_only_nan = FiniteOnlyNan::kZero;
  StringStyle string_style = StringStyle::kNumpy;

  friend constexpr bool operator==(const CastOptions&, const CastOptions&) = default;
};

// Whether every option has one of its enum's values.
constexpr bool IsValid(const CastOptions& options) {
  return static_cast<int>(options.round_mode) <= 2 &&
         static_cast<int>(options.integer_overflow) <= 1 &&
         static_cast<int>(options.fnuz_infinity) <= 1 &&
         static_cast<int>(options.finite_only_nan) <= 1 &&
         static_cast<int>(options.string_style) <= 1;
}

// ------------------------------------------------------------------------------ targets

// An instruction set. kScalar is the scalar codec itself: slow, but runs everywhere.
enum class Target : std::int32_t {
  kBest = 0,  // the best that this machine can run
  kScalar = 1,
  kSse4 = 2,
  kAvx2 = 3,
  kAvx3 = 4,  // AVX-512 F, BW, CD, DQ, VL
  kNeon = 5,
  kAvx3Dl = 6,  // kAvx3 and VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ, VAES, VPCLMULQDQ (Ice Lake on)
};

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_TYPES_HPP_
