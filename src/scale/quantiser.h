// Scaled tensors written: largest magnitudes, scales, codes, and what the codes lose. A tensor
// comes in stretches, of which none needs to be whole; only a scale of the whole tensor asks that
// all its largest magnitudes are gathered before the first code.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_QUANTISER_H_
#define TENSORCAST_SRC_SCALE_QUANTISER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "scale/cell_codes.h"
#include "scale/cell_lanes.h"
#include "scale/cell_values.h"
#include "scale/scale_rule.h"
#include "scale/scaled_tensor.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

// Holds no buffers: any number of threads may run one at once. Its functions throw core::Failure
// (kBufferTooSmall, kSizeOverflow, kNullPointer) where a buffer is short.
class Quantiser {
 public:
  // From a tensor of `source`, a floating type with a zero. Throws core::Failure: kInvalidType,
  // kUnsupported (see CheckedWritten), kTargetUnavailable.
  Quantiser(DataType source, const Scaling& scaling, ScaleRule rule, const Partition& partition,
            Target target = Target::kBest);

  // Raises amax[cell - first_cell] to the largest finite magnitude among those of elements
  // [first, first + n), the elements from index x_first of `x` on, that are the cell's. `amax`, 0
  // at first, has every cell of partition.CellsOf(first, n).
  void GatherAmax(std::span<const std::byte> x, std::uint64_t x_first, std::uint64_t first,
                  std::uint64_t n, std::uint64_t first_cell, std::span<double> amax) const;

  // From amax to what is stored: values of float32 and of the scales' type.
  double GlobalScale(double amax, double most = kLargestE4M3) const;  // see GlobalScaleOf
  void Scales(std::span<const double> amax, double global, std::span<double> scales) const;

  // The codes of elements [first, first + n), to those from index codes_first of `codes` on; bits
  // beside them stay as they are. `scales` has every cell of partition.CellsOf(first, n), as
  // stored. `loss`, where given, is a Meter(): what the codes with their scales lose. Further codes
  // then: kLossMismatch, kLossPosition (`first` is no multiple of 1024, nor where this meter
  // stopped).
  void Encode(std::span<const std::byte> x, std::uint64_t x_first, std::uint64_t first,
              std::uint64_t n, const CellScales& scales, std::span<std::byte> codes,
              std::uint64_t codes_first, LossMeter* loss = nullptr) const;

  // A meter of what Encode loses. "Limit" and "subnormal" are the element type's, times the scale;
  // an example's result is the code alone.
  LossMeter Meter() const;

 private:
  // What one call of Encode works on, but for its loss.
  struct Call {
    std::span<const std::byte> x;
    std::uint64_t x_first;
    std::uint64_t first;
    const CellScales& scales;
    // Of the cells from first_cell on, where codes are made in float32: what values are multiplied
    // with in the place of * numerator / divisor; NaN where that is done in float64.
    const float* factors;
    const double* divisors;
    double numerator;
    std::uint64_t first_cell;
    bool exact;  // products with the factors are the quotients
    bool fits;   // no factor is NaN
    // The ways from bfloat16 to codes without quotients, of which a call has one at most.
    bool under_powers;
    const CodeSteps* steps;  // of the same cells
    const NibbleSteps* nibble_steps;
    std::span<std::byte> codes;
    std::uint64_t codes_first;
  };

  void EncodeInFloat(const Call& call, std::uint64_t done, std::uint64_t n) const;
  // Of bfloat16s, without quotients; false where it cannot.
  bool EncodeFromHalves(const Call& call, std::uint64_t done, std::uint64_t n) const;
  void Measure(const Call& call, std::uint64_t done, std::uint64_t n, KnownCells& known,
               LossMeter* loss) const;
  void GatherInLanes(std::span<const std::byte> x, std::uint64_t x_first, std::uint64_t first,
                     std::uint64_t n, std::uint64_t first_cell, std::span<double> amax) const;
  void EncodeInDouble(const Call& call, std::uint64_t done, std::uint64_t n) const;

  DataType source_;
  Scaling scaling_;
  ScaleRule rule_;
  Partition partition_;
  Target target_;
  CellQuotients quotients_;
  CellArithmetic values_;
  CastPlan value_of_source_, code_of_value_, value_of_code_;
  const CellLanes* lanes_ = nullptr;  // null: everything is done in float64
  CastPlan float_of_source_, code_of_quotient_, code_of_half_;
  // Whether quotients, and those by a power of two, are bfloat16 rounded to odd, else float32.
  bool divides_to_halves_ = false, multiplies_to_halves_ = false;
  bool takes_powers_ = false, has_steps_ = false, has_nibble_steps_ = false;
  TieBits ties_ = {};
  std::optional<ScalesOfCells> scales_;  // of magnitudes that float32 holds
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_QUANTISER_H_
