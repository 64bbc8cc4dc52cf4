// Measured casts; see measured_cast.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/measured_cast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "core/source_codes.h"

namespace tensorcast::testing {
namespace {

void ExpectExample(const oracle::Example& expected, const LossExample& got,
                   const std::string& what) {
  EXPECT_TRUE(got.index == expected.index && got.source_code == expected.source &&
              got.result_code == expected.result)
      << what << ": expected [" << expected.index << "] " << std::hex << expected.source << " -> "
      << expected.result << std::dec << ", got [" << got.index << "] " << std::hex
      << got.source_code << " -> " << got.result_code;
}

void ExpectBits(double expected, double got, const std::string& what) {
  EXPECT_EQ(std::memcmp(&expected, &got, sizeof got), 0)
      << what << ": expected " << std::hexfloat << expected << ", got " << got;
}

}  // namespace

std::vector<std::uint64_t> SpecialCodes(const TypeInfo& from, const TypeInfo& to, std::size_t n) {
  std::vector<std::uint64_t> codes = MixedCodes(from, to, n, 51);
  std::mt19937_64 random(static_cast<std::uint64_t>(from.type) * 31 +
                         static_cast<std::uint64_t>(to.type));
  if (from.bits > 8) {
    const std::vector<std::uint64_t> hard = from.bits == 16 ? AllCodes(from) : EdgesOf(from, to);
    for (std::size_t i = 0; i < n / 3; ++i) codes[random() % n] = hard[random() % hard.size()];
  }
  return codes;
}

std::vector<std::uint64_t> ScaledBlocks(const TypeInfo& from, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed * 100 + static_cast<std::uint64_t>(from.type));
  const std::uint64_t mask = from.bits == 64 ? ~0ull : (1ull << from.bits) - 1;
  std::vector<std::uint64_t> codes(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t code = random();
    if (from.is_float()) {
      const auto binade = 1ull << from.mantissa_bits;
      // A third of the way to either end of the range: squares stay finite and normal.
      const int reach = std::min(from.bias / 3, 300);
      const int scale = static_cast<int>(i / 1024 * 2654435761u % 1000 *
                                         static_cast<unsigned>(2 * reach + 1) / 1000) -
                        reach;
      const int exponent = std::max(1, from.bias + scale - static_cast<int>(random() % 5));
      code = static_cast<std::uint64_t>(exponent) * binade + random() % binade;
      if (from.has_sign && random() % 2 != 0) code |= 1ull << (from.bits - 1);
    } else if (from.bits > 16) {
      const std::uint64_t keep = 1 + (i / 1024 * 13) % static_cast<std::uint64_t>(from.bits - 1);
      code >>= 64 - keep;
      if (random() % 2 != 0) code = 0 - code;
    }
    codes[i] = code & mask;
  }
  return codes;
}

std::vector<std::uint64_t> OrdinaryBlocks(const TypeInfo& from, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed * 100 + static_cast<std::uint64_t>(from.type));
  const std::uint64_t mask = from.bits == 64 ? ~0ull : (1ull << from.bits) - 1;
  std::vector<std::uint64_t> codes(n);
  for (std::size_t i = 0; i < n; ++i) {
    enum { kPositive, kZeros, kLeast, kFewDigits, kOneOther, kKinds };
    const std::size_t kind = i / 1024 % kKinds;
    const bool negative = kind != kPositive && from.has_sign && random() % 2 != 0;
    std::uint64_t code = random() % 2;
    if (from.is_float()) {
      const auto binade = 1ull << from.mantissa_bits;
      const int least = kind == kLeast ? 0 : from.bias - 12;
      const int exponent =
          std::clamp(least + static_cast<int>(random() % 13), 0, 2 * from.bias - 1);
      std::uint64_t digits = random() % binade;
      if (kind == kFewDigits) digits &= ~(binade / 8) & ~(binade / 32 - (binade >= 32 ? 1 : 0));
      code = static_cast<std::uint64_t>(exponent) * binade + digits;
      if (kind == kZeros && random() % 8 == 0) code = 0;
      if (negative) code |= 1ull << (from.bits - 1);
    } else if (from.is_integer()) {
      code = random() % (kind == kFewDigits ? 100 : 2);
      if (negative) code = 0 - code;
    }
    if (kind == kOneOther && i % 1024 == 700) code = random();
    codes[i] = code & mask;
  }
  return codes;
}

