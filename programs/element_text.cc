// Prints element codes through the library's own cast to float64, which is exact for them.
//
// SPDX-License-Identifier: Apache-2.0
#include "element_text.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace tensorcast::tool {

double ElementValue(DataType type, std::uint64_t code) {
  return std::bit_cast<double>(CastBits(type, DataType::kFloat64, code));
}

std::int64_t SignedElement(DataType type, std::uint64_t code) {
  return static_cast<std::int64_t>(CastBits(type, DataType::kInt64, code));
}

std::string ElementText(DataType type, std::uint64_t code) {
  const TypeInfo* row = FindType(type);
  if (row == nullptr || row->bits == 0) return "?";
  switch (row->type_class) {
    case TypeClass::kBool: return (code & 0xFF) != 0 ? "true" : "false";
    case TypeClass::kUnsigned: return fmt::format("{}", code);
    case TypeClass::kSigned: return fmt::format("{}", SignedElement(type, code));
    case TypeClass::kString: return "?";
    case TypeClass::kFloat: break;
  }
  const double value = ElementValue(type, code);
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  if (type == DataType::kFloat64) return fmt::format("{}", value);
  // The shortest digits that name the float32; of the narrower types' values six tell all apart.
  if (type == DataType::kFloat32) return fmt::format("{}", static_cast<float>(value));
  return fmt::format("{:.6g}", value);
}

std::vector<std::uint64_t> ElementIndex(const io::TensorInfo& info, std::uint64_t index) {
  std::vector<std::uint64_t> place(info.shape.size());
  const auto take = [&](std::size_t d) {
    if (info.shape[d] == 0) return;
    place[d] = index % info.shape[d];
    index /= info.shape[d];
  };
  // Which dimension runs fastest in the dense form: the last, or in Fortran order the first.
  if (info.fortran_order) {
    for (std::size_t d = 0; d < info.shape.size(); ++d) take(d);
  } else {
    for (std::size_t d = info.shape.size(); d-- > 0;) take(d);
  }
  return place;
}

std::string IndexText(const io::TensorInfo& info, std::uint64_t index) {
  if (info.shape.empty()) return {};
  std::string text = "[";
  for (const std::uint64_t i : ElementIndex(info, index)) {
    if (text.size() > 1) text += ',';
    text += fmt::format("{}", i);
  }
  return text + "]";
}

}  // namespace tensorcast::tool
