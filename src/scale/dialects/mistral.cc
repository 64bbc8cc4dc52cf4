// Mistral's own checkpoints: float8 weights under the names of their library.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dialects/dialect.h"

namespace tensorcast::scale {
namespace {

constexpr CompanionName kMistralNames[] = {
    {".weight", ".qscale_weight", CompanionRole::kScale},
    {".weight", ".qscale_act", CompanionRole::kActivationScale},
};
constexpr Layout kMistralLayouts[] = {{".weight", ".weight", ".qscale_weight"}};

}  // namespace

extern const Dialect kMistral;
constinit const Dialect kMistral = {
    .name = "Mistral",
    .names = kMistralNames,
    .layouts = kMistralLayouts,
    .file = {.name = "params.json", .says_more = true},
};

}  // namespace tensorcast::scale
