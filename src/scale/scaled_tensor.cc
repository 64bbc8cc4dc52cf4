// Partitions, what types a scaling may have, and what is odd about scales.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scaled_tensor.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/failure.h"

namespace tensorcast::scale {
namespace {

std::uint64_t Product(std::span<const std::uint64_t> shape) {
  std::uint64_t product = 1;
  for (const std::uint64_t dimension : shape) product *= dimension;
  return product;
}

}  // namespace

Partition Partition::OfTensor(std::span<const std::uint64_t> shape) {
  const std::uint64_t elements = Product(shape);
  return {1, 1, elements, 1, std::max<std::uint64_t>(elements, 1)};
}

Partition Partition::OfRows(std::span<const std::uint64_t> shape) {
  if (shape.empty()) return OfTensor(shape);
  const std::uint64_t columns = Product(shape.subspan(1));
  return {1, shape[0], columns, 1, std::max<std::uint64_t>(columns, 1)};
}

Partition Partition::OfAxis(std::span<const std::uint64_t> shape, std::size_t axis) {
  const std::uint64_t before = Product(shape.first(axis));
  const std::uint64_t after = Product(shape.subspan(axis + 1));
  if (before == 1) return OfRows(shape.subspan(axis));
  if (after == 1) return {before, 1, shape[axis], 1, 1, true};
  return {before, shape[axis], after, 1, std::max<std::uint64_t>(after, 1), true};
}

Partition Partition::OfBlocks(std::span<const std::uint64_t> shape, std::uint64_t block_rows,
                              std::uint64_t block_columns) {
  const std::size_t rank = shape.size();
  return {rank > 2 ? Product(shape.first(rank - 2)) : 1, rank > 1 ? shape[rank - 2] : 1,
          rank > 0 ? shape[rank - 1] : 1, block_rows, block_columns};
}

Partition Partition::OfGroups(std::span<const std::uint64_t> shape, std::uint64_t group) {
  if (shape.empty()) return OfTensor(shape);
  return {1, Product(shape.first(shape.size() - 1)), shape.back(), 1, group};
}

CellRange Partition::CellsOf(std::uint64_t first, std::uint64_t n) const {
  const std::uint64_t last = first + n - 1;
  const std::uint64_t row = first / columns, last_row = last / columns;
  if (shares_cells && row / rows != last_row / rows) return {0, cells()};
  const std::uint64_t begin = FirstCellOfRow(row), end = FirstCellOfRow(last_row);
  if (row != last_row) return {begin, end + cell_columns() - begin};
  const std::uint64_t cell = begin + first % columns / block_columns;
  return {cell, begin + last % columns / block_columns - cell + 1};
}

const Scaling& Checked(const Scaling& scaling) {
  const TypeInfo* const element = FindType(scaling.element);
  const TypeInfo* const scale = FindType(scaling.scale);
  // Powers of two without a zero scale; nothing is stored in them.
  const bool has_element = element != nullptr && element->has_zero && element->bits <= 8 &&
                           (element->is_float() || element->is_integer()) &&
                           (!scaling.zero_point || element->is_integer());
  if (!has_element) {
    throw core::Failure(StatusCode::kInvalidType,
                        std::string(TypeName(scaling.element)) +
                            " holds no codes of a scaled tensor" +
                            (scaling.zero_point ? " with zero points" : ""));
  }
  if (scale == nullptr || !scale->is_float() || scale->bits > 32) {
    throw core::Failure(StatusCode::kInvalidType,
                        std::string(TypeName(scaling.scale)) + " holds no scales");
  }
  return scaling;
}

void ScaleFindings::Add(std::uint64_t first_cell, std::span<const double> scales,
                        bool has_negative) {
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const double scale = scales[i];
    const double size = has_negative ? std::fabs(scale) : scale;
    if (size > 0 && size <= std::numeric_limits<double>::max()) continue;
    if (count() == 0 || first_cell + i < first) {
      first = first_cell + i;
      first_value = scale;
    }
    ++(std::isnan(scale) ? nan : scale <= 0 ? not_positive : infinite);
  }
}

}  // namespace tensorcast::scale
