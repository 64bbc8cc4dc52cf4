// Prints element codes through the library's own cast to float64, which is exact for them.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/tensor_text.h"

#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "files/error.h"

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

std::string ShortestText(DataType type, std::uint64_t code) {
  std::array<char, kLongestPrinted> buffer{};
  std::string_view text;
  const Status status = PrintValue(type, code, buffer, &text);
  return status.ok() ? std::string(text) : "?";
}

std::string TypeText(const formats::TensorInfo& info) {
  if (!info.stored_as.empty()) return std::string(info.stored_as);
  return FindType(info.type) != nullptr ? std::string(TypeName(info.type))
                                        : words::Escape(info.dtype);
}

std::string GoalText(DataType to, const scale::WrittenForm& scaled) {
  return std::string(scaled ? scaled.format->name : TypeName(to));
}

std::string GoalAndRuleText(DataType to, const scale::WrittenForm& scaled) {
  std::string text = GoalText(to, scaled);
  if (scaled && scaled.rule != scaled.format->rules.front().rule) {
    text.append(" ").append(scale::RuleName(*scaled.format, scaled.rule));
  }
  return text;
}

}  // namespace tensorcast::tool
