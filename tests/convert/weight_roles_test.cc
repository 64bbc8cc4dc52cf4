// What tensors are for, told from their names: names and shapes of published checkpoints.
//
// SPDX-License-Identifier: Apache-2.0
#include "naming/weight_roles.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tensorcast::convert {
namespace {

struct Named {
  std::string_view name;
  std::vector<std::uint64_t> shape;
};

void ExpectAll(naming::WeightRole role, const std::vector<Named>& tensors) {
  for (const Named& tensor : tensors) {
    EXPECT_EQ(naming::RoleText(naming::RoleOf(tensor.name, tensor.shape)), naming::RoleText(role))
        << tensor.name;
  }
}

TEST(WeightRoles, Norms) {
  ExpectAll(naming::WeightRole::kNorm,
            {{"embeddings.LayerNorm.weight", {384}},  // MiniLM
             {"encoder.layer.3.attention.output.LayerNorm.bias", {384}},
             {"bert.embeddings.LayerNorm.gamma", {768}},
             {"model.layers.0.input_layernorm.weight", {4096}},  // Llama
             {"model.norm.weight", {4096}},
             {"layers.0.attention_norm.weight", {4096}},         // Mistral's own
             {"model.layers.0.self_attn.q_norm.weight", {128}},  // Qwen3
             {"h.0.ln_1.weight", {768}},                         // GPT-2
             {"transformer.ln_f.bias", {768}},
             {"encoder.block.0.layer.0.layer_norm.weight", {512}},    // T5
             {"vit.encoder.layer.0.layernorm_before.weight", {768}},  // ViT
             {"vision_model.pre_layrnorm.weight", {1024}},            // CLIP, as it is spelt
             {"blocks.0.ln0.weight", {2048}},                         // RWKV
             {"bn1.running_mean", {64}},                              // ResNet
             {"layer1.0.bn2.weight", {64}},
             {"word_embeddings_layernorm.weight", {4096}},  // BLOOM
             {"lm_head.layer_norm.weight", {768}},          // RoBERTa
             {"model.layers.61.enorm.weight", {7168}}});    // DeepSeek-V3
}

TEST(WeightRoles, Embeddings) {
  ExpectAll(naming::WeightRole::kEmbedding,
            {{"embeddings.word_embeddings.weight", {30522, 384}},
             {"embeddings.position_embeddings.weight", {512, 384}},
             {"model.embed_tokens.weight", {32000, 4096}},
             {"tok_embeddings.weight", {32000, 4096}},
             {"wte.weight", {50257, 768}},
             {"transformer.wpe.weight", {1024, 768}},
             {"shared.weight", {32128, 512}},
             {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {32, 8}},
             {"layers.0.blocks.0.attn.relative_position_bias_table", {169, 3}},  // Swin
             {"vit.embeddings.patch_embeddings.projection.weight", {768, 3, 16, 16}},
             {"vit.embeddings.patch_embeddings.projection.bias", {768}},
             {"vit.embeddings.cls_token", {1, 1, 768}},
             {"pos_embed", {1, 197, 768}},
             {"vision_model.embeddings.class_embedding", {1024}},
             {"emb.weight", {65536, 2048}},
             {"gpt_neox.embed_in.weight", {50304, 512}},
             {"model.layers.61.embed_tokens.weight", {129280, 7168}},
             {"model.layers.0.self_attn.rotary_emb.inv_freq", {64}}});
}

TEST(WeightRoles, Heads) {
  ExpectAll(naming::WeightRole::kHead,
            {{"lm_head.weight", {32000, 4096}},
             {"lm_head.bias", {51200}},
             {"output.weight", {32000, 4096}},
             {"language_model.output.weight", {92553, 4096}},
             {"score.weight", {2, 4096}},
             {"classifier.weight", {1000, 768}},
             {"classifier.out_proj.weight", {2, 768}},
             {"head.weight", {1000, 768}},
             {"cls.predictions.decoder.weight", {30522, 768}},
             {"cls.predictions.bias", {30522}},
             {"embed_out.weight", {50304, 512}},
             {"proj_out.weight", {51865, 384}},
             {"transformer.output_layer.weight", {65024, 4096}},
             {"qa_outputs.weight", {2, 768}},
             {"model.layers.61.shared_head.head.weight", {129280, 7168}}});
}

TEST(WeightRoles, Routers) {
  ExpectAll(naming::WeightRole::kRouter,
            {{"model.layers.0.block_sparse_moe.gate.weight", {8, 4096}},
             {"model.layers.3.mlp.gate.weight", {256, 7168}},
             {"model.layers.3.mlp.gate.e_score_correction_bias", {256}},
             {"model.layers.0.mlp.shared_expert_gate.weight", {1, 2048}},
             {"model.layers.0.mlp.router.weight", {32, 2880}},
             {"model.layers.0.mlp.router.bias", {32}},
             {"encoder.block.1.layer.1.mlp.router.classifier.weight", {8, 768}},
             {"transformer.blocks.0.ffn.router.layer.weight", {16, 6144}}});
}

TEST(WeightRoles, LinearLayers) {
  ExpectAll(naming::WeightRole::kLinear,
            {{"encoder.layer.0.attention.self.query.weight", {384, 384}},
             {"encoder.layer.0.attention.output.dense.weight", {384, 384}},
             {"encoder.layer.0.output.dense.weight", {384, 1536}},
             {"pooler.dense.weight", {384, 384}},
             {"model.layers.0.self_attn.q_proj.weight", {4096, 4096}},
             {"model.layers.0.mlp.gate_proj.weight", {11008, 4096}},
             {"layers.0.attention.wo.weight", {4096, 4096}},
             {"h.0.attn.c_attn.weight", {768, 2304}},
             {"encoder.block.0.layer.1.DenseReluDense.wi.weight", {2048, 512}},
             {"model.layers.3.mlp.experts.17.down_proj.weight", {7168, 2048}},
             {"model.layers.3.mlp.shared_experts.up_proj.weight", {2048, 7168}},
             {"model.layers.0.mlp.experts.gate_up_proj", {32, 2880, 5760}},
             {"transformer_blocks.0.norm1.linear.weight", {18432, 3072}},
             {"transformer_blocks.0.attn.proj_out.weight", {3072, 3072}},
             {"vision_model.encoder.layers.0.self_attn.out_proj.weight", {1024, 1024}},
             {"embedding_model.layers.0.fc1.weight", {2048, 512}}});
}

TEST(WeightRoles, BiasesAndOthers) {
  ExpectAll(naming::WeightRole::kBias,
            {{"encoder.layer.0.attention.self.query.bias", {384}},
             {"model.layers.0.mlp.experts.gate_up_proj_bias", {32, 5760}},
             {"h.0.mlp.c_fc.bias", {3072}}});
  ExpectAll(naming::WeightRole::kOther, {{"conv1.weight", {64, 3, 7, 7}},
                                         {"logit_scale", {}},
                                         {"backbone.layers.0.mixer.A_log", {1536, 16}},
                                         {"", {4, 4}},
                                         {".", {4, 4}},
                                         {"weight", {3}}});
}

// A name that ends in a layer's number.
TEST(WeightRoles, NumbersAtTheEnd) {
  EXPECT_EQ(naming::RoleOf("layers.0", std::vector<std::uint64_t>{4, 4}),
            naming::WeightRole::kOther);
  EXPECT_EQ(naming::RoleOf("lm_head.blocks.1", std::vector<std::uint64_t>{4, 4}),
            naming::WeightRole::kOther);
}

}  // namespace
}  // namespace tensorcast::convert
