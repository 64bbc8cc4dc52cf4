// The table of element types: one row per type. No other file of the library knows a bit pattern.
//
// Sources of the rows: IEEE 754-2019 (float16, float32, float64), the ONNX technical pages on
// float8, float4, float6, int4 and int2, and the OCP Microscaling formats specification 1.0.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_DETAIL_TYPE_TABLE_HPP_
#define TENSORCAST_DETAIL_TYPE_TABLE_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensorcast/types.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

namespace detail {

constexpr TypeInfo IntegerRow(DataType type, std::string_view name, std::string_view onnx_name,
                              TypeClass type_class, int bits) {
  return {type, name, onnx_name, type_class,       bits,
          0,    0,    0,         NonFinite::kNone, type_class == TypeClass::kSigned,
          true};
}

constexpr TypeInfo FloatRow(DataType type, std::string_view name, std::string_view onnx_name,
                            int exponent_bits, int mantissa_bits, int bias, NonFinite non_finite) {
  return {
      type,          name,          onnx_name, TypeClass::kFloat, 1 + exponent_bits + mantissa_bits,
      exponent_bits, mantissa_bits, bias,      non_finite,        true,
      true};
}

inline constexpr auto kTypeTable = std::to_array<TypeInfo>({
    FloatRow(DataType::kFloat32, "float32", "FLOAT", 8, 23, 127, NonFinite::kIeee),
    IntegerRow(DataType::kUint8, "uint8", "UINT8", TypeClass::kUnsigned, 8),
    IntegerRow(DataType::kInt8, "int8", "INT8", TypeClass::kSigned, 8),
    IntegerRow(DataType::kUint16, "uint16", "UINT16", TypeClass::kUnsigned, 16),
    IntegerRow(DataType::kInt16, "int16", "INT16", TypeClass::kSigned, 16),
    IntegerRow(DataType::kInt32, "int32", "INT32", TypeClass::kSigned, 32),
    IntegerRow(DataType::kInt64, "int64", "INT64", TypeClass::kSigned, 64),
    {DataType::kString, "string", "STRING", TypeClass::kString, 0, 0, 0, 0, NonFinite::kNone, false,
     false},
    IntegerRow(DataType::kBool, "bool", "BOOL", TypeClass::kBool, 8),
    FloatRow(DataType::kFloat16, "float16", "FLOAT16", 5, 10, 15, NonFinite::kIeee),
    FloatRow(DataType::kFloat64, "float64", "DOUBLE", 11, 52, 1023, NonFinite::kIeee),
    IntegerRow(DataType::kUint32, "uint32", "UINT32", TypeClass::kUnsigned, 32),
    IntegerRow(DataType::kUint64, "uint64", "UINT64", TypeClass::kUnsigned, 64),
    FloatRow(DataType::kBfloat16, "bfloat16", "BFLOAT16", 8, 7, 127, NonFinite::kIeee),
    FloatRow(DataType::kFloat8E4M3FN, "float8e4m3fn", "FLOAT8E4M3FN", 4, 3, 7,
             NonFinite::kNanAllOnes),
    FloatRow(DataType::kFloat8E4M3FNUZ, "float8e4m3fnuz", "FLOAT8E4M3FNUZ", 4, 3, 8,
             NonFinite::kNanNegativeZero),
    FloatRow(DataType::kFloat8E5M2, "float8e5m2", "FLOAT8E5M2", 5, 2, 15, NonFinite::kIeee),
    FloatRow(DataType::kFloat8E5M2FNUZ, "float8e5m2fnuz", "FLOAT8E5M2FNUZ", 5, 2, 16,
             NonFinite::kNanNegativeZero),
    IntegerRow(DataType::kUint4, "uint4", "UINT4", TypeClass::kUnsigned, 4),
    IntegerRow(DataType::kInt4, "int4", "INT4", TypeClass::kSigned, 4),
    FloatRow(DataType::kFloat4E2M1, "float4e2m1", "FLOAT4E2M1", 2, 1, 1, NonFinite::kNone),
    {DataType::kFloat8E8M0, "float8e8m0", "FLOAT8E8M0", TypeClass::kFloat, 8, 8, 0, 127,
     NonFinite::kNanAllOnes, false, false},
    IntegerRow(DataType::kUint2, "uint2", "UINT2", TypeClass::kUnsigned, 2),
    IntegerRow(DataType::kInt2, "int2", "INT2", TypeClass::kSigned, 2),
    FloatRow(DataType::kFloat6E2M3, "float6e2m3", "FLOAT6E2M3", 2, 3, 1, NonFinite::kNone),
    FloatRow(DataType::kFloat6E3M2, "float6e3m2", "FLOAT6E3M2", 3, 2, 3, NonFinite::kNone),
});

// The index of a type's row, or -1: numbers 14 and 15 are ONNX's complex types, which are not cast.
constexpr int RowIndex(DataType type) {
  const int id = static_cast<int>(type);
  if (id < 1 || id > static_cast<int>(kTypeTable.back().type) || id == 14 || id == 15) return -1;
  return id < 14 ? id - 1 : id - 3;
}

constexpr const TypeInfo& Row(DataType type) {
  return kTypeTable[static_cast<std::size_t>(RowIndex(type))];
}

constexpr bool TypeTableIsConsistent() {
  for (std::size_t i = 0; i < kTypeTable.size(); ++i) {
    const TypeInfo& row = kTypeTable[i];
    if (RowIndex(row.type) != static_cast<int>(i)) return false;
    if (row.is_float() &&
        row.bits != (row.has_sign ? 1 : 0) + row.exponent_bits + row.mantissa_bits) {
      return false;
    }
  }
  return true;
}
static_assert(TypeTableIsConsistent());

}  // namespace detail
}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_DETAIL_TYPE_TABLE_HPP_
