// ComfyUI: one file of float8 weights, described layer by layer, by tensors of JSON or in the
// file's metadata. Its block formats have their scales in the order of a matrix unit, and some
// weights are rotated: only what is plainly one factor is read.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/error.h"
#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"
#include "scale/layer_lists.h"
#include "scale/scale_companions.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;
using enum CompanionRole;

constexpr CompanionName kComfyNames[] = {
    {".weight", ".scale_weight", kScale},
    {"", ".scale_weight", kScale},
    {".weight", ".scale_input", kActivationScale},
    {".weight", ".comfy_quant", kState},
};

constexpr Layout kComfyLayouts[] = {{"", "", "_scale"}};
constexpr Layout kComfyMarkedLayouts[] = {{".weight", ".weight", ".scale_weight"},
                                          {"", "", ".scale_weight"}};

constexpr WrittenLayout kComfyWritten[] = {
    {.format = "fp8-tensor", .codes = "", .scale = "_scale", .one = OneShape::kScalar}};

WrittenConfig WriteComfy(const QuantisedModules& modules) {
  Json layers = Json::object();
  for (const std::string& module : modules.written.front().modules) {
    layers[module] = {{"format", "float8_e4m3fn"}};
  }
  const Json json = {{"format_version", "1.0"}, {"layers", std::move(layers)}};
  WrittenConfig config;
  config.metadata[std::string(kMetadataMark)] = ConfigText(json, json::kOneLine);
  return config;
}

std::string EditMetadata(const std::string& old, const QuantisedModules& modules,
                         const std::string& made) {
  Json json = json::JsonOrNull(old);
  if (!Member(json, "layers").is_object()) return {};
  Json& layers = json["layers"];
  const std::size_t before = layers.size();
  Forget(layers, modules.freed);
  if (!made.empty()) layers.update(Member(json::JsonOrNull(made), "layers"));
  return layers.size() == before && made.empty() ? std::string() : ConfigText(json, json::kOneLine);
}

std::string WhyNotDescribed(const Json& json) {
  if (!json.is_object()) return "which is not a description in JSON";
  for (const auto& [key, value] : json.items()) {
    if (key == "full_precision_matrix_mult") continue;
    if (key == "format" && value.is_string()) {
      const auto format = value.get<std::string>();
      if (format == "float8_e4m3fn" || format == "float8_e5m2") continue;
      return "whose format " + words::Quoted(format) + " is not read here";
    }
    return "whose " + words::Quoted(key) + " is not understood here";
  }
  return {};
}

}  // namespace

extern const Dialect kComfyUi;
constinit const Dialect kComfyUi = {
    .name = "ComfyUI",
    .names = kComfyNames,
    .layouts = kComfyLayouts,
    .layout = "comfyui",
    .written = kComfyWritten,
    .write_config = WriteComfy,
    .metadata_key = kMetadataMark,
    .edit_metadata = EditMetadata,
    .why_not_described = WhyNotDescribed,
    .only_format = ".safetensors",
};

// Files that a tensor "scaled_fp8" marks.
extern const Dialect kComfyUiMarked;
constinit const Dialect kComfyUiMarked = {.name = "ComfyUI", .layouts = kComfyMarkedLayouts};

}  // namespace tensorcast::scale
