// Elements below a byte lie at bit offsets, low bits first, whatever their width: one function
// reads them all, and ml_dtypes has their types.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/reading_code.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "core/shape.h"
#include "formats/gguf_types.h"
#include "formats/npy_dtype.h"
#include "formats/safetensors_dtype.h"

namespace tensorcast::formats {
namespace {

constexpr std::string_view kRead = R"(def read(path, name):
    file = numpy.memmap(path, "u1", "r")
    start = 8 + int(file[:8].view("<u8")[0])
    header = json.loads(bytes(file[8:start]))
    data = slice(*(start + n for n in header[name]["data_offsets"]))
    packed = json.loads(header.get("__metadata__", {}).get("tensorcast.types", "{}"))
    tensor = packed.get(name, header[name])
    bits, dtype = TYPES[tensor["dtype"]]
    ones = numpy.unpackbits(file[data], count=bits * math.prod(tensor["shape"]), bitorder="little")
    return numpy.packbits(ones.reshape(-1, bits), 1, "little").view(dtype).reshape(tensor["shape"])
)";
static_assert(kRead.find(kPackedTypesKey) != std::string_view::npos);

void AddName(std::string& names, std::string_view name) {
  names.append(names.empty() ? "" : ", ").append(name);
}

// Types of GGUF's blocks that are passed through: the library opens no file that has one.
std::string GgufBlockTypes(std::span<const TensorInfo> tensors) {
  std::set<std::string_view> blocks;
  for (const TensorInfo& info : tensors) {
    if (info.type != DataType::kUndefined) continue;
    const auto* const row = std::ranges::find(kGgufTypes, info.dtype, &GgufType::name);
    if (row != std::end(kGgufTypes)) blocks.insert(row->name);
  }
  std::string names;
  for (const std::string_view name : blocks) AddName(names, name);
  return names;
}

}  // namespace

std::string SafetensorsReadingHint(std::span<const TensorInfo> tensors) {
  std::map<std::string_view, DataType> dtypes;  // as the file calls them
  for (const TensorInfo& info : tensors) {
    const TypeInfo* const type = FindType(info.type);
    if (type == nullptr || !type->is_packed()) continue;
    const bool is_bytes =
        NeedsPacking(info.type, core::CheckedProduct(info.shape).value_or(info.elements));
    dtypes.emplace(is_bytes ? type->onnx_name : FindDtype(info.type)->name, info.type);
  }
  if (const std::string blocks = GgufBlockTypes(tensors); dtypes.empty()) {
    return blocks.empty()
               ? blocks
               : "tensorcast alone: safetensors' library opens no file that has " + blocks;
  }
  std::string names, rows;
  for (const auto& [name, type] : dtypes) {
    AddName(names, name);
    rows.append(rows.empty() ? "" : ", ").append("\"").append(name).append("\": (");
    rows.append(std::to_string(FindType(type)->bits)).append(", ml_dtypes.");
    rows.append(MlDtypesName(type)).append(")");
  }
  return "the Python code below: safetensors 0.8 does not unpack " + names +
         "\nimport json, math, ml_dtypes, numpy\nTYPES = {" + rows + "}\n" + std::string(kRead);
}

}  // namespace tensorcast::formats
