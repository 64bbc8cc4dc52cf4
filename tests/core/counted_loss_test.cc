// Loss by counted codes: the figures are the oracle's, on every target, whichever blocks are
// counted and whichever are left to meters.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/counted_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "core/measured_cast.h"
#include "core/option_sets.h"
#include "core/source_codes.h"

namespace tensorcast::testing {
namespace {

constexpr std::uint64_t kCountedBlocks = 24;
constexpr std::uint64_t kCountedElements = kCountedBlocks * 1024;
constexpr DataType kCountedSources[] = {DataType::kBfloat16, DataType::kFloat16};

std::vector<DataType> ServedTypes(DataType from) {
  std::vector<DataType> types;
  for (const DataType to : FixedWidthDataTypes()) {
    if (core::CountedLoss::Serves(from, to)) types.push_back(to);
  }
  return types;
}

// Normally distributed, with zeros of both signs.
std::vector<std::uint64_t> NormalWeights(const TypeInfo& from, double deviation,
                                         std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&random] { return static_cast<double>((random() >> 11) + 1) * 0x1p-53; };
  std::vector<std::uint64_t> codes(kCountedElements);
  for (std::uint64_t& code : codes) {
    const double radius = deviation * std::sqrt(-2 * std::log(uniform()));
    const double weight = radius * std::cos(2 * std::numbers::pi * uniform());
    code = oracle::Cast(OracleRow(DataType::kFloat64), OracleRow(from.type), oracle::Options(),
                        std::bit_cast<std::uint64_t>(weight));
    if (random() % 512 == 0) code = random() % 2 << 15;
  }
  return codes;
}

// Counts a tensor, chunk by chunk, and measures what is left by runs; says how many blocks were.
std::uint64_t MeasureCounted(core::CountedLoss* counted, const Tensor& source,
                             const std::vector<DataType>& types, const CastOptions& options,
                             Target target, std::uint64_t chunk,
                             std::vector<std::unique_ptr<LossMeter>>* meters) {
  std::vector<LossMeter*> pointers;
  for (const DataType to : types) {
    meters->push_back(std::make_unique<LossMeter>(source.type, to, options));
    pointers.push_back(meters->back().get());
  }
  std::uint64_t left = 0;
  const std::uint64_t all = source.codes.size() / 1024;
  for (std::uint64_t begin = 0; begin < all; begin += chunk) {
    const std::uint64_t blocks = std::min(chunk, all - begin);
    counted->Add(source.bytes.data() + begin * 1024 * 2, blocks, begin * 1024,
                 [&](std::uint64_t first, std::uint64_t n) {
                   left += n;
                   EXPECT_LE(first + n, blocks);
                   std::vector<std::byte> result(kCountedElements * 4);
                   for (std::size_t i = 0; i < types.size(); ++i) {
                     const ForcedPlan plan(source.type, types[i], options, target);
                     RunMeasured(plan, source, result, (begin + first) * 1024, n * 1024,
                                 pointers[i]);
                   }
                 });
  }
  counted->MoveTo(pointers);
  return left;
}

std::vector<Target> LaneTargets() {
  constexpr DataType kTwo[] = {DataType::kBfloat16, DataType::kFloat16};
  std::vector<Target> targets;
  for (const Target target : Targets()) {
    if (core::CountedLoss::Pays(kTwo, target)) targets.push_back(target);
  }
  return targets;
}

TEST(CountedLoss, ServesEveryTypeThatHasAZeroAndFitsFloat32) {
  for (const DataType from : kCountedSources) {
    for (const TypeInfo& to : FixedWidthTypes()) {
      const bool fits = to.type != DataType::kFloat64 && !(to.is_integer() && to.bits > 16) &&
                        to.type != DataType::kBool && to.type != DataType::kFloat8E8M0;
      EXPECT_EQ(core::CountedLoss::Serves(from, to.type), fits) << to.name;
      EXPECT_FALSE(core::CountedLoss::Serves(DataType::kFloat32, to.type)) << to.name;
      EXPECT_FALSE(core::CountedLoss::Serves(DataType::kInt16, to.type)) << to.name;
    }
  }
  EXPECT_FALSE(core::CountedLoss::Pays(ServedTypes(DataType::kBfloat16), Target::kScalar));
  EXPECT_FALSE(core::CountedLoss::Pays({}, Target::kBest));
}

TEST(CountedLoss, PaysForOneNarrowTypeWithoutAvx512) {
  for (const Target target : LaneTargets()) {
    const bool has_avx512 = target == Target::kAvx3 || target == Target::kAvx3Dl;
    for (const DataType to : ServedTypes(DataType::kBfloat16)) {
      const bool is_narrow = FindType(to)->bits <= 8;
      EXPECT_EQ(core::CountedLoss::Pays({&to, 1}, target), is_narrow && !has_avx512);
    }
  }
}

TEST(CountedLoss, GivesTheOraclesFiguresOnEveryTarget) {
  for (const DataType from : kCountedSources) {
    const TypeInfo& row = *FindType(from);
    CastOptions other;
    other.saturate = false;
    other.integer_overflow = IntegerOverflow::kSaturate;
    other.fnuz_infinity = FnuzInfinity{1};
    for (const CastOptions& options : {CastOptions(), other}) {
      const std::vector<DataType> types = ServedTypes(from);
      // Few blocks of the last two are in the range, or have few digits.
      const std::vector<std::vector<std::uint64_t>> tensors = {
          NormalWeights(row, 0.02, 1), NormalWeights(row, 1.5, 2),
          OrdinaryBlocks(row, kCountedElements, 3),
          SpecialCodes(row, *FindType(DataType::kFloat8E4M3FN), kCountedElements)};
      // One of each for all tensors: what was learned of a code stays, what was counted does not.
      std::map<Target, std::unique_ptr<core::CountedLoss>> counted;
      for (const Target target : LaneTargets()) {
        counted[target] = std::make_unique<core::CountedLoss>(from, types, options, target);
        EXPECT_TRUE(counted[target]->IsOf(from, types));
        EXPECT_FALSE(counted[target]->IsOf(from, std::span(types).first(1)));
      }
      for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
        const Tensor source = MakeTensor(from, tensors[tensor]);
        std::vector<oracle::LossFigures> expected;
        for (const DataType to : types) expected.push_back(ExpectedLoss(source, to, options));
        for (const Target target : LaneTargets()) {
          for (const std::uint64_t chunk : {kCountedBlocks, std::uint64_t{5}}) {
            std::vector<std::unique_ptr<LossMeter>> meters;
            const std::uint64_t left = MeasureCounted(counted[target].get(), source, types, options,
                                                      target, chunk, &meters);
            if (tensor == 0) {
              EXPECT_LT(left, kCountedBlocks / 2);
            }
            if (tensor == 3) {
              EXPECT_EQ(left, kCountedBlocks);
            }
            for (std::size_t i = 0; i < types.size(); ++i) {
              ExpectReport(expected[i], meters[i]->Report(),
                           std::string(row.name) + " -> " + std::string(FindType(types[i])->name) +
                               ", " + std::string(TargetName(target)) + ", tensor " +
                               std::to_string(tensor));
            }
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

// Blocks, each a tensor, whose squares have more and more digits in one unit: where a block's sums
// would round, counts give something else.
TEST(CountedLoss, LeavesBlocksWhoseSumsRound) {
  const std::vector<DataType> types = {DataType::kFloat8E5M2, DataType::kFloat4E2M1};
  for (const DataType from : kCountedSources) {
    const TypeInfo& row = *FindType(from);
    const int reach = row.bias - 1;  // binades of numbers of all digits, from 1 down
    for (const Target target : LaneTargets()) {
      core::CountedLoss counted(from, types, {}, target);
      std::mt19937_64 random(7);
      std::uint64_t blocks_left = 0;
      for (int binades = 1; binades <= std::min(reach, 40); ++binades) {
        std::vector<std::uint64_t> codes(1024);
        for (std::uint64_t& code : codes) {
          const int exponent =
              row.bias - static_cast<int>(random() % static_cast<unsigned>(binades));
          code = static_cast<std::uint64_t>(exponent) << row.mantissa_bits;
          code |= random() & ((1u << row.mantissa_bits) - 1);
          code |= random() % 2 << 15;
        }
        const Tensor source = MakeTensor(from, std::move(codes));
        std::vector<std::unique_ptr<LossMeter>> meters;
        const std::uint64_t left = MeasureCounted(&counted, source, types, {}, target, 1, &meters);
        blocks_left += left;
        if (binades <= 8) {
          EXPECT_EQ(left, 0u) << binades;
        }
        if (binades > 25) {
          EXPECT_EQ(left, 1u) << binades;
        }
        for (std::size_t i = 0; i < types.size(); ++i) {
          ExpectReport(ExpectedLoss(source, types[i], {}), meters[i]->Report(),
                       std::string(row.name) + ", " + std::string(TargetName(target)) + ", " +
                           std::to_string(binades) + " binades");
        }
      }
      EXPECT_GT(blocks_left, 0u);
    }
  }
}

// More than 2^31 elements of one code: counters of 32 bits are emptied before they are full.
TEST(CountedLoss, CountsWithoutEnd) {
  if (Sampled()) GTEST_SKIP() << "takes seconds in release";
  constexpr std::uint64_t kTimes = (std::uint64_t{5} << 30) / kCountedElements;
  const std::vector<DataType> types = {DataType::kFloat8E4M3FN};
  const Tensor source =
      MakeTensor(DataType::kFloat16, std::vector<std::uint64_t>(kCountedElements, 0x2FFF));
  core::CountedLoss counted(source.type, types, {}, LaneTargets().front());
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    counted.Add(source.bytes.data(), kCountedBlocks, i * kCountedElements,
                [](std::uint64_t, std::uint64_t) { ADD_FAILURE(); });
  }
  LossMeter meter(source.type, types[0]);
  LossMeter* const meters[] = {&meter};
  counted.MoveTo(meters);
  const LossReport all = meter.Report();
  const oracle::LossFigures once = ExpectedLoss(source, types[0], {});
  EXPECT_EQ(all.elements, kTimes * kCountedElements);
  EXPECT_EQ(all.counts[static_cast<std::size_t>(Loss::kRounded)], kTimes * kCountedElements);
  // A term times a number, which both have few digits.
  EXPECT_EQ(all.sum_squares, once.sum_squares * static_cast<double>(kTimes));
  EXPECT_EQ(all.sum_squared_error, once.sum_squared_error * static_cast<double>(kTimes));
}

}  // namespace
}  // namespace tensorcast::testing
