// Messages of ONNX, field by field. What ends with values has these last, and lengths that count
// them.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/added_nodes.h"

#include "core/onnx_numbers.h"
#include "graph/operator_versions.h"
#include "onnx/model_edit.h"
#include "protobuf/onnx_fields.h"

namespace tensorcast::onnx {
namespace {

enum NodeField : std::uint32_t {
  kNodeInput = protobuf::FieldNumber("NodeProto.input"),
  kNodeOutput = protobuf::FieldNumber("NodeProto.output"),
  kNodeName = protobuf::FieldNumber("NodeProto.name"),
  kNodeOpType = protobuf::FieldNumber("NodeProto.op_type"),
  kNodeAttribute = protobuf::FieldNumber("NodeProto.attribute"),
};
enum AttributeField : std::uint32_t {
  kAttributeName = protobuf::FieldNumber("AttributeProto.name"),
  kAttributeInt = protobuf::FieldNumber("AttributeProto.i"),
  kAttributeString = protobuf::FieldNumber("AttributeProto.s"),
  kAttributeTensor = protobuf::FieldNumber("AttributeProto.t"),
  kAttributeType = protobuf::FieldNumber("AttributeProto.type"),
};

constexpr std::uint32_t kInitializer = protobuf::FieldNumber("GraphProto.initializer");

std::string AttributeTypeBytes(core::AttributeType type) {
  return VarintFieldBytes(kAttributeType, static_cast<std::uint64_t>(type));
}

std::string TextAttribute(std::string_view name, std::string_view value) {
  return BytesFieldBytes(kNodeAttribute, BytesFieldBytes(kAttributeName, name) +
                                             BytesFieldBytes(kAttributeString, value) +
                                             AttributeTypeBytes(core::AttributeType::kString));
}

std::string IntAttribute(std::string_view name, std::uint64_t value) {
  return BytesFieldBytes(kNodeAttribute, BytesFieldBytes(kAttributeName, name) +
                                             VarintFieldBytes(kAttributeInt, value) +
                                             AttributeTypeBytes(core::AttributeType::kInt));
}

std::string ExternalEntry(std::string_view key, std::string_view value) {
  return BytesFieldBytes(
      protobuf::kExternalData,
      BytesFieldBytes(protobuf::FieldNumber("StringStringEntryProto.key"), key) +
          BytesFieldBytes(protobuf::FieldNumber("StringStringEntryProto.value"), value));
}

// A TensorProto without its values.
std::string TensorBytes(std::string_view name, std::span<const std::uint64_t> shape,
                        DataType type) {
  std::string bytes;
  for (const std::uint64_t dimension : shape) bytes += VarintFieldBytes(protobuf::kDims, dimension);
  bytes += VarintFieldBytes(protobuf::kDataType, static_cast<std::uint64_t>(type));
  if (!name.empty()) bytes += BytesFieldBytes(protobuf::kName, name);
  return bytes;
}

}  // namespace

std::string CastNode(std::uint32_t field, std::string_view input, std::string_view output,
                     DataType to, std::int64_t opset) {
  std::string node = BytesFieldBytes(kNodeInput, input) + BytesFieldBytes(kNodeOutput, output) +
                     BytesFieldBytes(kNodeName, input) + BytesFieldBytes(kNodeOpType, "Cast") +
                     (graph::FindVersion(graph::CastOperator::kCast, opset).row->to_is_int
                          ? IntAttribute("to", static_cast<std::uint64_t>(to))
                          : TextAttribute("to", FindType(to)->onnx_name));
  // The one type whose infinities a saturating cast would not give back.
  if (to == DataType::kFloat8E5M2) node += IntAttribute("saturate", 0);
  return BytesFieldBytes(field, node);
}

std::string DequantizeNode(std::uint32_t field, std::string_view codes, std::string_view scale,
                           std::string_view output, std::optional<std::uint32_t> axis) {
  std::string node = BytesFieldBytes(kNodeInput, codes) + BytesFieldBytes(kNodeInput, scale) +
                     BytesFieldBytes(kNodeOutput, output) + BytesFieldBytes(kNodeName, codes) +
                     BytesFieldBytes(kNodeOpType, "DequantizeLinear");
  if (axis) node += IntAttribute("axis", *axis);
  return BytesFieldBytes(field, node);
}

std::string ExternalValues(std::string_view location, std::uint64_t offset, std::uint64_t bytes) {
  return ExternalEntry("location", location) + ExternalEntry("offset", std::to_string(offset)) +
         ExternalEntry("length", std::to_string(bytes)) +
         VarintFieldBytes(protobuf::kDataLocation,
                          static_cast<std::uint64_t>(protobuf::OnnxDataLocation::kExternal));
}

std::string TensorHead(std::string_view name, std::span<const std::uint64_t> shape, DataType type,
                       std::uint64_t bytes) {
  return TensorBytes(name, shape, type) + BytesFieldHead(protobuf::kRawData, bytes);
}

std::string InitializerHead(std::string_view tensor, std::uint64_t bytes) {
  return FieldWithValues(kInitializer, tensor, bytes);
}

std::string ExternalInitializer(std::string_view name, const formats::TensorInfo& info,
                                std::string_view external) {
  return BytesFieldBytes(kInitializer, TensorBytes(name, info.shape, info.type).append(external));
}

std::string ConstantHead(std::uint32_t field, std::string_view output, std::string_view name,
                         std::string_view tensor, std::uint64_t bytes) {
  const std::string attribute = BytesFieldBytes(kAttributeName, "value") +
                                AttributeTypeBytes(core::AttributeType::kTensor) +
                                FieldWithValues(kAttributeTensor, tensor, bytes);
  std::string node = BytesFieldBytes(kNodeOutput, output);
  if (!name.empty()) node += BytesFieldBytes(kNodeName, name);
  node +=
      BytesFieldBytes(kNodeOpType, "Constant") + FieldWithValues(kNodeAttribute, attribute, bytes);
  return FieldWithValues(field, node, bytes);
}

}  // namespace tensorcast::onnx
