// Values that stand in a model: initializers and Constant nodes, in memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_CONSTANT_H_
#define TENSORCAST_SRC_ONNX_CONSTANT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/operator_versions.h"
#include "io/byte_source.h"
#include "io/external_data.h"
#include "io/onnx_model.h"
#include "io/tensor_file.h"
#include "io/tensor_proto_message.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::onnx {

// A tensor that owns its values, or views them in the model's own bytes. Moving it moves no value.
struct Constant {
  DataType type = DataType::kUndefined;
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 0;
  std::span<const std::byte> data;
  io::StringPiece texts;
  std::unique_ptr<std::byte[]> owned;

  TensorView view() const;
};

// Reads the tensors of one model.
class ConstantReader {
 public:
  // `memory`: the model's bytes, or nothing where they are in a file.
  ConstantReader(const io::ByteSource& source, std::span<const std::byte> memory,
                 bool allow_hard_links);

  // Throws Error; `type` is the message's, one of ours.
  Constant Read(const io::TensorProtoMessage& message, DataType type);

 private:
  const std::byte* InMemory(const io::TensorProtoMessage& message, DataType type,
                            std::uint64_t elements) const;

  const io::ByteSource& source_;
  std::span<const std::byte> memory_;
  std::optional<io::ExternalFiles> files_;  // none: the model is in memory
};

// The tensor that an attribute of a Constant node makes of numbers or texts of that kind; false
// where the attribute is of another.
bool ReadPlainConstant(const io::ByteSource& source, graph::ConstantKind kind,
                       const io::OnnxAttribute& attribute, Constant* constant);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_CONSTANT_H_
