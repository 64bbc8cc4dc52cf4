// Integers of at most eight bits in cells, each of which has a factor and an offset: what groups of
// integers and GGUF's blocks are, once their codes stand one in a byte.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_INTEGER_CELLS_H_
#define TENSORCAST_SRC_SCALE_INTEGER_CELLS_H_

#include <cstddef>
#include <cstdint>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

struct CellLanes;  // scale/cell_lanes.h

// What codes are; tables are made of those of four bits.
enum class CodeRange : std::uint8_t {
  kInt8,
  kUint8,
  kInt4,    // one in a byte
  kUint4,   // one in a byte
  kNibbles  // kUint4, two in a byte; for 16 bits and cells of at least 32, from a whole byte on
};

// What adds nothing, not even to a zero: the sign of a product stays.
inline constexpr float kNoOffset = -0.0f;

// Whether each code * factor + offset of n cells, codes being 0 to `most`, is a float32, and code *
// factor as well. Finite ones of up to 2^100 only; where it is not known the answer is no.
bool AreFloatSums(const float* factors, const float* offsets, std::size_t n, float most);

// The integers of n of GGUF's blocks, one in a byte, with the factors and offsets of their cells.
using UnpackBlocks = void (*)(const std::byte* blocks, std::size_t n, std::int8_t* codes,
                              float* factors, float* offsets);

// Lanes that scale integers to what a plan casts to; null: the plan's target has none for it.
const CellLanes* LanesOfIntegers(const CastPlan& plan);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_INTEGER_CELLS_H_
