// From a decimal to each class of types. A plain one is an integer times a power of ten, whose
// product of 64 bits, rounded to odd, any type's encoder rounds once more. What is not plain goes
// the long way.
//
// To a narrow float a long text is not rounded twice: the nearest double d comes from a library,
// and every point at which a narrow type's result changes (midpoints, powers of two, limits) is
// itself a double. So the result is that of a number just below d, d itself, or one just above it;
// where those differ, the text is compared with d exactly. docs/design.md has the argument in full.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/parse.h"

#include <algorithm>
#include <bit>
#include <compare>

#include "tensorcast/detail/scalar_codec.hpp"
#include "text/decimal.h"
#include "text/plain_decimal.h"
#include "text/powers_of_ten.h"

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

// Any text at all.
StatusCode ParseAny(std::string_view text, const TypeInfo& to, const CastOptions& options,
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

}  // namespace

Parser::Parser(const TypeInfo& to, const CastOptions& options)
    : to_(to),
      options_(options),
      is_integer_(to.type_class == TypeClass::kUnsigned || to.type_class == TypeClass::kSigned),
      sign_(detail::SignBit(to)),
      largest_(to.is_float() ? detail::MaxFiniteMagnitude(to) : 0) {}

inline bool Parser::EncodeFloat(const PlainDecimal& decimal, std::uint64_t* code) const {
  constexpr int kMostExponent = 308;  // beyond it no type has a number
  if (decimal.digits == 0 && to_.has_zero) {
    *code = decimal.negative && !to_.is_fnuz() ? sign_ : 0;
    return true;
  }
  if (decimal.digits == 0 || decimal.exponent < kLeastPower || decimal.exponent > kMostExponent) {
    return false;
  }
  const Product product = TimesPowerOfTen(decimal.digits, decimal.exponent);
  if (!product.is_known) return false;
  // A number in the type's own range in a few steps; half of its least number is not in it. The
  // product's 63 bits have its last one set where bits were cut, as all 64 have.
  const std::uint64_t significand = product.significand >> 1 | (product.significand & 1);
  const int field = product.exponent + 63 + to_.bias;  // of the exponent
  const int shift = 62 - to_.mantissa_bits + std::max(0, 1 - field);
  if (shift <= 62 && to_.has_zero) [[likely]] {
    const std::uint64_t below_half = (std::uint64_t{1} << (shift - 1)) - 1;
    const std::uint64_t kept = (significand + below_half + (significand >> shift & 1)) >> shift;
    const std::uint64_t magnitude =
        (static_cast<std::uint64_t>(std::max(0, field - 1)) << to_.mantissa_bits) + kept;
    if (magnitude - 1 < largest_) [[likely]] {
      *code = magnitude | (sign_ & (std::uint64_t{0} - decimal.negative));
      return true;
    }
  }
  *code = EncodeFloating({.negative = decimal.negative,
                          .exponent = product.exponent,
                          .significand = product.significand},
                         to_, options_);
  return true;
}

inline bool Parser::EncodeInteger(const PlainDecimal& decimal, std::uint64_t* code) const {
  std::uint64_t magnitude = decimal.digits;
  if (decimal.exponent != 0) {
    const auto decimals = std::uint64_t{0} - static_cast<std::uint64_t>(decimal.exponent);
    if (decimals >= kSmallPowers) return false;
    const std::uint64_t one = kTenTo[decimals];
    const std::uint64_t rest = magnitude % one;
    magnitude /= one;
    if (to_.bits < 8) magnitude += rest + (magnitude & 1) > one / 2 ? 1 : 0;
  }
  return IntegerRange(to_).Encode(decimal.negative, magnitude, code);
}

bool Parser::ParsePlain(const char* begin, const char* end, std::uint64_t* code) const {
  PlainDecimal decimal;
  if (!ScanPlain(begin, end, &decimal)) return false;
  if (to_.is_float()) return EncodeFloat(decimal, code);
  if (is_integer_) return EncodeInteger(decimal, code);
  *code = decimal.digits != 0 ? 1 : 0;  // bool
  return true;
}

StatusCode Parser::Parse(std::string_view text, std::uint64_t* code) const {
  return ParseAny(text, to_, options_, code);
}

bool Parser::ParseOther(const char* begin, const char* end, bool is_readable,
                        std::uint64_t* code) const {
  if (is_readable && ParsePlain(begin, end, code)) return true;
  return Parse({begin, static_cast<std::size_t>(end - begin)}, code) == StatusCode::kOk;
}

}  // namespace tensorcast::text
