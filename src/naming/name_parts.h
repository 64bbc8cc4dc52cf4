// Names of tensors and modules, part by part: "layers", "3", "up_proj", "weight".
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_NAMING_NAME_PARTS_H_
#define TENSORCAST_SRC_NAMING_NAME_PARTS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tensorcast::naming {

// Calls use(part, where it begins) for all that stands between separators, empty parts too.
template <class Use>
void ForEachPart(std::string_view name, std::string_view separators, const Use& use) {
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find_first_of(separators, begin), name.size());
    use(name.substr(begin, end - begin), begin);
    begin = end + 1;
  }
}

// Whether a part is the number of a layer or an expert.
inline bool IsNumber(std::string_view part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
}

// The name with ASCII's letters made small.
inline std::string Lower(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace tensorcast::naming

#endif  // TENSORCAST_SRC_NAMING_NAME_PARTS_H_
