// Cast and CastLike, version by version: which opset has which, its types and its attributes.
// Source: the operators' texts, onnx/defs/tensor/{defs,old}.cc.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_CAST_VERSIONS_H_
#define TENSORCAST_SRC_ONNX_CAST_VERSIONS_H_

#include <cstdint>
#include <string>

#include "tensorcast/onnx.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::onnx {

// One version of one of the two operators.
struct CastVersion {
  std::int64_t since = 0;            // the opset that introduced it
  std::int64_t types_of = 0;         // it has the types that Cast had at this opset
  bool to_is_int = false;            // `to` may be an INT
  std::int64_t last_text_opset = 0;  // `to` may be a STRING up to this opset
  bool has_saturate = false;
  bool has_round_mode = false;
};

// The version in force at an opset, or nullptr where there is none yet.
const CastVersion* FindCastVersion(std::int64_t opset);
const CastVersion* FindCastLikeVersion(std::int64_t opset);

// Whether the version casts from and to a type.
bool AllowsType(const CastVersion& version, DataType type);
// The opset from which on Cast knows a type; 0 for none of ours.
std::int64_t FirstOpsetOf(DataType type);
// "float32, uint8, ... and uint64": the types of a version, for messages.
std::string TypesText(const CastVersion& version);

// The options that an opset gives a cast to `to`, before the node's own attributes.
CastOptions OptionsOfOpset(std::int64_t opset, DataType to, Contradictions contradictions);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_CAST_VERSIONS_H_
