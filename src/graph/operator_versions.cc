// The tables, and what is asked of them.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/operator_versions.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace tensorcast::graph {
namespace {

using enum DataType;

// What each opset added to Cast. Rising, so that the last row that is not too new is in force.
constexpr CastVersion kCast[] = {
    {.since = 1,
     .adds = {kBool, kFloat16, kFloat32, kFloat64, kInt8, kInt16, kInt32, kInt64, kUint8, kUint16,
              kUint32, kUint64},
     .to_is_int = false,
     .last_text_opset = 5},
    // The official models of onnx 1.1.2 have text at opset 6.
    {.since = 6, .last_text_opset = 6},
    {.since = 9, .adds = {kString}},
    {.since = 13, .adds = {kBfloat16}},
    {.since = 19,
     .adds = {kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2, kFloat8E5M2FNUZ},
     .has_saturate = true,
     .fnuz_infinity = FnuzInfinity::kNan},
    {.since = 21,
     .adds = {kUint4, kInt4},
     .has_saturate = true,
     .fnuz_infinity = FnuzInfinity::kNan,
     .int4_overflow = IntegerOverflow::kSaturate},
    {.since = 23,
     .adds = {kFloat4E2M1},
     .has_saturate = true,
     .fnuz_infinity = FnuzInfinity::kNan,
     .int4_overflow = IntegerOverflow::kSaturate,
     .finite_only_nan = FiniteOnlyNan::kMax},
    {.since = 24, .adds = {kFloat8E8M0}, .has_saturate = true, .has_round_mode = true},
    {.since = 25, .adds = {kUint2, kInt2}, .has_saturate = true, .has_round_mode = true},
    {.since = 28, .adds = {kFloat6E2M3, kFloat6E3M2}, .has_saturate = true, .has_round_mode = true},
};

// It was not revised at 28, so it does not know float6.
constexpr CastLikeVersion kCastLike[] = {{15, 13}, {19, 19}, {21, 21},
                                         {23, 23}, {24, 24}, {25, 25}};

constexpr ConstantAttribute kConstant[] = {
    {"value", core::AttributeType::kTensor, 1},
    {"sparse_value", core::AttributeType::kSparseTensor, 11},
    {"value_float", core::AttributeType::kFloat, 12},
    {"value_floats", core::AttributeType::kFloats, 12},
    {"value_int", core::AttributeType::kInt, 12},
    {"value_ints", core::AttributeType::kInts, 12},
    {"value_string", core::AttributeType::kString, 12},
    {"value_strings", core::AttributeType::kStrings, 12},
};

constexpr bool Adds(const CastVersion& version, DataType type) {
  return std::find(version.adds.begin(), version.adds.end(), type) != version.adds.end();
}

// Who adds a type says which opset has it.
constexpr bool EachTypeIsAddedOnce() {
  for (const TypeInfo& info : Types()) {
    const auto count =
        std::count_if(std::begin(kCast), std::end(kCast),
                      [&](const CastVersion& version) { return Adds(version, info.type); });
    if (count != 1) return false;
  }
  return true;
}
static_assert(EachTypeIsAddedOnce());

// The last row that is not too new; null: there is none yet.
template <class Row> const Row* LastUpTo(std::span<const Row> rows, std::int64_t opset) {
  const auto after =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.since > opset; });
  return after == rows.begin() ? nullptr : &*std::prev(after);
}

}  // namespace

std::span<const CastVersion> CastVersions() { return kCast; }
std::span<const CastLikeVersion> CastLikeVersions() { return kCastLike; }
std::span<const ConstantAttribute> ConstantAttributes() { return kConstant; }

VersionInForce FindVersion(CastOperator op, std::int64_t opset) {
  if (op == CastOperator::kCast) {
    const CastVersion* const row = LastUpTo(CastVersions(), opset);
    return row == nullptr ? VersionInForce{} : VersionInForce{row->since, row};
  }
  const CastLikeVersion* const like = LastUpTo(CastLikeVersions(), opset);
  if (like == nullptr) return {};
  return {like->since, LastUpTo(CastVersions(), like->cast)};
}

std::int64_t FirstOpset(CastOperator op) {
  return op == CastOperator::kCast ? kCast[0].since : kCastLike[0].since;
}

std::int64_t FirstOpsetOf(CastOperator op, DataType type) {
  if (type == kUndefined) return 0;
  for (const CastVersion& version : kCast) {
    if (!Adds(version, type)) continue;
    if (op == CastOperator::kCast) return version.since;
    for (const CastLikeVersion& like : kCastLike) {
      if (like.cast >= version.since) return like.since;
    }
  }
  return 0;
}

std::int64_t FirstOpsetOf(std::string_view attribute) {
  for (const CastVersion& version : kCast) {
    if (attribute == "saturate" ? version.has_saturate : version.has_round_mode) {
      return version.since;
    }
  }
  return 0;
}

bool AllowsType(const CastVersion& version, DataType type) {
  const std::int64_t first = FirstOpsetOf(CastOperator::kCast, type);
  return first != 0 && first <= version.since;
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

CastOptions OptionsOf(const CastVersion& version, DataType to, bool as_tests) {
  CastOptions options;
  if (!as_tests) options.fnuz_infinity = version.fnuz_infinity;
  if (to == kUint4 || to == kInt4) options.integer_overflow = version.int4_overflow;
  options.finite_only_nan = version.finite_only_nan;
  return options;
}

const ConstantAttribute* FindConstantAttribute(std::string_view name) {
  const auto* const row =
      std::find_if(std::begin(kConstant), std::end(kConstant),
                   [&](const ConstantAttribute& each) { return each.name == name; });
  return row == std::end(kConstant) ? nullptr : row;
}

}  // namespace tensorcast::graph
