// What a name that matches nothing was probably meant to be.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_WORDS_NEAREST_NAMES_H_
#define TENSORCAST_SRC_WORDS_NEAREST_NAMES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensorcast::words {

// The nearest of `names` by spelling, whatever the case of their letters: those at the least
// distance, which is at most a third of the word; none where none is near, or the word is very
// long.
std::vector<std::string> NearestNames(std::span<const std::string> names, std::string_view word);

// "; did you mean NAME?", escaped; empty where none is near.
std::string DidYouMean(std::span<const std::string> names, std::string_view word);

}  // namespace tensorcast::words

#endif  // TENSORCAST_SRC_WORDS_NEAREST_NAMES_H_
