// A tensor in words: its type, and the value of one element.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_TENSOR_TEXT_H_
#define TENSORCAST_PROGRAMS_DISPLAY_TENSOR_TEXT_H_

#include <cstdint>
#include <string>

#include "formats/tensor_info.h"
#include "scale/written_form.h"
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

// How a weight is stored whose scales are applied, the canonical name of a type of ours, or the
// file's own word.
std::string TypeText(const formats::TensorInfo& info);
// What it becomes: a scaled format, or the type.
std::string GoalText(DataType to, const scale::WrittenForm& scaled);
// The same, and of a scaled format the rule of its scales unless it is the usual one: "nvfp4 mse".
std::string GoalAndRuleText(DataType to, const scale::WrittenForm& scaled);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_TENSOR_TEXT_H_
