// A weight of GGUF's blocks, as one that decodes itself.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_GGUF_WEIGHT_H_
#define TENSORCAST_SRC_SCALE_GGUF_WEIGHT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "scale/gguf_blocks.h"
#include "scale/packed_weight.h"

namespace tensorcast::scale {

struct GgufTensors {
  std::size_t codes = 0;
  std::uint64_t elements = 0;
  // A float32 that multiplies all, or one for each of so many matrices of equal size.
  std::optional<std::size_t> scale = {};
  std::uint64_t scales = 1;
  std::uint64_t rows = 0, columns = 0;  // of each matrix; 0: it is none
};

// Of a tensor whose size is that of its blocks.
std::shared_ptr<const PackedWeight> MakeGgufWeight(const GgufBlocks& blocks,
                                                   const GgufTensors& tensors);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_GGUF_WEIGHT_H_
