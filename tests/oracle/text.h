// The oracle of the string casts: docs/semantics.md, "Strings", in exact rational arithmetic.
//
// A text is its exact decimal value, a quotient of two integers of any length. It is brought into
// a type by searching all of the type's codes for its neighbours and comparing it with their
// midpoint. A number is printed by trying one digit, two digits, ... and asking of each whether it
// lies between the midpoints to the number's neighbours. There are no tables of powers, no
// approximations and no floating-point instructions. Includes nothing of the library.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ORACLE_TEXT_H_
#define TENSORCAST_TESTS_ORACLE_TEXT_H_

#include <gmpxx.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "oracle/cast.h"

namespace oracle {

// What a text says, before it is cast to anything.
struct Text {
  enum class Is { kNotANumber, kFinite, kInfinite, kNan, kTrue, kFalse };
  Is is = Is::kNotANumber;
  bool negative = false;
  // Finite: magnitude = numerator / denominator; denominator > 0.
  mpz_class numerator = 0;
  mpz_class denominator = 1;
};

// Reads a text. Magnitudes beyond 10^400 and below 10^-400 are replaced by others that are too,
// so that no exponent is too much for the rationals; see text.cc for why no type can tell.
Text ReadText(std::string_view text);

enum class TextError { kNone, kNotANumber, kNotAnInteger };
struct Parsed {
  TextError error = TextError::kNone;
  std::uint64_t code = 0;  // where there is no error
};
Parsed CastText(const Text& text, const Row& to, const Options& options);
Parsed ParseText(std::string_view text, const Row& to, const Options& options);

enum class TextStyle { kNumpy, kOrt };
std::string PrintText(const Row& from, TextStyle style, std::uint64_t code);

// digits * 2^exponent as a decimal with all its digits, positional: "0.1015625", "448".
std::string ExactDecimal(const mpz_class& digits, int exponent);

}  // namespace oracle

#endif  // TENSORCAST_TESTS_ORACLE_TEXT_H_
