// Where results begin behind their sources, which decides how they are best written.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_ADDRESSES_H_
#define TENSORCAST_SRC_CORE_ADDRESSES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tensorcast::core {

// Bytes from the one to the other, but for whole pages.
inline std::size_t BehindInPage(const std::byte* in, const std::byte* out) {
  constexpr std::uintptr_t kPage = 4096;
  return (reinterpret_cast<std::uintptr_t>(out) - reinterpret_cast<std::uintptr_t>(in)) % kPage;
}

// Whether loads that go on by as much as stores do wait for these: processors compare the last 12
// bits of addresses first.
inline bool FollowsClosely(const std::byte* in, const std::byte* out) {
  constexpr std::size_t kClose = 384;
  return BehindInPage(in, out) - 1 < kClose;
}

// Copies bytes to where they stand, or to where none of them does. memmove of glibc before 2.39 may
// do it by one instruction that takes 16 to 28 times as long in the caches less than a line behind
// (its bug 30994); of pieces as short as these it loads all before it stores.
inline void MoveBytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kPiece = 256, kMostInCaches = std::size_t{32} << 20, kLine = 64;
  if (bytes > kMostInCaches || BehindInPage(from, to) - 1 >= kLine - 1) {
    if (bytes != 0) std::memmove(to, from, bytes);
    return;
  }
  while (bytes != 0) {
    const std::size_t last = bytes % kPiece != 0 ? bytes % kPiece : kPiece;
    bytes -= last;
    std::memmove(to + bytes, from + bytes, last);
  }
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_ADDRESSES_H_
