// Exact numbers of the tests: GMP's rationals, from texts, doubles and the oracle's values.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ORACLE_RATIONAL_H_
#define TENSORCAST_TESTS_ORACLE_RATIONAL_H_

#include <gmpxx.h>

#include <string>
#include <string_view>

#include "oracle/cast.h"

namespace oracle {

// Of a decimal number in any form; the exponent is at most a few thousand.
mpq_class RationalOf(std::string_view text);
// Of a finite value.
mpq_class RationalOf(const Value& value);

// Whether `rounded` is `exact` rounded to `digits` significant decimal digits, ties to even.
bool IsRounded(const mpq_class& exact, const mpq_class& rounded, unsigned digits);

}  // namespace oracle

#endif  // TENSORCAST_TESTS_ORACLE_RATIONAL_H_
