// One row for each pair of names, and how types and shapes are held against them.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scale_names.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace tensorcast::scale {
namespace {

using enum CompanionRole;
using enum Codes;

constexpr CompanionName kCompanionNames[] = {
    // Scales. DeepSeek, transformers, compressed-tensors, ModelOpt, FBGEMM:
    {"", "_scale_inv", kScale},
    {"", "_scale", kScale},
    {"_packed", "_scale", kScale, kWords},
    {"", ".weight_scale", kScale},
    {".weight", ".weight_scale", kScale},
    {"", "_scales", kScale},
    {"_blocks", "_scales", kScale, kWords},  // gpt-oss
    {".blocks", ".scales", kScale, kWords},
    {".weight", ".scale_weight", kScale},  // ComfyUI
    {"", ".scale_weight", kScale},
    {".qweight", ".scales", kScale, kWords, true, "GPTQ or AWQ"},
    {".weight", ".scales", kScale, kWords, true, "MLX"},
    {".weight", ".SCB", kScale, kNarrow, true, "bitsandbytes"},
    {"", ".absmax", kScale, kAny, true, "bitsandbytes"},
    {"_quantized", "_scale", kScale, kNarrow, true, "ONNX Runtime"},
    {"_Q4", "_scales", kScale, kNarrow, true, "ONNX Runtime"},
    {"_Q8", "_scales", kScale, kNarrow, true, "ONNX Runtime"},
    {".weight", ".scale", kScale, kNarrow, false},  // DeepSeek V4
    {"", ".scale", kScale, kNarrow, false},
    {".weight", ".qscale_weight", kScale},  // Mistral
    {"_qdata", "_scale", kScale, kNarrow, true, "torchao"},
    {"._data", "._scale", kScale, kNarrow, true, "quanto"},
    {"._data._data", "._scale", kScale, kNarrow, true, "quanto"},  // of fewer than 8 bits
    {".W_q", ".scale", kScale, kWords, true, "HQQ"},
    {".qweight", ".wscales", kScale, kWords, true, "SVDQuant"},
    {".codes", ".scales", kScale, kWords, true, "AQLM"},
    {".q_weight", ".q_scale", kScale, kWords, true, "ExLlamaV2"},
    {".B", ".s", kScale, kWords, true, "Marlin"},

    {"", "_scale_2", kSecondScale},  // ModelOpt's NVFP4
    {"_packed", "_global_scale", kSecondScale, kWords},
    {"", "_global_scale", kSecondScale},
    {"", ".nested_absmax", kSecondScale, kAny, true, "bitsandbytes"},
    {".q_weight", ".q_scale_max", kSecondScale, kWords, true, "ExLlamaV2"},

    {"", "_zero_point", kZeroPoint},
    {"_packed", "_zero_point", kZeroPoint, kWords, true, "compressed-tensors pack-quantized"},
    {".qweight", ".qzeros", kZeroPoint, kWords, true, "GPTQ or AWQ"},
    {".weight", ".biases", kZeroPoint, kWords, false, "MLX"},
    {"_quantized", "_zero_point", kZeroPoint, kNarrow, true, "ONNX Runtime"},
    {"_Q4", "_zero_points", kZeroPoint, kNarrow, true, "ONNX Runtime"},
    {"_Q8", "_zero_points", kZeroPoint, kNarrow, true, "ONNX Runtime"},
    {".W_q", ".zero", kZeroPoint, kWords, true, "HQQ"},
    {"._data._data", "._shift", kZeroPoint, kNarrow, true, "quanto"},
    {"._data._data", "._zeropoint", kZeroPoint, kNarrow, true, "quanto"},

    {".weight", ".input_scale", kActivationScale},
    {".weight_packed", ".input_scale", kActivationScale, kWords},
    {".weight_packed", ".input_global_scale", kActivationScale, kWords},
    {".weight", ".input_zero_point", kActivationScale},
    {".weight", ".output_scale", kActivationScale},
    {".weight", ".act_scale", kActivationScale},  // AutoFP8
    {".weight._data", ".input_scale", kActivationScale, kNarrow, true, "quanto"},
    {".weight._data", ".output_scale", kActivationScale, kNarrow, true, "quanto"},
    {".weight._data._data", ".input_scale", kActivationScale, kNarrow, true, "quanto"},
    {".weight._data._data", ".output_scale", kActivationScale, kNarrow, true, "quanto"},
    {".weight", ".scale_input", kActivationScale},  // ComfyUI
    {"", "_input_scale", kActivationScale},
    {".weight", ".pre_quant_scale", kActivationScale},  // ModelOpt's AWQ
    {".weight_packed", ".pre_quant_scale", kActivationScale, kWords},
    {".weight", ".qscale_act", kActivationScale},
    {".weight", ".input_scale_ub", kActivationScale},
    {".qweight", ".smooth_factor", kActivationScale, kWords, true, "SVDQuant"},
    {".qweight", ".smooth_factor_orig", kActivationScale, kWords, true, "SVDQuant"},
    {".weight", ".q_scale", kActivationScale},  // of the attention's cache, beside a projection
    {".weight", ".k_scale", kActivationScale},
    {".weight", ".v_scale", kActivationScale},
    {".q_proj.weight", ".q_scale", kActivationScale},  // the same, beside the attention
    {".k_proj.weight", ".k_scale", kActivationScale},
    {".v_proj.weight", ".v_scale", kActivationScale},
    {".k_proj.weight_packed", ".k_scale", kActivationScale, kWords},
    {".v_proj.weight_packed", ".v_scale", kActivationScale, kWords},

    {".qweight", ".g_idx", kOrder, kWords, true, "GPTQ or AWQ"},
    {"", "_g_idx", kOrder},
    {"_packed", "_g_idx", kOrder, kWords, true, "compressed-tensors pack-quantized"},
    {"_packed", "_shape", kShape, kWords, true, "compressed-tensors pack-quantized"},
    {"", ".quant_map", kCodeMap, kAny, true, "bitsandbytes"},
    {".codes", ".codebooks", kCodeMap, kWords, true, "AQLM"},
    {"", ".nested_quant_map", kCodeMap, kAny, true, "bitsandbytes"},
    {"", ".quant_state.bitsandbytes__nf4", kState, kAny, true, "bitsandbytes"},
    {"", ".quant_state.bitsandbytes__fp4", kState, kAny, true, "bitsandbytes"},
    {".weight", ".weight_format", kState, kNarrow, true, "bitsandbytes"},
    {".weight", ".comfy_quant", kState},
};

// How many codes an element can hold: integers may hold several, of two bits or more.
std::uint64_t MostCodes(const io::TensorInfo& info) {
  const TypeInfo* const type = FindType(info.type);
  return type != nullptr && type->is_integer()
             ? std::max<std::uint64_t>(1, static_cast<std::uint64_t>(type->bits) / 2)
             : 1;
}

// Whether a grid of scales can lie over a tensor: one for all, a list of any length, or each of its
// dimensions at most as long as one of the tensor's, in their order.
bool IsGridOver(const std::vector<std::uint64_t>& grid, const io::TensorInfo& tensor) {
  const auto lengths =
      std::count_if(grid.begin(), grid.end(), [](std::uint64_t n) { return n > 1; });
  if (lengths < 2) return true;
  const std::uint64_t codes = MostCodes(tensor);
  auto next = tensor.shape.begin();
  for (const std::uint64_t n : grid) {
    if (n == 1) continue;
    next = std::find_if(next, tensor.shape.end(),
                        [&](std::uint64_t length) { return n / codes <= length; });
    if (next == tensor.shape.end()) return false;
    ++next;
  }
  return true;
}

}  // namespace

