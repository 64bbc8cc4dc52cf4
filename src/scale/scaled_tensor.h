// What a scaled tensor is: codes of an element type, and scales over a partition of it into cells.
// A value is q * s, q * s * t or q * s / t, q being a code's value, s its cell's scale, t a global
// scale. No names, no files; docs/semantics.md, "Scaled tensors", says what is computed.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_SCALED_TENSOR_H_
#define TENSORCAST_SRC_SCALE_SCALED_TENSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

// A contiguous stretch of cells.
struct CellRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// How a tensor is cut into cells, each of which has one scale: it is `batches` matrices of
// rows x columns, row by row, and a cell is block_rows x block_columns of one matrix, less at its
// lower and right ends. Cells are numbered as the scales are stored: by matrix, row, column.
struct Partition {
  std::uint64_t batches = 1;
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::uint64_t block_rows = 1;     // at least 1
  std::uint64_t block_columns = 1;  // at least 1
  // All matrices have the same cells: one of a place in the first is the one of it in the others.
  bool shares_cells = false;

  // The partitions of a tensor of this shape, the product of which fits 64 bits. One cell; one for
  // each index of the first dimension; one for each index of `axis`, a dimension that is there;
  // blocks over the last two dimensions; groups along the last one. A dimension that is not there
  // counts as 1.
  static Partition OfTensor(std::span<const std::uint64_t> shape);
  static Partition OfRows(std::span<const std::uint64_t> shape);
  static Partition OfAxis(std::span<const std::uint64_t> shape, std::size_t axis);
  static Partition OfBlocks(std::span<const std::uint64_t> shape, std::uint64_t block_rows,
                            std::uint64_t block_columns);
  static Partition OfGroups(std::span<const std::uint64_t> shape, std::uint64_t group);

  // Rows and columns of cells of one matrix; the cells of the tensor.
  std::uint64_t cell_rows() const { return rows / block_rows + (rows % block_rows != 0); }
  std::uint64_t cell_columns() const {
    return columns / block_columns + (columns % block_columns != 0);
  }
  std::uint64_t cells() const {
    return (shares_cells ? 1 : batches) * cell_rows() * cell_columns();
  }
  std::uint64_t elements() const { return batches * rows * columns; }

  // The first cell of a row of the tensor, counted through all matrices.
  std::uint64_t FirstCellOfRow(std::uint64_t row) const {
    const std::uint64_t matrix = shares_cells ? 0 : row / rows;
    return (matrix * cell_rows() + row % rows / block_rows) * cell_columns();
  }
  // The shortest stretch of cells that has those of elements [first, first + n), n > 0.
  CellRange CellsOf(std::uint64_t first, std::uint64_t n) const;
};

// Calls visit(cell, at, length) for each run of elements of one cell in [first, first + n), in
// order; `at` counts from `first`.
template <class Visit>
void ForEachRun(const Partition& partition, std::uint64_t first, std::uint64_t n,
                const Visit& visit) {
  std::uint64_t at = 0;
  while (at < n) {
    const std::uint64_t column = (first + at) % partition.columns;
    std::uint64_t cell = partition.FirstCellOfRow((first + at) / partition.columns) +
                         column / partition.block_columns;
    const std::uint64_t row_end = at + std::min(n - at, partition.columns - column);
    std::uint64_t length = partition.block_columns - column % partition.block_columns;
    while (at < row_end) {
      length = std::min(length, row_end - at);
      visit(cell++, at, length);
      at += length;
      length = partition.block_columns;
    }
  }
}

enum class Factor : std::uint8_t { kNone, kMultiplies, kDivides };

// The arithmetic of a layout.
struct Scaling {
  DataType element = DataType::kFloat8E4M3FN;  // of the codes; at most eight bits
  DataType scale = DataType::kFloat32;         // of the scales: a float of at most 32 bits
  Factor scale_use = Factor::kMultiplies;
  Factor global_use = Factor::kNone;  // of a float32 of the whole tensor
  bool zero_point = false;  // subtracted from the code's value: an element's type's integer
};

// The same scaling. Throws core::Failure (kInvalidType) where its types cannot be those of a scaled
// tensor.
const Scaling& Checked(const Scaling& scaling);

// The scales of some cells as doubles, which hold every type's values.
struct CellScales {
  std::uint64_t first = 0;  // the cell of scales[0]
  std::span<const double> scales;
  std::span<const double> zero_points = {};  // as many, where the layout has them
  double global = 1;
  // The scales as stored, where their type has eight bits: with them small cells are done quicker.
  std::span<const std::byte> codes = {};
};

// Scales that no quantiser writes: counted, the first by its cell.
struct ScaleFindings {
  std::uint64_t not_positive = 0;  // <= 0, where a quantiser writes no such scales
  std::uint64_t infinite = 0;      // +Inf
  std::uint64_t nan = 0;
  std::uint64_t first = 0;  // cell, where count() > 0
  double first_value = 0;

  std::uint64_t count() const { return not_positive + infinite + nan; }
  // Stretches may come in any order. `has_negative`: a quantiser writes them.
  void Add(std::uint64_t first_cell, std::span<const double> scales, bool has_negative = false);
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_SCALED_TENSOR_H_
