// Partitions against the definition, element by element from its indices; and the walk over runs.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "scale/scaled_tensor.h"

namespace tensorcast::scale {
namespace {

using Shape = std::vector<std::uint64_t>;

// The indices of an element, the last dimension's running fastest.
Shape IndicesOf(std::uint64_t element, const Shape& shape) {
  Shape indices(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    indices[i] = element % shape[i];
    element /= shape[i];
  }
  return indices;
}

// Every element's cell is as `cell_of` has it from its indices; every stretch of elements is walked
// once, in order, in runs that stay within a cell, and needs no more cells than it is said to.
template <class CellOf>
void ExpectCells(const Partition& partition, const Shape& shape, std::uint64_t cells,
                 const CellOf& cell_of) {
  std::uint64_t elements = 1;
  for (const std::uint64_t dimension : shape) elements *= dimension;
  EXPECT_EQ(partition.elements(), elements);
  EXPECT_EQ(partition.cells(), cells);
  std::vector<std::uint64_t> expected(elements);
  for (std::uint64_t i = 0; i < elements; ++i) expected[i] = cell_of(IndicesOf(i, shape));
  for (std::uint64_t first = 0; first < elements; ++first) {
    for (std::uint64_t n = 1; n <= elements - first; n += 1 + n / 7) {
      const CellRange range = partition.CellsOf(first, n);
      std::uint64_t next = 0;
      ForEachRun(partition, first, n,
                 [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
                   ASSERT_EQ(at, next);
                   ASSERT_GT(length, 0u);
                   next += length;
                   ASSERT_LE(next, n);
                   for (std::uint64_t i = at; i < next; ++i) ASSERT_EQ(cell, expected[first + i]);
                   ASSERT_GE(cell, range.first);
                   ASSERT_LT(cell, range.first + range.count);
                 });
      ASSERT_EQ(next, n);
      const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(first);
      const auto [least, most] = std::minmax_element(begin, begin + static_cast<std::ptrdiff_t>(n));
      // Of one row exactly; of several, whole rows of cells.
      if (first / partition.columns == (first + n - 1) / partition.columns) {
        ASSERT_EQ(range.first, *least);
        ASSERT_EQ(range.count, *most - *least + 1);
      } else if (partition.shares_cells &&
                 first / partition.columns / partition.rows !=
                     (first + n - 1) / partition.columns / partition.rows) {
        ASSERT_EQ(range.first, 0u);  // of several matrices all that they share
        ASSERT_EQ(range.count, cells);
      } else {
        ASSERT_LT(*least - range.first, partition.cell_columns());
        ASSERT_LT(range.first + range.count - 1 - *most, partition.cell_columns());
      }
      ASSERT_LE(range.first + range.count, cells);
    }
  }
}

TEST(Partition, OfAnAxisHasOneCellForEachIndexOfIt) {
  for (const Shape& shape : {Shape{5}, Shape{4, 7}, Shape{1, 7}, Shape{3, 4, 5}, Shape{1, 4, 5},
                             Shape{3, 1, 5}, Shape{2, 3, 1, 4}, Shape{2, 1, 3, 1}}) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      ExpectCells(Partition::OfAxis(shape, axis), shape, shape[axis],
                  [&](const Shape& indices) { return indices[axis]; });
    }
  }
}

TEST(Partition, OfTensorHasOneCell) {
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3, 4}}) {
    ExpectCells(Partition::OfTensor(shape), shape, 1, [](const Shape&) { return 0; });
  }
}

TEST(Partition, OfRowsFollowsTheFirstDimension) {
  for (const Shape& shape : {Shape{6}, Shape{5, 7}, Shape{3, 2, 5}}) {
    ExpectCells(Partition::OfRows(shape), shape, shape[0], [](const Shape& at) { return at[0]; });
  }
}

TEST(Partition, OfBlocksIsRaggedAtBothEnds) {
  for (const Shape& shape : {Shape{5, 7}, Shape{4, 6}, Shape{3, 5, 4}, Shape{2, 2, 3, 7}}) {
    for (const std::uint64_t b0 : {1, 2, 3, 128}) {
      for (const std::uint64_t b1 : {1, 2, 4, 128}) {
        const std::size_t rank = shape.size();
        const std::uint64_t down = (shape[rank - 2] + b0 - 1) / b0;
        const std::uint64_t across = (shape[rank - 1] + b1 - 1) / b1;
        std::uint64_t batches = 1;
        for (std::size_t i = 0; i + 2 < rank; ++i) batches *= shape[i];
        ExpectCells(Partition::OfBlocks(shape, b0, b1), shape, batches * down * across,
                    [&](const Shape& at) {
                      std::uint64_t batch = 0;
                      for (std::size_t i = 0; i + 2 < rank; ++i) batch = batch * shape[i] + at[i];
                      return (batch * down + at[rank - 2] / b0) * across + at[rank - 1] / b1;
                    });
      }
    }
  }
  ExpectCells(Partition::OfBlocks(Shape{7}, 2, 3), {7}, 3,
              [](const Shape& at) { return at[0] / 3; });
}

TEST(Partition, OfGroupsFollowsTheLastDimension) {
  for (const Shape& shape : {Shape{32}, Shape{3, 8}, Shape{2, 3, 6}}) {
    for (const std::uint64_t group : {1, 2, 4, 5, 32}) {
      const std::uint64_t across = (shape.back() + group - 1) / group;
      std::uint64_t rows = 1;
      for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
      ExpectCells(Partition::OfGroups(shape, group), shape, rows * across, [&](const Shape& at) {
        std::uint64_t row = 0;
        for (std::size_t i = 0; i + 1 < shape.size(); ++i) row = row * shape[i] + at[i];
        return row * across + at.back() / group;
      });
    }
  }
}

TEST(Partition, EmptyTensorsHaveNoElements) {
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{2, 0, 3}}) {
    EXPECT_EQ(Partition::OfTensor(shape).elements(), 0u);
    EXPECT_EQ(Partition::OfRows(shape).elements(), 0u);
    EXPECT_EQ(Partition::OfBlocks(shape, 128, 128).cells(), 0u);
    EXPECT_EQ(Partition::OfGroups(shape, 32).cells(), 0u);
  }
}

TEST(ScaleFindings, CountsAndNamesTheFirst) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ScaleFindings findings;
  findings.Add(10, std::vector<double>{1, infinity, 0x1p-149, nan, 0.0, -0.0, -2, -infinity});
  EXPECT_EQ(findings.infinite, 1u);
  EXPECT_EQ(findings.nan, 1u);
  EXPECT_EQ(findings.not_positive, 4u);
  EXPECT_EQ(findings.first, 11u);
  EXPECT_EQ(findings.first_value, infinity);
  findings.Add(0, std::vector<double>{1, 1, -3});
  EXPECT_EQ(findings.count(), 7u);
  EXPECT_EQ(findings.first, 2u);
  EXPECT_EQ(findings.first_value, -3);
}

}  // namespace
}  // namespace tensorcast::scale
