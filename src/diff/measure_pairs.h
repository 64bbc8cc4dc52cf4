// Pairs of tensors read side by side, stretch by stretch, and measured.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_DIFF_MEASURE_PAIRS_H_
#define TENSORCAST_SRC_DIFF_MEASURE_PAIRS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "convert/runner.h"
#include "formats/tensor_reader.h"
#include "tensorcast/diff.hpp"

namespace tensorcast::diff {

// Two tensors of one shape, by their indices in the readers' contents.
struct PairJob {
  std::size_t a = 0;
  std::size_t b = 0;
  // They hold elements of one type, in one order and as they are stored: the same bytes are the
  // same values.
  bool may_be_same_bytes = false;
};

// Whether values of these types can be held against each other.
bool AreComparable(const formats::TensorInfo& a, const formats::TensorInfo& b);

// What TensorDiff says of a pair.
struct PairFigures {
  DiffKind kind = DiffKind::kSameBytes;
  std::uint64_t elements = 0;
  std::uint64_t different = 0;
  std::uint64_t first = 0;
  std::optional<LossReport> loss;
};
using TakeFigures = std::function<void(std::size_t pair, PairFigures figures)>;

// Calls `take` for each of `pairs`, in their order and from the calling thread. The figures do not
// depend on the executor. What was read is of one content: a file that was rewritten meanwhile is
// an Error. Throws files::Error (of several that of the first stretch), files::Interrupted,
// std::bad_alloc. Of the options the executor, the target, the buffers, the flag and the progress
// count.
void MeasurePairs(const formats::TensorReader& a, const formats::TensorReader& b,
                  std::span<const PairJob> pairs, const convert::JobOptions& options,
                  const TakeFigures& take);

}  // namespace tensorcast::diff

#endif  // TENSORCAST_SRC_DIFF_MEASURE_PAIRS_H_
