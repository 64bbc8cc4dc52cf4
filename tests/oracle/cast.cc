// The cast as exact comparisons; see cast.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "oracle/cast.h"

#include <bit>
#include <cstdio>
#include <cstdlib>

namespace oracle {
namespace {

constexpr int Length(std::uint64_t digits) { return 64 - std::countl_zero(digits); }

// Magnitude of a floating code without its sign: the codes of one binade count up in steps of its
// quantum; the lowest two binades (subnormals and the first normals) share theirs.
struct Magnitude {
  std::uint64_t digits;
  int exponent;
};
inline Magnitude MagnitudeOf(const Row& row, std::uint64_t code) {
  if (row.kind == Kind::kPowerOfTwo) return {1, row.least + static_cast<int>(code)};
  const std::uint64_t per_binade = 1ull << (row.precision - 1);
  const std::uint64_t binade =
      code >> (row.precision - 1);  // code / per_binade, without a division
  if (binade == 0) return {code, row.least};
  return {per_binade + (code & (per_binade - 1)), row.least + static_cast<int>(binade) - 1};
}

inline int CompareWithCode(const Row& row, const Value& value, std::uint64_t code) {
  const Magnitude m = MagnitudeOf(row, code);
  return Compare(value.digits, value.exponent, m.digits, m.exponent);
}

// With the midpoint of a code's magnitude and the next one, the next being what it would be if the
// type went on.
inline int CompareWithMidpoint(const Row& row, const Value& value, std::uint64_t code) {
  const Magnitude m = MagnitudeOf(row, code);
  return Compare(value.digits, value.exponent, 2 * m.digits + 1, m.exponent - 1);
}

inline std::uint64_t GuessFloor(const Row& row, const Value& value) {
  const int top = value.exponent + Length(value.digits) - 1;
  if (top < row.least) return 0;
  if (row.kind == Kind::kPowerOfTwo) return static_cast<std::uint64_t>(top - row.least);
  const int quantum = top - (row.precision - 1) > row.least ? top - (row.precision - 1) : row.least;
  const int up = value.exponent - quantum;
  if (up > 63 || up < -63) return 0;
  const std::uint64_t steps = up >= 0 ? value.digits << up : value.digits >> -up;
  return steps + static_cast<std::uint64_t>(quantum - row.least) * (1ull << (row.precision - 1));
}

inline std::uint64_t Floor(const Row& row, const Value& value) {
  if (CompareWithCode(row, value, row.largest) >= 0) return row.largest;
  const std::uint64_t guess = GuessFloor(row, value);
  if (guess < row.largest && CompareWithCode(row, value, guess) >= 0 &&
      CompareWithCode(row, value, guess + 1) < 0) {
    return guess;
  }
  return SearchFloor(row, value);
}

Rounded RoundToFloating(const Row& to, const Value& value) {
  if (value.digits == 0) return {true, value.negative && to.minus_zero ? to.minus : 0};
  std::uint64_t code = Floor(to, value);
  const int half = CompareWithMidpoint(to, value, code);
  if (half > 0 || (half == 0 && code % 2 != 0)) ++code;
  if (code > to.largest) return {false, 0};
  if (value.negative && (code != 0 || to.minus_zero)) code += to.minus;
  return {true, code};
}

Rounded RoundToPowerOfTwo(const Row& to, const Value& value, RoundingMode mode) {
  if (value.digits == 0 || value.negative) return {false, 0};
  if (CompareWithCode(to, value, 0) < 0) return {false, 0};
  if (CompareWithCode(to, value, to.largest) > 0) return {false, 0};
  const std::uint64_t code = Floor(to, value);
  if (CompareWithCode(to, value, code) == 0) return {true, code};
  switch (mode) {
    case RoundingMode::kDown: return {true, code};
    case RoundingMode::kUp: return {true, code + 1};
    case RoundingMode::kNearest: break;
  }
  return {true, CompareWithMidpoint(to, value, code) >= 0 ? code + 1 : code};
}

// The code of an integer type's limit on one side; also that limit's magnitude.
std::uint64_t LimitCode(const Row& to, bool negative) {
  if (to.kind == Kind::kUnsigned) return negative ? 0 : to.mask();
  const std::uint64_t half = 1ull << (to.bits - 1);
  return negative ? half : half - 1;
}

std::uint64_t NanCode(const Row& from, const Row& to, const Value& value, const Options& options) {
  if (to.kind == Kind::kBoolean) return 1;
  if (to.integer()) return 0;
  if (to.finite_only()) {
    if (options.finite_only_max) return to.largest;
    return value.negative ? 0 : to.minus;
  }
  if (to.kind == Kind::kPowerOfTwo || to.fnuz()) return to.nan;
  std::uint64_t code = to.nan;
  if (from.payload() && to.payload()) {
    code |= to.infinity | (value.payload >> (64 - (to.precision - 1)));
  }
  return value.negative ? code | to.minus : code;
}

std::uint64_t InfinityCode(const Row& to, const Value& value, const Options& options) {
  const std::uint64_t sign = value.negative ? to.minus : 0;
  if (to.kind == Kind::kBoolean) return 1;
  if (to.integer()) return options.integer_saturate ? LimitCode(to, value.negative) : 0;
  if (to.kind == Kind::kPowerOfTwo) {
    if (!options.saturate) return to.nan;
    return value.negative ? 0 : to.largest;
  }
  if (to.float8()) {
    if (options.saturate) {
      if (to.fnuz() && options.fnuz_infinity_nan) return to.nan;
      return to.largest | sign;
    }
    if (to.fnuz()) return to.nan;
    return (to.infinity != 0 ? to.infinity : to.nan) | sign;
  }
  if (to.finite_only()) return to.largest | sign;
  return to.infinity | sign;
}

std::uint64_t BeyondCode(const Row& to, const Value& value, const Options& options) {
  const std::uint64_t sign = value.negative ? to.minus : 0;
  if (to.integer()) {
    if (options.integer_saturate) return LimitCode(to, value.negative);
    const Whole whole = ToWhole(to, value);
    return (value.negative ? 0 - whole.low : whole.low) & to.mask();
  }
  if (to.kind == Kind::kPowerOfTwo) {
    if (!options.saturate) return to.nan;
    const bool low = value.negative || value.digits == 0 || CompareWithCode(to, value, 0) < 0;
    return low ? 0 : to.largest;
  }
  if (to.float8()) {
    if (options.saturate) return to.largest | sign;
    if (to.fnuz()) return to.nan;
    return (to.infinity != 0 ? to.infinity : to.nan) | sign;
  }
  if (to.finite_only()) return to.largest | sign;
  return to.infinity | sign;
}

}  // namespace

const Row& RowOf(int id) {
  for (const Row& row : kRows) {
    if (row.id == id) return row;
  }
  std::fprintf(stderr, "oracle: no row for type %d\n", id);
  std::abort();
}

int Compare(std::uint64_t a, int ea, std::uint64_t b, int eb) {
  if (a == 0 || b == 0) return (a != 0) - (b != 0);
  const int top_a = ea + Length(a);
  const int top_b = eb + Length(b);
  if (top_a != top_b) return top_a < top_b ? -1 : 1;
  const std::uint64_t left_a = a << std::countl_zero(a);
  const std::uint64_t left_b = b << std::countl_zero(b);
  return (left_a > left_b) - (left_a < left_b);
}

Value Decode(const Row& row, std::uint64_t code) {
  code &= row.mask();
  Value value;
  switch (row.kind) {
    case Kind::kBoolean: value.digits = code != 0; return value;
    case Kind::kUnsigned: value.digits = code; return value;
    case Kind::kSigned:
      value.negative = (code >> (row.bits - 1)) != 0;
      value.digits = value.negative ? (0 - code) & row.mask() : code;
      return value;
    case Kind::kFloating:
    case Kind::kPowerOfTwo: break;
  }
  const std::uint64_t magnitude = code & ~row.minus;
  value.negative = magnitude != code;
  if (row.fnuz() ? code == row.nan : row.nan != 0 && magnitude > row.largest) {
    if (magnitude == row.infinity && row.infinity != 0) {
      value.is = Value::Is::kInfinite;
      return value;
    }
    value.is = Value::Is::kNan;
    if (row.payload()) value.payload = magnitude << (64 - (row.precision - 1));
    return value;
  }
  const Magnitude m = MagnitudeOf(row, magnitude);
  value.digits = m.digits;
  value.exponent = m.exponent;
  return value;
}

std::uint64_t SearchFloor(const Row& row, const Value& value) {
  std::uint64_t low = 0;
  std::uint64_t high = row.largest;  // the answer is in [low, high]
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (CompareWithCode(row, value, middle) >= 0) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

Whole ToWhole(const Row& to, const Value& value) {
  const int e = value.exponent;
  if (e >= 0) {
    return {e > 63 ? 0 : value.digits << e, value.digits != 0 && Length(value.digits) + e > 64};
  }
  Whole whole = {e < -63 ? 0 : value.digits >> -e, false};
  if (to.bits < 8) {
    const int half = Compare(value.digits, e, 2 * whole.low + 1, -1);
    if (half > 0 || (half == 0 && whole.low % 2 != 0)) ++whole.low;
  }
  return whole;
}

bool Fits(const Row& to, bool negative, const Whole& whole) {
  if (whole.huge) return false;
  // LimitCode's negative limit, read as a magnitude: 0, or half the number of codes.
  if (negative) return whole.low <= LimitCode(to, true);
  return whole.low <= LimitCode(to, false);
}

Rounded RoundFinite(const Row& to, bool from_floating, const Value& value, RoundingMode mode) {
  if (to.kind == Kind::kBoolean) return {true, value.digits != 0};
  if (to.integer()) {
    const Whole whole = ToWhole(to, value);
    // Among integers nothing is outside: the low bits are the answer.
    const bool inside = !from_floating || Fits(to, value.negative, whole);
    return {inside, (value.negative ? 0 - whole.low : whole.low) & to.mask()};
  }
  if (to.kind == Kind::kPowerOfTwo) return RoundToPowerOfTwo(to, value, mode);
  return RoundToFloating(to, value);
}

std::uint64_t Outside(const Row& from, const Row& to, const Value& value, const Options& options) {
  switch (value.is) {
    case Value::Is::kNan: return NanCode(from, to, value, options);
    case Value::Is::kInfinite: return InfinityCode(to, value, options);
    case Value::Is::kFinite: break;
  }
  return BeyondCode(to, value, options);
}

std::uint64_t Cast(const Row& from, const Row& to, const Options& options, std::uint64_t code) {
  if (from.id == to.id) return code & from.mask();
  const Value value = Decode(from, code);
  if (value.is == Value::Is::kFinite) {
    const Rounded rounded = RoundFinite(to, from.floating(), value, options.round_mode);
    if (rounded.inside) return rounded.code;
  }
  return Outside(from, to, value, options);
}

void CastMany(const Row& from, const Row& to, const Options& options,
              std::span<const std::uint64_t> codes, std::uint64_t* results) {
  for (std::size_t i = 0; i < codes.size(); ++i) results[i] = Cast(from, to, options, codes[i]);
}

}  // namespace oracle
