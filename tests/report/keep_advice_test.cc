// What keeping kinds of tensors costs and gives, on figures made for the purpose.
//
// SPDX-License-Identifier: Apache-2.0
#include "report/keep_advice.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tensorcast::report {
namespace {

struct Cast {
  std::string name;
  std::vector<std::uint64_t> shape;
  double decibel;
  bool may_be_kept = true;
};

// From float32 to one byte; the result's bytes are those of the tensors.
std::optional<KeepAdvice> Advised(const std::vector<Cast>& casts) {
  std::vector<formats::TensorInfo> infos;
  std::uint64_t bytes = 0;
  for (const Cast& cast : casts) {
    formats::TensorInfo& info = infos.emplace_back();
    info.name = cast.name;
    info.shape = cast.shape;
    info.elements = 1;
    for (const std::uint64_t size : cast.shape) info.elements *= size;
    info.bytes = 4 * info.elements;
    bytes += info.elements;
  }
  const auto at = [&](std::size_t i) -> CastFigures {
    return {&infos[i], infos[i].elements, casts[i].decibel, casts[i].may_be_kept};
  };
  return AdviseKeeping(infos.size(), at, bytes);
}

std::string Kinds(const std::optional<KeepAdvice>& advice) {
  if (!advice) return "nothing";
  std::string text;
  for (const convert::Keep keep : advice->keep) {
    text.append(text.empty() ? "" : ",").append(KeepName(keep));
  }
  return text;
}

constexpr double kNoSignal = -std::numeric_limits<double>::infinity();

const Cast kMatrix = {"layers.0.fc.weight", {1000, 1000}, 25};

TEST(KeepAdvice, CountsWhatItCostsAndGives) {
  const auto advice = Advised({kMatrix,
                               {"layers.0.norm.weight", {1000}, 12},
                               {"layers.0.fc.bias", {1000}, 15},
                               {"layers.1.fc.weight", {1000, 999}, 23}});
  ASSERT_TRUE(advice);
  EXPECT_EQ(Kinds(advice), "small");
  EXPECT_EQ(advice->tensors, 2u);
  EXPECT_EQ(advice->more_bytes, 3u * 2000);
  EXPECT_DOUBLE_EQ(advice->share, 6000.0 / 2001000);
  EXPECT_EQ(advice->worst_before, 12);
  EXPECT_EQ(advice->worst_after, 23);
}

TEST(KeepAdvice, TakesTheFewestKindsAndBytes) {
  // Of the small ones only the norms are the worst, and norms cost less than all small ones.
  EXPECT_EQ(Kinds(Advised({kMatrix, {"a.norm.weight", {1000}, 12}, {"a.bias", {1000}, 30}})),
            "norms");
  // Embeddings as well, where each makes it better by 1 dB.
  const std::vector<Cast> two = {{"a.fc.weight", {10000, 1000}, 25},
                                 {"a.norm.weight", {100}, 12},
                                 {"pos_embed", {1, 20, 100}, 14}};
  EXPECT_EQ(Kinds(Advised(two)), "small,embeddings");
  std::vector<Cast> near = two;
  near.back().decibel = 24.5;
  EXPECT_EQ(Kinds(Advised(near)), "small");
}

TEST(KeepAdvice, GivesNoneWhereItWouldNotPay) {
  EXPECT_EQ(Kinds(Advised({})), "nothing");
  EXPECT_EQ(Kinds(Advised({kMatrix})), "nothing");
  // The worst is good enough.
  EXPECT_EQ(Kinds(Advised({kMatrix, {"a.norm.weight", {1000}, 20}})), "nothing");
  // The worst is of no kind.
  EXPECT_EQ(Kinds(Advised({{"fc.weight", {1000, 1000}, 11}, {"a.norm.weight", {1000}, 12}})),
            "nothing");
  // Another that is hardly better is of no kind.
  EXPECT_EQ(Kinds(Advised({{"fc.weight", {1000, 1000}, 12.9}, {"a.norm.weight", {1000}, 12}})),
            "nothing");
  // More than 2 % of the bytes: 3 bytes more for each of 10,000 values, of 1,010,000.
  EXPECT_EQ(Kinds(Advised({kMatrix, {"a.norm.weight", {10000}, 12}})), "nothing");
  EXPECT_EQ(Kinds(Advised({kMatrix, {"a.norm.weight", {6000}, 12}})), "small");
  // A rule took it.
  EXPECT_EQ(Kinds(Advised({kMatrix, {"a.norm.weight", {1000}, 12, false}})), "nothing");
  // Nothing would be left to cast.
  EXPECT_EQ(Kinds(Advised({{"a.norm.weight", {1000}, 12}, {"a.bias", {2}, 25}})), "nothing");
}

TEST(KeepAdvice, TellsTensorsWithoutAFigure) {
  const auto advice = Advised({kMatrix, {"a.norm.weight", {1000}, kNoSignal}});
  EXPECT_EQ(Kinds(advice), "small");
  EXPECT_EQ(advice->worst_before, kNoSignal);
  EXPECT_EQ(Kinds(Advised(
                {{"fc.weight", {1000, 1000}, kNoSignal}, {"a.norm.weight", {1000}, kNoSignal}})),
            "nothing");
}

}  // namespace
}  // namespace tensorcast::report
