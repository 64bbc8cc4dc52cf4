// How far apart two names are, of which one was misspelt.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_EDIT_DISTANCE_H_
#define TENSORCAST_SRC_CORE_EDIT_DISTANCE_H_

#include <cstddef>
#include <string_view>

namespace tensorcast::core {

inline constexpr std::size_t kLongestCompared = 64;

// Levenshtein's distance. The second name has at most kLongestCompared characters.
std::size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_EDIT_DISTANCE_H_
