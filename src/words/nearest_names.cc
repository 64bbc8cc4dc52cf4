// By edit distance. Names that are too long or too short to be near are not compared: a checkpoint
// has a hundred thousand.
//
// SPDX-License-Identifier: Apache-2.0
#include "words/nearest_names.h"

#include <algorithm>
#include <cstddef>

#include "words/edit_distance.h"
#include "words/error_text.h"

namespace tensorcast::words {

std::vector<std::string> NearestNames(std::span<const std::string> names, std::string_view word) {
  // One letter is as far from every other one.
  if (word.size() < 2 || word.size() > kLongestCompared) return {};
  std::vector<std::string> nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3);
  for (const std::string& name : names) {
    const auto [shorter, longer] = std::minmax(name.size(), word.size());
    if (longer - shorter > least) continue;
    const std::size_t distance = EditDistance(name, word);
    if (distance > least) continue;
    if (distance < least) nearest.clear();
    least = distance;
    nearest.push_back(name);
  }
  return nearest;
}

std::string DidYouMean(std::span<const std::string> names, std::string_view word) {
  const std::vector<std::string> near = NearestNames(names, word);
  return near.empty() ? std::string() : "; did you mean " + EscapeName(near.front()) + "?";
}

}  // namespace tensorcast::words
