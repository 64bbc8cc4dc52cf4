// The value of one element of a tensor in words.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_ELEMENT_TEXT_H_
#define TENSORCAST_PROGRAMS_DISPLAY_ELEMENT_TEXT_H_

#include <cstdint>
#include <string>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// The value of a code as a double, exact but for integers of 64 bits; NaN and Inf included.
double ElementValue(DataType type, std::uint64_t code);

// The integer of a signed integer type's code.
std::int64_t SignedElement(DataType type, std::uint64_t code);

// The value as text: as many digits as the type tells apart, integers exactly.
std::string ElementText(DataType type, std::uint64_t code);

// The fewest digits that name a code's value among its type's, as PrintValue gives them.
std::string ShortestText(DataType type, std::uint64_t code);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_ELEMENT_TEXT_H_
