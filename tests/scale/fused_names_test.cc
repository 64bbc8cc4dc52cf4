// Which weights runtimes load as one matrix, by the names that checkpoints have.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/fused_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tensorcast::scale {
namespace {

// The lists of docs/scales_writing.md.
const std::vector<std::vector<std::string>> kMatrices = {{"q_proj", "k_proj", "v_proj"},
                                                         {"query", "key", "value"},
                                                         {"wq", "wk", "wv"},
                                                         {"gate_proj", "up_proj"},
                                                         {"w1", "w3"},
                                                         {"wq_a", "wkv_a"},
                                                         {"q_a_proj", "kv_a_proj_with_mqa"}};

TEST(FusedNames, PartsOfOneMatrixStandUnderOneParent) {
  for (std::size_t a = 0; a < kMatrices.size(); ++a) {
    for (const std::string& module : kMatrices[a]) {
      const std::string name = "model.layers.0.x." + module + ".weight";
      const auto part = FusedPartOf(name);
      ASSERT_TRUE(part) << name;
      EXPECT_EQ(part->parent, "model.layers.0.x.");
      EXPECT_EQ(part->module, module);
      EXPECT_EQ(FusedModules(part->kind).size(), kMatrices[a].size());
      for (std::size_t b = 0; b < kMatrices.size(); ++b) {
        for (const std::string& other : kMatrices[b]) {
          const std::string beside = "model.layers.0.x." + other + ".weight";
          const std::string elsewhere = "model.layers.1.x." + other + ".weight";
          EXPECT_EQ(FusedPartOf(beside)->IsBeside(*part), a == b) << beside;
          EXPECT_FALSE(FusedPartOf(elsewhere)->IsBeside(*part)) << elsewhere;
        }
      }
    }
  }
}

TEST(FusedNames, OthersAreMatricesOfTheirOwn) {
  for (const char* const name :
       {"model.layers.0.self_attn.o_proj.weight", "model.layers.0.mlp.down_proj.weight",
        "model.layers.0.mlp.experts.0.w2.weight", "model.layers.0.self_attn.q_proj.bias",
        "model.layers.0.self_attn.qkv_proj.weight", "q_proj_weight", "xq_proj.weight", "weight", "",
        ".", ".weight", "a.q_proj.weight.b", "model.layers.0.self_attn.q_b_proj.weight",
        "model.layers.0.self_attn.q_proj.weight_packed", "a.Q_PROJ.weight"}) {
    EXPECT_FALSE(FusedPartOf(name)) << name;
  }
  EXPECT_TRUE(FusedPartOf("q_proj.weight"));
  EXPECT_TRUE(FusedPartOf("model.layers.0.mlp.experts.gate_proj"));  // stacked, without ".weight"
}

}  // namespace
}  // namespace tensorcast::scale
