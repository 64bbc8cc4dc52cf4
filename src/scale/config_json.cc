// What is read of a scheme is what decides how its codes are understood.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/config_json.h"

#include <utility>

#include "json/ordered_json.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;

std::uint64_t Number(const Json& json) {
  return json.is_number_unsigned() ? json.get<std::uint64_t>() : 0;
}

// [rows, columns], both of 1 and more; null says nothing.
void ReadBlock(const Json& json, const char* key, WeightScheme& scheme) {
  constexpr std::size_t kShown = 40;
  const Json& size = Member(json, key);
  if (size.is_null()) return;
  scheme.strategy = "block";
  if (size.is_array() && size.size() == 2) {
    scheme.block_rows = Number(size[0]);
    scheme.block_columns = Number(size[1]);
  }
  if (scheme.block_rows != 0 && scheme.block_columns != 0) return;
  const std::string text = json::Dumped(size);
  scheme.misread = std::string(key) + " " + text.substr(0, kShown) +
                   (text.size() > kShown ? "..." : "") + ", which is not two sizes";
}

// "weights" of one group.
std::optional<WeightScheme> SchemeOf(const Json& weights) {
  if (!weights.is_object()) return std::nullopt;
  WeightScheme scheme;
  scheme.bits = static_cast<int>(Number(Member(weights, "num_bits")) & 0xFF);
  scheme.is_integer = Text(Member(weights, "type")) == "int";
  scheme.strategy = Text(Member(weights, "strategy"));
  scheme.group = Number(Member(weights, "group_size"));
  scheme.is_symmetric = Member(weights, "symmetric") != false;
  // "weight" and "static" order columns while they are quantised, and leave the groups as they
  // were.
  const Json& order = Member(weights, "actorder");
  const bool is_said = order == true || Text(order) == "group" || Text(order) == "dynamic";
  scheme.is_ordered = is_said && scheme.group != 0;
  if (scheme.strategy.empty() && scheme.group != 0) scheme.strategy = "group";
  if (scheme.strategy == "block") ReadBlock(weights, "block_structure", scheme);
  return scheme;
}

}  // namespace

const Json& Member(const Json& json, const char* key) {
  static const Json kNone;
  if (!json.is_object()) return kNone;
  const auto found = json.find(key);
  return found == json.end() ? kNone : *found;
}

std::string Text(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

std::vector<std::string> Texts(const Json& json) {
  std::vector<std::string> texts;
  if (!json.is_array()) return texts;
  for (const Json& one : json) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

bool SaysSomething(const Json& json) {
  if (json.is_structured()) return std::ranges::any_of(json, SaysSomething);
  if (json.is_string()) return !Text(json).empty();
  return !json.is_null() && json != false;
}

void RefuseRotated(const Json& json, std::span<const char* const> members,
                   QuantizationConfig& config) {
  for (const char* const member : members) {
    if (!SaysSomething(Member(json, member))) continue;
    config.refused = "is stored for layers whose input is rotated while the model runs (\"" +
                     std::string(member) + "\"), which plain weights cannot express";
    return;
  }
}

void ReadGroups(const Json& json, QuantizationConfig& config) {
  const Json& groups = Member(json, "config_groups");
  if (!groups.is_object()) return;
  for (const auto& [name, group] : groups.items()) {
    auto scheme = SchemeOf(Member(group, "weights"));
    if (!scheme) continue;
    scheme->name = name;
    scheme->targets = Texts(Member(group, "targets"));
    config.schemes.push_back(*std::move(scheme));
  }
}

void ReadFp8(const Json& json, QuantizationConfig& config) {
  WeightScheme& scheme = config.schemes.emplace_back();
  scheme.bits = 8;
  ReadBlock(json, "weight_block_size", scheme);
}

std::string ConfigText(const Json& json, int indent) { return json::Dumped(json, indent); }

}  // namespace tensorcast::scale
