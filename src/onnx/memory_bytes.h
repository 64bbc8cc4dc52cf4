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
#include <utility>
#include <vector>

#include "files/byte_source.h"
#include "files/error.h"
#include "onnx/model_edit.h"

namespace tensorcast::onnx {

// An empty model may come with a null pointer, which would say that there is a file. Throws
// io::Error where the size is more than a ModelProto has, before a byte is read: a caller who took
// another number for the size may not have that many.
inline std::span<const std::byte> Checked(std::span<const std::byte> bytes) {
  static constexpr std::byte kNothing{};
  if (bytes.size() > kMostModelBytes) {
    throw io::Error(io::ErrorKind::kContents, "the model: has " + std::to_string(bytes.size()) +
                                                  " bytes; protobuf allows " +
                                                  std::to_string(kMostModelBytes));
  }
  return bytes.data() == nullptr ? std::span(&kNothing, 0) : bytes;
}

// Of the caller's, which live as long as this.
class MemoryBytes : public io::ByteSource {
 public:
  explicit MemoryBytes(std::span<const std::byte> bytes) : bytes_(Checked(bytes)) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return bytes_.size(); }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto part = bytes_.subspan(static_cast<std::size_t>(offset), out.size());
    std::copy(part.begin(), part.end(), out.begin());
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 protected:
  MemoryBytes() = default;
  std::span<const std::byte> bytes_ = Checked({});

 private:
  std::string path_ = "the model";
};

class OwnedBytes final : public MemoryBytes {
 public:
  explicit OwnedBytes(std::span<const std::byte> bytes) : MemoryBytes(bytes) {
    owned_.assign(bytes_.begin(), bytes_.end());
    bytes_ = Checked(owned_);
  }
  explicit OwnedBytes(std::vector<std::byte>&& bytes) : owned_(std::move(bytes)) {
    bytes_ = Checked(owned_);
  }

 private:
  std::vector<std::byte> owned_;
};

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_MEMORY_BYTES_H_
