// Where an element stands in its tensor.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_ELEMENT_INDEX_H_
#define TENSORCAST_SRC_FORMATS_ELEMENT_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "formats/tensor_info.h"

namespace tensorcast::formats {

// The multi-dimensional index of the element at `index` of a tensor's dense form.
std::vector<std::uint64_t> ElementIndex(const TensorInfo& info, std::uint64_t index);

// "[17,3]"; empty for a scalar.
std::string IndexText(const TensorInfo& info, std::uint64_t index);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_ELEMENT_INDEX_H_
