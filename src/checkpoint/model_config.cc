// Finds in a configuration what names the type of a model.
//
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/model_config.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace tensorcast::checkpoint {
namespace {

struct TorchType {
  DataType type;
  std::string_view name;
};

constexpr TorchType kTorchTypes[] = {{DataType::kFloat16, "float16"},
                                     {DataType::kBfloat16, "bfloat16"},
                                     {DataType::kFloat32, "float32"},
                                     {DataType::kFloat64, "float64"}};

// Whether a text is what a configuration calls one of torch's floating types.
bool NamesFloat(std::string_view name) {
  constexpr std::string_view kModule = "torch.";
  if (name.starts_with(kModule)) name.remove_prefix(kModule.size());
  return name.starts_with("float8_") || name == "half" || name == "float" ||
         std::any_of(std::begin(kTorchTypes), std::end(kTorchTypes),
                     [&](const TorchType& row) { return row.name == name; });
}

}  // namespace

std::string_view TorchName(DataType type) {
  const auto* const row = std::find_if(std::begin(kTorchTypes), std::end(kTorchTypes),
                                       [&](const TorchType& one) { return one.type == type; });
  return row != std::end(kTorchTypes) ? row->name : std::string_view();
}

void ModelTypeCount::Add(DataType type, std::uint64_t elements) {
  if (elements != 0 && !TorchName(type).empty()) elements_[type] += elements;
}

DataType ModelTypeCount::Most() const {
  const auto most =
      std::ranges::max_element(elements_, {}, [](const auto& of_type) { return of_type.second; });
  return most == elements_.end() ? DataType::kUndefined : most->first;
}

void ModelConfig::SetType(DataType type) {
  json_.Replace([&](const json::JsonText::Member& member) -> std::optional<std::string> {
    const std::span<const std::string> around = member.keys.first(member.keys.size() - 1);
    const std::string& key = member.keys.back();
    if ((key != "torch_dtype" && key != "dtype") ||
        std::any_of(around.begin(), around.end(), IsQuantisationKey)) {
      return std::nullopt;
    }
    const std::optional<std::string> named = json::TextOfJsonString(json_.ValueText(member));
    if (!named || !NamesFloat(*named)) return std::nullopt;
    return json::JsonString(TorchName(type));
  });
}

bool ModelConfig::RemoveQuantisation() {
  return json_.Remove([&](const json::JsonText::Member& member) {
    return IsQuantisationKey(member.keys.back()) && json_.ValueText(member).starts_with('{');
  });
}

}  // namespace tensorcast::checkpoint
