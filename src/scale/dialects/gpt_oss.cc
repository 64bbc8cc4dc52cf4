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
    .edit_config = AddNotConverted,
};

}  // namespace tensorcast::scale
