// A stretch of a scaled tensor's elements: the checks, and the walk over it in blocks.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_STRETCH_H_
#define TENSORCAST_SRC_SCALE_STRETCH_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "core/failure.h"
#include "core/loss.h"
#include "scale/cell_lanes.h"
#include "scale/scaled_tensor.h"

namespace tensorcast::scale {

inline constexpr std::uint64_t kBlock = core::kLossBlock;  // elements decoded at once

// A status that is not ok leaves as core::Failure.
inline void Require(Status status) {
  if (!status.ok()) throw core::Failure(status, std::string(status.message()));
}

// Elements [first, first + n) are among the `held` ones of a buffer.
inline void RequireHeld(std::uint64_t held, std::uint64_t first, std::uint64_t n) {
  if (first > held || n > held - first) Require(Status(StatusCode::kBufferTooSmall));
}

// Elements [first, first + n) are the tensor's, and all their cells are among the `cells` ones from
// first_cell on.
inline void RequireStretch(const Partition& partition, std::uint64_t first, std::uint64_t n,
                           std::uint64_t first_cell, std::uint64_t cells) {
  const std::uint64_t elements = partition.elements();
  bool inside = first <= elements && n <= elements - first;
  if (inside && n != 0) {
    const CellRange needed = partition.CellsOf(first, n);
    inside = needed.first >= first_cell && needed.first - first_cell <= cells &&
             needed.count <= cells - (needed.first - first_cell);
  }
  if (!inside) Require(Status(StatusCode::kBufferTooSmall));
}

// Whether a cell follows the other and all are as large: a power of two that lanes take.
inline bool IsInOrder(const Partition& partition) {
  return partition.block_rows == 1 && !partition.shares_cells &&
         partition.columns % partition.block_columns == 0 &&
         partition.block_columns >= kLeastCell && std::has_single_bit(partition.block_columns);
}

// Calls visit(cell, at, length, cells) for each run of elements in [first, first + n), n > 0, whose
// cells follow each other from `cell` on, as `cells` has them; `at` counts from `first`.
template <class Visit>
void ForEachRunOfCells(const Partition& partition, std::uint64_t first, std::uint64_t n,
                       const Visit& visit) {
  const std::uint64_t columns = partition.columns, width = partition.block_columns;
  const bool is_one = width >= columns;  // of a row
  if (!is_one && !std::has_single_bit(width)) {
    ForEachRun(partition, first, n,
               [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
                 visit(cell, at, length, CellsInOrder());
               });
    return;
  }
  const unsigned log2_width =
      is_one ? CellsInOrder().log2_width : static_cast<unsigned>(std::countr_zero(width));
  const auto skipped = [&](std::uint64_t place) {
    return is_one ? std::size_t{0} : static_cast<std::size_t>(place & (width - 1));
  };
  if (IsInOrder(partition)) {
    const auto log2 = static_cast<unsigned>(std::countr_zero(width));
    return visit(first >> log2, std::uint64_t{0}, n,
                 CellsInOrder{log2, static_cast<std::size_t>(first & (width - 1))});
  }
  // Rows of one row of cells are counted: a division takes as long as some hundred elements.
  std::uint64_t row = first / columns, column = first % columns, cell = 0, left = 0;
  for (std::uint64_t at = 0; at < n; ++row, --left, column = 0) {
    if (left == 0) {
      const std::uint64_t of_matrix = row % partition.rows, height = partition.block_rows;
      left = std::min(height - of_matrix % height, partition.rows - of_matrix);
      cell = partition.FirstCellOfRow(row);
    }
    const std::uint64_t length = std::min(n - at, columns - column);
    visit(cell + (is_one ? 0 : column >> log2_width), at, length,
          CellsInOrder{log2_width, skipped(column)});
    at += length;
  }
}

// Calls visit(done, some) for pieces of a stretch that do not cross the tensor's own blocks.
template <class Visit> void ForEachBlock(std::uint64_t first, std::uint64_t n, const Visit& visit) {
  std::uint64_t done = 0;
  while (done < n) {
    const std::uint64_t some = std::min(n - done, kBlock - (first + done) % kBlock);
    visit(done, some);
    done += some;
  }
}

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_STRETCH_H_
