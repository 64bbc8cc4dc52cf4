// Verdicts and sums of tensors of every pair of types, against the oracle's counts and figures.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "report/measured_tensor.h"
#include "tensorcast/report.hpp"

namespace tensorcast::testing {
namespace {

std::uint64_t Count(const oracle::LossFigures& figures, Loss kind) {
  return figures.counts[static_cast<std::size_t>(kind)];
}

// The rule of report.hpp, from the oracle's figures.
Verdict ExpectedVerdict(const oracle::LossFigures& figures) {
  for (const Loss kind :
       {Loss::kNanLost, Loss::kToNan, Loss::kWrapped, Loss::kToInfinity, Loss::kToLimit}) {
    if (Count(figures, kind) != 0) return Verdict::kLost;
  }
  const double zeros = static_cast<double>(Count(figures, Loss::kToZero));
  const bool poor = (figures.compared > 0 && figures.snr_db < 20) ||
                    zeros > 0.05 * static_cast<double>(figures.elements);
  return poor ? Verdict::kPoor : Verdict::kGood;
}

TEST(Verdict, OfEveryPairOfTypes) {
  const std::vector<std::vector<double>> tensors = {Normal(500, 1, 1),
                                                    Normal(500, 1e-3, 2),
                                                    Normal(500, 300, 3),
                                                    {1, 2, 4, 0.5},
                                                    {1e30, 1, 1, 1},
                                                    {kInfinity, 1, 2},
                                                    {NAN, 1, 2},
                                                    {0, 0, 0},
                                                    std::vector<double>(100, 1e-9)};
  int verdicts[3] = {};
  for (const TypeInfo& from : Types()) {
    if (from.bits == 0) continue;
    for (const TypeInfo& to : Types()) {
      if (to.bits == 0) continue;
      for (const std::vector<double>& values : tensors) {
        const Codes codes = CodesOf(from.type, values);
        const oracle::LossFigures figures = Expected(from.type, codes, to.type);
        const LossReport report = Measured(from.type, codes, to.type);
        const Verdict expected = ExpectedVerdict(figures);
        ++verdicts[static_cast<int>(expected)];
        EXPECT_EQ(Judge(report), expected) << from.name << " to " << to.name;
        const double decibel = ComparableDecibel(report);
        if (figures.finite > figures.compared || figures.compared == 0) {
          EXPECT_EQ(decibel, -kInfinity) << from.name << " to " << to.name;
          EXPECT_NE(UnknownDecibelReason(report), "");
        } else if (std::isinf(figures.snr_db)) {
          EXPECT_EQ(decibel, figures.snr_db) << from.name << " to " << to.name;
        } else {
          EXPECT_NEAR(decibel, figures.snr_db, 1e-9) << from.name << " to " << to.name;
          EXPECT_EQ(UnknownDecibelReason(report), "");
        }
      }
    }
  }
  for (const int count : verdicts) EXPECT_GT(count, 100);
}

// Errors whose squares vanish in double: the SNR of the report is infinite, and means nothing.
TEST(Verdict, SquaresBeyondDoubleAreUnknown) {
  const Codes codes = CodesOf(DataType::kFloat64, {1.0000001e-200, 1.0000003e-200});
  const LossReport report = Measured(DataType::kFloat64, codes, DataType::kBfloat16);
  ASSERT_GT(report.max_abs_error, 0);
  EXPECT_EQ(ComparableDecibel(report), -kInfinity);
}

TEST(LossSum, AddsCountsAndFindsTheWorst) {
  LossSum sum;
  EXPECT_FALSE(sum.worst);
  std::uint64_t elements = 0;
  std::vector<std::uint64_t> counts(kLossKinds);
  double worst = kInfinity;
  std::string name;
  for (unsigned i = 0; i < 20; ++i) {
    const Codes codes =
        CodesOf(DataType::kFloat32, Normal(200 + i, std::ldexp(1, -static_cast<int>(i)), i));
    const oracle::LossFigures figures =
        Expected(DataType::kFloat32, codes, DataType::kFloat8E4M3FN);
    elements += codes.size();
    for (std::size_t kind = 0; kind < kLossKinds; ++kind) counts[kind] += figures.counts[kind];
    const std::string tensor = "t" + std::to_string(i);
    if (figures.snr_db < worst) {
      worst = figures.snr_db;
      name = tensor;
    }
    sum.Add(tensor, Measured(DataType::kFloat32, codes, DataType::kFloat8E4M3FN));
  }
  EXPECT_EQ(sum.elements, elements);
  EXPECT_TRUE(std::equal(counts.begin(), counts.end(), sum.counts));
  EXPECT_EQ(sum.worst, name);
  EXPECT_NEAR(sum.worst_loss.snr_db, worst, 1e-9);
}

}  // namespace
}  // namespace tensorcast::testing
