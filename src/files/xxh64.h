// XXH64, the 64-bit digest of xxHash with the seed 0, of bytes that come in pieces of any size: not
// for secrets, but equal for equal bytes on every machine, and as fast as a disk.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_XXH64_H_
#define TENSORCAST_SRC_FILES_XXH64_H_

#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

#define XXH_INLINE_ALL  // nothing is linked
#define XXH_NO_XXH3     // half of the header, and the vector intrinsics
#include <xxhash.h>

namespace tensorcast::files {

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

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_XXH64_H_
