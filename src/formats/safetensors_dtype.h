// safetensors' dtype strings, and the types that it can only hold packed into U8.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_SAFETENSORS_DTYPE_H_
#define TENSORCAST_SRC_FORMATS_SAFETENSORS_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::formats {

struct SafetensorsDtype {
  std::string_view name;
  DataType type;  // kUndefined: known to the format, not a type tensorcast knows
  int bits;
};

// In the order in which the reference library has them, narrowest first: writers lay tensors out
// in the opposite one, so that wide elements stay aligned.
inline constexpr SafetensorsDtype kSafetensorsDtypes[] = {
    {"BOOL", DataType::kBool, 8},
    {"F4", DataType::kFloat4E2M1, 4},
    {"F6_E2M3", DataType::kFloat6E2M3, 6},
    {"F6_E3M2", DataType::kFloat6E3M2, 6},
    {"U8", DataType::kUint8, 8},
    {"I8", DataType::kInt8, 8},
    {"F8_E5M2", DataType::kFloat8E5M2, 8},
    {"F8_E4M3", DataType::kFloat8E4M3FN, 8},
    {"F8_E8M0", DataType::kFloat8E8M0, 8},
    {"F8_E4M3FNUZ", DataType::kFloat8E4M3FNUZ, 8},
    {"F8_E5M2FNUZ", DataType::kFloat8E5M2FNUZ, 8},
    {"I16", DataType::kInt16, 16},
    {"U16", DataType::kUint16, 16},
    {"F16", DataType::kFloat16, 16},
    {"BF16", DataType::kBfloat16, 16},
    {"I32", DataType::kInt32, 32},
    {"U32", DataType::kUint32, 32},
    {"F32", DataType::kFloat32, 32},
    {"C64", DataType::kUndefined, 64},
    {"F64", DataType::kFloat64, 64},
    {"I64", DataType::kInt64, 64},
    {"U64", DataType::kUint64, 64},
};

constexpr const SafetensorsDtype* FindDtype(std::string_view name) {
  for (const SafetensorsDtype& row : kSafetensorsDtypes) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

constexpr const SafetensorsDtype* FindDtype(DataType type) {
  for (const SafetensorsDtype& row : kSafetensorsDtypes) {
    if (row.type == type && type != DataType::kUndefined) return &row;
  }
  return nullptr;
}

// The key of __metadata__ under which stand, as JSON, the type and shape of each tensor that is
// stored as U8 because no dtype string holds it.
inline constexpr std::string_view kPackedTypesKey = "tensorcast.types";

// Whether n elements of a type can only be stored as packed U8: the integers below a byte have no
// dtype string, F4 and F6 only whole bytes.
constexpr bool NeedsPacking(DataType type, std::uint64_t n) {
  const TypeInfo* row = FindType(type);
  if (row == nullptr || !row->is_packed()) return false;
  return !row->is_float() || n % 8 * static_cast<std::uint64_t>(row->bits) % 8 != 0;
}

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_SAFETENSORS_DTYPE_H_
