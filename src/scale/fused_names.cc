// The names of common checkpoints (Llama, Qwen, BERT, Mistral's own, mixtures of experts,
// DeepSeek); docs/scales_writing.md has the same list.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/fused_names.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace tensorcast::scale {
namespace {

constexpr std::string_view kAttention[] = {"q_proj", "k_proj", "v_proj"};
constexpr std::string_view kBertAttention[] = {"query", "key", "value"};
constexpr std::string_view kShortAttention[] = {"wq", "wk", "wv"};
constexpr std::string_view kGated[] = {"gate_proj", "up_proj"};
constexpr std::string_view kShortGated[] = {"w1", "w3"};
constexpr std::string_view kLatent[] = {"q_a_proj", "kv_a_proj_with_mqa"};
constexpr std::string_view kShortLatent[] = {"wq_a", "wkv_a"};

constexpr std::span<const std::string_view> kKinds[] = {
    kAttention, kBertAttention, kShortAttention, kGated, kShortGated, kLatent, kShortLatent};

}  // namespace

std::optional<FusedPart> FusedPartOf(std::string_view weight) {
  constexpr std::string_view kWeight = ".weight";
  if (weight.ends_with(kWeight)) weight.remove_suffix(kWeight.size());
  const std::size_t dot = weight.rfind('.');
  const std::size_t begin = dot == std::string_view::npos ? 0 : dot + 1;
  const std::string_view module = weight.substr(begin);
  for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
    if (std::ranges::find(kKinds[kind], module) == kKinds[kind].end()) continue;
    return FusedPart{weight.substr(0, begin), static_cast<std::uint8_t>(kind), module};
  }
  return std::nullopt;
}

std::span<const std::string_view> FusedModules(std::uint8_t kind) { return kKinds[kind]; }

}  // namespace tensorcast::scale
