// A constant of a model after one or more casts, computed by the engine where it is read.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_OPTIMISE_FOLDED_CONSTANT_H_
#define TENSORCAST_SRC_ONNX_OPTIMISE_FOLDED_CONSTANT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_source.h"
#include "protobuf/tensor_proto_message.h"
#include "protobuf/tensor_proto_values.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::onnx {

// Its values are never all in memory. Copying it copies no value.
class FoldedConstant {
 public:
  // The tensor as it stands in the model, which holds its values itself; of a type of ours that is
  // no string. `source` outlives this. Throws Error where the values do not fit the shape.
  FoldedConstant(const files::ByteSource& source, const protobuf::TensorProtoMessage& message);

  // The same after one more cast, to a type other than a string.
  FoldedConstant Cast(DataType to, const CastOptions& options) const;

  DataType type() const { return types_.back(); }
  std::uint64_t bytes() const;  // of the dense form
  // A TensorProto up to its values, which raw_data then holds; an empty name is none.
  std::string Head(std::string_view name) const;
  // Bytes of the dense form, from `offset` on. Safe to call from several threads.
  void Read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::shared_ptr<const protobuf::TensorProtoValues> values_;
  std::vector<std::uint64_t> dims_;
  std::uint64_t elements_ = 0;
  std::vector<DataType> types_;  // the tensor's own, and that after each cast
  std::vector<CastPlan> casts_;
};

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_OPTIMISE_FOLDED_CONSTANT_H_
