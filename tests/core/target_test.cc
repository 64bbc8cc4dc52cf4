// Targets: which there are, forcing one, being refused one, and their names.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/forced_plan.h"

namespace tensorcast::testing {
namespace {

constexpr Target kNamed[] = {Target::kScalar, Target::kSse4, Target::kAvx2,
                             Target::kAvx3,   Target::kNeon, Target::kAvx3Dl};

TEST(Targets, ScalarIsAlwaysThereAndLast) {
  ASSERT_FALSE(Targets().empty());
  EXPECT_EQ(Targets().back(), Target::kScalar);
  const std::set<Target> once(Targets().begin(), Targets().end());
  EXPECT_EQ(once.size(), Targets().size());
  EXPECT_FALSE(once.contains(Target::kBest));
}

// What the processor says of itself, asked of the compiler's own detection: a library that lost a
// target would pass every other test.
TEST(Targets, EveryTargetOfThisMachine) {
#if defined(TENSORCAST_TEST_SOME_TARGETS)
  GTEST_SKIP() << "this build leaves out some";
#elif defined(__x86_64__)
  const auto has = [](Target target) {
    return std::ranges::find(Targets(), target) != Targets().end();
  };
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
    EXPECT_TRUE(has(Target::kSse4));
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("fma")) {
    EXPECT_TRUE(has(Target::kAvx2));
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd")) {
    EXPECT_TRUE(has(Target::kAvx3));
    if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
        __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bitalg") &&
        __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("vpclmulqdq")) {
      EXPECT_TRUE(has(Target::kAvx3Dl));
    }
  }
  EXPECT_FALSE(has(Target::kNeon));
#endif
}

TEST(Targets, BestIsTheFirst) {
  CastPlan plan;
  ASSERT_TRUE(CastPlan::Bind(DataType::kFloat32, DataType::kFloat16, {}, &plan).ok());
  EXPECT_EQ(plan.target(), Targets().front());
}

// Whoever is forced is who runs, for every pair, at one element and at many.
TEST(Targets, ForcedIsWhatRuns) {
  std::vector<std::byte> source(8 * 200);
  std::vector<std::byte> destination(8 * 200);
  for (const Target target : Targets()) {
    for (const TypeInfo& from : FixedWidthTypes()) {
      for (const TypeInfo& to : FixedWidthTypes()) {
        const ForcedPlan plan(from.type, to.type, {}, target);
        for (const std::uint64_t n : {0, 1, 200}) plan.Run(source, 0, destination, 0, n);
      }
    }
  }
}

TEST(Targets, OthersAreUnavailable) {
  for (const Target target : kNamed) {
    CastPlan plan;
    const bool there = std::ranges::find(Targets(), target) != Targets().end();
    EXPECT_EQ(CastPlan::Bind(DataType::kFloat32, DataType::kInt4, {}, &plan, target).code(),
              there ? StatusCode::kOk : StatusCode::kTargetUnavailable)
        << TargetName(target);
  }
  CastPlan plan;
  EXPECT_FALSE(
      CastPlan::Bind(DataType::kFloat32, DataType::kInt4, {}, &plan, static_cast<Target>(99)).ok());
}

TEST(Targets, NamesAreRead) {
  for (const Target target : kNamed) EXPECT_EQ(ParseTarget(TargetName(target)), target);
  EXPECT_EQ(ParseTarget("best"), Target::kBest);
  EXPECT_FALSE(ParseTarget("").has_value());
  EXPECT_FALSE(ParseTarget("avx").has_value());
  EXPECT_FALSE(ParseTarget("unknown").has_value());
}

}  // namespace
}  // namespace tensorcast::testing
