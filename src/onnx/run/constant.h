// Reads values that stand in a model, or beside it: initializers and the tensors of Constant nodes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_RUN_CONSTANT_H_
#define TENSORCAST_SRC_ONNX_RUN_CONSTANT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "files/byte_source.h"
#include "graph/constant.h"
#include "protobuf/external_data.h"
#include "protobuf/tensor_proto_message.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::onnx {

// Reads the tensors of one model, for any number of threads at once.
class ConstantReader {
 public:
  // `memory`: the model's bytes, or nothing where they are in a file.
  ConstantReader(std::shared_ptr<const io::ByteSource> source, std::span<const std::byte> memory,
                 bool allow_hard_links);

  // Throws Error; `type` is the message's, one of ours.
  graph::Constant Read(const io::TensorProtoMessage& message, DataType type);

 private:
  const std::byte* InMemory(const io::TensorProtoMessage& message, DataType type,
                            std::uint64_t elements) const;

  std::shared_ptr<const io::ByteSource> source_;
  std::span<const std::byte> memory_;
  std::optional<io::ExternalFiles> files_;  // none: the model is in memory
};

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_RUN_CONSTANT_H_
