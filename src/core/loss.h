// What a cast lost: classification of elements, the meter's state, sums that no order changes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_LOSS_H_
#define TENSORCAST_SRC_CORE_LOSS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

#include "core/exact_sum.h"
#include "core/route.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

inline constexpr std::size_t kLossBlock = 1024;   // elements; also the block of the stages
inline constexpr std::size_t kLossSums = 8;       // element i of a block adds into sum i mod 8
inline constexpr std::size_t kStretchBlocks = 2;  // that a stretch may end

// Whether the difference of a source and its result is a float32, where it is in the range: it is a
// multiple of the lower of their units and, as the destination has a zero, no more than the source.
// (The least numbers of bool and of float8e8m0 are more than what becomes them.) Squares of
// float32s are doubles.
constexpr bool IsFloat32Loss(const TypeInfo& from, const TypeInfo& to) {
  return FitsFloat32(from) && FitsFloat32(to) && to.type_class != TypeClass::kBool && to.has_zero;
}

// The sum of a block's eight.
inline double FoldSums(const double* s) {
  const double pair[4] = {s[0] + s[4], s[1] + s[5], s[2] + s[6], s[3] + s[7]};
  return (pair[0] + pair[1]) + (pair[2] + pair[3]);
}

// What classification needs to know of a pair and its options, so that it asks about no type.
struct LossParams {
  // A value x is beyond the destination's range, after rounding with the exponent unbounded, where
  // x >= beyond_high or x <= beyond_low; NaN where there is no such value.
  double beyond_high = 0;
  double beyond_low = 0;
  double least_normal = 1;  // of the destination; the least above zero where it has no subnormals
  bool wraps = false;       // a finite value beyond gives its low bits
  bool to_float = false;
  bool nan_undefined = false;      // ONNX leaves NaN open for this pair
  bool beyond_undefined = false;   // ... and values beyond the range
  bool no_zero_undefined = false;  // ... and zero and negatives (to e8m0)
  bool wide = false;               // a 64-bit integer stands on a side: a double may not hold it
  // No cast made the results: one became a limit where it is the end of the range, of these
  // doubles, and its source beyond it, and wherever the source has this magnitude, Inf (NaN:
  // nowhere).
  bool is_pair = false;
  double end_high = 0;
  double end_low = 0;
  double beyond_all = 0;
};

// What one pass over a stretch found; the sums go on from what they hold.
struct LossStretch {
  std::uint64_t counts[kLossKinds] = {};
  double squares[kLossSums] = {};
  double errors[kLossSums] = {};
  // Of the blocks that ended in the stretch.
  double ended_squares[kStretchBlocks];
  double ended_errors[kStretchBlocks];
  std::size_t ended = 0;
  std::uint64_t compared = 0;
  std::uint64_t compared_nonzero = 0;
  std::uint64_t finite = 0;
  double max_abs_error = 0;
  double max_rel_error = 0;  // of sources other than zero
  double amax = 0;
  double smallest_nonzero = 0;  // 0: none
  // The first elements of the maxima, where lanes looked for them.
  std::size_t max_abs_at = kNotLookedFor;
  std::size_t max_rel_at = kNotLookedFor;

  static constexpr std::size_t kNotLookedFor = ~std::size_t{0};

  void EndBlock() {
    ended_squares[ended] = FoldSums(squares);
    ended_errors[ended] = FoldSums(errors);
    ++ended;
    for (std::size_t i = 0; i < kLossSums; ++i) squares[i] = errors[i] = 0;
  }
};

// The limits of elements whose codes have a scale in common.
struct CellLimits {
  // The least magnitudes beyond the range, above zero and below it; never negative.
  double up, down;
  double least_normal;  // the destination's, times the scale; above zero
};

// What the values of codes that have a scale in common are multiplied by, where doubles hold the
// products; 0 where they do not, or nobody says. Where codes are powers of two and 3/2 times these,
// and products are rounded, what becomes of 1 and of 3/2.
struct CellFactors {
  double factor, of_three_halves;
};

// What stands in the place of the destination's values and limits where its codes have scales.
struct ScaledResults {
  // Some elements of a view that are of one cell, behind those of the last one.
  struct Cell {
    std::size_t end;  // the place behind them
    CellLimits limits;
    CellFactors factors;
  };

  const CellLimits& LimitsOf(std::size_t i) const {
    const Cell* cell = cells;
    while (cell->end <= i) ++cell;
    return cell->limits;
  }

  const double* values;  // of the codes, after the scale
  const Cell* cells;     // the last one ends where the view's elements do, or later
  // Whether each code is the nearest to its source over the scale, so that only a source below the
  // least normal value has a result that is. With an offset, or turned back, others have too.
  bool of_quotients = false;
  // What scales are multiplied by, each code in a byte, where the view's results are other codes or
  // are not made yet, and the codes' type.
  const std::byte* multiples = nullptr;
  const TypeInfo* multiples_type = nullptr;
};

// The elements of one run over part of a tensor, where they stand: first indices in elements.
struct LossView {
  const TypeInfo* from;
  const TypeInfo* to;
  const std::byte* source;
  std::uint64_t source_first;
  const std::byte* result;
  std::uint64_t result_first;
  const ScaledResults* scaled = nullptr;
};

// Whether a maximum that is found at `index` or behind it is larger than the known one, or as large
// and before it.
inline bool IsNews(double found, std::uint64_t index, double known, const LossExample& example) {
  return found > known || (found == known && index < example.index);
}

// Takes it, if it is; `example` gives its element, which may stand behind a known one after all,
// where some are measured twice.
template <class Example>
void TakeLarger(double found, std::uint64_t index, double* known, LossExample* known_example,
                const Example& example) {
  if (!IsNews(found, index, *known, *known_example)) return;
  const LossExample candidate = example();
  if (!IsNews(found, candidate.index, *known, *known_example)) return;
  *known = found;
  *known_example = candidate;
}

