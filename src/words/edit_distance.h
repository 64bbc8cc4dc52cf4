// How far names are from a word that was probably misspelt.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_WORDS_EDIT_DISTANCE_H_
#define TENSORCAST_SRC_WORDS_EDIT_DISTANCE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tensorcast::words {

inline constexpr std::size_t kLongestCompared = 128;

// How many characters have to be inserted, left out, replaced or swapped with the next one to make
// a name of one word, whatever the case of ASCII letters. A bit stands for each of the word's
// characters (Hyyrö's bit-parallel form), so that a name takes a few instructions a character: a
// checkpoint may have 100,000. Of a longer word only the first kLongestCompared characters count.
class DistanceFrom {
 public:
  explicit DistanceFrom(std::string_view word) : size_(std::min(word.size(), kLongestCompared)) {
    for (std::size_t i = 0; i < size_; ++i) {
      const auto c = static_cast<unsigned char>(word[i]);
      const bool is_letter = (c | 32U) >= 'a' && (c | 32U) <= 'z';
      places_[c] |= Bits{1} << i;
      if (is_letter) places_[c ^ 32U] |= Bits{1} << i;
    }
  }

  std::size_t To(std::string_view name) const {
    if (size_ == 0) return name.size();
    // A column of the table of all prefixes' distances: where it rises by 1 from one place to the
    // next, and where it falls.
    Bits rises = ~Bits{0}, falls = 0;
    Bits same = 0;   // where it is as diagonally before
    Bits equal = 0;  // where the word has the name's character
    std::size_t distance = size_;
    for (const char c : name) {
      const Bits before = std::exchange(equal, places_[static_cast<unsigned char>(c)]);
      const Bits swapped = (~same & equal) << 1 & before;
      same = swapped | (((equal & rises) + rises) ^ rises) | equal | falls;
      const Bits more = falls | ~(same | rises), less = rises & same;
      distance += static_cast<std::size_t>(more >> (size_ - 1) & 1);
      distance -= static_cast<std::size_t>(less >> (size_ - 1) & 1);
      const Bits shifted = more << 1 | 1;
      rises = less << 1 | ~(same | shifted);
      falls = shifted & same;
    }
    return distance;
  }

 private:
  __extension__ using Bits = unsigned __int128;
  static_assert(sizeof(Bits) * 8 == kLongestCompared);

  std::size_t size_;
  std::array<Bits, 256> places_ = {};  // of each character in the word
};

}  // namespace tensorcast::words

#endif  // TENSORCAST_SRC_WORDS_EDIT_DISTANCE_H_
