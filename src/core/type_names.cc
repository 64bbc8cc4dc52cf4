// Every spelling of a type that users know.
//
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {
namespace {

using Alias = std::pair<std::string_view, DataType>;

// Beside the canonical and the ONNX names, folded (see Fold). Sources: numpy and ml_dtypes,
// PyTorch, safetensors, JAX, GGUF, C.
constexpr Alias kAliases[] = {
    {"f32", DataType::kFloat32},
    {"fp32", DataType::kFloat32},
    {"single", DataType::kFloat32},
    {"<f4", DataType::kFloat32},
    {"f64", DataType::kFloat64},
    {"fp64", DataType::kFloat64},
    {"<f8", DataType::kFloat64},
    {"f16", DataType::kFloat16},
    {"fp16", DataType::kFloat16},
    {"half", DataType::kFloat16},
    {"<f2", DataType::kFloat16},
    {"bf16", DataType::kBfloat16},
    {"brainfloat16", DataType::kBfloat16},
    {"u8", DataType::kUint8},
    {"byte", DataType::kUint8},
    {"|u1", DataType::kUint8},
    {"i8", DataType::kInt8},
    {"|i1", DataType::kInt8},
    {"u16", DataType::kUint16},
    {"<u2", DataType::kUint16},
    {"i16", DataType::kInt16},
    {"short", DataType::kInt16},
    {"<i2", DataType::kInt16},
    {"u32", DataType::kUint32},
    {"<u4", DataType::kUint32},
    {"i32", DataType::kInt32},
    {"int", DataType::kInt32},
    {"<i4", DataType::kInt32},
    {"u64", DataType::kUint64},
    {"<u8", DataType::kUint64},
    {"i64", DataType::kInt64},
    {"long", DataType::kInt64},
    {"<i8", DataType::kInt64},
    {"boolean", DataType::kBool},
    {"|b1", DataType::kBool},
    {"bool8", DataType::kBool},
    {"str", DataType::kString},
    {"e4m3", DataType::kFloat8E4M3FN},
    {"e4m3fn", DataType::kFloat8E4M3FN},
    {"fp8", DataType::kFloat8E4M3FN},
    {"f8e4m3", DataType::kFloat8E4M3FN},
    {"fp8e4m3", DataType::kFloat8E4M3FN},
    {"float8e4m3", DataType::kFloat8E4M3FN},
    {"f8e4m3fn", DataType::kFloat8E4M3FN},
    {"fp8e4m3fn", DataType::kFloat8E4M3FN},
    {"e4m3fnuz", DataType::kFloat8E4M3FNUZ},
    {"f8e4m3fnuz", DataType::kFloat8E4M3FNUZ},
    {"fp8e4m3fnuz", DataType::kFloat8E4M3FNUZ},
    {"e5m2", DataType::kFloat8E5M2},
    {"f8e5m2", DataType::kFloat8E5M2},
    {"fp8e5m2", DataType::kFloat8E5M2},
    {"e5m2fnuz", DataType::kFloat8E5M2FNUZ},
    {"f8e5m2fnuz", DataType::kFloat8E5M2FNUZ},
    {"fp8e5m2fnuz", DataType::kFloat8E5M2FNUZ},
    {"e8m0", DataType::kFloat8E8M0},
    {"e8m0fnu", DataType::kFloat8E8M0},
    {"ue8m0", DataType::kFloat8E8M0},
    {"f8e8m0", DataType::kFloat8E8M0},
    {"f8e8m0fnu", DataType::kFloat8E8M0},
    {"fp8e8m0", DataType::kFloat8E8M0},
    {"fp8e8m0fnu", DataType::kFloat8E8M0},
    {"float8e8m0fnu", DataType::kFloat8E8M0},
    {"e2m3", DataType::kFloat6E2M3},
    {"e2m3fn", DataType::kFloat6E2M3},
    {"f6e2m3", DataType::kFloat6E2M3},
    {"f6e2m3fn", DataType::kFloat6E2M3},
    {"fp6e2m3", DataType::kFloat6E2M3},
    {"fp6e2m3fn", DataType::kFloat6E2M3},
    {"float6e2m3fn", DataType::kFloat6E2M3},
    {"e3m2", DataType::kFloat6E3M2},
    {"e3m2fn", DataType::kFloat6E3M2},
    {"f6e3m2", DataType::kFloat6E3M2},
    {"f6e3m2fn", DataType::kFloat6E3M2},
    {"fp6e3m2", DataType::kFloat6E3M2},
    {"fp6e3m2fn", DataType::kFloat6E3M2},
    {"float6e3m2fn", DataType::kFloat6E3M2},
    {"f4", DataType::kFloat4E2M1},
    {"fp4", DataType::kFloat4E2M1},
    {"float4", DataType::kFloat4E2M1},
    {"e2m1", DataType::kFloat4E2M1},
    {"e2m1fn", DataType::kFloat4E2M1},
    {"f4e2m1", DataType::kFloat4E2M1},
    {"f4e2m1fn", DataType::kFloat4E2M1},
    {"fp4e2m1", DataType::kFloat4E2M1},
    {"fp4e2m1fn", DataType::kFloat4E2M1},
    {"float4e2m1fn", DataType::kFloat4E2M1},
    {"float4e2m1fnx2", DataType::kFloat4E2M1},
    {"u4", DataType::kUint4},
    {"i4", DataType::kInt4},
    {"u2", DataType::kUint2},
    {"i2", DataType::kInt2},
};

constexpr std::size_t kLongestName = 32;

// Lower case, without '_', '-', '.', blanks and a leading "torch.", "np.", "numpy.", "jnp." or
// "ml_dtypes.". Empty where the result would be too long to be a name.
struct Folded {
  std::array<char, kLongestName> text = {};
  std::size_t size = 0;
  std::string_view view() const { return {text.data(), size}; }
};

Folded Fold(std::string_view name) {
  for (std::string_view module : {"torch.", "numpy.", "np.", "jnp.", "ml_dtypes.", "tf.",
                                  "TensorProto.", "onnx.TensorProto."}) {
    if (name.starts_with(module)) {
      name.remove_prefix(module.size());
      break;
    }
  }
  Folded folded;
  for (char c : name) {
    if (c == '_' || c == '-' || c == '.' || c == ' ') continue;
    if (folded.size == kLongestName) return {};
    folded.text[folded.size++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return folded;
}

}  // namespace

std::optional<DataType> ParseType(std::string_view name) {
  const Folded folded = Fold(name);
  if (folded.size == 0) return std::nullopt;
  for (const TypeInfo& row : Types()) {
    if (folded.view() == row.name || folded.view() == Fold(row.onnx_name).view()) return row.type;
  }
  for (const Alias& alias : kAliases) {
    if (folded.view() == alias.first) return alias.second;
  }
  return std::nullopt;
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
