// Numbers as the syntaxes write and read them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_MDF_NUMBER_TEXT_H_
#define TENSORCAST_SRC_MDF_NUMBER_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "mdf/value.h"

namespace tensorcast::mdf {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Digits of a base from 2 to 16, without a sign; nothing where there are others, or none. Throws
// graph::Error (unsupported) where the number needs more than 64 bits.
std::optional<Integer> ParseDigits(std::string_view digits, unsigned base, bool negative);

// A decimal number with an optional sign, point and exponent, to the nearest double; one beyond the
// range is infinite. Nothing where the text is no such number.
std::optional<double> ParseDecimal(std::string_view text);

std::string IntegerText(const Integer& value);
// A finite number with the fewest digits that give it back, always with a point, and an exponent
// with its sign: what JSON, Python and YAML 1.1 all read as a number that is not whole.
std::string DoubleText(double value);

}  // namespace tensorcast::mdf

#endif  // TENSORCAST_SRC_MDF_NUMBER_TEXT_H_
