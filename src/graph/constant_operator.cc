// The attributes of Constant-1 to 25: one of them, which is its value.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/constant_operator.h"

#include <algorithm>
#include <span>
#include <string>

#include "graph/operator_versions.h"
#include "words/error_text.h"

namespace tensorcast::graph {
namespace {

using words::Quoted;

[[noreturn]] void FailKind(const NodePlace& place, const NodeAttribute& attribute,
                           const char* expected) {
  WrongNode(place, "has the attribute " + Quoted(attribute.name) + ", " +
                       AttributeTypeText(attribute.value->type) + "; expected " + expected);
}

template <class Element> void TakeNumbers(std::span<const Element> values, Constant& constant) {
  const auto bytes = std::as_bytes(values);
  constant.type = kDataTypeOf<Element>;
  constant.elements = values.size();
  std::copy(bytes.begin(), bytes.end(), constant.Allocate(bytes.size()).begin());
}

// The values of an attribute of numbers or texts: a list has one dimension, a single value none.
Constant ValuesOf(const Attribute& attribute) {
  Constant constant;
  bool is_list = true;
  switch (attribute.type) {
    case AttributeType::kFloats: TakeNumbers(std::span(attribute.floats), constant); break;
    case AttributeType::kInts: TakeNumbers(std::span(attribute.ints), constant); break;
    case AttributeType::kStrings:
      constant.type = DataType::kString;
      for (const Blob& text : attribute.strings) constant.Append(text.Text());
      constant.elements = attribute.strings.size();
      break;
    case AttributeType::kFloat:
      is_list = false;
      TakeNumbers(std::span(&attribute.f, 1), constant);
      break;
    case AttributeType::kInt:
      is_list = false;
      TakeNumbers(std::span(&attribute.i, 1), constant);
      break;
    default:
      is_list = false;
      constant.type = DataType::kString;
      constant.Append(attribute.s.Text());
      constant.elements = 1;
  }
  if (is_list) constant.shape = {constant.elements};
  return constant;
}

}  // namespace

const Tensor& ReadConstantTensor(const NodePlace& place, const NodeAttribute& attribute) {
  if (attribute.value->type != AttributeType::kTensor || attribute.value->tensors.size() != 1) {
    FailKind(place, attribute, "a TENSOR");
  }
  return attribute.value->tensors[0];
}

Constant ReadConstantValues(const NodePlace& place, const NodeAttribute& attribute,
                            std::optional<std::int64_t> opset) {
  const ConstantAttribute* const row = FindConstantAttribute(attribute.name);
  if (row != nullptr && row->type == AttributeType::kSparseTensor) {
    RefuseNode(place, "is a sparse tensor; only dense ones are cast");
  }
  if (row == nullptr) {
    WrongNode(place,
              "has the attribute " + Quoted(attribute.name) +
                  "; a Constant has value, value_float, value_floats, value_int, value_ints, "
                  "value_string or value_strings");
  }
  if (opset && *opset < row->since) {
    WrongNode(place, "has the attribute " + Quoted(attribute.name) + " at opset " +
                         std::to_string(*opset) + "; it came with opset " +
                         std::to_string(row->since));
  }
  if (attribute.value->listed > kMostListed) {
    RefuseNode(place, "lists " + std::to_string(attribute.value->listed) + " values in " +
                          Quoted(attribute.name) + "; " + std::to_string(kMostListed) +
                          " are read: put more in a tensor, its value");
  }
  if (attribute.value->type != row->type) FailKind(place, attribute, "the kind that its name says");
  return ValuesOf(*attribute.value);
}

}  // namespace tensorcast::graph
