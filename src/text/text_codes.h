// What the texts that a narrow type prints read as, found without reading them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_TEXT_CODES_H_
#define TENSORCAST_SRC_TEXT_TEXT_CODES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensorcast/tensorcast.hpp"
#include "text/digit_bytes.h"

namespace tensorcast::text {

// The texts of a type of at most eight bits in numpy's style, each with its code.
class TextCodes {
 public:
  explicit TextCodes(const TypeInfo& type);

  // False where a text is none of them, or one that options but round_mode have a say in. Reads
  // eight characters from the text's first on, whatever they are.
  [[gnu::always_inline]] bool Find(const char* begin, const char* end, RoundingMode round_mode,
                                   std::uint64_t* code) const {
    const auto size = static_cast<std::size_t>(end - begin);
    if (size > kLongest) return false;
    const std::uint64_t head = Head(begin, size);
    const Entry& entry = entries_[slots_[Slot(head)]];
    *code = entry.codes[static_cast<std::size_t>(round_mode)];
    return entry.head == head && entry.size == size &&
           (size <= 8 || entry.tail == LoadEight(end - 8));
  }

 private:
  static constexpr std::size_t kLongest = 16;
  static constexpr int kSlotBits = 13;  // so many that one factor in 60 parts 256 texts

  struct Entry {
    std::uint64_t head = 0;                  // the first eight characters, or zeros behind fewer
    std::uint64_t tail = 0;                  // the last eight, where it has more
    std::uint8_t size = UINT8_MAX;           // of no text
    std::array<std::uint8_t, 3> codes = {};  // by round_mode
  };

  static std::uint64_t Head(const char* begin, std::size_t size) {
    static constexpr auto kMasks = [] {
      std::array<std::uint64_t, kLongest + 1> masks;
      masks.fill(UINT64_MAX);
      for (std::size_t i = 0; i < 8; ++i) masks[i] = (std::uint64_t{1} << 8 * i) - 1;
      return masks;
    }();
    return LoadEight(begin) & kMasks[size];
  }
  // No two texts have the same first eight characters.
  std::size_t Slot(std::uint64_t head) const { return head * factor_ >> (64 - kSlotBits); }

  std::uint64_t factor_ = 0;
  std::array<std::uint8_t, std::size_t{1} << kSlotBits> slots_ = {};  // which entry it can be
  std::array<Entry, 256> entries_ = {};
};

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_TEXT_CODES_H_
