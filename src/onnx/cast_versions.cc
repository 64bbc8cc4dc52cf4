// The table of versions.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/cast_versions.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

namespace tensorcast::onnx {
namespace {

// Rising, so that the last row that is not too new is the one in force.
constexpr CastVersion kCast[] =
    {
        // since, types_of, to_is_int, last_text_opset, has_saturate, has_round_mode
        {1, 1, false, 5, false, false},
        {6, 1, true, 6, false, false},  // the official models of onnx 1.1.2 have text at opset 6
        {9, 9, true, 0, false, false},
        {13, 13, true, 0, false, false},
        {19, 19, true, 0, true, false},
        {21, 21, true, 0, true, false},
        {23, 23, true, 0, true, false},
        {24, 24, true, 0, true, true},
        {25, 25, true, 0, true, true},
        {28, 28, true, 0, true, true},
};
// CastLike has no `to`. It was not revised at 28, so it does not know float6.
constexpr CastVersion kCastLike[] = {
    {15, 13, false, 0, false, false}, {19, 19, false, 0, true, false},
    {21, 21, false, 0, true, false},  {23, 23, false, 0, true, false},
    {24, 24, false, 0, true, true},   {25, 25, false, 0, true, true},
};

const CastVersion* FindIn(std::span<const CastVersion> rows, std::int64_t opset) {
  const auto after =
      std::find_if(rows.begin(), rows.end(), [&](const CastVersion& r) { return r.since > opset; });
  return after == rows.begin() ? nullptr : &*std::prev(after);
}

}  // namespace

const CastVersion* FindCastVersion(std::int64_t opset) { return FindIn(kCast, opset); }

const CastVersion* FindCastLikeVersion(std::int64_t opset) { return FindIn(kCastLike, opset); }

std::int64_t FirstOpsetOf(DataType type) {
  switch (type) {
    case DataType::kUndefined: return 0;
    case DataType::kBool:
    case DataType::kFloat16:
    case DataType::kFloat32:
    case DataType::kFloat64:
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
    case DataType::kUint64: return 1;
    case DataType::kString: return 9;
    case DataType::kBfloat16: return 13;
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ: return 19;
    case DataType::kUint4:
    case DataType::kInt4: return 21;
    case DataType::kFloat4E2M1: return 23;
    case DataType::kFloat8E8M0: return 24;
    case DataType::kUint2:
    case DataType::kInt2: return 25;
    case DataType::kFloat6E2M3:
    case DataType::kFloat6E3M2: return 28;
  }
  return 0;
}

bool AllowsType(const CastVersion& version, DataType type) {
  const std::int64_t first = FirstOpsetOf(type);
  return first != 0 && first <= version.types_of;
}

std::string TypesText(const CastVersion& version) {
  std::vector<std::string_view> names;
  for (const TypeInfo& info : Types()) {
    if (AllowsType(version, info.type)) names.push_back(info.name);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

CastOptions OptionsOfOpset(std::int64_t opset, DataType to, Contradictions contradictions) {
  CastOptions options;
  if (opset >= 19 && opset <= 23 && contradictions == Contradictions::kText) {
    options.fnuz_infinity = FnuzInfinity::kNan;
  }
  if (opset >= 21 && opset <= 23 && (to == DataType::kUint4 || to == DataType::kInt4)) {
    options.integer_overflow = IntegerOverflow::kSaturate;
  }
  if (opset == 23) options.finite_only_nan = FiniteOnlyNan::kMax;
  return options;
}

}  // namespace tensorcast::onnx
