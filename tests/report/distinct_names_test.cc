// Shortened names: never alike where they differ, alike where they are the same, and no wider than
// asked where what differs is short.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "report/distinct_names.h"
#include "words/text_width.h"

namespace tensorcast::report {
namespace {

// Names as checkpoints have them: layers, experts, projections, and some of other scripts.
std::vector<std::string> ModelNames(int layers) {
  std::vector<std::string> names = {"model.embed_tokens.weight", "lm_head.weight", "模型.层.权重",
                                    "a", ""};
  for (int layer = 0; layer < layers; ++layer) {
    const std::string block = "model.language_model.layers." + std::to_string(layer);
    for (const char* projection : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      names.push_back(block + ".self_attn." + projection + ".weight");
      names.push_back(block + ".self_attn." + projection + ".weight_scale_inv");
    }
    for (int expert = 0; expert < 3; ++expert) {
      names.push_back(block + ".mlp.experts." + std::to_string(expert) + ".down_proj.weight");
    }
    names.push_back(block + ".词嵌入.层归一化.权重." + std::to_string(layer));
  }
  return names;
}

void ExpectApart(const std::vector<std::string>& names, std::size_t columns,
                 const NamesOfFile& file) {
  const std::vector<std::string> shown = DistinctNames(names, columns, file);
  ASSERT_EQ(shown.size(), names.size());
  std::map<std::string, std::string> name_of;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [place, is_new] = name_of.emplace(shown[i], names[i]);
    EXPECT_EQ(place->second, names[i]) << shown[i] << " in " << columns << " columns";
    if (words::TextWidth(names[i]) <= columns) {
      EXPECT_EQ(shown[i], names[i]);
    }
  }
}

// As any texts, and as names of tensors.
void ExpectApart(const std::vector<std::string>& names, std::size_t columns) {
  ExpectApart(names, columns, {});
  ExpectApart(names, columns, {names.size(), [&](std::size_t i) { return names[i]; }});
}

TEST(DistinctNames, NeverLookAlike) {
  for (const int layers : {1, 3, 40}) {
    const std::vector<std::string> names = ModelNames(layers);
    for (const std::size_t columns : {1u, 2u, 5u, 12u, 16u, 24u, 30u, 60u, 1000u}) {
      ExpectApart(names, columns);
    }
  }
}

TEST(DistinctNames, ChanceNames) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> names(2 + random() % 12);
    for (std::string& name : names) {
      for (std::size_t left = random() % 24; left > 0; --left) {
        static constexpr const char* kParts[] = {"a", "b", ".", "/", "0", "é", "層"};
        name += kParts[random() % std::size(kParts)];
      }
    }
    ExpectApart(names, 1 + random() % 14);
  }
}

// Shown alone, a name looks like no other of its file.
TEST(DistinctNames, AreApartFromTheRestOfTheFile) {
  const std::vector<std::string> names = ModelNames(12);
  const NamesOfFile file = {names.size(), [&](std::size_t i) { return names[i]; }};
  for (const std::size_t columns : {5u, 12u, 20u, 24u, 30u, 40u, 60u}) {
    for (const std::string& name : names) {
      const std::string shown = DistinctName(name, columns, file);
      if (words::TextWidth(name) <= columns) {
        EXPECT_EQ(shown, name);
      }
      for (const std::string& other : names) {
        if (other == name) continue;
        EXPECT_NE(shown, DistinctName(other, columns, {1, [&](std::size_t) { return other; }}))
            << name << " and " << other;
        EXPECT_NE(shown, other);
      }
    }
  }
}

