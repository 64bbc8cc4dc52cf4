// ModelOpt: NVIDIA's Model Optimizer. It says what is quantised in a file of its own,
// hf_quant_config.json, and in config.json.
//
// SPDX-License-Identifier: Apache-2.0
#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"
#include "scale/layer_lists.h"
#include "tensorcast/version.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;
using enum CompanionRole;

// Its AWQ's.
constexpr CompanionName PreQuantScale(std::string_view tensor, Codes codes) {
  return {.tensor = tensor,
          .companion = ".pre_quant_scale",
          .role = kActivationScale,
          .codes = codes,
          .why_not = "which scales the layer's input: without it the weight is another"};
}

constexpr CompanionName kModelOptNames[] = {
    {"", "_scale_2", kSecondScale},
    PreQuantScale(".weight", Codes::kNarrow),
    PreQuantScale(".weight_packed", Codes::kWords),
};

constexpr Layout kModelOptLayouts[] = {
    {"", "", "_scale"},
    {"", "", ".weight_scale"},
    {.codes = ".weight",
     .plain = ".weight",
     .scale = ".weight_scale",
     .global = ".weight_scale_2",
     .storage = Storage::kPackedBytes,
     .element = DataType::kFloat4E2M1,
     .scale_type = ScaleType::kE4M3FN,
     .group = 16,
     .global_use = Factor::kMultiplies},
    {.codes = ".weight",
     .plain = ".weight",
     .scale = ".weight_scale",
     .storage = Storage::kPackedBytes,
     .element = DataType::kFloat4E2M1,
     .scale_type = ScaleType::kE8M0,
     .group = 32},
};

constexpr WrittenLayout kModelOptWritten[] = {
    {.format = "fp8-tensor", .codes = "", .scale = "_scale", .one = OneShape::kScalar},
    {.format = "nvfp4",
     .codes = ".weight",
     .scale = ".weight_scale",
     .global = ".weight_scale_2",
     .plain = ".weight",
     .global_use = Factor::kMultiplies,
     .one = OneShape::kScalar,
     .packs_codes = true},
    {.format = "mxfp4",
     .codes = ".weight",
     .scale = ".weight_scale",
     .plain = ".weight",
     .packs_codes = true,
     .has_scale_bytes = true},
};

constexpr std::string_view kModelOptMethods[] = {"modelopt"};
constexpr const char* kFile = "hf_quant_config.json";
constexpr const char* kExcluded = "exclude_modules";
constexpr const char* kModelOptExceptions[] = {"ignore", kExcluded};
constexpr const char* kLayers = "quantized_layers";
constexpr std::string_view kMxfp4 = "mxfp4";

// Words for a whole checkpoint; others (AWQ, a mixture) say nothing of each weight.
void ReadAlgorithm(const Json& json, QuantizationConfig& config) {
  const std::string algorithm = Text(Member(json, "quant_algo"));
  WeightScheme scheme;
  if (algorithm == "FP8") {
    scheme.bits = 8;
    scheme.strategy = "tensor";
  } else if (algorithm == "FP8_PER_CHANNEL_PER_TOKEN") {
    scheme.bits = 8;
    scheme.strategy = "channel";
  } else if (algorithm == "NVFP4") {
    scheme.bits = 4;
    scheme.strategy = "group";
    scheme.group = 16;
  } else if (algorithm == kMxfp4) {
    scheme.bits = 4;
    scheme.strategy = "group";
    scheme.group = 32;
  } else {
    return;
  }
  config.schemes.push_back(scheme);
  config.is_complete = true;
}

void ReadModelOpt(const Json& json, QuantizationConfig& config) {
  ReadGroups(json, config);
  if (config.schemes.empty()) ReadAlgorithm(json, config);
}

// Weights alone are quantised: without the scales of activations, which are calibrated, none of its
// formats quantises these.
WrittenConfig WriteModelOpt(const QuantisedModules& modules) {
  const ScaledFormat& format = *modules.written.front().form.format;
  const bool is_fp8 = format.cells == CellsBy::kTensor;
  Json weights = Json::object();
  weights["dynamic"] = false;
  weights["num_bits"] = FindType(format.scaling.element)->bits;
  weights["type"] = "float";
  if (!is_fp8) weights["group_size"] = format.block_columns;
  // The last is its own word for a format that it has no algorithm of.
  const std::string_view algorithm = is_fp8                   ? "FP8"
                                     : format.name == "nvfp4" ? "W4A16_NVFP4"
                                                              : kMxfp4;
  Json json = Json::object();
  json["quant_method"] = "modelopt";
  json["quant_algo"] = algorithm;
  json["config_groups"] = {{"group_0", {{"weights", weights}, {"targets", {"Linear"}}}}};
  json["ignore"] = IgnoredModules(LayerNames::kGlobs, modules);
  json["producer"] = {{"name", "tensorcast"}, {"version", TENSORCAST_VERSION}};
  Json quantization = Json::object();
  quantization["quant_algo"] = algorithm;
  quantization["kv_cache_quant_algo"] = nullptr;
  if (!is_fp8) quantization["group_size"] = format.block_columns;
  quantization[kExcluded] = json["ignore"];
  const Json file = {{"producer", json["producer"]}, {"quantization", std::move(quantization)}};
  return {.quantization_config = ConfigText(json), .files = {{kFile, ConfigText(file) + "\n"}}};
}

// What its two files have in common: layers by name where they differ, else exceptions.
void Exclude(Json& json, const char* list, const QuantisedModules& modules) {
  if (!json.is_object()) return;
  if (Member(json, kLayers).is_object()) {
    Forget(json[kLayers], modules.freed);
    return;
  }
  AddNames(json[list], modules.freed);
}

WrittenConfig EditModelOpt(const QuantisedModules& modules, const QuantizationConfig& config) {
  WrittenConfig edited;
  if (config.json != nullptr) {
    Json json = *config.json;
    Exclude(json, json.contains(kExcluded) ? kExcluded : "ignore", modules);
    edited.quantization_config = ConfigText(json);
  }
  if (config.beside != nullptr) {
    Json beside = *config.beside;
    if (beside.is_object() && beside.contains("quantization")) {
      Exclude(beside["quantization"], kExcluded, modules);
      edited.files[kFile] = ConfigText(beside) + "\n";
    }
  }
  return edited;
}

}  // namespace

extern const Dialect kModelOpt;
constinit const Dialect kModelOpt = {
    .name = "ModelOpt",
    .names = kModelOptNames,
    .layouts = kModelOptLayouts,
    .methods = kModelOptMethods,
    .read_config = ReadModelOpt,
    .exceptions = kModelOptExceptions,
    .file = {.name = kFile, .member = "quantization"},
    .read_file = ReadAlgorithm,
    .layer_names = LayerNames::kGlobs,
    .has_targets = true,
    .layout = "modelopt",
    .written = kModelOptWritten,
    .write_config = WriteModelOpt,
    .edit_config = EditModelOpt,
    .directory_note =
        "transformers does not read ModelOpt's layout: it takes codes for weights, without their "
        "scales; for it write --layout compressed-tensors",
};

}  // namespace tensorcast::scale
