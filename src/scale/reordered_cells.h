// Weights of codes with scales over cells, which stand in another order than elsewhere: scales as a
// matrix unit takes them, two codes of a byte the other way round, rows and columns behind the
// weight's own. They are put in order part by part, and are then like any others. ComfyUI's.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_REORDERED_CELLS_H_
#define TENSORCAST_SRC_SCALE_REORDERED_CELLS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "scale/packed_weight.h"
#include "scale/scaled_tensor.h"

namespace tensorcast::scale {

// Scales of eight bits as cuBLAS takes them: a grid, filled up to whole tiles of 128 x 4, tile by
// tile, row by row of these; in a tile row r has its four at byte (r % 32) * 16 + r / 32 * 4.
struct ScaleTiles {
  std::uint64_t columns = 0;  // of the grid, in whole tiles

  static constexpr std::uint64_t kRows = 128, kColumns = 4, kBytes = kRows * kColumns;
  // Of a grid with so many columns.
  static ScaleTiles Of(std::uint64_t columns) { return {columns / kColumns + (columns % 4 != 0)}; }
  std::uint64_t PlaceOf(std::uint64_t row, std::uint64_t column) const {
    return (row / kRows * columns + column / kColumns) * kBytes + InTile(row, column);
  }
  static std::uint64_t InTile(std::uint64_t row, std::uint64_t column) {
    return row % 32 * 16 + row % kRows / 32 * 4 + column % kColumns;
  }
};

struct ReorderedCells {
  PackedWeight::Form form;
  Scaling scaling;
  Partition partition;  // of one matrix: the weight
  std::size_t codes = 0;
  std::uint64_t stored_columns = 0;  // of the codes, as elements; as many as the weight's, or more
  bool is_high_first = false;        // of two codes in a byte
  std::size_t scales = 0;
  std::optional<ScaleTiles> tiles = {};  // nothing: scales are in their order
  std::optional<std::size_t> global = {};
};

// The weight of tensors whose sizes and types are right.
std::shared_ptr<const PackedWeight> MakeReorderedCells(ReorderedCells cells);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_REORDERED_CELLS_H_
