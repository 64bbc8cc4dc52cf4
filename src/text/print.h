// One element to its text.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_PRINT_H_
#define TENSORCAST_SRC_TEXT_PRINT_H_

#include <cstddef>
#include <cstdint>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::text {

// Prints a code of any fixed-width type into `out`, which has room for kLongestPrinted characters;
// returns how many there are. The floating-point environment is the default one.
std::size_t PrintCode(std::uint64_t code, const TypeInfo& from, StringStyle style, char* out);

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_PRINT_H_
