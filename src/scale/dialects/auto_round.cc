// auto-round: weights that stand as GPTQ's or as AWQ's, as its configuration's "packing_format"
// says.
//
// SPDX-License-Identifier: Apache-2.0
#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/dialects/gptq.h"
#include "scale/quantised_modules.h"

namespace tensorcast::scale {
namespace {

constexpr std::string_view kAutoRoundMethods[] = {"auto-round", "intel/auto-round"};

PackedReading ReadAutoRound(const PackedTensors& tensors) {
  // GPTQ's and AWQ's own dialects read what nothing describes.
  if (!IsAmong(kAutoRoundMethods, tensors.config.method)) return {};
  QweightSettings settings = SettingsOf(tensors.config);
  std::string& format = settings.format;
  // Its readers take the short words for these.
  if (format == "auto_round:auto_awq" || format == "auto_round:awq") {
    format = "gemm";
    PackedReading reading = ReadAwq(tensors, settings);
    return reading.Fits() ? std::move(reading) : RefuseQweight(tensors, settings, true);
  }
  // The usual one stores zero points less 1, and the others do not.
  if (format == "auto_round:auto_gptq" || format == "auto_round:gptq" || format == "auto") {
    format = "gptq";
  } else if (format == "auto_round" || format == "auto_round:gptqmodel") {
    format = "gptq_v2";
  }
  PackedReading reading = ReadGptq(tensors, settings);
  return reading.Fits() ? std::move(reading) : RefuseQweight(tensors, settings, false);
}

// Its readers leave alone what has 16 bits.
WrittenConfig EditAutoRound(const QuantisedModules& modules, const QuantizationConfig& config) {
  json::OrderedJson json = *config.json;
  json::OrderedJson& exceptions = json["extra_config"];
  if (!exceptions.is_object()) exceptions = json::OrderedJson::object();
  for (const std::string& module : modules.freed) exceptions[module] = {{"bits", 16}};
  return {.quantization_config = ConfigText(json)};
}

}  // namespace

extern const Dialect kAutoRound;
constinit const Dialect kAutoRound = {
    .name = "auto-round",
    .names = kQweightNames,
    .read_packed = ReadAutoRound,
    .methods = kAutoRoundMethods,
    .read_config = ReadQweightConfig,
    .edit_config = EditAutoRound,
};

}  // namespace tensorcast::scale
