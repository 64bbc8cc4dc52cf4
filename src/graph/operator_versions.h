// Cast, CastLike and Constant, version by version: which opset added which type, attribute and
// option. The table stands first in operator_versions.cc. Source: the operators' texts,
// onnx/defs/tensor/{defs,old}.cc and onnx/defs/generator; tests/peers/check_onnx_facts.py holds
// the table against the schemas of the package onnx, and docs/onnx.md against the table.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_OPERATOR_VERSIONS_H_
#define TENSORCAST_SRC_GRAPH_OPERATOR_VERSIONS_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/onnx_numbers.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::graph {

// The two that cast.
enum class CastOperator : std::uint8_t { kCast, kCastLike };

// One version of Cast.
struct CastVersion {
  std::int64_t since = 0;            // the opset that introduced it
  std::array<DataType, 12> adds{};   // the types it has beside those of the versions before
  bool to_is_int = true;             // `to` may be an INT, the number of a type
  std::int64_t last_text_opset = 0;  // `to` may be a STRING up to this opset
  bool has_saturate = false;
  bool has_round_mode = false;
  // What its text says of values where others say something else.
  FnuzInfinity fnuz_infinity = CastOptions{}.fnuz_infinity;
  IntegerOverflow int4_overflow = CastOptions{}.integer_overflow;  // to uint4 and int4 alone
  FiniteOnlyNan finite_only_nan = CastOptions{}.finite_only_nan;
};

// A version of CastLike has the types, attributes and options of a version of Cast, but no `to`.
struct CastLikeVersion {
  std::int64_t since = 0;
  std::int64_t cast = 0;  // that version's `since`
};

// An attribute of Constant.
struct ConstantAttribute {
  std::string_view name;
  core::AttributeType type = core::AttributeType::kTensor;
  std::int64_t since = 0;  // the opset that added it
};

// The tables whole, rising.
std::span<const CastVersion> CastVersions();
std::span<const CastLikeVersion> CastLikeVersions();
std::span<const ConstantAttribute> ConstantAttributes();

// The opset of ai.onnx among the imports of a model or a function, by domain; none: there is none.
inline std::optional<std::int64_t> OpsetOf(const std::map<std::string, std::int64_t>& imports) {
  const auto found = imports.find("");
  return found == imports.end() ? std::nullopt : std::optional(found->second);
}

// What is in force at an opset. `row` is null where the operator does not exist yet.
struct VersionInForce {
  std::int64_t since = 0;  // of the operator
  const CastVersion* row = nullptr;
};
VersionInForce FindVersion(CastOperator op, std::int64_t opset);

// The opset that introduced an operator; its type (0: it has none such at any opset); one of Cast's
// attributes "saturate" and "round_mode".
std::int64_t FirstOpset(CastOperator op);
std::int64_t FirstOpsetOf(CastOperator op, DataType type);
std::int64_t FirstOpsetOf(std::string_view attribute);

// Whether the version casts from and to a type.
bool AllowsType(const CastVersion& version, DataType type);
// Whether Identity has the type once Cast has it; none of its versions has the float6 types.
// Source: onnx/defs; tests/peers/check_onnx_facts.py holds it against that.
constexpr bool IdentityTakes(const TypeInfo& type) { return !(type.is_float() && type.bits == 6); }
// "float32, uint8, ... and uint64": the types of a version, for messages.
std::string TypesText(const CastVersion& version);

// The options that a version gives a cast to `to`, before the node's own attributes. `as_tests`:
// where its text and the stored official tests contradict each other, as these have it.
CastOptions OptionsOf(const CastVersion& version, DataType to, bool as_tests);

// From this opset on a Constant holds every type; before it float16, float32 and float64.
inline constexpr std::int64_t kFirstConstantOfAllTypes = 9;

// Null: Constant has no such attribute.
const ConstantAttribute* FindConstantAttribute(std::string_view name);

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_OPERATOR_VERSIONS_H_
