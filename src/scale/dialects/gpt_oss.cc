// gpt-oss: experts as MXFP4, [experts, outputs, groups, 16 bytes], which stand for a weight of
// [experts, inputs, outputs].
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"
#include "scale/layer_lists.h"

namespace tensorcast::scale {
namespace {

constexpr CompanionName kGptOssNames[] = {
    {"_blocks", "_scales", CompanionRole::kScale, Codes::kWords},
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

constexpr std::string_view kGptOssMethods[] = {"mxfp4"};

void ReadGptOss(const json::OrderedJson&, QuantizationConfig& config) {
  WeightScheme& scheme = config.schemes.emplace_back();
  scheme.bits = 4;
  scheme.strategy = "group";
  scheme.group = 32;
  config.is_complete = true;
}

}  // namespace

extern const Dialect kGptOss;
constinit const Dialect kGptOss = {
    .name = "gpt-oss",
    .names = kGptOssNames,
    .layouts = kGptOssLayouts,
    .methods = kGptOssMethods,
    .read_config = ReadGptOss,
    .edit_config = AddNotConverted,
};

}  // namespace tensorcast::scale
