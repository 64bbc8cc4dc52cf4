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

// Whether the first `bytes` of two that are read like a ByteSource are the same. Throws what
// reading throws, and Interrupted.
template <class A, class B>
bool HaveSameBytes(const A& a, const B& b, std::uint64_t bytes,
                   const std::atomic<bool>* interrupted = nullptr) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  std::vector<std::byte> of_a, of_b;
  for (std::uint64_t done = 0; done < bytes; done += of_a.size()) {
    StopIfInterrupted(interrupted);
    of_a.resize(static_cast<std::size_t>(std::min(kAtOnce, bytes - done)));
    of_b.resize(of_a.size());
    a.Read(done, of_a);
    b.Read(done, of_b);
    if (of_a != of_b) return false;
  }
  return true;
}

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_SAME_BYTES_H_
