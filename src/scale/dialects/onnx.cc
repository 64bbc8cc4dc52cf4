// ONNX models: codes, scales and a DequantizeLinear behind them. The graph says what they are, on
// reading (scale/graph_companions.h) and on writing; only the names of what is made stand here.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dialects/dialect.h"

namespace tensorcast::scale {
namespace {

constexpr WrittenLayout kModelWritten[] = {
    {.format = "fp8-tensor",
     .codes = "__float8e4m3fn",
     .scale = "__scale",
     .one = OneShape::kScalar},
    {.format = "fp8-row", .codes = "__float8e4m3fn", .scale = "__scale", .one = OneShape::kScalar},
    {.format = "int8-row", .codes = "__int8", .scale = "__scale", .one = OneShape::kScalar},
};

}  // namespace

extern const Dialect kOnnx;
constinit const Dialect kOnnx = {
    .name = "ONNX",
    .layout = kModelLayout,
    .written = kModelWritten,
};

}  // namespace tensorcast::scale
