// GGUF's blocks decoded: codes of some bits with scales among them, every type whose values a
// formula gives. docs/scales.md has the formulas, and where ggml's own results differ.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_GGUF_BLOCKS_H_
#define TENSORCAST_SRC_SCALE_GGUF_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "scale/integer_cells.h"

namespace tensorcast::scale {

enum class OddScale : std::uint8_t { kNone, kInfinite, kNan };

// One type's. To be called in the default floating-point environment (core/fp_environment.h), by
// any number of threads; a NaN is the positive quiet one.
struct GgufBlocks {
  std::string_view type;                // "Q4_K"
  std::uint32_t values = 0, bytes = 0;  // of a block
  // The exact values of n blocks: every one is a double.
  void (*to_doubles)(const std::byte* blocks, std::size_t n, double* values) = nullptr;
  // The same where each of these is a float32, too; null: sums have more digits.
  void (*to_floats)(const std::byte* blocks, std::size_t n, float* values) = nullptr;
  bool (*are_floats)(const std::byte* blocks, std::size_t n) = nullptr;
  // As integers (GgufLanes::unpack) they stand in cells of `cell` values, a power of two; 0: they
  // are none. Sums are of codes from 0 to most_of_sum; 0: the offsets are kNoOffset.
  std::uint32_t cell = 0;
  CodeRange range = CodeRange::kInt8;
  int most_of_sum = 0;
  // What the scales of one block are that make Inf or NaN of codes.
  OddScale (*odd_scale)(const std::byte* block) = nullptr;
};

// All that are decoded. Of a type that is not (IQ1 to IQ3 take their values from tables) null.
std::span<const GgufBlocks> AllGgufBlocks();
const GgufBlocks* FindGgufBlocks(std::string_view type);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_GGUF_BLOCKS_H_
