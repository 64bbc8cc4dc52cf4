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
  if (word.size() > kLongestCompared) return {};
  const DistanceFrom wanted(word);
  std::vector<std::string> nearest;
  // One letter is as far from every other one, but for its case.
  std::size_t least = word.size() == 1 ? 0 : std::max<std::size_t>(1, word.size() / 3);
  for (const std::string& name : names) {
    if (std::max(name.size(), word.size()) - std::min(name.size(), word.size()) > least) continue;
    const std::size_t distance = wanted.To(name);
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
