// Limits: what is one, and which are crossed by tensors whose counts the oracle gives.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "report/measured_tensor.h"
#include "tensorcast/report.hpp"

namespace tensorcast::testing {
namespace {

TEST(LossLimits, EveryKindIsReadBack) {
  ASSERT_EQ(LimitNames().size(), kLossKinds + 1);
  for (const std::string_view name : LimitNames()) {
    const auto limit = ParseLossLimit(std::string(name) + "=20");
    ASSERT_TRUE(limit) << name;
    EXPECT_EQ(LimitName(*limit), name);
    EXPECT_EQ(limit->limit, 20);
    EXPECT_FALSE(limit->is_percent);
    const auto percent = ParseLossLimit(std::string(name) + "=0.5%");
    ASSERT_EQ(percent.has_value(), name != "snr") << name;
    if (percent) {
      EXPECT_EQ(percent->limit, 0.5);
      EXPECT_TRUE(percent->is_percent);
    }
  }
  EXPECT_EQ(ParseLossLimit("snr=-3.5")->limit, -3.5);
}

TEST(LossLimits, WhatIsNoneSaysWhy) {
  const auto problem = [](const char* text) {
    std::string why;
    EXPECT_FALSE(ParseLossLimit(text, &why)) << text;
    EXPECT_FALSE(ParseLossLimit(text)) << text;
    return why;
  };
  EXPECT_EQ(problem("lost=1").rfind("'lost' is not one of snr, nan, nan_lost", 0), 0u);
  EXPECT_EQ(problem("\x1b[2J=1").rfind("'\\x1B[2J' is not one of", 0), 0u) << problem("\x1b[2J=1");
  for (const char* text : {"to_zero", "to_zero=", "to_zero=-1", "to_zero=1.5", "to_zero=101%",
                           "to_zero=-0%", "to_zero=nan%", "to_zero=1 %", "to_zero=1e3"}) {
    EXPECT_NE(problem(text).find("needs a count or a percentage, as in to_zero=0 or to_zero=1%"),
              std::string::npos);
  }
  for (const char* text : {"snr", "snr=", "snr=inf", "snr=nan", "snr=20dB", "snr=20%"}) {
    EXPECT_NE(problem(text).find("needs a number of dB"), std::string::npos);
  }
}

TEST(LossLimits, AreCrossedAboveACountAndBelowAnSnr) {
  const Codes codes = CodesOf(DataType::kFloat32, Normal(1000, 0.02, 4));
  const oracle::LossFigures figures = Expected(DataType::kFloat32, codes, DataType::kFloat8E4M3FN);
  LossSum sum;
  sum.Add("w", Measured(DataType::kFloat32, codes, DataType::kFloat8E4M3FN));
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    LossLimit limit;
    limit.kind = static_cast<Loss>(kind);
    const auto count = static_cast<double>(figures.counts[kind]);
    limit.limit = count;
    EXPECT_TRUE(CrossedLimits({&limit, 1}, sum).empty());
    limit.limit = count - 1;
    const std::vector<CrossedLimit> crossed = CrossedLimits({&limit, 1}, sum);
    ASSERT_EQ(crossed.size(), 1u);
    EXPECT_EQ(crossed[0].value, count);
    limit.is_percent = true;
    limit.limit = count / 10;  // of 1000
    EXPECT_TRUE(CrossedLimits({&limit, 1}, sum).empty());
    limit.limit = count / 10 - 0.01;
    EXPECT_EQ(CrossedLimits({&limit, 1}, sum).size(), 1u);
  }
  LossLimit snr;
  snr.limit = figures.snr_db - 0.001;
  EXPECT_TRUE(CrossedLimits({&snr, 1}, sum).empty());
  snr.limit = figures.snr_db + 0.001;
  const std::vector<CrossedLimit> crossed = CrossedLimits({&snr, 1}, sum);
  ASSERT_EQ(crossed.size(), 1u);
  EXPECT_EQ(crossed[0].tensor, "w");
  EXPECT_EQ(crossed[0].reason, "");
  EXPECT_NEAR(crossed[0].value, figures.snr_db, 1e-9);
}

// What cannot be compared is below any limit, and of no tensor at all none is crossed.
TEST(LossLimits, UnknownSnrIsBelowAnyLimit) {
  LossLimit snr;
  snr.limit = -1000;
  LossSum sum;
  EXPECT_TRUE(CrossedLimits({&snr, 1}, sum).empty());
  sum.Add("w", Measured(DataType::kFloat64, CodesOf(DataType::kFloat64, {1, 1e300}),
                        DataType::kFloat16));
  const std::vector<CrossedLimit> crossed = CrossedLimits({&snr, 1}, sum);
  ASSERT_EQ(crossed.size(), 1u);
  EXPECT_TRUE(std::isnan(crossed[0].value));
  EXPECT_EQ(crossed[0].reason, "1 finite value became Inf or NaN");
}

}  // namespace
}  // namespace tensorcast::testing
