// Names that several libraries give to scales and to what else serves codes.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dialects/dialect.h"

namespace tensorcast::scale {
namespace {

using enum CompanionRole;
using enum Codes;

constexpr CompanionName kSharedRows[] = {
    {"", "_scale_inv", kScale},
    {"", "_scale", kScale},
    {"", ".weight_scale", kScale},
    {".weight", ".weight_scale", kScale},
    {"", "_scales", kScale},
    {".weight", ".scale", kScale, kNarrow, false},
    {"", ".scale", kScale, kNarrow, false},
    {"", "_global_scale", kSecondScale},
    {"", "_zero_point", kZeroPoint},
    {".weight", ".input_scale", kActivationScale},
    {".weight", ".input_zero_point", kActivationScale},
    {".weight", ".output_scale", kActivationScale},
    {".weight", ".act_scale", kActivationScale},  // AutoFP8
    {"", "_input_scale", kActivationScale},
    {".weight", ".input_scale_ub", kActivationScale},
    {".weight", ".q_scale", kActivationScale},  // of the attention's cache, beside a projection
    {".weight", ".k_scale", kActivationScale},
    {".weight", ".v_scale", kActivationScale},
    {".q_proj.weight", ".q_scale", kActivationScale},  // the same, beside the attention
    {".k_proj.weight", ".k_scale", kActivationScale},
    {".v_proj.weight", ".v_scale", kActivationScale},
    {"", "_g_idx", kOrder},
};

}  // namespace

extern const Dialect kSharedNames;
constinit const Dialect kSharedNames = {
    .name = "",
    .names = kSharedRows,
};

}  // namespace tensorcast::scale
