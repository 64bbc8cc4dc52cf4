// How types and shapes are held against names.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scale_names.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "scale/dialects/dialect.h"

namespace tensorcast::scale {
namespace {

using enum CompanionRole;
using enum Codes;

// How many codes an element can hold: integers may hold several, of two bits or more.
std::uint64_t MostCodes(const formats::TensorInfo& info) {
  const TypeInfo* const type = FindType(info.type);
  return type != nullptr && type->is_integer()
             ? std::max<std::uint64_t>(1, static_cast<std::uint64_t>(type->bits) / 2)
             : 1;
}

// Whether a grid of scales can lie over a tensor: one for all, a list of any length, or each of its
// dimensions at most as long as one of the tensor's, in their order.
bool IsGridOver(const std::vector<std::uint64_t>& grid, const formats::TensorInfo& tensor) {
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

std::span<const CompanionName> CompanionNames() {
  static const std::vector<CompanionName> kRows = [] {
    std::vector<CompanionName> rows;
    for (const Dialect* const dialect : Dialects()) {
      for (CompanionName row : dialect->names) {
        row.dialect = dialect;
        if (!dialect->IsRead()) row.opaque = dialect->name;
        rows.push_back(row);
      }
    }
    return rows;
  }();
  return kRows;
}

bool IsNarrowFloat(const formats::TensorInfo& info) {
  const TypeInfo* const type = FindType(info.type);
  return type != nullptr && type->is_float() && type->bits <= 8 &&
         type->type != DataType::kFloat8E8M0;
}

bool TensorFits(const CompanionName& row, const formats::TensorInfo& tensor, bool is_sure) {
  const TypeInfo* const type = FindType(tensor.type);
  if (row.codes == kBlocks) {
    return type == nullptr && tensor.dtype == "NVFP4" && tensor.elements > 0;
  }
  if (type == nullptr || tensor.elements == 0) return false;
  switch (row.codes) {
    case kNarrow: {
      const bool fits = IsNarrowFloat(tensor) || (type->is_integer() && type->bits <= 8);
      return fits && (row.is_telling || is_sure || type->is_float() || type->is_packed());
    }
    case kWords: return type->is_integer() || IsNarrowFloat(tensor);
    case kValues: return true;
    case kAny:
    case kBlocks: break;
  }
  // A column of bytes, whatever each element is called.
  return type->bits <= 8 || (!tensor.shape.empty() && tensor.shape.back() == 1);
}

bool CompanionTypeFits(const CompanionName& row, const formats::TensorInfo& companion) {
  const TypeInfo* const type = FindType(companion.type);
  if (companion.elements == 0) return false;
  if (row.is_described && row.role == kState) return true;
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

bool CompanionFits(const CompanionName& row, const formats::TensorInfo& companion,
                   const formats::TensorInfo& tensor) {
  if (!CompanionTypeFits(row, companion)) return false;
  if (row.is_described) return true;
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
