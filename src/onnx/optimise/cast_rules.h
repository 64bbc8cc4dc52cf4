// Which Casts of a model can go, and what their readers read in their place. The rules are those of
// docs/optimize.md; constants: constant_rule.h.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_OPTIMISE_CAST_RULES_H_
#define TENSORCAST_SRC_ONNX_OPTIMISE_CAST_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/cast_chains.h"
#include "onnx/optimise/model_values.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::onnx {

// Why a Cast stays although a rule speaks of it.
enum class KeptFor : std::uint8_t {
  kResult,         // it changes the result
  kNan,            // of NaNs only the payload would change
  kOutput,         // its result has to stay under its name
  kPadBits,        // it may clear pad bits
  kMayFail,        // nobody reads it, but a text may not be a number
  kUnknownType,    // nothing says its input's type
  kNotUnderstood,  // it breaks a rule of its opset, or its names are not clear
  kLarger,         // the constant would take more bytes
  kOtherFile,      // the constant is in another file
};
std::string_view KeptText(KeptFor reason);
KeptRemedy RemedyOf(KeptFor reason);

// What becomes of a model's nodes, by their index.
struct NodeFates {
  std::vector<std::optional<OptimizeRule>> removed;
  std::vector<bool> rerouted;                // a Cast that reads an earlier value than it did
  std::vector<std::optional<KeptFor>> kept;  // of one that stays, the last reason
};

// In `values` the inputs of the nodes become those that they read afterwards, and `reads` those of
// the nodes that stay. A Cast that cannot be reasoned about is none afterwards.
NodeFates ApplyCastRules(ModelValues& values, graph::NanBits nan);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_OPTIMISE_CAST_RULES_H_