// Of a name that is too long the words at its front go, and what says which layer, which expert and
// which tensor it is stays.
TEST(DistinctNames, KeepNumbersAndTheLastWords) {
  const auto shown = [](const std::string& name, std::size_t columns) {
    return DistinctName(name, columns, {1, [&](std::size_t) { return name; }});
  };
  const std::string gate = "model.layers.17.block_sparse_moe.gate.weight";
  EXPECT_EQ(shown(gate, 44), gate);
  EXPECT_EQ(shown(gate, 43), "…layers.17.block_sparse_moe.gate.weight");
  EXPECT_EQ(shown(gate, 38), "…17.block_sparse_moe.gate.weight");
  EXPECT_EQ(shown(gate, 24), "…17…gate.weight");
  EXPECT_EQ(shown("model.layers.3.mlp.shared_expert_gate.weight", 24), "…3…ed_expert_gate.weight");
  EXPECT_EQ(shown(gate, 14), "…17…weight");
  EXPECT_EQ(shown("model.layers.3.mlp.experts.12.up_proj.weight", 24), "…3…12.up_proj.weight");
  EXPECT_EQ(shown("model.layers.3.mlp.gate.e_score_correction_bias", 24),
            "…3…score_correction_bias");
  EXPECT_EQ(shown("encoder.layer.3.attention.output.LayerNorm.bias", 20), "…3…LayerNorm.bias");
  EXPECT_EQ(DistinctNames({gate}, 14).front(), "model.….weight");  // of no file: any text
  EXPECT_EQ(shown("0.1.2.weight", 8), "0.1…ight");  // nothing but numbers and the last word
  EXPECT_EQ(shown("0.1.2.3.weight", 8), "0.1…ight");
  EXPECT_EQ(shown("层.层.0.权重.权重", 10), "…0…权重");
  // As many words and dividers as a hostile name may have.
  std::string many;
  for (int i = 0; i < 500000; ++i) many += "a.";
  EXPECT_EQ(shown(many + "weight", 8), "…weight");
}

// Of names that differ in the middle the number and the last word stay as well.
TEST(DistinctNames, AreToldApartBetweenNumberAndLastWord) {
  const std::vector<std::string> names = {"model.layers.3.input_layernorm.weight",
                                          "model.layers.3.post_attention_layernorm.weight",
                                          "model.layers.4.post_attention_layernorm.weight"};
  const NamesOfFile file = {names.size(), [&](std::size_t i) { return names[i]; }};
  EXPECT_EQ(DistinctNames(names, 20, file),
            (std::vector<std::string>{"…3.inpu…rnorm.weight", "…3.post…rnorm.weight",
                                      "…4…_layernorm.weight"}));
}

// Names of one model fit where the part that differs does.
TEST(DistinctNames, KeepTheWidth) {
  const std::vector<std::string> names = ModelNames(40);
  for (const std::size_t columns : {40u, 60u}) {
    for (const std::string& shown : DistinctNames(names, columns)) {
      EXPECT_LE(words::TextWidth(shown), columns) << shown;
    }
  }
}

TEST(DistinctNames, TheSameNameIsShownTheSame) {
  const std::string name(100, 'x');
  const std::vector<std::string> shown = DistinctNames({name, "y", name}, 20);
  EXPECT_EQ(shown[0], shown[2]);
  EXPECT_LE(words::TextWidth(shown[0]), 20u);
}

TEST(TextWidth, CountsColumns) {
  EXPECT_EQ(words::TextWidth("abc"), 3u);
  EXPECT_EQ(words::TextWidth("é"), 1u);
  EXPECT_EQ(words::TextWidth("e\u0301"), 1u);  // a combining accent
  EXPECT_EQ(words::TextWidth("層"), 2u);
  EXPECT_EQ(words::TextWidth("\xff"), 1u);  // no UTF-8
  EXPECT_EQ(words::Shorten("abcdefgh", 5), "ab…gh");
  EXPECT_EQ(words::Shorten("層層層層", 5), "層…層");
  EXPECT_EQ(words::Shorten("abc", 3), "abc");
  EXPECT_EQ(words::Shorten("abc", 0), "");
}

}  // namespace
}  // namespace tensorcast::report
