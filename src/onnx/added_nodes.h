// What is put into a model behind tensors that are stored anew, as bytes of protobuf: the nodes
// that bring them back, and tensors of scales.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_ADDED_NODES_H_
#define TENSORCAST_SRC_ONNX_ADDED_NODES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/tensor_file.h"

namespace tensorcast::onnx {

// A Cast as a field of its graph or function, of this number; the opset in force has let it pass.
std::string CastNode(std::uint32_t field, std::string_view input, std::string_view output,
                     DataType to, std::int64_t opset);

// A DequantizeLinear of codes with a scale for each index of `axis`, or with one.
std::string DequantizeNode(std::uint32_t field, std::string_view codes, std::string_view scale,
                           std::string_view output, std::optional<std::uint32_t> axis);

// Where the values of a tensor stand that are not in the model: fields of a TensorProto.
std::string ExternalValues(std::string_view location, std::uint64_t offset, std::uint64_t bytes);

// A tensor of `info`'s shape and type as an initializer, all but its values: `external` says where
// these are; empty: info.bytes of them stand behind.
std::string InitializerHead(std::string_view name, const io::TensorInfo& info,
                            std::string_view external);
// The same as a Constant, whose output it is; its values stand behind.
std::string ConstantHead(std::uint32_t field, std::string_view output, const io::TensorInfo& info);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_ADDED_NODES_H_
