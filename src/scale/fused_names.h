// Weights that runtimes load as one matrix, told from their names. vLLM and SGLang keep one global
// scale for such a matrix and leave the scales of its groups as they are, so that its parts have to
// have the same one.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_FUSED_NAMES_H_
#define TENSORCAST_SRC_SCALE_FUSED_NAMES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tensorcast::scale {

// What a weight is a part of. Views into its name and into static storage.
struct FusedPart {
  std::string_view parent;  // what stands before the module: "model.layers.0.self_attn."
  std::uint8_t kind = 0;    // of matrix: q, k and v; gate and up; ...
  std::string_view module;  // "q_proj"

  // Whether the two are parts of one matrix.
  bool IsBeside(const FusedPart& other) const {
    return kind == other.kind && parent == other.parent;
  }
  // In this order the parts of one matrix stand together.
  bool operator<(const FusedPart& other) const {
    return parent != other.parent ? parent < other.parent : kind < other.kind;
  }
};

// Takes "PARENT.MODULE.weight" or "PARENT.MODULE"; nullopt: the weight is a matrix of its own.
std::optional<FusedPart> FusedPartOf(std::string_view weight);

// The modules of one kind: "q_proj", "k_proj", "v_proj".
std::span<const std::string_view> FusedModules(std::uint8_t kind);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_FUSED_NAMES_H_
