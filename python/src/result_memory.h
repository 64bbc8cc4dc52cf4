// The memory of results: aligned to cache lines, on huge pages where it is large, and kept for the
// next result when a large one is given back, since the system's zeroing of new pages costs more
// than a cast. Any thread may call; none of it needs Python.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_RESULT_MEMORY_H_
#define TENSORCAST_PYTHON_RESULT_MEMORY_H_

#include <cstddef>

namespace tensorcast::python {

inline constexpr std::size_t kResultAlignment = 64;

// Results of so many bytes are kept when they are given back; smaller ones the C library keeps, but
// for the last one of some KiB.
inline constexpr std::size_t kKeptFrom = std::size_t{1} << 19;

// Gives memory for so many bytes, not set; null where there is none.
void* TakeMemory(std::size_t bytes) noexcept;
// Takes back what TakeMemory and GrowMemory gave, or null.
void GiveMemory(void* memory) noexcept;
// Gives memory with the first bytes of another, which it takes back; null, and the other stays,
// where there is none.
void* GrowMemory(void* memory, std::size_t bytes) noexcept;

// How many bytes may be kept, and are, the last small one not counted. At the start the first is
// TENSORCAST_RESULT_MEMORY of the environment, else 1 GiB, at most a sixteenth of what this process
// may come to use.
std::size_t KeptLimit() noexcept;
std::size_t KeptBytes() noexcept;
// What is kept beyond the new limit goes back to the system; with 0 nothing is kept any more.
void SetKeptLimit(std::size_t bytes) noexcept;

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_RESULT_MEMORY_H_
