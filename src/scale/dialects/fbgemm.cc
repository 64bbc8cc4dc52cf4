// FBGEMM: float8 weights with a scale for each row, as transformers' FbgemmFp8Config keeps them.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"
#include "scale/layer_lists.h"

namespace tensorcast::scale {
namespace {

constexpr Layout kFbgemmLayouts[] = {{"", "", "_scale"}, {"", "", ".weight_scale"}};
constexpr std::string_view kFbgemmMethods[] = {"fbgemm_fp8"};

void ReadFbgemm(const json::OrderedJson& json, QuantizationConfig& config) {
  ReadFp8(json, config);
  if (config.schemes.front().strategy.empty()) config.schemes.front().strategy = "channel";
}

}  // namespace

extern const Dialect kFbgemm;
constinit const Dialect kFbgemm = {
    .name = "FBGEMM",
    .layouts = kFbgemmLayouts,
    .methods = kFbgemmMethods,
    .read_config = ReadFbgemm,
    .exceptions = kNotConvertedLists,
    .layer_names = LayerNames::kParts,
    .edit_config = AddNotConverted,
};

}  // namespace tensorcast::scale
