// ONNX's numbers that files and graphs share: those of element types and of attributes' kinds.
// Source: onnx.proto, against which tests/peers/check_onnx_facts.py holds them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_ONNX_NUMBERS_H_
#define TENSORCAST_SRC_CORE_ONNX_NUMBERS_H_

#include <cstdint>
#include <string_view>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

// The type of a TensorProto.DataType as it stands in a file; kUndefined where it is not one that
// the library knows.
constexpr DataType TypeOfNumber(std::uint64_t number) {
  const auto type = static_cast<DataType>(number);
  return number <= INT32_MAX && FindType(type) != nullptr ? type : DataType::kUndefined;
}

// ONNX's name of a TensorProto.DataType that the library does not know: empty where ONNX does not
// either.
constexpr std::string_view NameOfUnknownType(std::uint64_t number) {
  switch (number) {
    case 0: return "UNDEFINED";
    case 14: return "COMPLEX64";
    case 15: return "COMPLEX128";
    default: return {};
  }
}

// AttributeProto.AttributeType.
enum class AttributeType : std::uint32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_ONNX_NUMBERS_H_
