// Names are taken apart at their dots: "model.layers.0.mlp.gate.weight" is a parameter "weight" of
// a module "gate" of "mlp".
//
// SPDX-License-Identifier: Apache-2.0
#include "naming/weight_roles.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "naming/name_parts.h"

namespace tensorcast::naming {
namespace {

// TensorFlow and the names of some ONNX exporters have slashes for dots.
std::vector<std::string_view> PartsOf(std::string_view name) {
  std::vector<std::string_view> parts;
  ForEachPart(name, "./", [&](std::string_view part, std::size_t) { parts.push_back(part); });
  return parts;
}

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "ln" and "ln_f", "bn1".
bool IsShortNorm(std::string_view part) {
  for (const std::string_view kind : {"ln", "bn", "gn"}) {
    if (!part.starts_with(kind)) continue;
    const std::string_view rest = part.substr(kind.size());
    if (rest.empty() || rest.front() == '_' || IsNumber(rest)) return true;
  }
  return false;
}

bool IsNorm(std::string_view part) {
  return Contains(part, "norm") || IsShortNorm(part) ||
         IsOneOf(part, {"running_mean", "running_var"});
}

// A layer may be called by its norm ("norm1.linear" of diffusion models): a norm is a vector.
bool IsVector(std::span<const std::uint64_t> shape) {
  return std::count_if(shape.begin(), shape.end(), [](std::uint64_t size) { return size > 1; }) <=
         1;
}

bool IsEmbedding(std::string_view part) {
  const bool is_bias_by_place = part.starts_with("relative_") && Contains(part, "bias");
  return Contains(part, "embed") || part.ends_with("_emb") || part.ends_with("_token") ||
         is_bias_by_place || IsOneOf(part, {"wte", "wpe", "emb", "inv_freq", "register_tokens"});
}

// "output" is the head of models in their makers' own names, "proj_out" Whisper's.
constexpr HeadName kHeadNames[] = {{"_head", HeadNameUse::kEnding},
                                   {"predictions", HeadNameUse::kEnding},
                                   {"classifier", HeadNameUse::kEnding},
                                   {"head", HeadNameUse::kWhole},
                                   {"heads", HeadNameUse::kWhole},
                                   {"output_layer", HeadNameUse::kWhole},
                                   {"score", HeadNameUse::kWhole},
                                   {"cls", HeadNameUse::kWhole},
                                   {"qa_outputs", HeadNameUse::kWhole},
                                   {"embed_out", HeadNameUse::kWhole},
                                   {"vocab_projector", HeadNameUse::kWhole},
                                   {"lm_loss", HeadNameUse::kWhole},
                                   {"mlm_score", HeadNameUse::kWhole},
                                   {"output_projection", HeadNameUse::kWhole},
                                   {"pred_layer", HeadNameUse::kWhole},
                                   {"unembedding_projection", HeadNameUse::kWhole},
                                   {"decoder", HeadNameUse::kOutsideOfLayers},
                                   {"output", HeadNameUse::kOutsideOfLayers},
                                   {"proj_out", HeadNameUse::kOutsideOfLayers}};

bool IsHead(std::string_view module) {
  return std::ranges::any_of(kHeadNames, [&](const HeadName& head) {
    return head.use == HeadNameUse::kEnding  ? module.ends_with(head.word)
           : head.use == HeadNameUse::kWhole ? module == head.word
                                             : false;
  });
}

bool IsHeadOutside(std::string_view module) {
  return std::ranges::any_of(kHeadNames, [&](const HeadName& head) {
    return head.use == HeadNameUse::kOutsideOfLayers && module == head.word;
  });
}

// The index where what a layer calls its parts begins, behind "layers.3", "block.3", "h.3"; 0 if it
// is in no layer. What is above has a name of its own ("embedding_model.layers.0.fc.weight").
std::size_t InsideLayer(std::span<const std::string_view> parts) {
  for (std::size_t i = parts.size(); i-- > 1;) {
    const std::string_view list = parts[i - 1];
    const bool is_list = list == "h" || list.ends_with("layer") || list.ends_with("layers") ||
                         list.ends_with("block") || list.ends_with("blocks");
    if (is_list && IsNumber(parts[i])) return i + 1;
  }
  return 0;
}

bool IsRouter(std::string_view part) {
  return Contains(part, "router") || IsOneOf(part, {"gate", "shared_expert_gate"});
}

}  // namespace

std::span<const HeadName> HeadNames() { return kHeadNames; }

WeightRole RoleOf(std::string_view name, std::span<const std::uint64_t> shape) {
  const std::string lower = Lower(name);
  const std::vector<std::string_view> all = PartsOf(lower);
  const std::size_t inside = std::min(InsideLayer(all), all.size() - 1);
  const std::span<const std::string_view> parts = std::span(all).subspan(inside);
  const std::string_view last = parts.back();
  const std::span<const std::string_view> modules = parts.first(parts.size() - 1);
  const std::string_view module = modules.empty() ? std::string_view() : modules.back();
  const auto is_any = [](std::span<const std::string_view> among, bool (*is)(std::string_view)) {
    return std::any_of(among.begin(), among.end(), is);
  };
  if (IsVector(shape) && is_any(parts, IsNorm)) return WeightRole::kNorm;
  if (is_any(parts, IsRouter)) return WeightRole::kRouter;
  const bool is_head_outside = IsHeadOutside(module) && inside == 0;
  if (is_any(modules, IsHead) || is_head_outside) return WeightRole::kHead;
  // T5's and BART's embeddings, which encoder and decoder share, are called "shared".
  if (is_any(parts, IsEmbedding) || module == "shared") return WeightRole::kEmbedding;
  if (last == "bias" || last.ends_with("_bias")) return WeightRole::kBias;
  if (last == "weight" && shape.size() == 2) return WeightRole::kLinear;
  // A parameter of stacked experts has the name of a layer.
  const bool is_of_experts =
      is_any(modules, [](std::string_view part) { return Contains(part, "experts"); });
  if (is_of_experts && shape.size() == 3) return WeightRole::kLinear;
  return WeightRole::kOther;
}

std::string_view ModuleOf(std::string_view weight) {
  constexpr std::string_view kEnding = ".weight";
  if (weight.ends_with(kEnding)) weight.remove_suffix(kEnding.size());
  return weight;
}

std::string_view RoleText(WeightRole role) {
  switch (role) {
    case WeightRole::kLinear: return "the weight of a linear layer";
    case WeightRole::kEmbedding: return "an embedding";
    case WeightRole::kHead: return "a head";
    case WeightRole::kNorm: return "a norm";
    case WeightRole::kRouter: return "a router";
    case WeightRole::kBias: return "a bias";
    case WeightRole::kOther: break;
  }
  return "not known to be the weight of a linear layer";
}

}  // namespace tensorcast::naming
