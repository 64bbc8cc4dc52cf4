// Turns an element's number into its index.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/element_index.h"

#include <cstddef>

namespace tensorcast::formats {

std::vector<std::uint64_t> ElementIndex(const TensorInfo& info, std::uint64_t index) {
  std::vector<std::uint64_t> place(info.shape.size());
  const auto take = [&](std::size_t d) {
    if (info.shape[d] == 0) return;
    place[d] = index % info.shape[d];
    index /= info.shape[d];
  };
  // Which dimension runs fastest in the dense form: the last, or in Fortran order the first.
  if (info.fortran_order) {
    for (std::size_t d = 0; d < info.shape.size(); ++d) take(d);
  } else {
    for (std::size_t d = info.shape.size(); d-- > 0;) take(d);
  }
  return place;
}

std::string IndexText(const TensorInfo& info, std::uint64_t index) {
  if (info.shape.empty()) return {};
  std::string text = "[";
  for (const std::uint64_t i : ElementIndex(info, index)) {
    if (text.size() > 1) text += ',';
    text += std::to_string(i);
  }
  return text + "]";
}

}  // namespace tensorcast::formats