std::string_view RoleText(CompanionRole role) {
  switch (role) {
    case kScale: return "scale";
    case kSecondScale: return "second scale";
    case kActivationScale: return "activation scale";
    case kZeroPoint: return "zero point";
    case kOrder: return "group index";
    case kShape: return "shape";
    case kCodeMap: return "code map";
    case kState: break;
  }
  return "quantisation state";
}

std::span<const CompanionName> CompanionNames() { return kCompanionNames; }

bool IsNarrowFloat(const io::TensorInfo& info) {
  const TypeInfo* const type = FindType(info.type);
  return type != nullptr && type->is_float() && type->bits <= 8 &&
         type->type != DataType::kFloat8E8M0;
}

bool TensorFits(const CompanionName& row, const io::TensorInfo& tensor, bool is_sure) {
  const TypeInfo* const type = FindType(tensor.type);
  if (type == nullptr || tensor.elements == 0) return false;
  switch (row.codes) {
    case kNarrow: {
      const bool fits = IsNarrowFloat(tensor) || (type->is_integer() && type->bits <= 8);
      return fits && (row.is_telling || is_sure || type->is_float() || type->is_packed());
    }
    case kWords: return type->is_integer() || IsNarrowFloat(tensor);
    case kAny: break;
  }
  // A column of bytes, whatever each element is called.
  return type->bits <= 8 || (!tensor.shape.empty() && tensor.shape.back() == 1);
}

bool CompanionTypeFits(const CompanionName& row, const io::TensorInfo& companion) {
  const TypeInfo* const type = FindType(companion.type);
  if (companion.elements == 0) return false;
  switch (row.role) {
    case kScale:
    case kSecondScale:
      // Codes of float8e8m0 may stand there as bytes.
      return type == nullptr || type->is_float() || type->type == DataType::kUint8;
    case kActivationScale:
    case kZeroPoint: return type == nullptr || type->is_float() || type->is_integer();
    case kOrder:
    case kShape: return type != nullptr && type->is_integer();
    case kCodeMap: return type != nullptr && type->is_float();
    case kState: break;
  }
  return type != nullptr && (type->type == DataType::kUint8 || companion.elements == 1);
}

bool CompanionFits(const CompanionName& row, const io::TensorInfo& companion,
                   const io::TensorInfo& tensor) {
  if (!CompanionTypeFits(row, companion)) return false;
  switch (row.role) {
    case kCodeMap:
    case kState: return true;  // of a length that the tensor's has nothing to do with
    case kShape: return companion.shape.size() == 1;
    case kScale:
    case kSecondScale:
    case kActivationScale:
    case kZeroPoint:
    case kOrder: break;
  }
  return companion.elements / MostCodes(tensor) <= tensor.elements &&
         IsGridOver(companion.shape, tensor);
}

}  // namespace tensorcast::scale
