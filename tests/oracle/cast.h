// The oracle of the cast: docs/semantics.md sections 2 and 3 as exact comparisons of integers.
//
// A code stands for sign * digits * 2^exponent. A value is brought into a floating type by finding
// the two neighbouring codes around it and comparing it with their midpoint, exactly; there is no
// shifting-out of bits, no bias and no floating-point instruction here, so that a fault of the
// library's algorithms is not made twice. Includes nothing of the library.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ORACLE_CAST_H_
#define TENSORCAST_TESTS_ORACLE_CAST_H_

#include <cstdint>
#include <span>

#include "oracle/types.h"

namespace oracle {

enum class RoundingMode { kUp, kDown, kNearest };

struct Options {
  bool saturate = true;
  RoundingMode round_mode = RoundingMode::kUp;
  bool integer_saturate = false;
  bool fnuz_infinity_nan = false;
  bool finite_only_max = false;
};

// A number, an infinity or a NaN, exactly.
struct Value {
  enum class Is { kFinite, kInfinite, kNan };
  Is is = Is::kFinite;
  bool negative = false;
  std::uint64_t digits = 0;  // finite: magnitude = digits * 2^exponent
  int exponent = 0;
  std::uint64_t payload = 0;  // NaN: the fraction, its first bit in bit 63

  bool zero() const { return is == Is::kFinite && digits == 0; }
};

// The value of a code (bits above the type's width are ignored).
Value Decode(const Row& row, std::uint64_t code);

// -1, 0, +1 as the magnitude a * 2^ea is less than, equal to, greater than b * 2^eb.
int Compare(std::uint64_t a, int ea, std::uint64_t b, int eb);

// Where a finite value comes to lie once rounded.
struct Rounded {
  bool inside;         // within the type's range: no option but round_mode has a say
  std::uint64_t code;  // where inside
};
Rounded RoundFinite(const Row& to, bool from_floating, const Value& value, RoundingMode mode);

// The result for a NaN, an infinity or a finite value that rounds beyond the range.
std::uint64_t Outside(const Row& from, const Row& to, const Value& value, const Options& options);

// The largest code of a floating type whose magnitude is at most the value's, by search alone.
// RoundFinite guesses it, proves the guess and falls back on this.
std::uint64_t SearchFloor(const Row& row, const Value& value);

std::uint64_t Cast(const Row& from, const Row& to, const Options& options, std::uint64_t code);
void CastMany(const Row& from, const Row& to, const Options& options,
              std::span<const std::uint64_t> codes, std::uint64_t* results);

// The exact integer a finite value gives on its way to an integer type (truncated, or rounded to
// even for types narrower than 8 bits): its magnitude modulo 2^64, and whether 2^64 is reached.
struct Whole {
  std::uint64_t low;
  bool huge;
};
Whole ToWhole(const Row& to, const Value& value);
bool Fits(const Row& to, bool negative, const Whole& whole);

}  // namespace oracle

#endif  // TENSORCAST_TESTS_ORACLE_CAST_H_
