// The yardstick of bench: a copy that reads and writes as many bytes per element as a cast does.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_BENCH_COPY_OF_SHAPE_H_
#define TENSORCAST_PROGRAMS_BENCH_COPY_OF_SHAPE_H_

#include <cstddef>

namespace tensorcast::tool {

// Reads in_bytes of `source` and writes out_bytes of `destination`, whose ratio is that of two
// element widths; one vector load per vector read, one vector store per vector written, ordinary
// stores, and nothing between them but what keeps the loads alive. A tail shorter than a group of
// vectors is copied plainly.
using CopyOfShape = void (*)(const std::byte* source, std::size_t in_bytes, std::byte* destination,
                             std::size_t out_bytes);

// The copy for element widths of so many bits (2, 4, 6, 8, 16, 32 or 64), compiled for the best
// instruction set of this machine.
CopyOfShape CopyForWidths(int in_bits, int out_bits);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_BENCH_COPY_OF_SHAPE_H_
