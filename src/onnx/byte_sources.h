// Bytes as sources that readers of messages take: a model in memory, and what a graph carries.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_BYTE_SOURCES_H_
#define TENSORCAST_SRC_ONNX_BYTE_SOURCES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "files/byte_source.h"
#include "files/error.h"
#include "graph/constant.h"
#include "onnx/model_edit.h"

namespace tensorcast::onnx {

// An empty model may come with a null pointer, which would say that there is a file. Throws
// files::Error where the size is more than a ModelProto has, before a byte is read: a caller who
// took another number for the size may not have that many.
inline std::span<const std::byte> Checked(std::span<const std::byte> bytes) {
  static constexpr std::byte kNothing{};
  if (bytes.size() > kMostModelBytes) {
    throw files::Error(core::ErrorKind::kContents,
                       "the model: has " + std::to_string(bytes.size()) +
                           " bytes; protobuf allows " + std::to_string(kMostModelBytes));
  }
  return bytes.data() == nullptr ? std::span(&kNothing, 0) : bytes;
}

class MemoryBytes final : public files::ByteSource {
 public:
  // Bytes of the caller's, which live as long as this.
  explicit MemoryBytes(std::span<const std::byte> bytes) : bytes_(Checked(bytes)) {}
  explicit MemoryBytes(std::vector<std::byte>&& bytes)
      : owned_(std::move(bytes)), bytes_(Checked(owned_)) {}
  static std::shared_ptr<const MemoryBytes> CopyOf(std::span<const std::byte> bytes) {
    bytes = Checked(bytes);
    return std::make_shared<MemoryBytes>(std::vector<std::byte>(bytes.begin(), bytes.end()));
  }

  const std::string& path() const override {
    static const std::string kPath = "the model";
    return kPath;
  }
  std::uint64_t size() const override { return bytes_.size(); }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto part = bytes_.subspan(static_cast<std::size_t>(offset), out.size());
    std::copy(part.begin(), part.end(), out.begin());
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  const std::vector<std::byte> owned_;  // or nothing
  const std::span<const std::byte> bytes_;
};

// Bytes that a graph carries.
class BlobSource final : public files::ByteSource {
 public:
  explicit BlobSource(graph::Blob bytes) : bytes_(std::move(bytes)) {}
  const std::string& path() const override {
    static const std::string kPath = "the graph";
    return kPath;
  }
  std::uint64_t size() const override { return bytes_.size; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (!out.empty()) bytes_.store->Read(bytes_.begin + offset, out);
  }

 private:
  graph::Blob bytes_;
};

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_BYTE_SOURCES_H_
