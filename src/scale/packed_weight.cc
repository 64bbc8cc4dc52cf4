// What packed weights have in common: values that are doubles first, tensors by their endings.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/packed_weight.h"

#include <algorithm>
#include <array>

#include "core/failure.h"
#include "scale/packed_tensors.h"
#include "scale/stretch.h"

namespace tensorcast::scale {

void PackedWeight::Part::Read(std::uint64_t first, std::span<float> values) const {
  std::array<double, 1024> block;
  while (!values.empty()) {
    const std::size_t n = std::min(block.size(), values.size());
    const std::span<double> exact = std::span(block).first(n);
    Read(first, Rounding::kOdd, exact);
    Require(tensorcast::Cast(DataType::kFloat64, std::as_bytes(exact), DataType::kFloat32,
                             std::as_writable_bytes(values.first(n)), n));
    values = values.subspan(n);
    first += n;
  }
}

bool PackedWeight::Part::Cast(const CastPlan&, std::uint64_t, std::span<std::byte>) const {
  return false;
}

std::optional<ScaleFindings> PackedWeight::CountScales(const formats::TensorReader&) const {
  return std::nullopt;
}

std::optional<std::size_t> PackedTensors::Find(std::string_view ending) const {
  const auto found = std::ranges::find_if(
      companions, [&](const Companion* one) { return one->row->companion == ending; });
  if (found == companions.end()) return std::nullopt;
  return Use((*found)->tensor);
}

std::string PackedTensors::Stem(std::string_view ending) const {
  const std::string& name = Info(codes).name;
  return name.substr(0, name.size() - ending.size());
}

std::string WrongType(std::string_view what, const formats::TensorInfo& info,
                      std::string_view wanted) {
  return "has " + std::string(what) + " in " + words::EscapeName(info.name) + ", which is " +
         std::string(TypeName(info.type)) + "; it has to be " + std::string(wanted);
}

}  // namespace tensorcast::scale
