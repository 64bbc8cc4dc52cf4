// One element of a buffer: element i of a w-bit type stands in bits i*w to i*w + w - 1, counted
// from the least significant bit of byte 0. The one place that reads and writes them alone; lanes
// (src/core/narrow_stages.cc) do it in bulk.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_DETAIL_PACKING_HPP_
#define TENSORCAST_DETAIL_PACKING_HPP_

#include <cstddef>
#include <cstdint>

#include "tensorcast/detail/format_algebra.hpp"  // LowMask

namespace tensorcast {
inline namespace TENSORCAST_ABI {
namespace detail {

// No more than a byte's end lies inside an element of fewer than eight bits, none inside others.
constexpr std::uint64_t LoadCode(const std::byte* data, std::uint64_t i, int bits) {
  const std::uint64_t bit = i * static_cast<std::uint64_t>(bits);
  const std::byte* at = data + bit / 8;
  const unsigned offset = bit % 8;
  const unsigned bytes = (offset + static_cast<unsigned>(bits) + 7) / 8;
  std::uint64_t word = 0;
  for (unsigned b = 0; b < bytes; ++b) word |= std::to_integer<std::uint64_t>(at[b]) << (8 * b);
  return word >> offset & LowMask(bits);
}

// Bits of `code` above the width are ignored; those beside the element stay.
constexpr void StoreCode(std::byte* data, std::uint64_t i, int bits, std::uint64_t code) {
  const std::uint64_t bit = i * static_cast<std::uint64_t>(bits);
  std::byte* at = data + bit / 8;
  const unsigned offset = bit % 8;
  const unsigned bytes = (offset + static_cast<unsigned>(bits) + 7) / 8;
  const std::uint64_t mask = LowMask(bits) << offset;
  const std::uint64_t word = (code & LowMask(bits)) << offset;
  for (unsigned b = 0; b < bytes; ++b) {
    const auto keep = static_cast<std::byte>(~(mask >> (8 * b)));
    at[b] = (at[b] & keep) | static_cast<std::byte>(word >> (8 * b));
  }
}

}  // namespace detail
}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_DETAIL_PACKING_HPP_
