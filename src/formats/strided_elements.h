// Elements that do not stand in their order: views, transposed or expanded, of what a file holds.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_STRIDED_ELEMENTS_H_
#define TENSORCAST_SRC_FORMATS_STRIDED_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "files/byte_source.h"

namespace tensorcast::formats {

// One dimension, in elements.
struct StridedDim {
  std::uint64_t size = 0;
  std::uint64_t stride = 0;
};

// The dimensions without those of one element, and with those joined that follow each other; none
// where a tensor's elements stand in their order. All sizes are positive.
std::vector<StridedDim> JoinedDims(std::span<const std::uint64_t> sizes,
                                   std::span<const std::uint64_t> strides);

// Reads elements from `first` on, in the order of the dimensions, of a tensor whose first element
// stands at `begin` of the file; `out` has a whole number of them, which take 1, 2, 4 or 8 bytes.
// Of the file it holds a window at a time.
void ReadStrided(const files::ByteSource& file, std::uint64_t begin,
                 std::span<const StridedDim> dims, std::size_t element_bytes, std::uint64_t first,
                 std::span<std::byte> out);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_STRIDED_ELEMENTS_H_
