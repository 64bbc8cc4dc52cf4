// One element of a tensor in words: its value and its place.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ELEMENT_TEXT_H_
#define TENSORCAST_PROGRAMS_ELEMENT_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "io/tensor_file.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// The value of a floating or bool code as a double; NaN and Inf included.
double ElementValue(DataType type, std::uint64_t code);

// The integer of a signed integer type's code.
std::int64_t SignedElement(DataType type, std::uint64_t code);

// The value as text: as many digits as the type tells apart, integers exactly.
std::string ElementText(DataType type, std::uint64_t code);

// The multi-dimensional index of the element at `index` of a tensor's dense form.
std::vector<std::uint64_t> ElementIndex(const io::TensorInfo& info, std::uint64_t index);

// "[17,3]"; empty for a scalar.
std::string IndexText(const io::TensorInfo& info, std::uint64_t index);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ELEMENT_TEXT_H_
