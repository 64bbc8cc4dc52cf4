// Elements to their texts.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_PRINT_H_
#define TENSORCAST_SRC_TEXT_PRINT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::text {

// The room that a printer wants for a text, more than any has: it writes whole words.
inline constexpr std::size_t kPrinterRoom = 48;

// Prints elements of a buffer of its type, from the first on, one behind the other, until `count`
// of them are printed or less than kPrinterRoom is left; returns how many are. ends[i] is where
// text i ends in `room`, counted from `before` on. The floating-point environment is the default
// one.
using Printer = std::size_t (*)(const std::byte* source, std::uint64_t first, std::size_t count,
                                std::span<char> room, std::uint64_t before, std::uint64_t* ends);

// That of any fixed-width type.
Printer PrinterOf(const TypeInfo& from, StringStyle style);

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_PRINT_H_
