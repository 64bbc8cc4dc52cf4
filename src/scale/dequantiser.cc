// Codes are decoded by the library's own cast, a block at a time, and multiplied while the block is
// in the first-level cache: as float32, which holds the codes of every type, so that the doubles
// are written once.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dequantiser.h"

#include <algorithm>

#include "core/fp_environment.h"
#include "scale/stretch.h"

namespace tensorcast::scale {

Dequantiser::Dequantiser(const Scaling& scaling, const Partition& partition, Rounding rounding,
                         Target target)
    : partition_(partition), arithmetic_(Checked(scaling), rounding) {
  Require(CastPlan::Bind(scaling.element, DataType::kFloat32, {}, &to_float_, target));
  Require(CastPlan::Bind(scaling.element, DataType::kFloat64, {}, &to_double_, target));
  if (!scaling.zero_point && partition.block_columns >= kLeastCell) lanes_ = FindCellLanes(target);
}

bool Dequantiser::Multiply(const float* decoded, double* values, std::size_t n,
                           const double* scales, double global, const CellsInOrder& cells,
                           KnownFactors& known) const {
  core::CellFactors factors[kBlock / kLeastCell + 1];
  const std::size_t count = ((cells.skipped + n - 1) >> cells.log2_width) + 1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto make = [&] { return arithmetic_.CellFactorsOf(scales[i], global); };
    factors[i] = known ? known->Of(scales[i], make) : make();
    if (factors[i].factor == 0) return false;
  }
  lanes_->multiply_to_doubles(decoded, values, n, factors, cells);
  return true;
}

void Dequantiser::Run(std::span<const std::byte> codes, std::uint64_t codes_first,
                      std::uint64_t first, std::uint64_t n, const CellScales& scales,
                      std::span<double> values) const {
  const bool zero_point = arithmetic_.scaling.zero_point;
  RequireStretch(partition_, first, n, scales.first, scales.scales.size());
  if (zero_point) RequireStretch(partition_, first, n, scales.first, scales.zero_points.size());
  if (n > values.size()) Require(Status(StatusCode::kBufferTooSmall));
  const core::FpEnvironment environment;
  alignas(64) float decoded[kBlock];
  KnownFactors known;
  if (lanes_ != nullptr && arithmetic_.divides) known.emplace();
  ForEachBlock(first, n, [&](std::uint64_t done, std::uint64_t some) {
    const std::span<double> block = values.subspan(done, some);
    Require(to_float_.Run(codes, codes_first + done, std::as_writable_bytes(std::span(decoded)), 0,
                          some));
    bool is_done = lanes_ != nullptr;
    if (is_done) {
      ForEachRunOfCells(partition_, first + done, some,
                        [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length,
                            const CellsInOrder& order) {
                          is_done =
                              is_done && Multiply(decoded + at, block.data() + at,
                                                  static_cast<std::size_t>(length),
                                                  scales.scales.data() + (cell - scales.first),
                                                  scales.global, order, known);
                        });
    }
    if (is_done) return;
    ForEachRun(partition_, first + done, some,
               [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
                 const std::uint64_t i = cell - scales.first;
                 arithmetic_.Run(decoded + at, block.data() + at, length, scales.scales[i],
                                 scales.global, zero_point ? scales.zero_points[i] : 0);
               });
  });
}

void Dequantiser::Run(std::span<const std::byte> codes, const Rectangle& rectangle,
                      const RowScales& scales, std::span<double> values) const {
  const std::uint64_t n = rectangle.rows * rectangle.columns;
  if (n == 0) return;
  const std::uint64_t first = rectangle.row * partition_.columns + rectangle.column;
  const std::uint64_t cells = partition_.CellsOf(first, rectangle.columns).count;
  if (rectangle.columns > partition_.columns - rectangle.column || n > values.size() ||
      (rectangle.rows - 1) * scales.stride + cells > scales.scales.size()) {
    Require(Status(StatusCode::kBufferTooSmall));
  }
  const core::FpEnvironment environment;
  Require(to_double_.Run(codes, 0, std::as_writable_bytes(values), 0, n));
  // All rows are cut at the same columns.
  const std::uint64_t first_run = std::min(
      rectangle.columns, partition_.block_columns - rectangle.column % partition_.block_columns);
  for (std::uint64_t r = 0; r < rectangle.rows; ++r) {
    double* const row = values.data() + r * rectangle.columns;
    const double* scale = scales.scales.data() + r * scales.stride;
    std::uint64_t length = first_run;
    for (std::uint64_t at = 0; at < rectangle.columns;
         at += length, length = partition_.block_columns) {
      length = std::min(length, rectangle.columns - at);
      arithmetic_.Run(row + at, row + at, length, *scale++, scales.global, 0);
    }
  }
}

}  // namespace tensorcast::scale