// What a LossMeter holds: the figures of all elements gathered, but for those that Report works
// out. A maximum is -1, below any error, until there is one.
struct LossState : LossReport {
  LossState(DataType from, DataType to, const CastOptions& options);

  DataType run_from;  // the source type of the runs it is given to
  CastOptions options;
  LossParams params;

  SumOfMagnitudes squares;
  SumOfMagnitudes errors;
  // The block that the last run left incomplete: the sums so far.
  double open_squares[kLossSums] = {};
  double open_errors[kLossSums] = {};
  std::uint64_t next_index = 0;  // where the last run stopped

  // Whether a run may begin at `index`.
  bool Continues(std::uint64_t index) const {
    return index % kLossBlock == 0 || (elements != 0 && index == next_index);
  }
  // Begins a run at `index`: closes the open block where it does not go on.
  void Begin(std::uint64_t index);
  // What lanes begin a stretch at `index` with: the open sums, and the maxima that it has to exceed
  // to give a new example. Runs come in any order and an example is that of the lowest index: an
  // equal error before it counts, and a little less lets it be found.
  LossStretch StretchFrom(std::uint64_t index) const;
  // What element i of a view is classified by.
  LossParams ParamsOf(const LossView& view, std::uint64_t i) const;
  // Adds elements [i, i + n) of `view`, which are the tensor's from `index` on and do not cross a
  // block's end, one by one in exact arithmetic.
  void AddExactly(const LossView& view, std::uint64_t i, std::size_t n, std::uint64_t index);
  // Whether an element of a kind, at `index` or behind it, may be the first known one.
  bool MayBeFirst(std::size_t kind, std::uint64_t index) const {
    return counts[kind] == 0 || index < first[kind].index;
  }
  // Takes an element of a kind, before it is counted, where it is the first.
  void TakeFirst(std::size_t kind, const LossExample& found) {
    if (MayBeFirst(kind, found.index)) first[kind] = found;
  }
  // Whether what lanes found from `index` on has an example of a kind, or any, to be looked for.
  bool GivesKind(const LossStretch& stretch, std::uint64_t index) const;
  bool GivesExample(const LossStretch& stretch, std::uint64_t index) const;
  // Adds what lanes found in the same elements; x and y are their values, double or float.
  template <class Value>
  void AddStretch(const LossStretch& stretch, const Value* x, const Value* y, std::size_t n,
                  const LossView& view, std::uint64_t i, std::uint64_t index);
  void CloseBlock();
  void Merge(const LossState& other);
  // Merges what the meter of the following stretch of the same tensor found; this one, whose run
  // ended at a block's end, then goes on where that one stopped.
  void Append(const LossState& next);
  LossReport Report() const;
  // Takes magnitudes into `amax` and `smallest_nonzero`; 0: there are none.
  void GrowRange(double largest, double smallest);

 private:
  // By more than the lanes' filters round (loss_blocks-inl.h); of Inf, too.
  static double ALittleLess(double error) {
    if (!(error > 0x1p-900)) return -1;
    return std::min(error, std::numeric_limits<double>::max()) * (1 - 0x1p-20);
  }
  void Advance(std::size_t n, std::uint64_t index);
};

extern template void LossState::AddStretch(const LossStretch&, const double*, const double*,
                                           std::size_t, const LossView&, std::uint64_t,
                                           std::uint64_t);
extern template void LossState::AddStretch(const LossStretch&, const float*, const float*,
                                           std::size_t, const LossView&, std::uint64_t,
                                           std::uint64_t);

struct MeterAccess {
  static LossState& StateOf(LossMeter& meter) { return *meter.state_; }
};

// Adds elements with scales, which no cast plan runs, to a meter of (source type, codes' type): n
// of them, the tensor's from `index` on, which do not cross a multiple of kLossBlock. `x` are the
// sources' values; view.scaled is set; view is read for examples. To be called in the default
// floating-point environment. Codes: kTargetUnavailable, kLossMismatch (types), kLossPosition (see
// LossMeter), kSizeOverflow.
Status MeasureScaled(LossMeter& meter, const LossView& view, const double* x, std::size_t n,
                     std::uint64_t index, Target target = Target::kBest);

// As MeasureScaled, by the codes, or the multiples in their place, and their cells' factors alone:
// view.scaled->values are not read, nor results where there are multiples. A finite source has a
// code that is a number, with its sign, other than zero where it is beyond a limit, and a result is
// below the least normal value where its code is (ScaledResults::of_quotients). False, and no
// element is added, where that cannot be: of less than a whole block, of other types than float32,
// bfloat16 or float16 beside int8 or a float of at most eight bits, of cells without a factor, with
// a limit below it, of floats with limits that differ by sign, or with an end that is no multiple
// of 16, and of blocks that are not as most are. MeasureScaled is for any.
bool MeasureScaledCodes(LossMeter& meter, const LossView& view, std::size_t n, std::uint64_t index,
                        Target target = Target::kBest);

// Adds elements of two tensors that no cast made of each other, source and result by position: n of
// them, the tensors' from `index` on; view.scaled is null. A limit counts only where the result is
// one, and nothing wraps or is left undefined. The meter is of the types and of default options,
// and measures nothing else. Codes: those of MeasureScaled.
Status MeasurePair(LossMeter& meter, const LossView& view, std::uint64_t n, std::uint64_t index,
                   Target target = Target::kBest);

// Gives the elements of the examples other places: of a tensor that was gathered in another order.
// A kind's first is then that of the order in which it was gathered.
void MoveExamples(LossMeter& meter, const std::function<std::uint64_t(std::uint64_t)>& place_of);

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_LOSS_H_
