// Whether keeping all tensors of a kind as they are would pay: where a cast's worst tensors are
// norms, biases or the like, which take next to no room.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_REPORT_KEEP_ADVICE_H_
#define TENSORCAST_SRC_REPORT_KEEP_ADVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "formats/tensor_info.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::report {

// A tensor that was cast, or measured as if.
struct CastFigures {
  const formats::TensorInfo* info = nullptr;  // of the input
  std::uint64_t bytes = 0;                    // of the result
  double decibel = 0;                         // what it lost: ComparableDecibel
  bool may_be_kept = true;                    // false: a rule took it
};

struct KeepAdvice {
  std::vector<convert::Keep> keep;
  std::size_t tensors = 0;       // that would be kept
  std::uint64_t more_bytes = 0;  // of the result
  double share = 0;              // of the result's bytes
  double worst_before = 0;       // dB, of all tensors
  double worst_after = 0;        // of those that would still be cast
};

// Which kinds to keep, of `tensors` tensors, `at` giving each: those without which the worst tensor
// is better by at least 1 dB for each kind, for at most 2 % of the result's `bytes`. Nothing where
// there are none, and where the worst tensor is good.
std::optional<KeepAdvice> AdviseKeeping(std::size_t tensors,
                                        const std::function<CastFigures(std::size_t)>& at,
                                        std::uint64_t bytes);

}  // namespace tensorcast::report

#endif  // TENSORCAST_SRC_REPORT_KEEP_ADVICE_H_
