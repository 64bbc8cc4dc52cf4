// Row by row of the table of all prefixes' distances.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/edit_distance.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace tensorcast::core {

std::size_t EditDistance(std::string_view a, std::string_view b) {
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

}  // namespace tensorcast::core
