// The oracle of scaled tensors: docs/semantics.md, "Scaled tensors", in rational numbers. What is
// not finite follows IEEE 754's tables, written out. Includes nothing of the library.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ORACLE_SCALED_H_
#define TENSORCAST_TESTS_ORACLE_SCALED_H_

#include <gmpxx.h>

#include <cstdint>

#include "oracle/cast.h"

namespace oracle {

// A rational number, zero with its sign, an infinity or NaN.
struct Number {
  enum class Is { kFinite, kInfinite, kNan };
  Is is = Is::kFinite;
  bool negative = false;    // of zero and infinity too
  mpq_class magnitude = 0;  // where finite

  bool zero() const { return is == Is::kFinite && magnitude == 0; }
};

Number NumberOf(const Row& row, std::uint64_t code);
Number NumberOf(double value);
Number Minus(const Number& a, const Number& b);  // finite ones, of integers: x - x is +0
Number Times(const Number& a, const Number& b);
Number Over(const Number& a, const Number& b);

// Whether a double is the number rounded to nearest with ties to even, or rounded to odd. Numbers
// stay far from the ends of a double's range; NaN matches NaN.
bool IsNearest(double rounded, const Number& exact);
bool IsOdd(double rounded, const Number& exact);

// A positive rational number rounded to nearest, ties to even, in a floating type: the code, or the
// largest one and `beyond` where the number rounds beyond it.
struct NearestCode {
  std::uint64_t code;
  bool beyond;
};
NearestCode Nearest(const Row& to, const mpq_class& value);

// The code of a quotient in a scaled tensor: to a floating type saturating, NaN as casts have it by
// default; to int8 rounded to even and kept within 127, NaN to 0.
std::uint64_t QuotientCode(const Row& to, const Number& quotient);

// 2^exponent, and the least exponent whose power of two is at least a positive number.
mpq_class PowerOfTwo(long exponent);
long CeilLog2(const mpq_class& value);
long FloorLog2(const mpq_class& value);

}  // namespace oracle

#endif  // TENSORCAST_TESTS_ORACLE_SCALED_H_
