// What a tensor of a model is for, told from its name and shape: which weights a scaled format
// takes without being asked, and which ones can be kept as they are by one word.
//
// Names are those of common checkpoints (BERT, GPT-2, Llama, Mistral, Qwen, T5, ViT, mixtures of
// experts); docs/command_line.md says how they are told.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_WEIGHT_ROLES_H_
#define TENSORCAST_SRC_CONVERT_WEIGHT_ROLES_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace tensorcast::convert {

enum class WeightRole : std::uint8_t {
  kLinear,     // the matrix of a linear layer, or those of a layer's experts, stacked
  kEmbedding,  // of tokens, positions, patches
  kHead,       // makes logits of the last hidden state; its bias too
  kNorm,       // a vector of a normalisation; its bias and running statistics too
  kRouter,     // chooses among experts; its bias too
  kBias,       // of any other layer
  kOther,
};

WeightRole RoleOf(std::string_view name, std::span<const std::uint64_t> shape);
std::string_view RoleText(WeightRole role);  // "an embedding"

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_WEIGHT_ROLES_H_
