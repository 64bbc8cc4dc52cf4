// One run over n elements, cut up: into slices, for an executor, and a slice into pieces, between
// which an interruption is looked for. The one place that does either; what a run is worth is said
// by who runs it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_SLICES_H_
#define TENSORCAST_SRC_CORE_SLICES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

// Elements [0, n) in `count` slices. They begin at element 0 and at `head` and multiples of `grid`
// from there, so that no two share a byte of a packed buffer or a block of a measured tensor.
struct Slices {
  // At most `wanted` slices.
  Slices(std::uint64_t elements, std::uint64_t first, std::uint64_t multiple, std::uint64_t wanted)
      : n(elements), head(std::min(first, elements)), grid(multiple), size(elements) {
    const std::uint64_t rest = n - head;
    if (wanted < 2 || rest == 0) return;
    const std::uint64_t cells = (rest - 1) / grid + 1;
    size = ((cells - 1) / wanted + 1) * grid;
    count = static_cast<std::size_t>((rest - 1) / size + 1);
  }

  std::uint64_t Begin(std::size_t slice) const { return slice == 0 ? 0 : head + slice * size; }
  std::uint64_t End(std::size_t slice) const { return slice + 1 == count ? n : Begin(slice + 1); }

  // Calls work(slice, begin, end) for every piece of every slice, those of a slice in order and on
  // one thread, and returns when all have returned. Where `interrupted` is given, a piece has at
  // most about `piece` elements, and none begins once it is true; false where that left some out.
  template <class Work>
  bool ForEach(Executor* executor, const std::atomic<bool>* interrupted, std::uint64_t piece,
               const Work& work) const {
    struct Context {
      const Slices& slices;
      const std::atomic<bool>* interrupted;
      std::uint64_t piece;
      const Work& work;
      std::atomic<bool> left_out{false};
    } context{*this, interrupted,
              interrupted == nullptr ? 0 : std::max<std::uint64_t>(piece / grid, 1) * grid, work};
    const auto task = [](void* opaque, std::size_t slice) {
      auto& run = *static_cast<Context*>(opaque);
      const std::uint64_t end = run.slices.End(slice);
      std::uint64_t begin = run.slices.Begin(slice);
      while (begin < end) {
        std::uint64_t stop = end;
        if (run.interrupted != nullptr) {
          if (run.interrupted->load(std::memory_order_relaxed)) {
            run.left_out.store(true, std::memory_order_relaxed);
            return;
          }
          const std::uint64_t from = slice == 0 ? std::max(begin, run.slices.head) : begin;
          if (run.piece < end - from) stop = from + run.piece;
        }
        run.work(slice, begin, stop);
        begin = stop;
      }
    };
    if (count == 1) {
      task(&context, 0);
    } else {
      executor->ParallelFor(count, task, &context);
    }
    return !context.left_out.load(std::memory_order_relaxed);
  }

  std::uint64_t n;
  std::uint64_t head;
  std::uint64_t grid;
  std::uint64_t size;
  std::size_t count = 1;
};

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_SLICES_H_
