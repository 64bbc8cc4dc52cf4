// What is put into a model as bytes of protobuf: nodes that bring back tensors which are stored
// anew, tensors, and constants. The head of a message that ends with a tensor's values is all
// before them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_ADDED_NODES_H_
#define TENSORCAST_SRC_ONNX_ADDED_NODES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/tensor_info.h"

namespace tensorcast::onnx {

// A Cast as a field of its graph or function, of this number; the opset in force has let it pass.
std::string CastNode(std::uint32_t field, std::string_view input, std::string_view output,
                     DataType to, std::int64_t opset);

// A DequantizeLinear of codes with a scale for each index of `axis`, or with one.
std::string DequantizeNode(std::uint32_t field, std::string_view codes, std::string_view scale,
                           std::string_view output, std::optional<std::uint32_t> axis);

// Where the values of a tensor stand that are not in the model: fields of a TensorProto.
std::string ExternalValues(std::string_view location, std::uint64_t offset, std::uint64_t bytes);

// The head of a TensorProto whose raw_data has so many bytes; an empty name is none.
std::string TensorHead(std::string_view name, std::span<const std::uint64_t> shape, DataType type,
                       std::uint64_t bytes);
// The head of an initializer, and of a Constant's node in a field of this number, of a tensor that
// has this head; an empty name is none.
std::string InitializerHead(std::string_view tensor, std::uint64_t bytes);
std::string ConstantHead(std::uint32_t field, std::string_view output, std::string_view name,
                         std::string_view tensor, std::uint64_t bytes);
// A tensor of `info`'s shape and type as an initializer; `external`: ExternalValues.
std::string ExternalInitializer(std::string_view name, const formats::TensorInfo& info,
                                std::string_view external);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_ADDED_NODES_H_
