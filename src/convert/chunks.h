// A tensor's chunks, done on all threads that a job has.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_CHUNKS_H_
#define TENSORCAST_SRC_CONVERT_CHUNKS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

#include "convert/runner.h"
#include "core/given.h"
#include "files/error.h"

namespace tensorcast::convert {

// A thread's.
struct Buffers {
  std::vector<std::byte> in, out;
  std::vector<double> scales;
  // Of rows that are rotated: the tensor's own values, and those of codes and scales.
  std::vector<std::byte> source;
  std::vector<double> values, results;
  std::vector<double> cell;     // the values of one, where scales are searched for
  std::vector<std::byte> band;  // scales of a band of rows whose scales stand in tiles
};

template <class T> std::span<T> Sized(std::vector<T>& buffer, std::uint64_t n) {
  if (buffer.size() < n) buffer.resize(static_cast<std::size_t>(n));
  return std::span(buffer).first(static_cast<std::size_t>(n));
}

// Calls run(first, end, buffers) for chunks of `size` of so many elements, on all threads. Of
// several that throw, what the first of them threw is thrown.
template <class Function>
void ForChunks(std::uint64_t elements, std::uint64_t size, const JobOptions& options,
               std::mutex& mutex, const Function& run) {
  const std::uint64_t chunks = elements / size + (elements % size != 0);
  struct State {
    const Function& run;
    const JobOptions& options;
    std::mutex& mutex;
    std::uint64_t elements, size, chunks;
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> has_failed{false};
    std::exception_ptr error = nullptr;
    std::uint64_t error_chunk = 0;
  } state{run, options, mutex, elements, size, chunks};
  const auto work = [](void* self, std::size_t) {
    State& s = *static_cast<State*>(self);
    std::uint64_t chunk = 0;
    try {
      Buffers buffers;
      while (!s.has_failed.load(std::memory_order_relaxed)) {
        chunk = s.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= s.chunks) return;
        files::StopIfInterrupted(s.options.interrupted);
        const std::uint64_t first = chunk * s.size;
        s.run(first, first + std::min(s.size, s.elements - first), buffers);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(s.mutex);
      if (!s.error || chunk < s.error_chunk) {
        s.error = std::current_exception();
        s.error_chunk = chunk;
      }
      s.has_failed.store(true, std::memory_order_relaxed);
    }
  };
  const auto workers =
      static_cast<std::size_t>(std::min<std::uint64_t>(WorkersOf(options), chunks));
  if (workers > 1) {
    core::GivenExecutor(options.executor).ParallelFor(workers, work, &state);
  } else {
    work(&state, 0);
  }
  if (state.error) std::rethrow_exception(state.error);
}

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_CHUNKS_H_
