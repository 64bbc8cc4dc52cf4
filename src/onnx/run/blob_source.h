// Bytes that a graph carries, as a source that readers of messages take.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_RUN_BLOB_SOURCE_H_
#define TENSORCAST_SRC_ONNX_RUN_BLOB_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "files/byte_source.h"
#include "graph/constant.h"

namespace tensorcast::onnx {

class BlobSource final : public io::ByteSource {
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

#endif  // TENSORCAST_SRC_ONNX_RUN_BLOB_SOURCE_H_
