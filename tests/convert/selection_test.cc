// Patterns that ask for more than names, rules of several patterns, and what is kept by its kind.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "naming/keep.h"
#include "naming/tensor_pattern.h"
#include "plan_files.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {
namespace {

naming::PatternSubject Subject(std::string_view name, DataType type = DataType::kFloat32,
                               std::uint64_t rank = 2, std::uint64_t values = 1024) {
  return {name, {}, type, rank, values};
}

// Whether "rank" or "values" with this sign and 2 matches 1, 2 and 3.
std::string Matching(const std::string& text) {
  const naming::TensorPattern pattern(text);
  std::string matched;
  for (const std::uint64_t n : {1u, 2u, 3u}) {
    if (pattern.Matches(Subject("w", DataType::kFloat32, n, n))) matched += std::to_string(n);
  }
  return matched;
}

TEST(TensorPatterns, CompareRankAndValues) {
  for (const std::string figure : {"rank", "values"}) {
    EXPECT_EQ(Matching(figure + "<2"), "1");
    EXPECT_EQ(Matching(figure + "<=2"), "12");
    EXPECT_EQ(Matching(figure + "=2"), "2");
    EXPECT_EQ(Matching(figure + ">=2"), "23");
    EXPECT_EQ(Matching(figure + ">2"), "3");
    EXPECT_EQ(Matching(figure + " <= 2 "), "12");
    EXPECT_EQ(Matching(figure + ">=18446744073709551615"), "");
  }
  EXPECT_TRUE(naming::TensorPattern("rank=0").Matches(Subject("w", DataType::kFloat32, 0, 1)));
  EXPECT_TRUE(naming::TensorPattern("rank=2").Matches(Subject("w", DataType::kFloat32, 2, 7)));
  EXPECT_FALSE(naming::TensorPattern("values=2").Matches(Subject("w", DataType::kFloat32, 2, 7)));
}

TEST(TensorPatterns, AskForTypesByAnyOfTheirNames) {
  for (const char* const text : {"dtype:bfloat16", "dtype:bf16", "dtype:BF16"}) {
    EXPECT_TRUE(naming::TensorPattern(text).Matches(Subject("w", DataType::kBfloat16))) << text;
    EXPECT_FALSE(naming::TensorPattern(text).Matches(Subject("w", DataType::kFloat16))) << text;
    EXPECT_FALSE(naming::TensorPattern(text).Matches(Subject("w", DataType::kUndefined))) << text;
    EXPECT_FALSE(naming::TensorPattern(text).Matches(Subject(text, DataType::kFloat16))) << text;
  }
}

TEST(TensorPatterns, ABackslashMakesANameOfAnything) {
  for (const std::string name : {"dtype:float32", "dtype:", "rank<2", "values = many", "re:a",
                                 "rank=[", "a*b", "rank>=x.y"}) {
    const std::string literal = naming::GlobLiteral(name);
    EXPECT_TRUE(naming::TensorPattern(literal).Matches(Subject(name, DataType::kInt8, 7, 7)))
        << literal;
    EXPECT_FALSE(naming::TensorPattern(literal).Matches(Subject("w", DataType::kFloat32, 1, 1)))
        << literal;
    EXPECT_TRUE(naming::TensorPattern(naming::LayerGlob(name))
                    .Matches(Subject(name, DataType::kInt8, 7, 7)))
        << name;
  }
  // These begin like a word, and are names.
  for (const std::string name : {"rank", "rank.weight", "values", "ranks<2", "dtype", "Rank<2"}) {
    EXPECT_EQ(naming::GlobLiteral(name), name);
    EXPECT_TRUE(naming::TensorPattern(name).Matches(Subject(name, DataType::kInt8, 7, 7)));
    EXPECT_FALSE(naming::TensorPattern(name).Matches(Subject("w", DataType::kInt8, 1, 1)));
  }
}

TEST(TensorPatterns, RefuseWhatBeginsLikeAConditionAndIsNone) {
  for (const char* const text :
       {"rank<", "rank<-1", "rank<2x", "rank==2", "values<1,024", "values<18446744073709551616",
        "rank<>2", "dtype:", "dtype:float17", "dtype:float*", "rank = 2.0"}) {
    const std::string error = io::ErrorOf([&] { naming::TensorPattern{text}; });
    EXPECT_NE(error.find("is not a pattern"), std::string::npos) << text << ": " << error;
  }
  EXPECT_EQ(io::ErrorOf([] { naming::TensorPattern{"rank<two"}; }),
            "2 'rank<two' is not a pattern: 'two' is not a number from 0 to 2^64 - 1; for tensors "
            "whose names begin like that, put \\ in front");
}

TEST(TensorPatterns, AnAliasAnswersToo) {
  naming::PatternSubject subject = Subject("w.weight_packed", DataType::kUint8);
  subject.alias = "w.weight";
  EXPECT_TRUE(naming::TensorPattern("w.weight").Matches(subject));
  EXPECT_TRUE(naming::TensorPattern("*_packed").Matches(subject));
  EXPECT_FALSE(naming::TensorPattern("v.weight").Matches(subject));
}

TEST(Keeping, TellsKindsByNameAndShape) {
  const auto kept = [](std::vector<Keep> keep, std::string_view name,
                       std::vector<std::uint64_t> shape) {
    const std::optional<Keep> by = naming::KeptBy(keep, name, shape);
    return by ? std::string(KeepName(*by)) : std::string("none");
  };
  EXPECT_EQ(kept({Keep::kSmall}, "w", {31, 33}), "small");  // 1,023
  EXPECT_EQ(kept({Keep::kSmall}, "w", {32, 32}), "none");
  EXPECT_EQ(kept({Keep::kSmall}, "w", {1u << 20}), "small");
  EXPECT_EQ(kept({Keep::kSmall}, "w", {}), "small");
  EXPECT_EQ(kept({Keep::kSmall}, "w", {UINT64_MAX, 2}), "none");
  EXPECT_EQ(kept({Keep::kNorms}, "model.norm.weight", {4096}), "norms");
  EXPECT_EQ(kept({Keep::kNorms}, "h.0.attn.c_attn.bias", {2304}), "none");
  EXPECT_EQ(kept({Keep::kEmbeddings, Keep::kHead}, "wte.weight", {50257, 768}), "embeddings");
  EXPECT_EQ(kept({Keep::kEmbeddings, Keep::kHead}, "lm_head.weight", {50257, 768}), "head");
  EXPECT_EQ(kept({Keep::kHead, Keep::kSmall}, "lm_head.bias", {50257}), "head");
  EXPECT_EQ(kept({}, "lm_head.bias", {50257}), "none");
}

// "name>type reason" of each tensor.
std::vector<std::string> Lines(const ConversionPlan& plan) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < plan.jobs(); ++i) {
    const PlannedJob job = plan.job(i);
    lines.push_back(std::string(job.name) + ">" + std::string(TypeName(job.to)) + " " +
                    std::string(ReasonName(job.reason)) + " " + std::string(job.text));
  }
  return lines;
}

