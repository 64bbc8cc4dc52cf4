// The attributes of Constant-1 to 25: one of them, which is its value.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/constant_operator.h"

#include <string>

#include "graph/operator_versions.h"
#include "io/error_text.h"
#include "io/tensor_file.h"

namespace tensorcast::onnx {
namespace {

using io::ErrorKind;
using io::Quoted;

[[noreturn]] void FailKind(const NodePlace& place, const NodeAttribute& attribute,
                           const char* expected) {
  FailNode(place, ErrorKind::kContents,
           "has the attribute " + Quoted(attribute.name) + ", " +
               AttributeTypeText(attribute.value->type) + "; expected " + expected);
}

}  // namespace

const io::OnnxTensor& ReadConstantTensor(const NodePlace& place, const NodeAttribute& attribute) {
  if (attribute.value->type != io::OnnxAttributeType::kTensor ||
      attribute.value->tensors.size() != 1) {
    FailKind(place, attribute, "a TENSOR");
  }
  return attribute.value->tensors[0];
}

Constant ReadConstantValues(const NodePlace& place, const NodeAttribute& attribute,
                            std::optional<std::int64_t> opset) {
  const graph::ConstantAttribute* const row = graph::FindConstantAttribute(attribute.name);
  if (row != nullptr && row->kind == graph::ConstantKind::kSparseTensor) {
    FailNode(place, ErrorKind::kUnsupported, "is a sparse tensor; only dense ones are cast");
  }
  if (row == nullptr) {
    FailNode(place, ErrorKind::kContents,
             "has the attribute " + Quoted(attribute.name) +
                 "; a Constant has value, value_float, value_floats, value_int, value_ints, "
                 "value_string or value_strings");
  }
  if (opset && *opset < row->since) {
    FailNode(place, ErrorKind::kContents,
             "has the attribute " + Quoted(attribute.name) + " at opset " + std::to_string(*opset) +
                 "; it came with opset " + std::to_string(row->since));
  }
  if (attribute.value->listed > io::kMostListed) {
    FailNode(place, ErrorKind::kUnsupported,
             "lists " + std::to_string(attribute.value->listed) + " values in " +
                 Quoted(attribute.name) + "; " + std::to_string(io::kMostListed) +
                 " are read: put more in a tensor, its value");
  }
  Constant constant;
  if (!ReadPlainConstant(place.source, row->kind, *attribute.value, &constant)) {
    FailKind(place, attribute, "the kind that its name says");
  }
  return constant;
}

}  // namespace tensorcast::onnx
