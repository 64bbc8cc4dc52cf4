// gpt-oss: experts as MXFP4, [experts, outputs, groups, 16 bytes], which stand for a weight of
// [experts, inputs, outputs].
//
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <vector>

#include "files/error.h"
#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"
#include "scale/layer_lists.h"
#include "scale/quantised_modules.h"

namespace tensorcast::scale {
namespace {

constexpr CompanionName kGptOssNames[] = {
    {.tensor = "_blocks",
     .companion = "_scales",
     .role = CompanionRole::kScale,
     .codes = Codes::kWords,
     .is_needed = true},
    {".blocks", ".scales", CompanionRole::kScale, Codes::kWords},
};

constexpr Layout kGptOssLayouts[] = {{.codes = "_blocks",
                                      .plain = "",
                                      .scale = "_scales",
                                      .storage = Storage::kPackedBytes,
                                      .element = DataType::kFloat4E2M1,
                                      .scale_type = ScaleType::kE8M0,
                                      .group = 32,
                                      .is_transposed = true}};

constexpr std::string_view kGateUp = ".gate_up_proj", kDown = ".down_proj";

std::string_view ExpertsOf(std::string_view name) {
  for (const std::string_view end : {kGateUp, kDown}) {
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  }
  return {};
}

std::string WhyNoExperts(std::string_view name, std::span<const std::uint64_t> shape) {
  if (shape.size() == 3 && ExpertsOf(name).ends_with("experts")) {
    const std::uint64_t inputs = shape[1];
    return inputs % 32 == 0
               ? std::string()
               : "its inputs, " + std::to_string(inputs) + ", are not a multiple of 32";
  }
  return "gpt-oss has only experts.gate_up_proj and experts.down_proj in this format, as [experts, "
         "inputs, outputs]";
}

constexpr WrittenLayout kGptOssWritten[] = {{.format = "mxfp4",
                                             .codes = "_blocks",
                                             .scale = "_scales",
                                             .packs_codes = true,
                                             .splits_groups = true,
                                             .has_scale_bytes = true,
                                             .is_transposed = true,
                                             .why_not = WhyNoExperts}};

bool IsPackedMxfp4(const formats::TensorInfo& info) {
  constexpr std::uint64_t kGroupBytes = 16;
  return info.name.ends_with("_blocks") && info.type == DataType::kUint8 &&
         info.shape.size() == 4 && info.shape.back() == kGroupBytes;
}

constexpr std::string_view kGptOssMethods[] = {"mxfp4"};

void ReadGptOss(const json::OrderedJson&, QuantizationConfig& config) {
  WeightScheme& scheme = config.schemes.emplace_back();
  scheme.bits = 4;
  scheme.strategy = "group";
  scheme.group = 32;
  config.is_complete = true;
}

// Its readers replace the experts of a layer, both weights or none. What stands in another file of
// the checkpoint is not known here.
void RefuseHalves(const QuantisedModules& modules) {
  if (modules.halved.empty()) return;
  throw files::Error(core::ErrorKind::kUnsupported,
                     "one weight of " + words::EscapeName(modules.halved.front()) +
                         " becomes mxfp4 (gpt-oss) and another does not, and its readers take both "
                         "of a layer or none: leave out both, or name both");
}

std::vector<std::string> PlainExperts(const QuantisedModules& modules) {
  std::vector<std::string> experts;
  for (const std::string& one : modules.plain) {
    if (one.ends_with("experts")) experts.push_back(one);
  }
  return experts;
}

// As OpenAI's has it, whose readers look for experts alone; experts that stay are named.
WrittenConfig WriteGptOss(const QuantisedModules& modules) {
  RefuseHalves(modules);
  json::OrderedJson json = json::OrderedJson::object();
  json[kNotConverted] = {"model.layers.*.self_attn", "model.layers.*.mlp.router",
                         "model.embed_tokens", "lm_head"};
  AddNames(json[kNotConverted], PlainExperts(modules));
  json["quant_method"] = kGptOssMethods[0];
  return {.quantization_config = ConfigText(json)};
}

std::optional<WrittenConfig> JoinGptOss(const QuantisedModules& modules,
                                        const QuantizationConfig& config, std::string*) {
  RefuseHalves(modules);
  json::OrderedJson json = *config.json;
  json::OrderedJson& names = json[kNotConverted];
  if (names.is_array()) {
    for (const WrittenGroup& group : modules.written) {
      for (const std::string& one : group.modules) {
        std::erase(names.get_ref<json::OrderedJson::array_t&>(), json::OrderedJson(ExpertsOf(one)));
      }
    }
  }
  AddNames(names, PlainExperts(modules));
  return WrittenConfig{.quantization_config = ConfigText(json)};
}

}  // namespace

extern const Dialect kGptOss;
constinit const Dialect kGptOss = {
    .name = "gpt-oss",
    .names = kGptOssNames,
    .layouts = kGptOssLayouts,
    .packed = {"MXFP4", IsPackedMxfp4},
    .methods = kGptOssMethods,
    .read_config = ReadGptOss,
    .exceptions = kNotConvertedLists,
    .layout = "gpt-oss",
    .written = kGptOssWritten,
    .write_config = WriteGptOss,
    .edit_config = AddNotConverted,
    .join_config = JoinGptOss,
    .is_read_by_transformers = true,
};

}  // namespace tensorcast::scale
