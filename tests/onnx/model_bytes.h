// Models with weights, put together by hand from onnx.proto's field numbers and protobuf's
// encoding.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ONNX_MODEL_BYTES_H_
#define TENSORCAST_TESTS_ONNX_MODEL_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "wire_bytes.h"

namespace tensorcast::onnx {

using io::BytesField;
using io::VarintField;

// data_type's numbers.
inline constexpr std::uint64_t kFloat = 1, kFloat16 = 10;

inline std::string FloatBytes(const std::vector<float>& values) {
  std::string bytes(values.size() * 4, '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A TensorProto of one dimension with raw_data; `more`: further fields.
inline std::string TensorBytes(std::string_view name, std::uint64_t type, std::uint64_t n,
                               std::string_view raw, const std::string& more = {}) {
  return VarintField(1, n) + VarintField(2, type) + BytesField(8, name) + BytesField(9, raw) + more;
}

inline std::string AttributeInt(std::string_view name, std::uint64_t value) {
  return BytesField(1, name) + VarintField(3, value) + VarintField(20, 2);
}
inline std::string AttributeTensor(std::string_view name, std::string_view tensor) {
  return BytesField(1, name) + BytesField(5, tensor) + VarintField(20, 4);
}
inline std::string AttributeGraph(std::string_view name, std::string_view graph) {
  return BytesField(1, name) + BytesField(6, graph) + VarintField(20, 5);
}

inline std::string NodeBytes(std::string_view op_type, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs,
                             const std::vector<std::string>& attributes = {},
                             std::string_view name = {}) {
  std::string node;
  for (const std::string& input : inputs) node += BytesField(1, input);
  for (const std::string& output : outputs) node += BytesField(2, output);
  if (!name.empty()) node += BytesField(3, name);
  node += BytesField(4, op_type);
  for (const std::string& attribute : attributes) node += BytesField(5, attribute);
  return node;
}

// The Cast that brings a stored tensor back.
inline std::string CastBytes(const std::string& stored, const std::string& name, std::uint64_t to) {
  return NodeBytes("Cast", {stored}, {name}, {AttributeInt("to", to)}, stored);
}

inline std::string ValueBytes(std::string_view name, std::uint64_t type) {
  return BytesField(1, name) + BytesField(2, BytesField(1, VarintField(1, type)));
}

inline std::string OpsetBytes(std::uint64_t version, std::string_view domain = {}) {
  return BytesField(1, domain) + VarintField(2, version);
}

inline std::string ModelBytes(std::string_view graph, std::uint64_t opset = 21,
                              std::uint64_t ir_version = 10, const std::string& more = {}) {
  return VarintField(1, ir_version) + BytesField(7, graph) + BytesField(8, OpsetBytes(opset)) +
         more;
}

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_TESTS_ONNX_MODEL_BYTES_H_
