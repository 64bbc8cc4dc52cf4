// The numbers of ONNX's messages, once: every field that is read or written here, with its wire
// type, and the enumerations. FieldNumber("NodeProto.op_type") gives a number where the code is
// compiled, and a name that stands in no row does not compile. Source: onnx.proto, against which
// tests/peers/check_onnx_facts.py holds each row.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_PROTOBUF_ONNX_FIELDS_H_
#define TENSORCAST_SRC_PROTOBUF_ONNX_FIELDS_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string_view>

namespace tensorcast::protobuf {

// How a field is laid out; the values are protobuf's. Groups (3 and 4) are refused by the reader.
enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct OnnxField {
  std::string_view message;
  std::string_view name;
  std::uint32_t number;
  WireType type;             // of one value
  bool is_repeated = false;  // numbers then also packed, many in one payload
};

inline constexpr OnnxField kOnnxFields[] = {
    {"ModelProto", "ir_version", 1, WireType::kVarint},
    {"ModelProto", "producer_name", 2, WireType::kBytes},
    {"ModelProto", "graph", 7, WireType::kBytes},
    {"ModelProto", "opset_import", 8, WireType::kBytes, true},
    {"ModelProto", "metadata_props", 14, WireType::kBytes, true},
    {"ModelProto", "training_info", 20, WireType::kBytes, true},
    {"ModelProto", "functions", 25, WireType::kBytes, true},

    {"OperatorSetIdProto", "domain", 1, WireType::kBytes},
    {"OperatorSetIdProto", "version", 2, WireType::kVarint},

    {"StringStringEntryProto", "key", 1, WireType::kBytes},
    {"StringStringEntryProto", "value", 2, WireType::kBytes},

    {"GraphProto", "node", 1, WireType::kBytes, true},
    {"GraphProto", "name", 2, WireType::kBytes},
    {"GraphProto", "initializer", 5, WireType::kBytes, true},
    {"GraphProto", "input", 11, WireType::kBytes, true},
    {"GraphProto", "output", 12, WireType::kBytes, true},
    {"GraphProto", "value_info", 13, WireType::kBytes, true},
    {"GraphProto", "quantization_annotation", 14, WireType::kBytes, true},
    {"GraphProto", "sparse_initializer", 15, WireType::kBytes, true},

    {"NodeProto", "input", 1, WireType::kBytes, true},
    {"NodeProto", "output", 2, WireType::kBytes, true},
    {"NodeProto", "name", 3, WireType::kBytes},
    {"NodeProto", "op_type", 4, WireType::kBytes},
    {"NodeProto", "attribute", 5, WireType::kBytes, true},
    {"NodeProto", "doc_string", 6, WireType::kBytes},
    {"NodeProto", "domain", 7, WireType::kBytes},
    {"NodeProto", "overload", 8, WireType::kBytes},
    {"NodeProto", "metadata_props", 9, WireType::kBytes, true},

    {"TensorAnnotation", "tensor_name", 1, WireType::kBytes},
    {"TensorAnnotation", "quant_parameter_tensor_names", 2, WireType::kBytes, true},

    {"SparseTensorProto", "values", 1, WireType::kBytes},

    {"AttributeProto", "name", 1, WireType::kBytes},
    {"AttributeProto", "f", 2, WireType::kFixed32},
    {"AttributeProto", "i", 3, WireType::kVarint},
    {"AttributeProto", "s", 4, WireType::kBytes},
    {"AttributeProto", "t", 5, WireType::kBytes},
    {"AttributeProto", "g", 6, WireType::kBytes},
    {"AttributeProto", "floats", 7, WireType::kFixed32, true},
    {"AttributeProto", "ints", 8, WireType::kVarint, true},
    {"AttributeProto", "strings", 9, WireType::kBytes, true},
    {"AttributeProto", "tensors", 10, WireType::kBytes, true},
    {"AttributeProto", "graphs", 11, WireType::kBytes, true},
    {"AttributeProto", "type", 20, WireType::kVarint},
    {"AttributeProto", "ref_attr_name", 21, WireType::kBytes},

    {"FunctionProto", "name", 1, WireType::kBytes},
    {"FunctionProto", "input", 4, WireType::kBytes, true},
    {"FunctionProto", "output", 5, WireType::kBytes, true},
    {"FunctionProto", "attribute", 6, WireType::kBytes, true},
    {"FunctionProto", "node", 7, WireType::kBytes, true},
    {"FunctionProto", "opset_import", 9, WireType::kBytes, true},
    {"FunctionProto", "domain", 10, WireType::kBytes},
    {"FunctionProto", "attribute_proto", 11, WireType::kBytes, true},
    {"FunctionProto", "overload", 13, WireType::kBytes},

    {"ValueInfoProto", "name", 1, WireType::kBytes},
    {"ValueInfoProto", "type", 2, WireType::kBytes},

    {"TypeProto", "tensor_type", 1, WireType::kBytes},
    {"TypeProto", "sequence_type", 4, WireType::kBytes},
    {"TypeProto", "map_type", 5, WireType::kBytes},
    {"TypeProto", "denotation", 6, WireType::kBytes},
    {"TypeProto", "sparse_tensor_type", 8, WireType::kBytes},
    {"TypeProto", "optional_type", 9, WireType::kBytes},

    {"TypeProto.Tensor", "elem_type", 1, WireType::kVarint},
    {"TypeProto.Tensor", "shape", 2, WireType::kBytes},

    {"TensorShapeProto", "dim", 1, WireType::kBytes, true},

    {"TensorShapeProto.Dimension", "dim_value", 1, WireType::kVarint},
    {"TensorShapeProto.Dimension", "dim_param", 2, WireType::kBytes},

    {"TensorProto", "dims", 1, WireType::kVarint, true},
    {"TensorProto", "data_type", 2, WireType::kVarint},
    {"TensorProto", "segment", 3, WireType::kBytes},
    {"TensorProto", "float_data", 4, WireType::kFixed32, true},
    {"TensorProto", "int32_data", 5, WireType::kVarint, true},
    {"TensorProto", "string_data", 6, WireType::kBytes, true},
    {"TensorProto", "int64_data", 7, WireType::kVarint, true},
    {"TensorProto", "name", 8, WireType::kBytes},
    {"TensorProto", "raw_data", 9, WireType::kBytes},
    {"TensorProto", "double_data", 10, WireType::kFixed64, true},
    {"TensorProto", "uint64_data", 11, WireType::kVarint, true},
    {"TensorProto", "doc_string", 12, WireType::kBytes},
    {"TensorProto", "external_data", 13, WireType::kBytes, true},
    {"TensorProto", "data_location", 14, WireType::kVarint},
    {"TensorProto", "metadata_props", 16, WireType::kBytes, true},
};

// The rows of a message, which stand together.
consteval std::span<const OnnxField> FieldsOf(std::string_view message) {
  const auto is_its = [&](const OnnxField& field) { return field.message == message; };
  const OnnxField* const begin =
      std::find_if(std::begin(kOnnxFields), std::end(kOnnxFields), is_its);
  return {begin, std::find_if_not(begin, std::end(kOnnxFields), is_its)};
}

// The number of "Message.field".
consteval std::uint32_t FieldNumber(std::string_view name) {
  for (const OnnxField& field : kOnnxFields) {
    const std::size_t dot = field.message.size();
    if (name.size() == dot + 1 + field.name.size() && name.starts_with(field.message) &&
        name[dot] == '.' && name.ends_with(field.name)) {
      return field.number;
    }
  }
  throw std::invalid_argument("no row of kOnnxFields");
}

// TensorProto's fields, by which its reader goes.
enum TensorProtoField : std::uint32_t {
  kDims = FieldNumber("TensorProto.dims"),
  kDataType = FieldNumber("TensorProto.data_type"),
  kSegment = FieldNumber("TensorProto.segment"),
  kFloatData = FieldNumber("TensorProto.float_data"),
  kInt32Data = FieldNumber("TensorProto.int32_data"),
  kStringData = FieldNumber("TensorProto.string_data"),
  kInt64Data = FieldNumber("TensorProto.int64_data"),
  kName = FieldNumber("TensorProto.name"),
  kRawData = FieldNumber("TensorProto.raw_data"),
  kDoubleData = FieldNumber("TensorProto.double_data"),
  kUint64Data = FieldNumber("TensorProto.uint64_data"),
  kDocString = FieldNumber("TensorProto.doc_string"),
  kExternalData = FieldNumber("TensorProto.external_data"),
  kDataLocation = FieldNumber("TensorProto.data_location"),
  kMetadataProps = FieldNumber("TensorProto.metadata_props"),
};

// TensorProto.DataLocation.
enum class OnnxDataLocation : std::uint32_t { kDefault = 0, kExternal = 1 };

}  // namespace tensorcast::protobuf

#endif  // TENSORCAST_SRC_PROTOBUF_ONNX_FIELDS_H_
