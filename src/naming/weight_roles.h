// What a tensor of a model is for, told from its name and shape: which weights a scaled format
// takes without being asked, and which ones can be kept as they are by one word.
//
// Names are those of common checkpoints (BERT, GPT-2, Llama, Mistral, Qwen, T5, ViT, mixtures of
// experts); docs/command_line.md says how they are told.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_NAMING_WEIGHT_ROLES_H_
#define TENSORCAST_SRC_NAMING_WEIGHT_ROLES_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace tensorcast::naming {

enum class WeightRole : std::uint8_t {
  kLinear,     // the matrix of a linear layer, or those of a layer's experts, stacked
  kEmbedding,  // of tokens, positions, patches
  kHead,       // makes logits of the last hidden state; its bias too
  kNorm,       // a vector of a normalisation; its bias and running statistics too
  kRouter,     // chooses among experts; its bias too
  kBias,       // of any other layer
  kOther,
};

// What heads are called.
enum class HeadNameUse : std::uint8_t {
  kEnding,           // the name of a module ends so
  kWhole,            // a module is called so
  kOutsideOfLayers,  // so too, and it is in no layer: within, it is a layer of attention
};
struct HeadName {
  std::string_view word;
  HeadNameUse use;
};
std::span<const HeadName> HeadNames();

WeightRole RoleOf(std::string_view name, std::span<const std::uint64_t> shape);
std::string_view RoleText(WeightRole role);  // "an embedding"

// "q_proj.weight" is of "q_proj"; stacked experts are of a parameter that has the name of a layer.
std::string_view ModuleOf(std::string_view weight);

}  // namespace tensorcast::naming

#endif  // TENSORCAST_SRC_NAMING_WEIGHT_ROLES_H_
