// A bulk call over strings, cut into slices for an executor.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_SLICES_H_
#define TENSORCAST_SRC_TEXT_SLICES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/fp_environment.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::text {

// Elements [0, n) in `count` slices of `size`, the last one shorter.
struct Slices {
  // Slices begin at multiples of eight elements from `grid`, so that no two share a byte of a
  // packed type; `grid` is how many elements the first byte already holds.
  Slices(std::uint64_t elements, const Executor* executor, std::uint64_t grid = 0)
      : n(elements), size(elements) {
    constexpr std::uint64_t kLeast = 2048;  // elements; some 0.1 ms of work
    constexpr std::uint64_t kSlicesPerThread = 8;
    const std::uint64_t threads = executor == nullptr ? 1 : executor->Concurrency();
    if (threads < 2 || n < 2 * kLeast) return;
    const std::uint64_t wanted = std::min(threads * kSlicesPerThread, n / kLeast);
    head = (8 - grid % 8) % 8;
    size = ((n - head) / wanted + 7) / 8 * 8;
    count = static_cast<std::size_t>((n - head + size - 1) / size);
  }

  std::uint64_t Begin(std::size_t slice) const {
    return slice == 0 ? 0 : std::min(n, head + slice * size);
  }

  // Calls slice_work(slice, begin, end) for each slice, under the default floating-point
  // environment, and returns when all have returned.
  template <class Work> void ForEach(Executor* executor, const Work& slice_work) const {
    struct Context {
      const Slices& slices;
      const Work& work;
    } context{*this, slice_work};
    const auto task = [](void* opaque, std::size_t slice) {
      const auto& [slices, work] = *static_cast<const Context*>(opaque);
      const core::FpEnvironment environment;
      work(slice, slices.Begin(slice),
           slice + 1 == slices.count ? slices.n : slices.Begin(slice + 1));
    };
    if (count == 1) {
      task(&context, 0);
    } else {
      executor->ParallelFor(count, task, &context);
    }
  }

  std::uint64_t n;
  std::uint64_t size;
  std::uint64_t head = 0;  // elements before the first multiple of eight, in slice 0
  std::size_t count = 1;
};

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_SLICES_H_
