// Spellings of the types to show, and what a misspelt name probably meant.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "core/edit_distance.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {
namespace {

constexpr std::size_t kMostSpellings = 6;

// Those users meet most; ParseType knows more. In the order of the types.
struct Spellings {
  DataType type;
  std::array<std::string_view, kMostSpellings> names;  // empty ones at the end
};
constexpr Spellings kSpellings[] = {
    {DataType::kFloat32, {"float", "fp32", "f32"}},
    {DataType::kUint8, {"u8", "byte"}},
    {DataType::kInt8, {"i8"}},
    {DataType::kUint16, {"u16"}},
    {DataType::kInt16, {"i16", "short"}},
    {DataType::kInt32, {"i32", "int"}},
    {DataType::kInt64, {"i64", "long"}},
    {DataType::kString, {"str"}},
    {DataType::kBool, {"boolean"}},
    {DataType::kFloat16, {"half", "fp16", "f16"}},
    {DataType::kFloat64, {"double", "fp64", "f64"}},
    {DataType::kUint32, {"u32"}},
    {DataType::kUint64, {"u64"}},
    {DataType::kBfloat16, {"bf16", "torch.bfloat16"}},
    {DataType::kFloat8E4M3FN, {"e4m3", "e4m3fn", "fp8_e4m3fn", "F8_E4M3", "float8_e4m3fn"}},
    {DataType::kFloat8E4M3FNUZ, {"e4m3fnuz", "fp8_e4m3fnuz", "F8_E4M3FNUZ"}},
    {DataType::kFloat8E5M2, {"e5m2", "fp8_e5m2", "F8_E5M2", "float8_e5m2"}},
    {DataType::kFloat8E5M2FNUZ, {"e5m2fnuz", "fp8_e5m2fnuz", "F8_E5M2FNUZ"}},
    {DataType::kUint4, {"u4"}},
    {DataType::kInt4, {"i4"}},
    {DataType::kFloat4E2M1, {"fp4", "e2m1", "F4", "float4_e2m1fn", "fp4_e2m1"}},
    {DataType::kFloat8E8M0, {"e8m0", "e8m0fnu", "F8_E8M0", "float8_e8m0fnu"}},
    {DataType::kUint2, {"u2"}},
    {DataType::kInt2, {"i2"}},
    {DataType::kFloat6E2M3, {"e2m3", "F6_E2M3", "float6_e2m3fn", "fp6_e2m3"}},
    {DataType::kFloat6E3M2, {"e3m2", "F6_E3M2", "float6_e3m2fn", "fp6_e3m2"}},
};

// The first characters of a name in lower case.
struct Lower {
  std::array<char, core::kLongestCompared> text = {};
  std::size_t size = 0;

  explicit Lower(std::string_view name) : size(std::min(name.size(), core::kLongestCompared)) {
    std::transform(
        name.begin(), name.begin() + static_cast<std::ptrdiff_t>(size), text.begin(),
        [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  }
  std::string_view view() const { return {text.data(), size}; }
};

}  // namespace

std::span<const std::string_view> TypeSpellings(DataType type) {
  for (const Spellings& spellings : kSpellings) {
    if (spellings.type != type) continue;
    const auto end = std::find(spellings.names.begin(), spellings.names.end(), std::string_view());
    return {spellings.names.begin(), end};
  }
  return {};
}

std::array<std::string_view, 3> NearestTypeNames(std::string_view name) {
  const Lower wanted(name);
  // By distance, then in the order of the types.
  std::array<std::pair<std::size_t, std::size_t>, Types().size()> found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const TypeInfo& row = Types()[i];
    std::size_t distance = core::EditDistance(wanted.view(), row.name);
    for (const std::string_view spelling : TypeSpellings(row.type)) {
      distance = std::min(distance, core::EditDistance(wanted.view(), Lower(spelling).view()));
    }
    found[i] = {distance, i};
  }
  std::array<std::string_view, 3> nearest;
  std::partial_sort(found.begin(), found.begin() + nearest.size(), found.end());
  // Of a word half of which would have to change the name is as good as any other.
  for (std::size_t i = 0; i < nearest.size() && 2 * found[i].first <= wanted.size; ++i) {
    nearest[i] = Types()[found[i].second].name;
  }
  return nearest;
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
