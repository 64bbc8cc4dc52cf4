// How far apart two names are, of which one was misspelt.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_WORDS_EDIT_DISTANCE_H_
#define TENSORCAST_SRC_WORDS_EDIT_DISTANCE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

namespace tensorcast::words {

inline constexpr std::size_t kLongestCompared = 64;

// Levenshtein's distance, row by row of the table of all prefixes' distances. The second name has
// at most kLongestCompared characters.
inline std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::array<std::size_t, kLongestCompared + 1> row;
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace tensorcast::words

#endif  // TENSORCAST_SRC_WORDS_EDIT_DISTANCE_H_
