// Every spelling of a type that users know, those to show among them, and what a misspelt name
// probably meant.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "tensorcast/tensorcast.hpp"
#include "words/edit_distance.h"

namespace tensorcast {
inline namespace TENSORCAST_ABI {
namespace {

constexpr std::size_t kMostSpellings = 6;

// The spellings that users meet most, in the order of the types. Sources: numpy and ml_dtypes,
// PyTorch, safetensors, JAX, GGUF, C.
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

// What else a type is called, folded (see Fold), beside what IsSystematic accepts.
constexpr std::pair<std::string_view, DataType> kRareSpellings[] = {
    {"single", DataType::kFloat32},    {"brainfloat16", DataType::kBfloat16},
    {"bool8", DataType::kBool},        {"|b1", DataType::kBool},
    {"fp8", DataType::kFloat8E4M3FN},  {"ue8m0", DataType::kFloat8E8M0},
    {"float4", DataType::kFloat4E2M1}, {"float4e2m1fnx2", DataType::kFloat4E2M1},
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

// Takes `suffix` off a text that ends with it.
std::string_view Without(std::string_view suffix, std::string_view text) {
  return text.substr(0, text.size() - (text.ends_with(suffix) ? suffix.size() : 0));
}

// Whether a folded name is made for the type by rule: i8 of int8; f8e5m2, fp8e5m2 and e5m2 of
// float8e5m2, with or without the "fn" or "fnu" that ml_dtypes writes behind a format without Inf;
// and numpy's "<f4".
bool IsSystematic(std::string_view name, const TypeInfo& row) {
  const std::string_view word = row.is_float() ? "float" : row.has_sign ? "int" : "uint";
  if (!row.name.starts_with(word)) return false;
  const std::string_view width_and_format = row.name.substr(word.size());
  const std::size_t digits = std::min(width_and_format.find('e'), width_and_format.size());
  const std::string_view width = width_and_format.substr(0, digits);
  std::string_view format = width_and_format.substr(digits);
  const char kind = word[0];
  if (row.bits >= 8 && format.empty() && name.size() == 3) {
    const std::array<char, 3> numpys = {row.bits == 8 ? '|' : '<', kind,
                                        static_cast<char>('0' + row.bits / 8)};
    if (std::equal(name.begin(), name.end(), numpys.begin())) return true;
  }
  const std::string_view fn = !row.has_sign                         ? "fnu"
                              : row.has_infinity() || row.is_fnuz() ? ""
                                                                    : "fn";
  const bool is_float = row.is_float();
  for (const std::string_view prefix :
       {word, std::string_view(is_float ? "fp" : ""), word.substr(0, 1)}) {
    if (!prefix.empty() && name.starts_with(prefix) &&
        name.substr(prefix.size()).starts_with(width)) {
      name.remove_prefix(prefix.size() + width.size());
      return is_float ? Without(fn, name) == Without(fn, format) : name.empty();
    }
  }
  return !format.empty() && Without(fn, name) == Without(fn, format);
}

}  // namespace

std::optional<DataType> ParseType(std::string_view name) {
  const Folded folded = Fold(name);
  if (folded.size == 0) return std::nullopt;
  const auto is_name = [&](std::string_view other) { return folded.view() == Fold(other).view(); };
  for (const TypeInfo& row : Types()) {
    const std::span<const std::string_view> shown = TypeSpellings(row.type);
    if (is_name(row.name) || is_name(row.onnx_name) || IsSystematic(folded.view(), row) ||
        std::any_of(shown.begin(), shown.end(), is_name)) {
      return row.type;
    }
  }
  for (const auto& [spelling, type] : kRareSpellings) {
    if (folded.view() == spelling) return type;
  }
  return std::nullopt;
}

std::span<const std::string_view> TypeSpellings(DataType type) {
  for (const Spellings& spellings : kSpellings) {
    if (spellings.type != type) continue;
    const auto end = std::find(spellings.names.begin(), spellings.names.end(), std::string_view());
    return {spellings.names.begin(), end};
  }
  return {};
}

std::array<std::string_view, 3> NearestTypeNames(std::string_view name) {
  const words::DistanceFrom wanted(name);
  // By distance, then in the order of the types.
  std::array<std::pair<std::size_t, std::size_t>, Types().size()> found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const TypeInfo& row = Types()[i];
    std::size_t distance = wanted.To(row.name);
    for (const std::string_view spelling : TypeSpellings(row.type)) {
      distance = std::min(distance, wanted.To(spelling));
    }
    found[i] = {distance, i};
  }
  std::array<std::string_view, 3> nearest;
  std::partial_sort(found.begin(), found.begin() + nearest.size(), found.end());
  // Of a word half of which would have to change the name is as good as any other.
  const std::size_t farthest =
      std::min(std::min(name.size(), words::kLongestCompared) / 2, found.front().first + 1);
  for (std::size_t i = 0; i < nearest.size() && found[i].first <= farthest; ++i) {
    nearest[i] = Types()[found[i].second].name;
  }
  return nearest;
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
