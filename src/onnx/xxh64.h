// XXH64, the 64-bit digest of xxHash with the seed 0: not for secrets, but equal for equal bytes on
// every machine, and as fast as a disk.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_XXH64_H_
#define TENSORCAST_SRC_ONNX_XXH64_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tensorcast::onnx {

// Of bytes that come in pieces of any size.
class Xxh64 {
 public:
  void Add(std::span<const std::byte> data);
  std::uint64_t Digest() const;
  std::string Hex() const;  // 16 digits, in lower case

 private:
  static constexpr std::size_t kStripe = 32;

  std::array<std::uint64_t, 4> lanes_{0x60EA27EEADC0B5D6, 0xC2B2AE3D27D4EB4F, 0,
                                      0x61C8864E7A143579};
  std::array<std::byte, kStripe> rest_{};  // of the last, unfinished stripe
  std::uint64_t size_ = 0;
};

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_XXH64_H_
