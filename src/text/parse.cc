// From a decimal to each class of types.
//
// To a narrow float the text is not rounded twice: the nearest double d comes from a library, and
// every point at which a narrow type's result changes (midpoints, powers of two, limits) is itself
// a double. So the result is that of a number just below d, d itself, or one just above it; where
// those differ, the text is compared with d exactly. docs/design.md has the argument in full.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/parse.h"

#include <bit>
#include <compare>

#include "tensorcast/detail/scalar_codec.hpp"
#include "text/decimal.h"

namespace tensorcast::text {
namespace {

using detail::Unpacked;

std::uint64_t EncodeFloating(const Unpacked& value, const TypeInfo& to,
                             const CastOptions& options) {
  return to.has_zero ? detail::EncodeFloat(value, to, options)
                     : detail::EncodeE8M0(value, to, options);
}

// A finite number beyond every type's range, or nearer to 0 than any type's least number but
// float64's, which does not come here.
constexpr Unpacked Huge(bool negative) {
  return {.negative = negative, .exponent = 1100, .significand = 1};
}
constexpr Unpacked Tiny(bool negative) {
  return {.negative = negative, .exponent = -1100, .significand = 1};
}

std::uint64_t ToNarrowFloat(const Decimal& decimal, const TypeInfo& to,
                            const CastOptions& options) {
  const double nearest = NearestDouble(decimal);
  if (nearest == 0) return EncodeFloating(Tiny(decimal.negative), to, options);
  const auto bits = std::bit_cast<std::uint64_t>(nearest);
  if (nearest > 0x1.fffffffffffffp1023) {
    return EncodeFloating(Huge(decimal.negative), to, options);
  }
  // The double with eleven more bits, which hold "a little less" and "a little more".
  constexpr int kSpare = 11;
  Unpacked value = detail::DecodeFloat(bits, detail::Row(DataType::kFloat64));
  value.negative = decimal.negative;
  value.significand <<= kSpare;
  value.exponent -= kSpare;
  // Points of change have one bit more than the widest narrow significand, float16's: a double with
  // any bit below that is none.
  constexpr int kBitsOfPoints = 11;
  if ((bits & detail::LowMask(52 - kBitsOfPoints)) != 0) return EncodeFloating(value, to, options);
  Unpacked below = value, above = value;
  below.significand -= 1;
  above.significand += 1;
  const std::uint64_t code_below = EncodeFloating(below, to, options);
  const std::uint64_t code_above = EncodeFloating(above, to, options);
  if (code_below == code_above) return code_below;
  const std::strong_ordering order = CompareMagnitude(decimal, nearest);
  if (std::is_lt(order)) return code_below;
  if (std::is_gt(order)) return code_above;
  return EncodeFloating(value, to, options);
}

std::uint64_t ToFloat(const Decimal& decimal, const TypeInfo& to, const CastOptions& options) {
  if (decimal.kind != Decimal::Kind::kFinite) {
    Unpacked value;
    value.kind =
        decimal.kind == Decimal::Kind::kNan ? Unpacked::Kind::kNan : Unpacked::Kind::kInfinity;
    value.negative = decimal.negative;
    return EncodeFloating(value, to, options);
  }
  if (decimal.is_zero()) return EncodeFloating({.negative = decimal.negative}, to, options);
  const std::uint64_t sign = decimal.negative ? detail::SignBit(to) : 0;
  if (to.type == DataType::kFloat64) {
    return sign | std::bit_cast<std::uint64_t>(NearestDouble(decimal));
  }
  if (to.type == DataType::kFloat32) {
    return sign | std::bit_cast<std::uint32_t>(NearestFloat(decimal));
  }
  return ToNarrowFloat(decimal, to, options);
}

// The whole part of a decimal, and its fraction against one half.
struct Whole {
  std::uint64_t magnitude = 0;
  bool too_large = false;  // 2^64 or more
  bool fraction = false;   // whether there is any
  std::strong_ordering against_half = std::strong_ordering::less;
};

Whole WholePart(const Decimal& decimal) {
  constexpr std::int64_t kMostDigits = 20;  // of 2^64 - 1
  Whole whole;
  if (decimal.exponent >= kMostDigits) {
    whole.too_large = true;
    return whole;
  }
  // The digits before the point, with the zeros that are not written.
  std::int64_t units = decimal.exponent + 1;
  std::size_t at = 0;
  const auto next = [&]() -> unsigned {
    if (at < decimal.digits.size() && decimal.digits[at] == '.') ++at;
    return at < decimal.digits.size() ? static_cast<unsigned>(decimal.digits[at++] - '0') : 0;
  };
  for (; units > 0; --units) {
    const unsigned digit = next();
    if (whole.magnitude > (UINT64_MAX - digit) / 10) {
      whole.too_large = true;
      return whole;
    }
    whole.magnitude = whole.magnitude * 10 + digit;
  }
  // The last digit of a decimal is not 0, so any that is left is a fraction.
  whole.fraction = at < decimal.digits.size();
  if (!whole.fraction || units < 0) return whole;
  const unsigned tenths = next();
  whole.against_half = tenths != 5                  ? tenths <=> 5u
                       : at < decimal.digits.size() ? std::strong_ordering::greater
                                                    : std::strong_ordering::equal;
  return whole;
}

StatusCode ToInteger(const Decimal& decimal, const TypeInfo& to, const CastOptions& options,
                     std::uint64_t* code) {
  if (decimal.kind != Decimal::Kind::kFinite) return StatusCode::kNotAnInteger;
  Whole whole;
  if (!decimal.is_zero()) whole = WholePart(decimal);
  if (!whole.too_large && to.bits < 8 && whole.fraction &&
      (std::is_gt(whole.against_half) ||
       (std::is_eq(whole.against_half) && (whole.magnitude & 1) != 0))) {
    ++whole.magnitude;
    whole.too_large = whole.magnitude == 0;
  }
  constexpr std::uint64_t kMostNegative = std::uint64_t{1} << 63;
  if (whole.too_large || (decimal.negative && whole.magnitude > kMostNegative)) {
    return StatusCode::kNotAnInteger;
  }
  const Unpacked value = {.negative = decimal.negative, .significand = whole.magnitude};
  *code = detail::EncodeInteger(value, /*from_float=*/true, to, options);
  return StatusCode::kOk;
}

}  // namespace

StatusCode ParseCode(std::string_view text, const TypeInfo& to, const CastOptions& options,
                     std::uint64_t* code) {
  const Decimal decimal = ScanDecimal(text);
  switch (decimal.kind) {
    case Decimal::Kind::kNotANumber: return StatusCode::kNotANumber;
    case Decimal::Kind::kTrue:
    case Decimal::Kind::kFalse:
      if (to.type_class != TypeClass::kBool) return StatusCode::kNotANumber;
      *code = decimal.kind == Decimal::Kind::kTrue ? 1 : 0;
      return StatusCode::kOk;
    case Decimal::Kind::kFinite:
    case Decimal::Kind::kInfinity:
    case Decimal::Kind::kNan: break;
  }
  switch (to.type_class) {
    case TypeClass::kBool:
      *code = decimal.kind != Decimal::Kind::kFinite || !decimal.is_zero() ? 1 : 0;
      return StatusCode::kOk;
    case TypeClass::kUnsigned:
    case TypeClass::kSigned: return ToInteger(decimal, to, options, code);
    case TypeClass::kFloat: *code = ToFloat(decimal, to, options); return StatusCode::kOk;
    case TypeClass::kString: break;
  }
  return StatusCode::kWrongCall;
}

}  // namespace tensorcast::text
