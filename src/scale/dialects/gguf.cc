// GGUF: the types of its tensors say how their blocks are to be read, and no configuration more.
// A float32 may stand beside NVFP4's, which has two levels of scales.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_types.h"
#include "scale/dialects/dialect.h"
#include "scale/gguf_weight.h"
#include "scale/packed_tensors.h"

namespace tensorcast::scale {
namespace {

constexpr CompanionName kGgufNames[] = {
    {".weight", ".scale", CompanionRole::kScale, Codes::kBlocks, false},
    {".weight", ".input_scale", CompanionRole::kActivationScale, Codes::kBlocks},
};

const formats::GgufType* BlocksOf(const formats::TensorInfo& info) {
  if (info.type != DataType::kUndefined) return nullptr;
  for (const formats::GgufType& type : formats::kGgufTypes) {
    if (type.type == DataType::kUndefined && type.name == info.dtype) return &type;
  }
  return nullptr;
}

bool HoldsBlocks(const formats::TensorInfo& info) { return BlocksOf(info) != nullptr; }

PackedReading ReadGgufTensors(const PackedTensors& tensors) {
  PackedReading reading;
  const formats::TensorInfo& codes = tensors.Info(tensors.codes);
  const formats::GgufType* const type = BlocksOf(codes);
  if (type == nullptr) return reading;
  const GgufBlocks* const blocks = FindGgufBlocks(type->name);
  if (blocks == nullptr) {
    reading.kind = core::ErrorKind::kUnsupported;
    reading.why_not =
        "is of GGUF's type " + codes.dtype + ", whose values stand in tables that are not here";
    return reading;
  }
  // Another file may hold tensors that are called so. A row of the shape that ComfyUI-GGUF's keys
  // give back need not be a number of blocks.
  if (codes.elements % type->values != 0 ||
      codes.bytes != codes.elements / type->values * type->bytes) {
    reading.why_not =
        "is not " + codes.dtype + " by its size, " + words::CountText(codes.bytes, "byte");
    return reading;
  }
  GgufTensors made = {tensors.codes, codes.elements};
  if (codes.shape.size() > 1 && codes.elements != 0) {
    made.rows = codes.shape.end()[-2];
    made.columns = codes.shape.back();
  }
  if (const std::optional<std::size_t> scale = tensors.Find(".scale")) {
    const formats::TensorInfo& info = tensors.Info(*scale);
    const bool is_each = codes.shape.size() > 2 && info.elements == codes.shape[0];
    if (info.type != DataType::kFloat32 || (info.elements != 1 && !is_each)) {
      reading.why_not = "has a scale " + words::EscapeName(info.name) + " of " + info.dtype + " " +
                        words::ShapeText(info.shape) +
                        "; expected one float32, or one for each matrix";
      return reading;
    }
    made.scale = scale;
    made.scales = info.elements;
  }
  reading.name = codes.name;
  reading.shape = codes.shape;
  if (tensors.config.file.empty()) reading.said = "its type says so";
  reading.weight = MakeGgufWeight(*blocks, made);
  return reading;
}

constexpr WrittenLayout kGgufWritten[] = {
    {.format = "q8_0", .block = "Q8_0"},   {.format = "q5_1", .block = "Q5_1"},
    {.format = "q5_0", .block = "Q5_0"},   {.format = "q4_1", .block = "Q4_1"},
    {.format = "q4_0", .block = "Q4_0"},   {.format = "mxfp4", .block = "MXFP4"},
    {.format = "nvfp4", .block = "NVFP4"},
};

}  // namespace

extern const Dialect kGguf;
constinit const Dialect kGguf = {
    .name = "GGUF",
    .names = kGgufNames,
    .read_packed = ReadGgufTensors,
    .holds_codes = HoldsBlocks,
    .layout = "gguf",
    .written = kGgufWritten,
};

}  // namespace tensorcast::scale
