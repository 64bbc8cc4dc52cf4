// Advice is good where it is taken: the type it names leaves the tensors it is about well, and its
// patterns match them.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "naming/name_pattern.h"
#include "report/advice.h"
#include "report/cast_tensors.h"
#include "report/measured_tensor.h"

namespace tensorcast::testing {
namespace {

using report::Advice;
using report::Prevention;
using report::Problem;

const std::string kTakenBy = "all";

// A conversion of float32 tensors to one type.
class Conversion {
 public:
  explicit Conversion(DataType to) : to_(to) {}

  void Add(const std::string& name, const std::vector<double>& values, bool is_companion = false) {
    codes_.push_back(CodesOf(DataType::kFloat32, values));
    infos_.push_back(InfoOf(name, DataType::kFloat32, values.size()));
    tensors_.Add(infos_.back(), to_, kTakenBy, is_companion,
                 Measured(DataType::kFloat32, codes_.back(), to_));
  }
  std::vector<Advice> Advised(const report::CanHold& can_hold = {}) const {
    return report::Advise(tensors_, can_hold);
  }
  // How tensor i comes through in another type.
  Verdict VerdictIn(std::size_t i, DataType type) const {
    return Judge(Measured(DataType::kFloat32, codes_[i], type));
  }
  const std::string& name(std::size_t i) const { return infos_[i].name; }

 private:
  DataType to_;
  std::deque<Codes> codes_;
  std::deque<formats::TensorInfo> infos_;
  report::CastTensors tensors_;
};

TEST(Advice, TheTypeAdvisedHoldsTheTensor) {
  int given = 0;
  for (const TypeInfo& to : Types()) {
    if (!to.is_float() || to.bits >= 32) continue;
    for (const double deviation : {1e-30, 1e-6, 1e-3, 0.05, 1.0, 100.0, 1e5, 1e20}) {
      Conversion conversion(to.type);
      conversion.Add("layers.0.w", Normal(2000, deviation, 9));
      for (const Advice& advice : conversion.Advised()) {
        EXPECT_EQ(advice.to, to.type);
        EXPECT_EQ(advice.worst, 0u);
        EXPECT_EQ(advice.tensors, 1u);
        if (!advice.better) continue;
        ++given;
        EXPECT_LT(FindType(*advice.better)->bits, 32);
        EXPECT_EQ(conversion.VerdictIn(0, *advice.better), Verdict::kGood)
            << to.name << " " << deviation << ": " << TypeName(*advice.better);
      }
    }
  }
  EXPECT_GT(given, 20);
}

TEST(Advice, SaysWhatWentWrong) {
  const auto problem = [](DataType to, const std::vector<double>& values) {
    Conversion conversion(to);
    conversion.Add("w", values);
    const std::vector<Advice> advice = conversion.Advised();
    EXPECT_EQ(advice.size(), 1u);
    return advice.empty() ? std::optional<Problem>() : advice.front().problem;
  };
  EXPECT_EQ(problem(DataType::kFloat8E8M0, Normal(100, 1, 1)), Problem::kNotPositive);
  EXPECT_EQ(problem(DataType::kFloat4E2M1, {1, 2, std::numeric_limits<double>::quiet_NaN()}),
            Problem::kNan);
  EXPECT_EQ(problem(DataType::kFloat8E4M3FN, {1, 2, kInfinity}), Problem::kInfinity);
  EXPECT_EQ(problem(DataType::kFloat8E4M3FN, {1, 2, 1e4}), Problem::kBeyond);
  EXPECT_EQ(problem(DataType::kUint8, {1, 2, 1e4}), Problem::kWrapped);
  EXPECT_EQ(problem(DataType::kFloat8E4M3FN, Normal(100, 1e-3, 1)), Problem::kBelow);
  EXPECT_EQ(problem(DataType::kFloat4E2M1, Normal(100, 2, 1)), Problem::kCoarse);
}

TEST(Advice, NothingWhereNothingIsWrong) {
  Conversion conversion(DataType::kBfloat16);
  conversion.Add("w", Normal(100, 1, 1));
  EXPECT_TRUE(conversion.Advised().empty());
  Conversion companion(DataType::kFloat8E4M3FN);
  companion.Add("w_scale", {1, 2, 1e9}, true);
  EXPECT_TRUE(companion.Advised().empty());
}

// Most tensors ill: another type for all. A few: those, with one pattern for every layer.
TEST(Advice, IsForAllOrForThoseThatNeedIt) {
  Conversion most(DataType::kFloat8E4M3FN);
  for (int i = 0; i < 4; ++i) most.Add("t" + std::to_string(i), Normal(100, 1e-4, 1));
  most.Add("well", Normal(100, 1, 2));
  ASSERT_EQ(most.Advised().size(), 1u);
  EXPECT_EQ(most.Advised()[0].prevention, Prevention::kOtherType);
  EXPECT_EQ(most.Advised()[0].tensors, 4u);

  Conversion few(DataType::kFloat8E4M3FN);
  for (int i = 0; i < 3; ++i) {
    few.Add("layers." + std::to_string(i) + ".mlp.w2", Normal(100, 1e-4, 1));
    for (const char* name : {".q", ".k", ".v"}) {
      few.Add("layers." + std::to_string(i) + name, Normal(100, 1, 2));
    }
  }
  const std::vector<Advice> advice = few.Advised();
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0].prevention, Prevention::kOtherTypeHere);
  ASSERT_EQ(advice[0].patterns.size(), 1u);
  EXPECT_EQ(advice[0].matched, 3u);
  const naming::NamePattern pattern(advice[0].patterns[0]);
  for (std::size_t i = 0; i < 12; ++i) {
    const bool is_ill = few.name(i).find("mlp") != std::string::npos;
    EXPECT_EQ(pattern.Matches(few.name(i)), is_ill) << few.name(i);
  }
}

