// Each type's formula as a row of functions over blocks.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/gguf_blocks.h"

#include <cmath>
#include <limits>

#include "scale/gguf_formulas-inl.h"

namespace tensorcast::scale {
namespace {
namespace gguf {
using namespace HWY_NAMESPACE::formulas;

template <class Type> OddScale OddScaleOf(const Byte* b) {
  OddScale odd = OddScale::kNone;
  if constexpr (requires { Type::kScales; }) {
    for (const int at : Type::kScales) {
      const unsigned magnitude = TwoBytes(b + at) & 0x7FFF;
      if (magnitude >= 0x7C00 && odd != OddScale::kNan) {
        odd = magnitude == 0x7C00 ? OddScale::kInfinite : OddScale::kNan;
      }
    }
  } else if (Type::HasNan(b)) {
    odd = OddScale::kNan;
  }
  return odd;
}

template <class Type> OddScale OddScaleOfBytes(const std::byte* block) {
  return OddScaleOf<Type>(reinterpret_cast<const Byte*>(block));
}

template <class Type> bool AreFloats(const std::byte* blocks, std::size_t n) {
  bool are_all = true;
  if constexpr (requires { &Type::IsFloat; }) {
    const auto* b = reinterpret_cast<const Byte*>(blocks);
    for (std::size_t i = 0; i < n; ++i) are_all &= Type::IsFloat(b + i * Type::kBytes);
  }
  return are_all;
}

template <class Type, class T> void DecodeBlock(const Byte* b, T* values) {
  if constexpr (requires { Type::Decode(b, values); }) {
    Type::Decode(b, values);
  } else {
    constexpr int kCells = Type::kValues / Type::kCell;
    std::int8_t codes[Type::kValues];
    float factors[kCells], offsets[kCells];
    Type::Unpack(b, {codes, factors, offsets});
    for (int cell = 0; cell < kCells; ++cell) {
      const T factor = static_cast<T>(factors[cell]);
      for (int i = Type::kCell * cell; i < Type::kCell * (cell + 1); ++i) {
        values[i] = static_cast<T>(codes[i]) * factor;
        if constexpr (kIsSum<Type>) values[i] += static_cast<T>(offsets[cell]);
      }
    }
  }
}

template <class Type, class T> void Decode(const std::byte* blocks, std::size_t n, T* values) {
  const auto* b = reinterpret_cast<const Byte*>(blocks);
  for (std::size_t i = 0; i < n; ++i, b += Type::kBytes, values += Type::kValues) {
    DecodeBlock<Type>(b, values);
    if (OddScaleOf<Type>(b) != OddScale::kNone) {
      for (int k = 0; k < Type::kValues; ++k) {
        if (std::isnan(values[k])) values[k] = std::numeric_limits<T>::quiet_NaN();
      }
    }
  }
}

template <class Type> constexpr GgufBlocks RowOf(std::string_view name) {
  GgufBlocks row = {name, Type::kValues, Type::kBytes};
  row.to_doubles = &Decode<Type, double>;
  if constexpr (!kIsSum<Type>) {
    row.to_floats = &Decode<Type, float>;
    row.are_floats = &AreFloats<Type>;
  }
  if constexpr (requires { Type::kCell; }) {
    row.cell = Type::kCell;
    if constexpr (requires { Type::kRange; }) row.range = Type::kRange;
    if constexpr (kIsSum<Type>) row.most_of_sum = Type::kMostOfSum;
  }
  row.odd_scale = &OddScaleOfBytes<Type>;
  return row;
}

constexpr auto kTable = RowsOf([]<class Type>(std::string_view name) { return RowOf<Type>(name); });

}  // namespace gguf
}  // namespace

std::span<const GgufBlocks> AllGgufBlocks() { return gguf::kTable; }

const GgufBlocks* FindGgufBlocks(std::string_view type) {
  for (const GgufBlocks& row : gguf::kTable) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

}  // namespace tensorcast::scale
