// compressed-tensors, in which llm-compressor writes and vLLM reads: float8, int8, MX and NVFP4.
// One group of config_groups for each form; its targets are all linear layers where there is one
// group, and names of layers where there are several.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"
#include "scale/dialects/pack_quantized.h"
#include "scale/layer_lists.h"
#include "scale/layouts.h"
#include "scale/quantised_modules.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;
using enum CompanionRole;

constexpr CompanionName kCompressedTensorsNames[] = {
    {.tensor = "_packed",
     .companion = "_scale",
     .role = kScale,
     .codes = Codes::kWords,
     .is_needed = true},
    {"_packed", "_global_scale", kSecondScale, Codes::kWords},
    {"_packed", "_zero_point", kZeroPoint, Codes::kWords},
    {".weight_packed", ".input_scale", kActivationScale, Codes::kWords},
    {".weight_packed", ".input_global_scale", kActivationScale, Codes::kWords},
    {".k_proj.weight_packed", ".k_scale", kActivationScale, Codes::kWords},
    {".v_proj.weight_packed", ".v_scale", kActivationScale, Codes::kWords},
    {"_packed", "_g_idx", kOrder, Codes::kWords},
    {"_packed", "_shape", kShape, Codes::kWords},
};

constexpr Layout PackedLayout(DataType element, ScaleType scale_type, std::uint64_t group) {
  return {.codes = ".weight_packed",
          .plain = ".weight",
          .scale = ".weight_scale",
          .storage = Storage::kPackedBytes,
          .element = element,
          .scale_type = scale_type,
          .group = group};
}
constexpr Layout TwoScalesLayout() {
  Layout layout = PackedLayout(DataType::kFloat4E2M1, ScaleType::kE4M3FN, 16);
  layout.global = ".weight_global_scale";
  layout.global_use = Factor::kDivides;
  return layout;
}
constexpr Layout kCompressedTensorsLayouts[] = {
    {"", "", "_scale"},
    {.codes = "", .plain = "", .scale = "_scale", .storage = Storage::kInt8},
    {.codes = "", .plain = "", .scale = "_scale", .scale_type = ScaleType::kE8M0},
    // Of a parameter that is not called "weight".
    {"", "", ".weight_scale"},
    {.codes = "", .plain = "", .scale = ".weight_scale", .storage = Storage::kInt8},
    {.codes = "", .plain = "", .scale = ".weight_scale", .scale_type = ScaleType::kE8M0},
    TwoScalesLayout(),
    PackedLayout(DataType::kFloat4E2M1, ScaleType::kE8M0, 32),
    PackedLayout(DataType::kFloat6E2M3, ScaleType::kE8M0, 32),
};

constexpr WrittenLayout WrittenPacked(std::string_view format) {
  return {.format = format,
          .codes = ".weight_packed",
          .scale = ".weight_scale",
          .plain = ".weight",
          .packs_codes = true,
          .has_scale_bytes = true};
}
constexpr WrittenLayout WrittenIntegers(std::string_view format) {
  return {.format = format,
          .codes = ".weight_packed",
          .scale = ".weight_scale",
          .plain = ".weight",
          .groups = GroupPlacing::kPackQuantized,
          .zeros = ".weight_zero_point",
          .shape = ".weight_shape"};
}
constexpr WrittenLayout kCompressedTensorsWritten[] = {
    {"fp8-tensor", "", "_scale"},
    {"fp8-row", "", "_scale"},
    {"fp8-block", "", "_scale"},
    {"int8-row", "", "_scale"},
    {.format = "mxfp8", .codes = "", .scale = "_scale", .has_scale_bytes = true},
    WrittenPacked("mxfp6"),
    WrittenPacked("mxfp4"),
    {.format = "nvfp4",
     .codes = ".weight_packed",
     .scale = ".weight_scale",
     .global = ".weight_global_scale",
     .plain = ".weight",
     .global_use = Factor::kDivides,
     .packs_codes = true},
    WrittenIntegers("int4-group"),
    WrittenIntegers("int8-group"),
};

constexpr std::string_view kCompressedTensorsMethods[] = {"compressed-tensors"};
constexpr const char* kCompressedTensorsExceptions[] = {"ignore"};

