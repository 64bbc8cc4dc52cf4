// Weights of codes of 4 or 8 bits, each of which means a number of a table, times the scale of its
// block; blocks run over the elements as they follow each other, whatever the shape. bitsandbytes',
// and MLX's floats.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_BLOCK_CODES_H_
#define TENSORCAST_SRC_SCALE_BLOCK_CODES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "scale/packed_weight.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

// A scale of each block.
struct BlockScales {
  std::size_t tensor = 0;
  DataType type = DataType::kFloat32;  // float32, float8e8m0, float8e4m3fn
  // bitsandbytes' scales of scales: bytes, of which each is float32(float32(values[byte] * scale) +
  // offset), in blocks of their own.
  struct Nested {
    std::size_t values = 0;  // float32 [256]
    std::size_t scales = 0;  // float32
    std::uint64_t block = 1;
    float offset = 0;
  };
  std::optional<Nested> nested = {};
};

struct BlockCodes {
  PackedWeight::Form form;
  std::size_t tensor = 0;      // whose bytes are codes, whatever its type
  bool is_high_first = false;  // of two codes in a byte
  std::uint64_t elements = 0;
  // Of a matrix, and whose rows have whole blocks: codes that are numbers of a type, the first in
  // the lowest bits, with a scale of a byte for each block; 0: it is of another kind.
  std::uint64_t rows = 0, columns = 0;
  std::uint64_t block = 1;
  // What the codes mean: numbers of a tensor, float32 [2^bits], else those of a type.
  std::optional<std::size_t> values = {};
  DataType element = DataType::kFloat4E2M1;
  BlockScales scales;
  double divisor = 1;  // of the products
};

// The weight of tensors whose sizes and types are right.
std::shared_ptr<const PackedWeight> MakeBlockCodes(BlockCodes codes);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_BLOCK_CODES_H_
