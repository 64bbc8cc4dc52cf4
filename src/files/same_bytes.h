// Two sources compared.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_SAME_BYTES_H_
#define TENSORCAST_SRC_FILES_SAME_BYTES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "files/error.h"

namespace tensorcast::files {

// Whether bytes [begin, end) of two that are read like a ByteSource are the same. Throws what
// reading throws, and Interrupted.
template <class A, class B>
bool HaveSameBytes(const A& a, const B& b, std::uint64_t begin, std::uint64_t end,
                   const std::atomic<bool>* interrupted) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  std::vector<std::byte> of_a, of_b;
  for (std::uint64_t at = begin; at < end; at += of_a.size()) {
    StopIfInterrupted(interrupted);
    of_a.resize(static_cast<std::size_t>(std::min(kAtOnce, end - at)));
    of_b.resize(of_a.size());
    a.Read(at, of_a);
    b.Read(at, of_b);
    if (of_a != of_b) return false;
  }
  return true;
}

// The same of the first `bytes`.
template <class A, class B>
bool HaveSameBytes(const A& a, const B& b, std::uint64_t bytes,
                   const std::atomic<bool>* interrupted = nullptr) {
  return HaveSameBytes(a, b, 0, bytes, interrupted);
}

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_SAME_BYTES_H_
