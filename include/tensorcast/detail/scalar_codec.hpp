// The scalar codec: any fixed-width type to any other, one element, in integer arithmetic only.
//
// It decodes a code into sign x significand x 2^exponent with a 64-bit significand, which holds
// every value of every type, and encodes that with one rounding. It needs no route and no floating
// point, so it is constexpr, and it is the library's scalar target and its reference for tables.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_DETAIL_SCALAR_CODEC_HPP_
#define TENSORCAST_DETAIL_SCALAR_CODEC_HPP_

#include <bit>
#include <cstdint>

#include "tensorcast/detail/format_algebra.hpp"
#include "tensorcast/detail/type_table.hpp"
#include "tensorcast/types.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {
namespace detail {

// What NaN becomes in a floating format, without its payload.
constexpr std::uint64_t NanResult(const TypeInfo& to, bool negative, const CastOptions& options) {
  if (to.non_finite != NonFinite::kNone) return CanonicalNan(to, negative);
  if (options.finite_only_nan == FiniteOnlyNan::kMax) return MaxFiniteMagnitude(to);
  return negative ? 0 : SignBit(to);  // the zero of the opposite sign
}
// What a value beyond the largest finite one becomes: finite before rounding, or Inf.
constexpr std::uint64_t OverflowResult(const TypeInfo& to, bool negative, bool infinite,
                                       const CastOptions& options) {
  const std::uint64_t sign = negative ? SignBit(to) : 0;
  const bool saturate = to.non_finite == NonFinite::kNone || (to.bits == 8 && options.saturate);
  if (!saturate) {
    return to.non_finite == NonFinite::kIeee ? sign | AllOnesExponent(to)
                                             : CanonicalNan(to, negative);
  }
  if (infinite && to.is_fnuz() && options.fnuz_infinity == FnuzInfinity::kNan) {
    return CanonicalNan(to, negative);
  }
  return sign | MaxFiniteMagnitude(to);
}

// ---- decode

// The value of an element: finite is (-1)^negative x significand x 2^exponent.
struct Unpacked {
  enum class Kind : std::uint8_t { kFinite, kInfinity, kNan };
  Kind kind = Kind::kFinite;
  bool negative = false;
  int exponent = 0;
  std::uint64_t significand = 0;
  std::uint64_t payload = 0;  // of a NaN: the mantissa, its top bit in bit 63
};

constexpr Unpacked DecodeFloat(std::uint64_t code, const TypeInfo& row) {
  Unpacked value;
  value.negative = (code & SignBit(row)) != 0;
  const std::uint64_t magnitude = code & MagnitudeMask(row);
  const std::uint64_t mantissa = code & LowMask(row.mantissa_bits);
  const int exponent_field = static_cast<int>(magnitude >> row.mantissa_bits);
  const bool nan = row.non_finite == NonFinite::kIeee         ? magnitude > AllOnesExponent(row)
                   : row.non_finite == NonFinite::kNanAllOnes ? magnitude == MagnitudeMask(row)
                   : row.non_finite == NonFinite::kNanNegativeZero ? code == SignBit(row)
                                                                   : false;
  if (nan) {
    value.kind = Unpacked::Kind::kNan;
    // An 8-bit NaN carries no payload worth the name.
    if (row.bits >= 16) value.payload = mantissa << (64 - row.mantissa_bits);
    return value;
  }
  if (row.non_finite == NonFinite::kIeee && magnitude == AllOnesExponent(row)) {
    value.kind = Unpacked::Kind::kInfinity;
    return value;
  }
  // Without a zero (e8m0) field 0 is a normal number like the others.
  const bool subnormal = exponent_field == 0 && row.has_zero;
  value.significand = subnormal ? mantissa : mantissa | (std::uint64_t{1} << row.mantissa_bits);
  value.exponent = (subnormal ? 1 : exponent_field) - row.bias - row.mantissa_bits;
  return value;
}

constexpr Unpacked Decode(std::uint64_t code, const TypeInfo& row) {
  code &= LowMask(row.bits);
  switch (row.type_class) {
    case TypeClass::kFloat: return DecodeFloat(code, row);
    case TypeClass::kBool: return {.significand = code != 0 ? std::uint64_t{1} : 0};
    case TypeClass::kSigned:
      if ((code & SignBit(row)) != 0) {
        return {.negative = true, .significand = (~code + 1) & LowMask(row.bits)};
      }
      break;
    case TypeClass::kUnsigned:
    case TypeClass::kString: break;
  }
  return {.significand = code};
}

// ---- encode

// significand >> shift, ties to even, for any shift >= 0.
constexpr std::uint64_t ShiftRightTiesToEven(std::uint64_t significand, int shift) {
  if (shift == 0) return significand;
  if (shift > 64) return 0;  // less than half a unit
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = significand & LowMask(shift);
  std::uint64_t kept = shift == 64 ? 0 : significand >> shift;
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  return kept;
}

constexpr std::uint64_t EncodeFloat(const Unpacked& value, const TypeInfo& to,
                                    const CastOptions& options) {
  if (value.kind == Unpacked::Kind::kNan) {
    // Sign kept, mantissa aligned at the top with the quiet bit set; 8 bits and fewer: canonical.
    const std::uint64_t nan = NanResult(to, value.negative, options);
    return to.bits >= 16 ? nan | (value.payload >> (64 - to.mantissa_bits)) : nan;
  }
  if (value.kind == Unpacked::Kind::kInfinity) {
    return OverflowResult(to, value.negative, true, options);
  }
  const bool drops_negative_zero = to.is_fnuz();
  const std::uint64_t sign = value.negative ? SignBit(to) : 0;
  if (value.significand == 0) return drops_negative_zero ? 0 : sign;

  // The unit of the last place: set by the value's own exponent, or by the subnormals'.
  const int value_exponent = value.exponent + 63 - std::countl_zero(value.significand);
  const int least_exponent = 1 - to.bias;
  const int exponent = value_exponent > least_exponent ? value_exponent : least_exponent;
  const int shift = exponent - to.mantissa_bits - value.exponent;
  const std::uint64_t kept =
      shift >= 0 ? ShiftRightTiesToEven(value.significand, shift) : value.significand << -shift;
  // `kept` holds the leading bit of a normal number, which adds 1 to the exponent field; a carry
  // out of the mantissa adds 1 more: both are the right thing.
  const std::uint64_t magnitude =
      (static_cast<std::uint64_t>(exponent - least_exponent) << to.mantissa_bits) + kept;
  if (magnitude > MaxFiniteMagnitude(to)) {
    return OverflowResult(to, value.negative, false, options);
  }
  if (magnitude == 0 && drops_negative_zero) return 0;
  return sign | magnitude;
}

// To a power of two, 2^(code - bias). The range is judged before rounding.
constexpr std::uint64_t EncodeE8M0(const Unpacked& value, const TypeInfo& to,
                                   const CastOptions& options) {
  const std::uint64_t nan = MagnitudeMask(to);
  const bool saturate = options.saturate;
  if (value.kind == Unpacked::Kind::kNan) return nan;
  if (value.negative || (value.kind == Unpacked::Kind::kFinite && value.significand == 0)) {
    return saturate ? 0 : nan;
  }
  const std::uint64_t largest = MaxFiniteMagnitude(to);
  if (value.kind == Unpacked::Kind::kInfinity) return saturate ? largest : nan;

  const int top = 63 - std::countl_zero(value.significand);
  const std::uint64_t below_top = value.significand & LowMask(top);
  const int code = value.exponent + top + to.bias;  // of the power of two at or below the value
  if (code < 0) return saturate ? 0 : nan;
  if (code > static_cast<int>(largest) || (code == static_cast<int>(largest) && below_top != 0)) {
    return saturate ? largest : nan;
  }
  const bool up = options.round_mode == RoundingMode::kUp ? below_top != 0
                  : options.round_mode == RoundingMode::kDown
                      ? false
                      : top > 0 && (below_top >> (top - 1)) != 0;
  return static_cast<std::uint64_t>(code) + (up ? 1 : 0);
}

constexpr std::uint64_t EncodeInteger(const Unpacked& value, bool from_float, const TypeInfo& to,
                                      const CastOptions& options) {
  const std::uint64_t most = GreatestInteger(to);
  const std::uint64_t least = LeastInteger(to);  // also the magnitude of that limit
  const bool saturate = from_float && options.integer_overflow == IntegerOverflow::kSaturate;
  if (value.kind == Unpacked::Kind::kNan) return 0;
  if (value.kind == Unpacked::Kind::kInfinity) {
    return !saturate ? 0 : value.negative ? least : most;
  }
  // The magnitude modulo 2^64, and whether it is beyond 64 bits.
  std::uint64_t magnitude = value.significand;
  bool huge = false;
  if (value.exponent > 0) {
    huge = magnitude != 0 && std::countl_zero(magnitude) < value.exponent;
    magnitude = value.exponent < 64 ? magnitude << value.exponent : 0;
  } else if (value.exponent < 0) {
    const int shift = -value.exponent;
    magnitude = to.bits < 8  ? ShiftRightTiesToEven(magnitude, shift)
                : shift < 64 ? magnitude >> shift
                             : 0;
  }
  if (saturate && (huge || magnitude > (value.negative ? least : most))) {
    return value.negative ? least : most;
  }
  return (value.negative ? ~magnitude + 1 : magnitude) & LowMask(to.bits);
}

constexpr std::uint64_t CastCode(const TypeInfo& from, const TypeInfo& to, std::uint64_t code,
                                 const CastOptions& options) {
  if (from.type == to.type) return code & LowMask(from.bits);
  const Unpacked value = Decode(code, from);
  switch (to.type_class) {
    case TypeClass::kBool:
      return value.kind != Unpacked::Kind::kFinite || value.significand != 0 ? 1 : 0;
    case TypeClass::kUnsigned:
    case TypeClass::kSigned: return EncodeInteger(value, from.is_float(), to, options);
    case TypeClass::kFloat:
      return to.has_zero ? EncodeFloat(value, to, options) : EncodeE8M0(value, to, options);
    case TypeClass::kString: break;
  }
  return 0;
}

}  // namespace detail
}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_DETAIL_SCALAR_CODEC_HPP_
