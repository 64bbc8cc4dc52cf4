// Which Casts of a model can go, and what their readers read in their place. The rules are those of
// docs/optimize.md; constants: constant_rule.h.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_OPTIMISE_CAST_RULES_H_
#define TENSORCAST_SRC_ONNX_OPTIMISE_CAST_RULES_H_

#include <array>
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
  kResult,
  kNan,
  kOutput,
  kPadBits,
  kMayFail,
  kUnknownType,
  kNotUnderstood,
  kLarger,
  kOtherFile,
};
// What reports say of each, and what would let the Cast go.
struct KeptReason {
  std::string_view text;
  KeptRemedy remedy = KeptRemedy::kNone;
};
inline constexpr std::array<KeptReason, 9> kKeptReasons = {{
    {"one Cast would give other results"},
    {"only payloads of NaNs would change", KeptRemedy::kNanPayloads},
    {"an output of its graph, or named by something that is not understood"},
    {"pad bits of a packed type would not be cleared"},
    {"unread, but a text that is not a number ends the run"},
    {"nothing says the type of its input", KeptRemedy::kInferShapes},
    {"its attributes, its types or its names are not clear"},
    {"the constant would take more bytes", KeptRemedy::kFoldAll},
    {"the constant is in another file"},
}};

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
