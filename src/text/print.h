// Elements to their texts.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_PRINT_H_
#define TENSORCAST_SRC_TEXT_PRINT_H_

#include <cstddef>
#include <cstdint>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::text {

// The room that a printer wants, more than any text has: it writes whole words.
inline constexpr std::size_t kPrinterRoom = 48;

// Prints a code of its type into kPrinterRoom characters; returns the text's end. The
// floating-point environment is the default one.
using Printer = char* (*)(std::uint64_t code, char* out);

// That of any fixed-width type.
Printer PrinterOf(const TypeInfo& from, StringStyle style);

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_PRINT_H_