constexpr const char* kTransforms[] = {"transform_config"};

void ReadCompressedTensors(const Json& json, QuantizationConfig& config) {
  ReadGroups(json, config);
  RefuseRotated(json, kTransforms, config);
  config.is_complete = !config.schemes.empty();
}

// One of compressed-tensors' QuantizationArgs.
Json Arguments(const ScaledFormat& format, std::string_view strategy) {
  const TypeInfo& element = *FindType(format.scaling.element);
  Json json = Json::object();
  json["num_bits"] = element.bits;
  json["type"] = element.is_integer() ? "int" : "float";
  json["strategy"] = strategy;
  json["symmetric"] = !format.is_asymmetric;
  json["dynamic"] = false;
  return json;
}

std::string_view CompressionFormat(const ScaledFormat& format) {
  if (format.group_bits != 0) return "pack-quantized";
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

std::string_view CompressionFormat(const WrittenForm& form) {
  return form.integers.bits != 0 ? "pack-quantized" : CompressionFormat(*form.format);
}

// Of integers in groups; activations stay what they are.
Json IntegerScheme(const WrittenGroup& group, bool is_alone) {
  const IntegerForm& form = group.form.integers;
  Json weights = Json::object();
  weights["num_bits"] = form.bits;
  weights["type"] = "int";
  weights["strategy"] = form.group == 0 ? "channel" : "group";
  weights["group_size"] = form.group == 0 ? Json() : Json(form.group);
  weights["symmetric"] = form.is_symmetric;
  weights["dynamic"] = false;
  weights["actorder"] = form.has_order ? Json("group") : Json();
  Json json = Json::object();
  json["targets"] = is_alone ? Json::array({"Linear"}) : Json(group.modules);
  json["weights"] = std::move(weights);
  json["input_activations"] = nullptr;
  json["output_activations"] = nullptr;
  json["format"] = CompressionFormat(group.form);
  return json;
}

Json Scheme(const WrittenGroup& group, bool is_alone) {
  if (group.form.integers.bits != 0) return IntegerScheme(group, is_alone);
  const ScaledFormat& format = *group.form.format;
  const bool is_power = format.scaling.scale == DataType::kFloat8E8M0;
  const bool is_nvfp4 = format.scaling.scale == DataType::kFloat8E4M3FN;
  Json weights = Arguments(format, format.cells == CellsBy::kTensor   ? "tensor"
                                   : format.cells == CellsBy::kRows   ? "channel"
                                   : format.cells == CellsBy::kBlocks ? "block"
                                   : is_nvfp4                         ? "tensor_group"
                                                                      : "group");
  // Activations are quantised, by each token or group, where a matrix unit has the type.
  Json activations;
  if (format.group_bits != 0) {
    if (format.block_columns != 0) weights["group_size"] = format.block_columns;
  } else if (format.cells == CellsBy::kGroups) {
    weights["group_size"] = format.block_columns;
    if (is_power) weights["scale_dtype"] = "torch.uint8";
    if (is_nvfp4) weights["scale_dtype"] = "torch.float8_e4m3fn";
  } else {
    activations = Arguments(format, format.cells == CellsBy::kBlocks ? "group" : "token");
    activations["dynamic"] = true;
  }
  if (format.cells == CellsBy::kBlocks) {
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

// The format of all groups that quantise weights, or have one.
Json CommonFormat(const Json& groups) {
  std::optional<Json> common;
  for (const Json& group : groups) {
    const Json& format = Member(group, "format");
    if (format.is_null() && Member(group, "weights").is_null()) continue;
    if (common && *common != format) return "mixed-precision";
    common = format;
  }
  return common.value_or(nullptr);
}

WrittenConfig WriteCompressedTensors(const QuantisedModules& modules) {
  const bool is_alone = modules.written.size() == 1;
  Json json = Json::object();
  json["quant_method"] = "compressed-tensors";
  json["quantization_status"] = "compressed";
  json["format"] = is_alone ? CompressionFormat(modules.written.front().form) : "mixed-precision";
  json["config_groups"] = Json::object();
  for (const WrittenGroup& group : modules.written) {
    Json& groups = json["config_groups"];
    groups[FreeName(groups)] = Scheme(group, is_alone);
  }
  json["ignore"] = IgnoredModules(LayerNames::kWhole, modules);
  json["kv_cache_scheme"] = nullptr;
  return {.quantization_config = ConfigText(json)};
}

// "layers.0.mlp.experts.3.up_proj.weight"
bool IsOfSeparateExpert(std::string_view name) {
  constexpr std::string_view kExperts = "experts.";
  const std::size_t at = name.find(kExperts);
  return at != std::string_view::npos && at + kExperts.size() < name.size() &&
         name[at + kExperts.size()] >= '0' && name[at + kExperts.size()] <= '9';
}

WrittenConfig EditCompressedTensors(const QuantisedModules& modules,
                                    const QuantizationConfig& config) {
  Json json = *config.json;
  AddNames(json["ignore"], modules.freed);
  return {.quantization_config = ConfigText(json)};
}

std::optional<WrittenConfig> JoinCompressedTensors(const QuantisedModules& modules,
                                                   const QuantizationConfig& config,
                                                   std::string* unclear) {
  std::map<std::string, std::vector<std::string>> targets;  // by the group's name
  for (const KeptWeight& kept : modules.kept) {
    const std::string* group = nullptr;
    bool is_clear = true;
    for (const WeightScheme& scheme : config.schemes) {
      if (kept.weight == nullptr || !Allows(scheme, kept.weight->reading)) continue;
      is_clear = group == nullptr;
      group = &scheme.name;
    }
    if (group == nullptr || !is_clear) {
      *unclear = kept.module;
      return std::nullopt;
    }
    targets[*group].push_back(kept.module);
  }
  const Json& common = Member(*config.json, "format");
  Json groups = Json::object();
  std::set<std::string_view> schemes;
  for (const WeightScheme& scheme : config.schemes) schemes.insert(scheme.name);
  for (const auto& [name, group] : Member(*config.json, "config_groups").items()) {
    const bool has_weights = schemes.contains(name);
    const auto named = targets.find(name);
    if (has_weights && named == targets.end()) continue;  // none of its layers is left
    Json& kept = groups[name] = group;
    if (!has_weights) continue;  // of a cache, or of activations alone
    kept["targets"] = named->second;
    if (Member(kept, "format").is_null() && !common.is_null()) kept["format"] = common;
  }
  for (const WrittenGroup& group : modules.written) groups[FreeName(groups)] = Scheme(group, false);
  Json json = *config.json;
  json["format"] = CommonFormat(groups);
  json["config_groups"] = std::move(groups);
  json["ignore"] = IgnoredModules(LayerNames::kWhole, modules);
  return WrittenConfig{.quantization_config = ConfigText(json)};
}

constexpr ReaderNote kCompressedTensorsNotes[] = {
    {"stacked weight",
     "transformers reads compressed-tensors' scales only of linear layers, and takes codes of "
     "stacked experts for values",
     [](const MadeWeight& one) { return one.shape.size() >= 3; }},
    {"weight",
     "transformers stacks separate experts as it loads them, and reads them wrongly in nvfp4, "
     "int8-row and mxfp8",
     [](const MadeWeight& one) {
       constexpr std::string_view kMisread[] = {"nvfp4", "int8-row", "mxfp8"};
       return IsOfSeparateExpert(one.name) &&
              std::ranges::count(kMisread, one.form.format->name) != 0;
     }},
    kRaggedBlocksNote,
};

}  // namespace

extern const Dialect kCompressedTensors;
constinit const Dialect kCompressedTensors = {
    .name = "compressed-tensors",
    .names = kCompressedTensorsNames,
    .layouts = kCompressedTensorsLayouts,
    .read_packed = ReadPackQuantized,
    .methods = kCompressedTensorsMethods,
    .read_config = ReadCompressedTensors,
    .exceptions = kCompressedTensorsExceptions,
    .has_targets = true,
    .layout = "compressed-tensors",
    .written = kCompressedTensorsWritten,
    .write_config = WriteCompressedTensors,
    .edit_config = EditCompressedTensors,
    .join_config = JoinCompressedTensors,
    .says_several_formats = true,
    .reader_notes = kCompressedTensorsNotes,
    .is_read_by_transformers = true,
};

}  // namespace tensorcast::scale
