// auto-round: weights that stand as GPTQ's or as AWQ's, as its configuration's "packing_format"
// says.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dialects/gptq.h"

namespace tensorcast::scale {
namespace {

constexpr std::string_view kAutoRoundMethods[] = {"auto-round", "intel/auto-round"};

PackedReading ReadAutoRound(const PackedTensors& tensors) {
  const QweightSettings settings = SettingsOf(tensors.config);
  if (!settings.is_said) return {};  // GPTQ's and AWQ's own dialects read what nothing describes
  if (settings.format.find("awq") == std::string::npos) return ReadGptq(tensors, settings);
  QweightSettings gemm = settings;
  gemm.format = "gemm";
  return ReadAwq(tensors, gemm);
}

}  // namespace

extern const Dialect kAutoRound;
constinit const Dialect kAutoRound = {
    .name = "auto-round",
    .names = kQweightNames,
    .read_packed = ReadAutoRound,
    .methods = kAutoRoundMethods,
    .read_config = ReadQweightConfig,
};

}  // namespace tensorcast::scale
