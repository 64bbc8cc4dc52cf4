// Each layout's own form, as the library that reads it has it: transformers' FineGrainedFP8Config,
// compressed-tensors' QuantizationConfig, ModelOpt's hf_quant_config.json, ComfyUI's metadata.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/written_config.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "convert/file_plan.h"
#include "convert/weight_roles.h"
#include "io/error_text.h"
#include "scale/written_form.h"
#include "tensorcast/version.h"

namespace tensorcast::convert {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kWeight = ".weight";

// "model.layers.0.mlp.up_proj.weight" is of "model.layers.0.mlp.up_proj"; stacked experts are of a
// parameter that has the name of a layer.
std::string ModuleOf(std::string_view name) {
  if (name.ends_with(kWeight)) name.remove_suffix(kWeight.size());
  return std::string(name);
}

// Weights made in one form.
struct Group {
  scale::WrittenForm form;
  std::vector<std::string> modules;
};

struct Modules {
  std::vector<Group> groups;         // in the order of the output
  std::vector<std::string> ignored;  // linear layers that are left alone
};

Modules ModulesOf(const io::TensorReader& reader, const FilePlan& plan) {
  // Where it shares the embedding's weight it has no tensor, and is a linear layer all the same.
  constexpr std::string_view kHead = "lm_head";
  Modules modules;
  bool has_head = false;
  for (const TensorJob& job : plan.jobs) {
    const io::TensorInfo& info = reader.contents().tensors[job.tensor];
    const std::string module = ModuleOf(info.name);
    const bool is_head = module == kHead || module.ends_with(".lm_head");
    if (job.scaled) {
      auto group = std::ranges::find(modules.groups, job.scaled, &Group::form);
      if (group == modules.groups.end()) {
        group = modules.groups.insert(group, {job.scaled, {}});
      }
      group->modules.push_back(module);
      has_head = has_head || is_head;
      continue;
    }
    if (!info.name.ends_with(kWeight) || info.shape.size() != 2 ||
        plan.decisions[job.tensor].reason == Reason::kAlready) {
      continue;
    }
    const WeightRole role = RoleOf(info.name, info.shape);
    if (role != WeightRole::kLinear && role != WeightRole::kHead && role != WeightRole::kRouter) {
      continue;
    }
    modules.ignored.push_back(module);
    has_head = has_head || is_head;
  }
  if (!has_head) modules.ignored.emplace_back(kHead);
  return modules;
}

std::string Text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json DeepSeekConfig(const Modules& modules) {
  Json json;
  json["quant_method"] = "fp8";
  json["fmt"] = "e4m3";
  json["activation_scheme"] = "dynamic";
  const scale::ScaledFormat& format = *modules.groups.front().form.format;
  json["weight_block_size"] = {format.block_rows, format.block_columns};
  json["modules_to_not_convert"] = modules.ignored;
  return json;
}

// One of compressed-tensors' QuantizationArgs.
Json Arguments(const scale::ScaledFormat& format, std::string_view strategy) {
  const TypeInfo& element = *FindType(format.scaling.element);
  Json json;
  json["num_bits"] = element.bits;
  json["type"] = element.is_integer() ? "int" : "float";
  json["strategy"] = strategy;
  json["symmetric"] = true;
  json["dynamic"] = false;
  return json;
}

Json Scheme(const Group& group, bool is_alone) {
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
  Json json;
  json["targets"] = is_alone ? Json::array({"Linear"}) : Json(group.modules);
  json["weights"] = std::move(weights);
  json["input_activations"] = std::move(activations);
  json["output_activations"] = nullptr;
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

Json CompressedTensorsConfig(const Modules& modules) {
  const bool is_alone = modules.groups.size() == 1;
  Json json;
  json["quant_method"] = "compressed-tensors";
  json["quantization_status"] = "compressed";
  json["format"] =
      is_alone ? CompressionFormat(*modules.groups.front().form.format) : "mixed-precision";
  json["config_groups"] = Json::object();
  for (std::size_t i = 0; i < modules.groups.size(); ++i) {
    Json scheme = Scheme(modules.groups[i], is_alone);
    scheme["format"] = CompressionFormat(*modules.groups[i].form.format);
    json["config_groups"]["group_" + std::to_string(i)] = std::move(scheme);
  }
  json["ignore"] = modules.ignored;
  json["kv_cache_scheme"] = nullptr;
  return json;
}

// Weights alone are quantised: without the scales of activations, which are calibrated, none of
// ModelOpt's formats quantises these.
void AddModelOpt(const Modules& modules, WrittenConfig& config) {
  const scale::ScaledFormat& format = *modules.groups.front().form.format;
  const bool is_fp8 = format.cells == scale::CellsBy::kTensor;
  Json weights;
  weights["dynamic"] = false;
  weights["num_bits"] = FindType(format.scaling.element)->bits;
  weights["type"] = "float";
  if (!is_fp8) weights["group_size"] = format.block_columns;
  const std::string_view algorithm = is_fp8 ? "FP8" : "W4A16_NVFP4";
  Json json;
  json["quant_method"] = "modelopt";
  json["quant_algo"] = algorithm;
  json["config_groups"]["group_0"] = {{"weights", weights}, {"targets", {"Linear"}}};
  json["ignore"] = modules.ignored;
  json["producer"] = {{"name", "tensorcast"}, {"version", TENSORCAST_VERSION}};
  config.quantization_config = Text(json);
  Json file;
  file["producer"] = json["producer"];
  file["quantization"]["quant_algo"] = algorithm;
  file["quantization"]["kv_cache_quant_algo"] = nullptr;
  if (!is_fp8) file["quantization"]["group_size"] = format.block_columns;
  file["quantization"]["exclude_modules"] = modules.ignored;
  config.hf_quant_config = Text(file) + "\n";
}

void AddComfyUi(const Modules& modules, WrittenConfig& config) {
  Json json;
  json["format_version"] = "1.0";
  json["layers"] = Json::object();
  for (const std::string& module : modules.groups.front().modules) {
    json["layers"][module] = {{"format", "float8_e4m3fn"}};
  }
  config.metadata["_quantization_metadata"] =
      json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

WrittenConfig ConfigOf(const io::TensorReader& reader, const std::string& path,
                       const FilePlan& plan) {
  WrittenConfig config;
  const Modules modules = ModulesOf(reader, plan);
  if (modules.groups.empty()) return config;
  const scale::WrittenForm& first = modules.groups.front().form;
  for (const Group& group : modules.groups) {
    const bool is_said_together = group.form.layout->layout == first.layout->layout &&
                                  (group.form.format == first.format ||
                                   first.layout->layout == ScaledLayout::kCompressedTensors);
    if (is_said_together) continue;
    throw io::Error(io::ErrorKind::kUnsupported,
                    io::PathText(path) + ": " + first.Text() + " and " + group.form.Text() +
                        " in one model; only several formats of compressed-tensors have a "
                        "configuration: name that layout, or one format");
  }
  if (first.layout->layout == ScaledLayout::kComfyUi && !io::HasEnding(path, ".safetensors")) {
    throw io::Error(io::ErrorKind::kUnsupported,
                    io::PathText(path) + ": ComfyUI reads one .safetensors file, no directory");
  }
  switch (first.layout->layout) {
    case ScaledLayout::kDeepSeek: config.quantization_config = Text(DeepSeekConfig(modules)); break;
    case ScaledLayout::kCompressedTensors:
      config.quantization_config = Text(CompressedTensorsConfig(modules));
      break;
    case ScaledLayout::kModelOpt: AddModelOpt(modules, config); break;
    case ScaledLayout::kComfyUi: AddComfyUi(modules, config); break;
  }
  return config;
}

}  // namespace tensorcast::convert
