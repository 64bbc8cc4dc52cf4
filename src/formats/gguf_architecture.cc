// The names are those of ComfyUI-GGUF's tools/convert.py.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_architecture.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_set>

namespace tensorcast::formats {
namespace {

constexpr std::size_t kMostTelling = 6;

// Names that a model has all of; one of diffusers' form, which is refused, where that is so.
struct TellingNames {
  std::string_view architecture;
  std::string_view names[kMostTelling];
  bool is_diffusers = false;
};

// The first row of which a model has all names is it: sdxl has sd1's.
constexpr TellingNames kTelling[] = {
    // Not in that list, but in loader.py's: its names are among those of Flux in diffusers' form.
    {"qwen_image", {"txt_norm.weight", "transformer_blocks.0.attn.add_q_proj.weight"}},
    {"flux", {"transformer_blocks.0.attn.norm_added_k.weight"}, true},
    {"flux", {"double_blocks.0.img_attn.proj.weight"}},
    {"sd3", {"transformer_blocks.0.attn.add_q_proj.weight"}, true},
    {"sd3", {"joint_blocks.0.x_block.attn.qkv.weight"}},
    {"aura", {"joint_transformer_blocks.3.ff_context.out_projection.weight"}, true},
    {"aura", {"double_layers.3.modX.1.weight"}},
    {"hidream",
     {"caption_projection.0.linear.weight",
      "double_stream_blocks.0.block.ff_i.shared_experts.w3.weight"}},
    {"cosmos", {"blocks.0.mlp.layer1.weight", "blocks.0.adaln_modulation_cross_attn.1.weight"}},
    {"ltxv",
     {"adaln_single.emb.timestep_embedder.linear_2.weight",
      "transformer_blocks.27.scale_shift_table", "caption_projection.linear_2.weight"}},
    {"hyvid",
     {"double_blocks.0.img_attn_proj.weight",
      "txt_in.individual_token_refiner.blocks.1.self_attn_qkv.weight"}},
    {"wan", {"blocks.0.self_attn.norm_q.weight", "text_embedding.2.weight", "head.modulation"}},
    {"sdxl", {"down_blocks.0.downsamplers.0.conv.weight", "add_embedding.linear_1.weight"}},
    {"sdxl",
     {"input_blocks.3.0.op.weight", "input_blocks.6.0.op.weight", "output_blocks.2.2.conv.weight",
      "output_blocks.5.2.conv.weight"}},
    {"sdxl", {"label_emb.0.0.weight"}},
    {"sd1", {"down_blocks.0.downsamplers.0.conv.weight"}},
    {"sd1",
     {"input_blocks.3.0.op.weight", "input_blocks.6.0.op.weight", "input_blocks.9.0.op.weight",
      "output_blocks.2.1.conv.weight", "output_blocks.5.2.conv.weight",
      "output_blocks.8.2.conv.weight"}},
    {"lumina2", {"cap_embedder.1.weight", "context_refiner.0.attention.qkv.weight"}},
};

// What checkpoints put before a diffusion model's names.
constexpr std::string_view kPrefixes[] = {"", "model.diffusion_model.", "model.", "net."};

// Parts of names whose tensors a model reads as they stand.
struct PreciseNames {
  std::string_view architecture, part;
};
constexpr PreciseNames kPrecise[] = {
    {"hidream", ".ff_i.gate.weight"}, {"hidream", "img_emb.emb_pos"}, {"cosmos", "pos_embedder"},
    {"wan", ".modulation"},           {"ltxv", "scale_shift_table"},
};

constexpr std::uint64_t kFewElements = 1024;

bool IsOfComfy(std::string_view architecture) {
  return std::ranges::any_of(
      kTelling, [&](const TellingNames& row) { return row.architecture == architecture; });
}

}  // namespace

GgufArchitecture GgufArchitectureOf(std::span<const TensorInfo> tensors) {
  std::unordered_set<std::string_view> telling;
  for (const TellingNames& row : kTelling)
    telling.insert(std::begin(row.names), std::end(row.names));
  for (const std::string_view prefix : kPrefixes) {
    std::unordered_set<std::string_view> found;
    for (const TensorInfo& info : tensors) {
      const std::string_view name = info.name;
      if (name.starts_with(prefix) && telling.contains(name.substr(prefix.size()))) {
        found.insert(name.substr(prefix.size()));
      }
    }
    for (const TellingNames& row : kTelling) {
      const bool has_all = std::ranges::all_of(
          row.names, [&](std::string_view name) { return name.empty() || found.contains(name); });
      if (has_all) {
        return {row.architecture, row.is_diffusers ? row.names[0] : std::string_view()};
      }
    }
  }
  return {};
}

bool IsGgufFloat32(std::string_view architecture, const TensorInfo& info) {
  if (info.shape.size() < 2) return true;
  if (!IsOfComfy(architecture)) return false;
  return info.elements <= kFewElements ||
         std::ranges::any_of(kPrecise, [&](const PreciseNames& row) {
           return row.architecture == architecture && info.name.find(row.part) != std::string::npos;
         });
}

}  // namespace tensorcast::formats