TEST_F(Plans, RulesOfSeveralPatternsTakeWhatMatchesAll) {
  Request request;
  request.files = {{Make("a.npz", {io::Tensor("a.w", DataType::kFloat32, {4, 4}),
                                   io::Tensor("a.b", DataType::kFloat32, {4}),
                                   io::Tensor("b.w", DataType::kFloat32, {4, 4}),
                                   io::Tensor("b.h", DataType::kFloat16, {4, 4})}),
                    Path("b.npz")}};
  request.to = DataType::kFloat64;
  request.rules = {{"a.*", DataType::kBfloat16, {"rank=2", "dtype:float32"}, "rules.toml:3"},
                   {"dtype:float16", DataType::kFloat32, {}, {}},
                   {"values<5", DataType::kFloat16, {}, {}}};
  EXPECT_EQ(Lines(PlanOf(request)),
            (std::vector<std::string>{
                "a.w>bfloat16 rule rules.toml:3: rule 'a.* & rank=2 & dtype:float32=bfloat16'",
                "a.b>float16 rule rule 'values<5=float16'", "b.w>float64 asked the request's type",
                "b.h>float32 rule rule 'dtype:float16=float32'"}));
  // Each of its patterns matches something, and nothing matches both.
  request.rules = {{"a.b", DataType::kBfloat16, {"rank=2"}, "my rules:7"}};
  ConversionPlan none;
  std::string error;
  EXPECT_EQ(ConversionPlan::Make(request, {}, &none, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, "my rules:7: 'a.b & rank=2' matches no tensor");
  request.rules.clear();
  request.excluded = {"rank>2"};
  EXPECT_EQ(ConversionPlan::Make(request, {}, &none, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, "'rank>2' matches no tensor");
}

TEST_F(Plans, WhatIsKeptIsLeftAloneButForRules) {
  Request request;
  request.files = {{Make("a.npz", {io::Tensor("lm_head.weight", DataType::kFloat32, {64, 32}),
                                   io::Tensor("model.norm.weight", DataType::kFloat32, {32}),
                                   io::Tensor("q.bias", DataType::kFloat32, {32}),
                                   io::Tensor("ids", DataType::kInt64, {3}),
                                   io::Tensor("q.weight", DataType::kFloat32, {64, 32})}),
                    Path("b.npz")}};
  request.to = DataType::kFloat16;
  request.keep = {Keep::kHead, Keep::kNorms, Keep::kSmall};
  request.rules = {{"q.bias", DataType::kBfloat16, {}, {}}};
  const std::vector<std::string> lines = {
      "lm_head.weight>float32 kept kept: head", "model.norm.weight>float32 kept kept: norms",
      "q.bias>bfloat16 rule rule 'q.bias=bfloat16'", "ids>int64 not_floating not floating",
      "q.weight>float16 asked the request's type"};
  const ConversionPlan plan = PlanOf(request);
  EXPECT_EQ(Lines(plan), lines);
  std::string json, error;
  ASSERT_TRUE(plan.ToJson(&json).ok());
  ConversionPlan read;
  ASSERT_TRUE(ConversionPlan::FromJson(json, {}, &read, &error).ok()) << error;
  EXPECT_EQ(Lines(read), lines);
  // A kind of which there is nothing is no mistake.
  request.keep = {Keep::kEmbeddings};
  EXPECT_EQ(Lines(PlanOf(request)).front(), "lm_head.weight>float16 asked the request's type");
}

}  // namespace
}  // namespace tensorcast::convert
