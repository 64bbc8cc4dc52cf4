// Where results begin behind their sources, which decides how they are best written.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_ADDRESSES_H_
#define TENSORCAST_SRC_CORE_ADDRESSES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tensorcast::core {

// Whether loads that go on by as much as stores do wait for these: processors compare the last 12
// bits of addresses first.
inline bool FollowsClosely(const std::byte* in, const std::byte* out) {
  constexpr std::uintptr_t kPage = 4096, kClose = 384;
  const auto behind = reinterpret_cast<std::uintptr_t>(out) - reinterpret_cast<std::uintptr_t>(in);
  return behind % kPage - 1 < kClose;
}

// Copies bytes to where they stand, or to where none of them does. glibc's before 2.39 takes up to
// 28 times as long in the caches where memory follows closely (its bug 30994), but not for pieces
// as short as these.
inline void MoveBytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kPiece = 2048, kMostInCaches = std::size_t{32} << 20;
  const bool in_pieces = bytes > kPiece && bytes <= kMostInCaches && FollowsClosely(from, to);
  while (bytes != 0) {
    const std::size_t some = in_pieces ? std::min(bytes, kPiece) : bytes;
    std::memmove(to, from, some);
    to += some;
    from += some;
    bytes -= some;
  }
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_ADDRESSES_H_
