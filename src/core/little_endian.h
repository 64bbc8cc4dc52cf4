// Numbers of whole bytes as files have them, the lowest byte first.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_LITTLE_ENDIAN_H_
#define TENSORCAST_SRC_CORE_LITTLE_ENDIAN_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace tensorcast::core {

// A number of `size` bytes, at most 8.
constexpr std::uint64_t LoadLittle(const std::byte* at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
  }
  return value;
}

// The lowest `size` bytes of a number.
constexpr void StoreLittle(std::byte* at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) at[i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
}
inline void AppendLittle(std::string& bytes, std::uint64_t value, std::size_t size) {
  bytes.resize(bytes.size() + size);
  StoreLittle(reinterpret_cast<std::byte*>(bytes.data() + bytes.size() - size), value, size);
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_LITTLE_ENDIAN_H_