oracle::LossFigures ExpectedLoss(const Tensor& source, DataType to, const CastOptions& options) {
  const oracle::Row& from_row = oracle::RowOf(static_cast<int>(source.type));
  const oracle::Row& to_row = oracle::RowOf(static_cast<int>(to));
  const oracle::Options asked = ToOracle(options);
  oracle::LossOracle loss(from_row, to_row, asked);
  for (const std::uint64_t code : source.codes) {
    loss.Add(code, oracle::Cast(from_row, to_row, asked, code));
  }
  return loss.Figures();
}

void RunMeasured(const ForcedPlan& plan, const Tensor& source, std::span<std::byte> result,
                 std::uint64_t first, std::uint64_t n, LossMeter* meter, Executor* executor) {
  RunOptions run;
  run.loss = meter;
  run.loss_index = first;
  run.executor = executor;
  plan.Run(source.bytes, first, result, first, n, run);
}

void ExpectReport(const oracle::LossFigures& expected, const LossReport& report,
                  const std::string& name) {
  const std::string at = name + ": ";
  EXPECT_EQ(report.elements, expected.elements) << at << "elements";
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    const std::string what = at + oracle::kLossNames[kind];
    EXPECT_EQ(LossName(static_cast<Loss>(kind)), oracle::kLossNames[kind]);
    EXPECT_EQ(report.counts[kind], expected.counts[kind]) << what;
    if (expected.counts[kind] != 0) ExpectExample(expected.first[kind], report.first[kind], what);
  }
  EXPECT_EQ(report.compared, expected.compared) << at << "compared";
  EXPECT_EQ(report.compared_nonzero, expected.compared_nonzero) << at << "compared_nonzero";
  EXPECT_EQ(report.finite, expected.finite) << at << "finite";
  if (expected.compared != 0) {
    ExpectBits(expected.max_abs_error, report.max_abs_error, at + "max_abs_error");
    ExpectExample(expected.max_abs, report.max_abs_example, at + "max_abs_example");
  }
  if (expected.compared_nonzero != 0) {
    ExpectBits(expected.max_rel_error, report.max_rel_error, at + "max_rel_error");
    ExpectExample(expected.max_rel, report.max_rel_example, at + "max_rel_example");
  }
  ExpectBits(expected.sum_squares, report.sum_squares, at + "sum_squares");
  ExpectBits(expected.sum_squared_error, report.sum_squared_error, at + "sum_squared_error");
  ExpectBits(expected.amax, report.amax, at + "amax");
  ExpectBits(expected.smallest_nonzero, report.smallest_nonzero, at + "smallest_nonzero");
  EXPECT_DOUBLE_EQ(report.rmse, expected.rmse) << at << "rmse";
  // Inf / Inf, where squares overflow, is nobody's promise.
  if (std::isfinite(expected.sum_squares) || expected.sum_squared_error == 0) {
    if (std::isfinite(expected.snr_db)) {
      EXPECT_NEAR(report.snr_db, expected.snr_db, 1e-12 * std::fabs(expected.snr_db) + 1e-13)
          << at << "snr_db";
    } else {
      EXPECT_EQ(report.snr_db, expected.snr_db) << at << "snr_db";
    }
  }
}

bool SameBytes(const LossReport& a, const LossReport& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

void ExpectLossOnEveryTarget(const Tensor& source, DataType to, const CastOptions& options) {
  const oracle::LossFigures expected = ExpectedLoss(source, to, options);
  LossReport best;
  for (const Target target : Targets()) {
    const ForcedPlan plan(source.type, to, options, target);
    LossMeter meter(source.type, to, options);
    std::vector<std::byte> result(*StorageBytes(to, source.codes.size()));
    RunMeasured(plan, source, result, 0, source.codes.size(), &meter);
    const LossReport report = meter.Report();
    ExpectReport(expected, report, plan.Name());
    std::uint64_t partition = 0;
    for (std::size_t kind = 0; kind < kLossPartition; ++kind) partition += report.counts[kind];
    EXPECT_EQ(partition, report.elements) << plan.Name();
    EXPECT_EQ(report.from, source.type);
    EXPECT_EQ(report.to, to);
    if (target == Targets().front()) best = report;
    EXPECT_TRUE(SameBytes(best, report)) << plan.Name() << ": not the best target's bytes";
  }
}

}  // namespace tensorcast::testing
