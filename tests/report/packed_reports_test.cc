// Reports of every pair of types come out of their packed form as they went in.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "report/measured_tensor.h"
#include "report/packed_reports.h"

namespace tensorcast::testing {
namespace {

bool Same(const LossExample& a, const LossExample& b) {
  return a.index == b.index && a.source_code == b.source_code && a.result_code == b.result_code;
}

bool SameBits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// But for what LossReport calls meaningless.
void ExpectSame(const LossReport& a, const LossReport& b) {
  EXPECT_EQ(a.from, b.from);
  EXPECT_EQ(a.to, b.to);
  EXPECT_EQ(a.elements, b.elements);
  EXPECT_TRUE(std::equal(a.counts, a.counts + kLossKinds, b.counts));
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    if (a.counts[kind] != 0) {
      EXPECT_TRUE(Same(a.first[kind], b.first[kind])) << kind;
    }
  }
  EXPECT_EQ(a.compared, b.compared);
  EXPECT_EQ(a.compared_nonzero, b.compared_nonzero);
  EXPECT_EQ(a.finite, b.finite);
  if (a.compared > 0) {
    EXPECT_TRUE(Same(a.max_abs_example, b.max_abs_example));
  }
  if (a.compared_nonzero > 0) {
    EXPECT_TRUE(Same(a.max_rel_example, b.max_rel_example));
  }
  for (double LossReport::*figure :
       {&LossReport::max_abs_error, &LossReport::max_rel_error, &LossReport::sum_squares,
        &LossReport::sum_squared_error, &LossReport::rmse, &LossReport::snr_db, &LossReport::amax,
        &LossReport::smallest_nonzero}) {
    EXPECT_TRUE(SameBits(a.*figure, b.*figure)) << a.*figure << " and " << b.*figure;
  }
}

TEST(PackedReports, KeepEveryFigure) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<LossReport> reports;
  report::PackedReports packed;
  for (const std::vector<double>& values : {Normal(300, 1, 1),
                                            Normal(300, 1e5, 2),
                                            std::vector<double>{},
                                            {0, -0.0},
                                            {1e300, -1e300},
                                            {kInfinity, -kInfinity, 1},
                                            {1e-300, 1, 2}}) {
    for (const TypeInfo& from : Types()) {
      if (from.bits == 0) continue;
      const Codes codes = CodesOf(from.type, values);
      for (const TypeInfo& to : Types()) {
        if (to.bits == 0) continue;
        reports.push_back(Measured(from.type, codes, to.type));
        packed.Add(reports.back());
      }
    }
  }
  // Numbers that take all bytes they may.
  LossReport& wide = reports.emplace_back();
  wide.elements = wide.compared = wide.compared_nonzero = wide.finite = UINT64_MAX;
  std::fill(wide.counts, wide.counts + kLossKinds, UINT64_MAX);
  for (LossExample& example : wide.first) example = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
  wide.max_abs_example = wide.max_rel_example = wide.first[0];
  packed.Add(wide);
  ASSERT_EQ(packed.size(), reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    ExpectSame(reports[i], packed[i]);
    if (HasFailure()) return;
  }
}

// More than a block holds.
TEST(PackedReports, ManyKeepTheirPlaces) {
  report::PackedReports packed;
  constexpr std::uint64_t kMany = 30'000;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    LossReport report;
    report.elements = i * 0x9E3779B97F4A7C15u;
    report.counts[0] = i + 1;
    report.first[0] = {i, i << 32, ~i};
    packed.Add(report);
  }
  for (std::uint64_t i = 0; i < kMany; ++i) {
    const LossReport report = packed[i];
    ASSERT_EQ(report.elements, i * 0x9E3779B97F4A7C15u);
    ASSERT_EQ(report.counts[0], i + 1);
    ASSERT_EQ(report.first[0].result_code, ~i);
  }
}

}  // namespace
}  // namespace tensorcast::testing