TEST(Advice, OnlyWhatTheOutputCanHold) {
  Conversion conversion(DataType::kFloat8E4M3FN);
  conversion.Add("w", Normal(100, 1e-4, 1));
  for (int i = 0; i < 3; ++i) conversion.Add("well" + std::to_string(i), Normal(100, 1, 2));
  const std::optional<DataType> better = conversion.Advised().at(0).better;
  ASSERT_TRUE(better);
  const auto not_that = [&](const formats::TensorInfo&, DataType type) { return type != *better; };
  EXPECT_NE(conversion.Advised(not_that).at(0).better, better);
  const auto nothing = [](const formats::TensorInfo&, DataType) { return false; };
  const Advice none = conversion.Advised(nothing).at(0);
  EXPECT_FALSE(none.better);
  EXPECT_EQ(none.prevention, Prevention::kLeaveAlone);
  ASSERT_EQ(none.patterns.size(), 1u);
  EXPECT_TRUE(naming::NamePattern(none.patterns[0]).Matches("w"));
}

// Ill tensors of several kinds: patterns for each, which match no others.
TEST(Advice, PatternsCoverAllOfAGroup) {
  for (const int kinds : {2, 3, 5}) {
    Conversion conversion(DataType::kFloat8E4M3FN);
    for (int layer = 0; layer < 3; ++layer) {
      const std::string block = "layers." + std::to_string(layer);
      for (int kind = 0; kind < 5; ++kind) {
        const std::string name = block + "." + std::string(1, static_cast<char>('a' + kind));
        conversion.Add(name + ".ill", Normal(100, kind < kinds ? 1e-4 : 1, 1));
        conversion.Add(name + ".well", Normal(100, 1, 2));
      }
    }
    const std::vector<Advice> advice = conversion.Advised();
    ASSERT_EQ(advice.size(), 1u);
    EXPECT_EQ(advice[0].tensors, static_cast<std::size_t>(3 * kinds));
    EXPECT_EQ(advice[0].matched, static_cast<std::size_t>(3 * std::min(kinds, 3)));
    std::size_t matched = 0;
    for (std::size_t i = 0; i < 30; ++i) {
      bool is_matched = false;
      for (const std::string& pattern : advice[0].patterns) {
        is_matched = is_matched || naming::NamePattern(pattern).Matches(conversion.name(i));
      }
      if (is_matched) {
        EXPECT_NE(conversion.name(i).find(".ill"), std::string::npos);
      }
      matched += is_matched ? 1 : 0;
    }
    EXPECT_EQ(matched, advice[0].matched);
  }
}

}  // namespace
}  // namespace tensorcast::testing
