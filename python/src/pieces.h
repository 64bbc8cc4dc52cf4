// A tensor of a file is read or written in pieces, by all threads that a call has.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_PIECES_H_
#define TENSORCAST_PYTHON_PIECES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "threads.h"

namespace tensorcast::python {

// Whole bytes of every type; what is read and what it becomes stay in a core's cache.
inline constexpr std::uint64_t kPieceElements = std::uint64_t{1} << 17;

// Calls work(first, n, buffer) for the pieces of so many elements, on all threads, each of which
// has a buffer. Of several that throw, what the first piece threw is thrown.
template <class Work>
void ForPieces(std::uint64_t elements, CallThreads& threads, const Work& work) {
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> has_failed = false;
  std::mutex mutex;
  std::exception_ptr error;
  std::uint64_t error_at = 0;
  auto run = [&] {
    std::uint64_t first = 0;
    try {
      std::vector<std::byte> buffer;
      while (!has_failed && (first = next.fetch_add(kPieceElements)) < elements) {
        work(first, std::min(kPieceElements, elements - first), buffer);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (error == nullptr || first < error_at) {
        error = std::current_exception();
        error_at = first;
      }
      has_failed = true;
    }
  };
  threads.ParallelFor(
      std::min<std::uint64_t>(threads.Concurrency(),
                              (elements + kPieceElements - 1) / kPieceElements),
      [](void* context, std::size_t) { (*static_cast<decltype(run)*>(context))(); }, &run);
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_PIECES_H_
