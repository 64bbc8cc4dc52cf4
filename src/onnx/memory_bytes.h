// A model's bytes in memory, the caller's or copied.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_MEMORY_BYTES_H_
#define TENSORCAST_SRC_ONNX_MEMORY_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/byte_source.h"

namespace tensorcast::onnx {

// An empty model may come with a null pointer, which would say that there is a file.
inline std::span<const std::byte> NotNull(std::span<const std::byte> bytes) {
  static constexpr std::byte kNothing{};
  return bytes.data() == nullptr ? std::span(&kNothing, 0) : bytes;
}

// Of the caller's, which live as long as this.
class MemoryBytes : public io::ByteSource {
 public:
  explicit MemoryBytes(std::span<const std::byte> bytes) : bytes_(NotNull(bytes)) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return bytes_.size(); }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto part = bytes_.subspan(static_cast<std::size_t>(offset), out.size());
    std::copy(part.begin(), part.end(), out.begin());
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 protected:
  MemoryBytes() = default;
  std::span<const std::byte> bytes_ = NotNull({});

 private:
  std::string path_ = "the model";
};

class OwnedBytes final : public MemoryBytes {
 public:
  explicit OwnedBytes(std::span<const std::byte> bytes) : owned_(bytes.begin(), bytes.end()) {
    bytes_ = NotNull(owned_);
  }

 private:
  std::vector<std::byte> owned_;
};

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_MEMORY_BYTES_H_
