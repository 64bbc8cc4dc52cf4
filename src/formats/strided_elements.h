// Elements that do not stand in their order: views, transposed or expanded, of what a file holds.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_STRIDED_ELEMENTS_H_
#define TENSORCAST_SRC_FORMATS_STRIDED_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
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

// Whether elements that are neighbours in the file stand far apart in the tensor, as in a
// transposed matrix: then a small range costs little less than a large one, be it a call of the
// system for each element or the bytes between them.
bool IsTurned(std::span<const StridedDim> dims);

// The last tiles that were read of tensors that are turned. Jobs read tensors from front to end in
// pieces much smaller than a tile.
class StridedTiles {
 public:
  static constexpr std::uint64_t kTileBytes = std::uint64_t{8} << 20;

  // As ReadStrided, of a tensor of `bytes`. Safe to call from several threads.
  void Read(const files::ByteSource& file, std::uint64_t begin, std::span<const StridedDim> dims,
            std::size_t element_bytes, std::uint64_t bytes, std::uint64_t offset,
            std::span<std::byte> out);

 private:
  // Where workers go from one tile to the next, both are read.
  static constexpr std::size_t kMostTiles = 2;
  struct Tile {
    std::uint64_t tensor;  // where its first element stands
    std::span<const StridedDim> dims;
    std::uint64_t number;
    std::vector<std::byte> bytes;
  };

  std::mutex mutex_;
  std::list<Tile> tiles_;  // the last read first
};

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_STRIDED_ELEMENTS_H_
