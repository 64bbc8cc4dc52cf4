// Libraries whose weights are told by their names, or by the method of a configuration, and are not
// read here: they are kept as they are, or refused by name.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dialects/dialect.h"

namespace tensorcast::scale {
namespace {

using enum CompanionRole;
using enum Codes;

constexpr CompanionName kOnnxRuntimeNames[] = {
    {"_quantized", "_scale", kScale},    {"_Q4", "_scales", kScale},
    {"_Q8", "_scales", kScale},          {"_quantized", "_zero_point", kZeroPoint},
    {"_Q4", "_zero_points", kZeroPoint}, {"_Q8", "_zero_points", kZeroPoint},
};

constexpr CompanionName kTorchaoNames[] = {{"_qdata", "_scale", kScale}};
constexpr std::string_view kTorchaoMethods[] = {"torchao"};

constexpr CompanionName kQuantoNames[] = {
    {"._data", "._scale", kScale},
    {"._data._data", "._scale", kScale},  // of fewer than 8 bits
    {"._data._data", "._shift", kZeroPoint},
    {"._data._data", "._zeropoint", kZeroPoint},
    {".weight._data", ".input_scale", kActivationScale},
    {".weight._data", ".output_scale", kActivationScale},
    {".weight._data._data", ".input_scale", kActivationScale},
    {".weight._data._data", ".output_scale", kActivationScale},
};
constexpr std::string_view kQuantoMethods[] = {"quanto"};

constexpr CompanionName kHqqNames[] = {
    {".W_q", ".scale", kScale, kWords},
    {".W_q", ".zero", kZeroPoint, kWords},
};
constexpr std::string_view kHqqMethods[] = {"hqq"};

constexpr CompanionName kSvdQuantNames[] = {
    {".qweight", ".wscales", kScale, kWords},
    {".qweight", ".smooth_factor", kActivationScale, kWords},
    {".qweight", ".smooth_factor_orig", kActivationScale, kWords},
};

constexpr CompanionName kAqlmNames[] = {
    {".codes", ".scales", kScale, kWords},
    {".codes", ".codebooks", kCodeMap, kWords},
};
constexpr std::string_view kAqlmMethods[] = {"aqlm"};

constexpr CompanionName kExLlamaV2Names[] = {
    {".q_weight", ".q_scale", kScale, kWords},
    {".q_weight", ".q_scale_max", kSecondScale, kWords},
};
constexpr std::string_view kExLlamaV2Methods[] = {"exl2"};

constexpr CompanionName kExLlamaV3Names[] = {
    {".trellis", ".suh", kScale, kWords}, {".trellis", ".svh", kSecondScale, kWords},
    {".trellis", ".su", kOrder, kWords},  {".trellis", ".sv", kOrder, kWords},
    {".trellis", ".mcg", kState, kWords}, {".trellis", ".mul1", kState, kWords},
};
constexpr std::string_view kExLlamaV3Methods[] = {"exl3"};

constexpr CompanionName kMarlinNames[] = {{".B", ".s", kScale, kWords}};
constexpr std::string_view kMarlinMethods[] = {"marlin"};

// compressed-tensors': a mask says where the values of a matrix stand.
constexpr CompanionName kSparseNames[] = {
    {".compressed", ".bitmask", kState, kValues},
    {".compressed", ".shape", kShape, kValues},
    {".compressed", ".row_offsets", kOrder, kValues},
};

// compressed-tensors', for one kernel.
constexpr CompanionName kMarlin24Names[] = {
    {".weight_packed", ".scale_packed", kScale, kWords},
    {".weight_packed", ".meta", kOrder, kWords},
};

// Their names do not tell. Methods that are in no list may have scales like those of the methods
// that are read (Quark's do).
constexpr std::string_view kNamelessMethods[] = {"bitnet", "eetq", "fp_quant", "higgs",
                                                 "sinq",   "spqr", "vptq"};

}  // namespace

#define TENSORCAST_RECOGNISED(dialect, ...) \
  extern const Dialect dialect;             \
  constinit const Dialect dialect = {__VA_ARGS__};

TENSORCAST_RECOGNISED(kOnnxRuntime, .name = "ONNX Runtime", .names = kOnnxRuntimeNames)
TENSORCAST_RECOGNISED(kTorchao, .name = "torchao", .names = kTorchaoNames,
                      .methods = kTorchaoMethods)
TENSORCAST_RECOGNISED(kQuanto, .name = "quanto", .names = kQuantoNames, .methods = kQuantoMethods)
TENSORCAST_RECOGNISED(kHqq, .name = "HQQ", .names = kHqqNames, .methods = kHqqMethods)
TENSORCAST_RECOGNISED(kSvdQuant, .name = "SVDQuant", .names = kSvdQuantNames)
TENSORCAST_RECOGNISED(kAqlm, .name = "AQLM", .names = kAqlmNames, .methods = kAqlmMethods)
TENSORCAST_RECOGNISED(kExLlamaV2, .name = "ExLlamaV2", .names = kExLlamaV2Names,
                      .methods = kExLlamaV2Methods)
TENSORCAST_RECOGNISED(kExLlamaV3, .name = "ExLlamaV3", .names = kExLlamaV3Names,
                      .methods = kExLlamaV3Methods)
TENSORCAST_RECOGNISED(kMarlin, .name = "Marlin", .names = kMarlinNames, .methods = kMarlinMethods)
TENSORCAST_RECOGNISED(kSparse, .name = "compressed-tensors as a sparse matrix",
                      .names = kSparseNames)
TENSORCAST_RECOGNISED(kMarlin24, .name = "compressed-tensors in the format \"marlin-24\"",
                      .names = kMarlin24Names)
TENSORCAST_RECOGNISED(kOtherMethods, .name = "", .methods = kNamelessMethods)

}  // namespace tensorcast::scale
