// One group of config_groups for each form; its targets are all linear layers where there is one
// group, and names of layers where there are several.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/compressed_tensors_config.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/ignored_modules.h"
#include "io/ordered_json.h"
#include "scale/layouts.h"

namespace tensorcast::convert {
namespace {

using Json = io::OrderedJson;

// One of compressed-tensors' QuantizationArgs.
Json Arguments(const scale::ScaledFormat& format, std::string_view strategy) {
  const TypeInfo& element = *FindType(format.scaling.element);
  Json json = Json::object();
  json["num_bits"] = element.bits;
  json["type"] = element.is_integer() ? "int" : "float";
  json["strategy"] = strategy;
  json["symmetric"] = true;
  json["dynamic"] = false;
  return json;
}

std::string_view CompressionFormat(const scale::ScaledFormat& format) {
  switch (format.scaling.element) {
    case DataType::kInt8: return "int-quantized";
    case DataType::kFloat6E2M3: return "mxfp6-pack-quantized";
    case DataType::kFloat4E2M1:
      return format.scaling.scale == DataType::kFloat8E8M0 ? "mxfp4-pack-quantized"
                                                           : "nvfp4-pack-quantized";
    default: break;
  }
  return format.scaling.scale == DataType::kFloat8E8M0 ? "mxfp8-quantized" : "float-quantized";
}

Json Scheme(const WrittenGroup& group, bool is_alone) {
  const scale::ScaledFormat& format = *group.form.format;
  const bool is_power = format.scaling.scale == DataType::kFloat8E8M0;
  const bool is_nvfp4 = format.scaling.scale == DataType::kFloat8E4M3FN;
  Json weights = Arguments(format, format.cells == scale::CellsBy::kTensor   ? "tensor"
                                   : format.cells == scale::CellsBy::kRows   ? "channel"
                                   : format.cells == scale::CellsBy::kBlocks ? "block"
                                   : is_nvfp4                                ? "tensor_group"
                                                                             : "group");
  // Activations are quantised, by each token or group, where a matrix unit has the type.
  Json activations;
  if (format.cells == scale::CellsBy::kGroups) {
    weights["group_size"] = format.block_columns;
    if (is_power) weights["scale_dtype"] = "torch.uint8";
    if (is_nvfp4) weights["scale_dtype"] = "torch.float8_e4m3fn";
  } else {
    activations = Arguments(format, format.cells == scale::CellsBy::kBlocks ? "group" : "token");
    activations["dynamic"] = true;
  }
  if (format.cells == scale::CellsBy::kBlocks) {
    weights["block_structure"] = {format.block_rows, format.block_columns};
    activations["group_size"] = format.block_columns;
  }
  Json json = Json::object();
  json["targets"] = is_alone ? Json::array({"Linear"}) : Json(group.modules);
  json["weights"] = std::move(weights);
  json["input_activations"] = std::move(activations);
  json["output_activations"] = nullptr;
  json["format"] = CompressionFormat(format);
  return json;
}

// "group_3", the first such name that is free.
std::string FreeName(const Json& groups) {
  std::size_t i = groups.size();
  while (groups.contains("group_" + std::to_string(i))) ++i;
  return "group_" + std::to_string(i);
}

// The format of all groups that have one.
Json CommonFormat(const Json& groups) {
  Json common;
  for (const Json& group : groups) {
    if (!group.contains("format") || group["format"].is_null()) continue;
    if (!common.is_null() && common != group["format"]) return "mixed-precision";
    common = group["format"];
  }
  return common;
}

}  // namespace

Json CompressedTensorsConfig(const QuantisedModules& modules) {
  const bool is_alone = modules.written.size() == 1;
  Json json = Json::object();
  json["quant_method"] = "compressed-tensors";
  json["quantization_status"] = "compressed";
  json["format"] =
      is_alone ? CompressionFormat(*modules.written.front().form.format) : "mixed-precision";
  json["config_groups"] = Json::object();
  for (const WrittenGroup& group : modules.written) {
    Json& groups = json["config_groups"];
    groups[FreeName(groups)] = Scheme(group, is_alone);
  }
  json["ignore"] = IgnoredModules(ScaledLayout::kCompressedTensors, modules);
  json["kv_cache_scheme"] = nullptr;
  return json;
}

Json CompressedTensorsConfig(const QuantisedModules& modules,
                             const scale::QuantizationConfig& config, std::string* unclear) {
  std::map<std::string, std::vector<std::string>> targets;  // by the group's name
  for (const KeptWeight& kept : modules.kept) {
    const std::string* group = nullptr;
    bool is_clear = true;
    for (const scale::WeightScheme& scheme : config.schemes) {
      if (kept.weight == nullptr || !Allows(scheme, kept.weight->reading)) continue;
      is_clear = group == nullptr;
      group = &scheme.name;
    }
    if (group == nullptr || !is_clear) {
      *unclear = kept.module;
      return {};
    }
    targets[*group].push_back(kept.module);
  }
  Json json = io::JsonOrNull(config.text);
  Json groups = Json::object();
  std::set<std::string_view> schemes;
  for (const scale::WeightScheme& scheme : config.schemes) schemes.insert(scheme.name);
  for (const auto& [name, group] : json["config_groups"].items()) {
    const bool has_weights = schemes.contains(name);
    const auto named = targets.find(name);
    if (has_weights && named == targets.end()) continue;  // none of its layers is left
    Json& kept = groups[name] = group;
    if (!has_weights) continue;  // of a cache, or of activations alone
    kept["targets"] = named->second;
    if (!kept.contains("format") || kept["format"].is_null()) kept["format"] = json["format"];
  }
  for (const WrittenGroup& group : modules.written) groups[FreeName(groups)] = Scheme(group, false);
  json["format"] = CommonFormat(groups);
  json["config_groups"] = std::move(groups);
  json["ignore"] = IgnoredModules(ScaledLayout::kCompressedTensors, modules);
  return json;
}

}  // namespace tensorcast::convert
