// Element ranges of raw buffers: whether they lie inside, and the bits behind the last element.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_RANGE_H_
#define TENSORCAST_SRC_CORE_RANGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

// Whether elements [first, first + n) lie within `size` bytes.
inline StatusCode CheckRange(const TypeInfo& row, const void* data, std::size_t size,
                             std::uint64_t first, std::uint64_t n) {
  if (first > UINT64_MAX - n) return StatusCode::kSizeOverflow;
  std::uint64_t bytes = ((first + n) * static_cast<std::uint64_t>(row.bits) + 7) / 8;
  if (first + n > UINT64_MAX / 64 - 1) {  // where bits might not be counted; they have at most 64
    const std::optional<std::uint64_t> counted = StorageBytes(row.type, first + n);
    if (!counted) return StatusCode::kSizeOverflow;
    bytes = *counted;
  }
  if (n != 0 && data == nullptr) return StatusCode::kNullPointer;
  if (n != 0 && bytes > size) return StatusCode::kBufferTooSmall;
  return StatusCode::kOk;
}

// A run leaves the pad bits alone; a whole tensor of n > 0 elements has them zero.
inline void ClearPadBits(const TypeInfo& row, std::uint64_t n, std::span<std::byte> data) {
  const std::uint64_t bits = n * static_cast<std::uint64_t>(row.bits);
  if (const auto used = static_cast<unsigned>(bits % 8); used != 0) {
    data[static_cast<std::size_t>(bits / 8)] &= static_cast<std::byte>((1u << used) - 1);
  }
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_RANGE_H_
