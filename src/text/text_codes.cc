// The tables are filled by printing every code and reading its text.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/text_codes.h"

#include <algorithm>
#include <bitset>
#include <string_view>

#include "tensorcast/detail/scalar_codec.hpp"
#include "text/parse.h"
#include "text/print.h"

namespace tensorcast::text {

[[gnu::cold]] TextCodes::TextCodes(const TypeInfo& type) {
  std::size_t count = 0;
  for (std::size_t code = 0; code < std::size_t{1} << type.bits; ++code) {
    // What an infinity becomes is for options to say.
    if (detail::Decode(code, type).kind == detail::Unpacked::Kind::kInfinity) continue;
    const auto element = static_cast<std::byte>(code);
    std::array<char, kPrinterRoom> text;
    std::uint64_t end = 0;
    PrinterOf(type, StringStyle::kNumpy)(&element, 0, 1, text, 0, &end);
    const auto size = static_cast<std::size_t>(end);
    if (size > kLongest) continue;
    Entry entry;
    entry.head = Head(text.data(), size);
    if (size > 8) entry.tail = LoadEight(text.data() + size - 8);
    entry.size = static_cast<std::uint8_t>(size);
    const auto has_its_head = [&](const Entry& other) { return other.head == entry.head; };
    // Codes of NaN have one text; and each slot is found by the head.
    if (std::any_of(entries_.begin(), entries_.begin() + count, has_its_head)) continue;
    for (const RoundingMode mode :
         {RoundingMode::kUp, RoundingMode::kDown, RoundingMode::kNearest}) {
      CastOptions options;
      options.round_mode = mode;
      std::uint64_t read = 0;
      Parser(type, options).Parse({text.data(), size}, &read);
      entry.codes[static_cast<std::size_t>(mode)] = static_cast<std::uint8_t>(read);
    }
    entries_[count++] = entry;
  }
  // Factors are tried until every text has a slot of its own.
  for (std::size_t placed = 0; placed < count;) {
    factor_ = (factor_ + 1) * 0xD1342543DE82EF95 | 1;
    std::bitset<std::size_t{1} << kSlotBits> taken;
    for (placed = 0; placed < count; ++placed) {
      const std::size_t slot = Slot(entries_[placed].head);
      if (taken[slot]) break;
      taken[slot] = true;
      slots_[slot] = static_cast<std::uint8_t>(placed);
    }
  }
}

}  // namespace tensorcast::text
