// Digests of xxHash with the seed 0, of bytes that come in pieces of any size: equal for equal
// bytes on every machine, as fast as a disk or faster, and no signatures: whoever wants can make
// bytes of a digest.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_DIGEST_H_
#define TENSORCAST_SRC_FILES_DIGEST_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "files/byte_source.h"
#include "files/error.h"

#define XXH_INLINE_ALL  // nothing is linked
// g++ -Og refuses XXH3's always_inline; at -O2 it is no slower without.
#define XXH_NO_INLINE_HINTS 1
#include <xxhash.h>

namespace tensorcast::files {

// XXH64, to tell names apart.
class Xxh64 {
 public:
  Xxh64() { XXH64_reset(&state_, 0); }
  void Add(std::span<const std::byte> data) { XXH64_update(&state_, data.data(), data.size()); }
  // 16 digits, in lower case.
  std::string Hex() const {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016" PRIx64, XXH64_digest(&state_));
    return digits.data();
  }

 private:
  XXH64_state_t state_;
};

// XXH3 of 128 bits, of contents.
class Xxh3 {
 public:
  Xxh3() { XXH3_128bits_reset(&state_); }
  void Add(std::span<const std::byte> data) {
    XXH3_128bits_update(&state_, data.data(), data.size());
  }
  // 32 digits, in lower case, the upper half first, as xxhsum -H2 prints them.
  std::string Hex() const {
    const XXH128_hash_t digest = XXH3_128bits_digest(&state_);
    std::array<char, 33> digits{};
    std::snprintf(digits.data(), digits.size(), "%016" PRIx64 "%016" PRIx64, digest.high64,
                  digest.low64);
    return digits.data();
  }

 private:
  XXH3_state_t state_;
};

// Adds bytes [begin, end) of a source. Throws what it throws, and Interrupted.
inline void AddBytesOf(const ByteSource& source, std::uint64_t begin, std::uint64_t end,
                       const std::atomic<bool>* interrupted, Xxh3& digest) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  std::vector<std::byte> buffer;
  for (std::uint64_t at = begin; at < end; at += buffer.size()) {
    StopIfInterrupted(interrupted);
    buffer.resize(static_cast<std::size_t>(std::min(kAtOnce, end - at)));
    source.Read(at, buffer);
    digest.Add(buffer);
  }
}

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_DIGEST_H_
