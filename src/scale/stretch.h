// A stretch of a scaled tensor's elements: the checks, and the walk over it in blocks.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_STRETCH_H_
#define TENSORCAST_SRC_SCALE_STRETCH_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/failure.h"
#include "core/loss.h"
#include "scale/scaled_tensor.h"

namespace tensorcast::scale {

inline constexpr std::uint64_t kBlock = core::kLossBlock;  // elements decoded at once

// A status that is not ok leaves as core::Failure.
inline void Require(Status status) {
  if (!status.ok()) throw core::Failure(status, std::string(status.message()));
}

// Elements [first, first + n) are the tensor's, and all their cells are among the `cells` ones from
// first_cell on.
inline void RequireStretch(const Partition& partition, std::uint64_t first, std::uint64_t n,
                           std::uint64_t first_cell, std::uint64_t cells) {
  const std::uint64_t elements = partition.elements();
  bool inside = first <= elements && n <= elements - first;
  if (inside && n != 0) {
    const CellRange needed = partition.CellsOf(first, n);
    inside = needed.first >= first_cell && needed.first - first_cell <= cells &&
             needed.count <= cells - (needed.first - first_cell);
  }
  if (!inside) Require(Status(StatusCode::kBufferTooSmall));
}

// Calls visit(done, some) for pieces of a stretch that do not cross the tensor's own blocks.
template <class Visit> void ForEachBlock(std::uint64_t first, std::uint64_t n, const Visit& visit) {
  std::uint64_t done = 0;
  while (done < n) {
    const std::uint64_t some = std::min(n - done, kBlock - (first + done) % kBlock);
    visit(done, some);
    done += some;
  }
}

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_STRETCH_H_
