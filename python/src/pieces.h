// A tensor of a file is read or written in pieces, by all threads that a call has.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_PIECES_H_
#define TENSORCAST_PYTHON_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "convert/chunks.h"
#include "threads.h"

namespace tensorcast::python {

// Whole bytes of every type; what is read and what it becomes stay in a core's cache.
inline constexpr std::uint64_t kPieceElements = std::uint64_t{1} << 17;

// Calls work(first, n, buffer) for the pieces of so many elements, on all threads, each of which
// has a buffer. Of several that throw, what the first piece threw is thrown.
template <class Work>
void ForPieces(std::uint64_t elements, CallThreads& threads, const Work& work) {
  convert::JobOptions options;
  options.executor = &threads;
  std::mutex mutex;
  convert::ForChunks(elements, kPieceElements, options, mutex,
                     [&](std::uint64_t first, std::uint64_t end, convert::Buffers& buffers) {
                       work(first, end - first, buffers.in);
                     });
}

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_PIECES_H_
