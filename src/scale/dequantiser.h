// Scales applied: from the codes of a scaled tensor to its values.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_DEQUANTISER_H_
#define TENSORCAST_SRC_SCALE_DEQUANTISER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "scale/cell_lanes.h"
#include "scale/cell_values.h"
#include "scale/scaled_tensor.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

// Some columns of some rows, which are counted through all matrices of a tensor.
struct Rectangle {
  std::uint64_t row = 0, rows = 0;
  std::uint64_t column = 0, columns = 0;
};

// The scales of a rectangle's cells: of each of its rows those from its first column on, `stride`
// after those of the row before.
struct RowScales {
  std::span<const double> scales;
  std::uint64_t stride = 0;
  double global = 1;
};

// Holds no buffers: any number of threads may run one at once.
class Dequantiser {
 public:
  // Throws core::Failure: kInvalidType (see Checked), kTargetUnavailable.
  Dequantiser(const Scaling& scaling, const Partition& partition, Rounding rounding,
              Target target = Target::kBest);

  // The values of elements [first, first + n) of the tensor, whose codes are those from index
  // codes_first of `codes` on, packed as the type is. `scales` has every cell of
  // partition.CellsOf(first, n). A value is the exact product or quotient where a double holds it,
  // else rounded once as `rounding` says. Throws core::Failure (kBufferTooSmall, kSizeOverflow,
  // kNullPointer) where a buffer is short.
  void Run(std::span<const std::byte> codes, std::uint64_t codes_first, std::uint64_t first,
           std::uint64_t n, const CellScales& scales, std::span<double> values) const;

  // The same of a rectangle, whose codes stand row by row at the beginning of `codes`, and its
  // values of `values`. Of layouts without zero points.
  void Run(std::span<const std::byte> codes, const Rectangle& rectangle, const RowScales& scales,
           std::span<double> values) const;

  // The same of n codes of one cell that are decoded already. In the default floating-point
  // environment, of layouts without zero points.
  void RunCell(const float* decoded, double* values, std::size_t n, double scale,
               double global) const {
    arithmetic_.Run(decoded, values, n, scale, global, 0);
  }

 private:
  // Quotients that scales give, which take longer than looking for them.
  using KnownFactors = std::optional<KnownByScale<core::CellFactors>>;

  // n decoded codes of cells with these scales, in lanes; false where a cell has no factor.
  bool Multiply(const float* decoded, double* values, std::size_t n, const double* scales,
                double global, const CellsInOrder& cells, KnownFactors& known) const;

  Partition partition_;
  CellArithmetic arithmetic_;
  CastPlan to_float_, to_double_;  // of the codes
  const CellLanes* lanes_ =
      nullptr;  // null: cells have no factors or are too small, or the target has none
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_DEQUANTISER_H_
