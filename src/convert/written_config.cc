// Each layout's own form, as the library that reads it has it: transformers' FineGrainedFP8Config,
// compressed-tensors' QuantizationConfig, ModelOpt's hf_quant_config.json, ComfyUI's metadata.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/written_config.h"

#include <string_view>
#include <utility>
#include <vector>

#include "convert/compressed_tensors_config.h"
#include "convert/file_plan.h"
#include "convert/ignored_modules.h"
#include "convert/kept_config.h"
#include "convert/quantised_modules.h"
#include "convert/survey.h"
#include "io/error_text.h"
#include "io/model_config.h"
#include "io/ordered_json.h"
#include "scale/written_form.h"
#include "tensorcast/version.h"

namespace tensorcast::convert {
namespace {

using Json = io::OrderedJson;

Json DeepSeekConfig(const QuantisedModules& modules) {
  Json json = Json::object();
  json["quant_method"] = "fp8";
  json["fmt"] = "e4m3";
  json["activation_scheme"] = "dynamic";
  const scale::ScaledFormat& format = *modules.written.front().form.format;
  json["weight_block_size"] = {format.block_rows, format.block_columns};
  json["modules_to_not_convert"] = IgnoredModules(ScaledLayout::kDeepSeek, modules);
  return json;
}

// Weights alone are quantised: without the scales of activations, which are calibrated, none of
// ModelOpt's formats quantises these.
void AddModelOpt(const QuantisedModules& modules, WrittenConfig& config) {
  const scale::ScaledFormat& format = *modules.written.front().form.format;
  const bool is_fp8 = format.cells == scale::CellsBy::kTensor;
  Json weights = Json::object();
  weights["dynamic"] = false;
  weights["num_bits"] = FindType(format.scaling.element)->bits;
  weights["type"] = "float";
  if (!is_fp8) weights["group_size"] = format.block_columns;
  const std::string_view algorithm = is_fp8 ? "FP8" : "W4A16_NVFP4";
  Json json = Json::object();
  json["quant_method"] = "modelopt";
  json["quant_algo"] = algorithm;
  json["config_groups"] = {{"group_0", {{"weights", weights}, {"targets", {"Linear"}}}}};
  json["ignore"] = IgnoredModules(ScaledLayout::kModelOpt, modules);
  json["producer"] = {{"name", "tensorcast"}, {"version", TENSORCAST_VERSION}};
  config.quantization_config = ConfigText(json);
  Json quantization = Json::object();
  quantization["quant_algo"] = algorithm;
  quantization["kv_cache_quant_algo"] = nullptr;
  if (!is_fp8) quantization["group_size"] = format.block_columns;
  quantization["exclude_modules"] = json["ignore"];
  const Json file = {{"producer", json["producer"]}, {"quantization", std::move(quantization)}};
  config.hf_quant_config = ConfigText(file) + "\n";
}

void AddComfyUi(const QuantisedModules& modules, WrittenConfig& config) {
  Json json = Json::object();
  json["format_version"] = "1.0";
  json["layers"] = Json::object();
  for (const std::string& module : modules.written.front().modules) {
    json["layers"][module] = {{"format", "float8_e4m3fn"}};
  }
  config.metadata[std::string(scale::kMetadataMark)] = ConfigText(json, -1);
}

// Of the weights that are made, as if there were no others.
WrittenConfig WrittenAlone(const std::string& path, const QuantisedModules& modules) {
  WrittenConfig config;
  if (modules.written.empty()) return config;
  const scale::WrittenForm& first = modules.written.front().form;
  for (const WrittenGroup& group : modules.written) {
    const bool is_said_together = group.form.layout->layout == first.layout->layout &&
                                  (group.form.format == first.format || first.IsOfModel() ||
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
    case ScaledLayout::kDeepSeek:
      config.quantization_config = ConfigText(DeepSeekConfig(modules));
      break;
    case ScaledLayout::kCompressedTensors:
      config.quantization_config = ConfigText(CompressedTensorsConfig(modules));
      break;
    case ScaledLayout::kModelOpt: AddModelOpt(modules, config); break;
    case ScaledLayout::kComfyUi: AddComfyUi(modules, config); break;
    case ScaledLayout::kOnnx: break;  // the model says it
  }
  return config;
}

// The type of the plain tensors: scales, and codes that stay, say nothing of it.
DataType ModelTypeOf(const io::TensorReader& reader, const InputScales& scales,
                     const FilePlan& plan) {
  const std::vector<io::TensorInfo>& tensors = reader.contents().tensors;
  std::vector<bool> serves(tensors.size()), holds_codes(tensors.size());
  for (const scale::Companion& one : scales.companions.companions) serves[one.tensor] = true;
  for (const scale::ScaledTensor& one : scales.companions.scaled) holds_codes[one.tensor] = true;
  for (const scale::OpaqueTensor& one : scales.weights.opaque) holds_codes[one.tensor] = true;
  io::ModelTypeCount count;
  for (const TensorJob& job : plan.jobs) {
    const io::TensorInfo& info = tensors[job.tensor];
    const bool stays = job.to.empty();
    if (job.scaled || serves[job.tensor] || (stays && holds_codes[job.tensor])) continue;
    count.Add(stays ? info.type : job.to.front(), info.elements);
  }
  return count.Most();
}

}  // namespace

std::string ConfigText(const Json& json, int indent) { return io::Dumped(json, indent); }

WrittenConfig ConfigOf(const io::TensorReader& reader, const InputScales& scales,
                       const std::string& path, const FilePlan& plan) {
  const QuantisedModules modules = ModulesOf(reader, scales, plan);
  WrittenConfig config = WrittenAlone(path, modules);
  if (!modules.kept.empty()) {
    const std::string descriptions = KeptDescriptions(reader.contents(), modules, config);
    config = KeptConfig(path, modules, scales.weights.config, std::move(config));
    if (!descriptions.empty()) config.metadata[std::string(scale::kMetadataMark)] = descriptions;
  }
  config.model_type = ModelTypeOf(reader, scales, plan);
  return config;
}

}  // namespace tensorcast::convert
