// Shapes as files and callers give them, before anything is allocated from them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_SHAPE_H_
#define TENSORCAST_SRC_CORE_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tensorcast::core {

// Ours, so that a small file cannot fill the memory, and numpy's.
inline constexpr std::size_t kMostDimensions = 64;

// The product of the dimensions, or nothing where it does not fit: from left to right, as
// safetensors' reference library takes it.
constexpr std::optional<std::uint64_t> CheckedProduct(std::span<const std::uint64_t> shape) {
  std::uint64_t product = 1;
  for (const std::uint64_t n : shape) {
    if (n != 0 && product > UINT64_MAX / n) return std::nullopt;
    product *= n;
  }
  return product;
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_SHAPE_H_
