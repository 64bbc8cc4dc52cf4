// Scales applied: from the codes of a scaled tensor to elements of the type that is wanted, each
// the exact product or quotient rounded once.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_APPLIER_H_
#define TENSORCAST_SRC_SCALE_APPLIER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scale/cell_lanes.h"
#include "scale/dequantiser.h"
#include "scale/scaled_tensor.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

// Any number of threads may run one at once.
class Applier {
 public:
  // All cells have this global scale. Throws core::Failure: kInvalidType (see Checked),
  // kInvalidOption, kTargetUnavailable.
  Applier(const Scaling& scaling, const Partition& partition, double global, DataType to,
          const CastOptions& options = {}, Target target = Target::kBest);

  // Elements [first, first + n) of the tensor, whose codes are those from index codes_first of
  // `codes` on, to those from index 0 of `out` on. `scales` has every cell of
  // partition.CellsOf(first, n); its global scale is not looked at. Throws core::Failure
  // (kBufferTooSmall, kSizeOverflow, kNullPointer) where a buffer is short.
  void Run(std::span<const std::byte> codes, std::uint64_t codes_first, std::uint64_t first,
           std::uint64_t n, const CellScales& scales, std::span<std::byte> out) const;

  // Whether RunTransposed takes this layout: codes of four bits in order, whose scales have eight.
  bool Transposes() const { return !nibbles_.empty(); }
  // Rows of codes as columns: those of a rectangle, which begins and ends with whole groups of
  // kNibbles, from `codes` on, `code_stride` bytes from row to row; of each row the scales' codes
  // from its first cell on, `scale_stride` from row to row. Element (row, column) comes to
  // out[column * out_stride + row].
  void RunTransposed(const std::byte* codes, std::uint64_t code_stride, const Rectangle& rectangle,
                     const std::byte* scales, std::uint64_t scale_stride, std::byte* out,
                     std::uint64_t out_stride) const;

 private:
  // What one call works on.
  struct Call {
    std::span<const std::byte> codes;
    std::uint64_t codes_first;
    std::uint64_t first;
    const CellScales& scales;
    std::span<std::byte> out;
  };

  // The scale as what float32 codes are multiplied with, where rounding the product to float32 and
  // then to the type wanted is rounding once; else NaN.
  float FactorOf(double scale) const;
  // Codes of the call that begin with a byte.
  const std::byte* CodesAt(const Call& call, std::uint64_t done) const;
  std::size_t TableBytes() const { return code_lanes_.table_bytes; }
  bool HasTables(const CellScales& scales, CellRange cells) const;
  void RunExactly(const Call& call, std::uint64_t done, std::uint64_t n) const;
  void RunInFloat(const Call& call, std::uint64_t n, CellRange cells) const;
  void RunByTables(const Call& call, std::uint64_t n, CellRange cells) const;
  bool MakeTable(double scale, std::byte* table) const;
  void RunByNibbles(const Call& call, std::uint64_t done, std::uint64_t n) const;
  void MakeNibbleTables(const Scaling& scaling, Target target);
  void MakeFactors(const Scaling& scaling, Target target);
  // What decoded_ is under a scale, of 16 bits each.
  void ResultsUnder(double scale, std::byte* results) const;
  void MakeCellTables(std::span<const double> scales);
  void MakePowers(std::span<const double> scales);
  void RunByCells(const Call& call, std::uint64_t done, std::uint64_t n) const;
  void RunByPowers(const Call& call, std::uint64_t done, std::uint64_t n) const;

  Partition partition_;
  Dequantiser dequantiser_;
  double global_;
  int bits_ = 0, digits_ = 0;  // of a code, and of its value
  double least_ = 0;           // value of a code above zero
  DataType to_;
  std::uint64_t to_bytes_ = 0;  // 0 where the type wanted is packed
  CastPlan to_float_, to_half_, of_double_, of_float_;
  std::vector<float> decoded_;        // kByteCodes codes of six or eight bits
  const CellLanes* lanes_ = nullptr;  // null: everything is done exactly
  CodeLanes code_lanes_ = {};         // of the codes' bits, and of magnitudes where they have signs
  bool multiplies_integers_ = false;  // codes as they are, where lanes do that
  // Codes of six bits are bfloat16s, and so are their products with powers of two.
  bool multiplies_halves_ = false;
  bool in_order_;  // a cell is `1 << log2_width_` elements, and follows the one before it
  unsigned log2_width_ = 0;
  // Of scales of eight bits, by their codes: tables for codes of four bits, factors for wider ones,
  // and tables for codes of six and eight where the type wanted has 16.
  std::vector<TableLine> nibbles_;
  std::vector<float> factors_;
  std::vector<TableLine> tables_;
  std::optional<std::byte> untabled_;  // a scale's code that has none
  // Of decoded_ as bfloat16, for the lanes; where scales are powers of two, those from
  // powers_.first up to powers_.second have bfloat16 products that are normal ones or zero.
  std::vector<TableLine> values_;
  std::pair<int, int> powers_ = {};  // codes of scales; the second one is none of them
  unsigned least_special_ = 0;       // code of a magnitude that is not finite
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_APPLIER_H_
