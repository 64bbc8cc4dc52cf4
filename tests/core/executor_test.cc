// Threads: the same bits and the same report for any number of them, whoever provides them.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "core/forced_plan.h"
#include "core/option_sets.h"
#include "core/source_codes.h"
#include "core/thread_executor.h"
#include "oracle/packing.h"

namespace tensorcast::testing {
namespace {

// Enough bytes in and out that the library shares them out, and a ragged end.
std::uint64_t Enough(const TypeInfo& from, const TypeInfo& to, std::uint64_t megabytes) {
  return (megabytes << 23) / static_cast<std::uint64_t>(from.bits + to.bits) + 1029;
}

Tensor Repeated(const TypeInfo& from, const TypeInfo& to, std::uint64_t n) {
  // Packed once and repeated in whole bytes: packing millions of codes one bit at a time is slow.
  const std::vector<std::uint64_t> some = MixedCodes(from, to, 4096, 31);
  const Tensor piece = MakeTensor(from.type, some);
  Tensor tensor = {from.type, {}, {}};
  tensor.bytes.resize(*StorageBytes(from.type, n));
  for (std::size_t at = 0; at < tensor.bytes.size(); at += piece.bytes.size()) {
    std::memcpy(tensor.bytes.data() + at, piece.bytes.data(),
                std::min(piece.bytes.size(), tensor.bytes.size() - at));
  }
  return tensor;
}

class Threads : public ::testing::TestWithParam<DataType> {};

TEST_P(Threads, SameBitsForAnyNumber) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    if (!Takes(from, to, 3, 31)) continue;
    const std::uint64_t n = Enough(from, to, 4);
    const Tensor source = Repeated(from, to, n);
    std::size_t turn = 0;
    // Odd offsets into a packed destination: neighbouring slices must not race for a byte.
    for (const std::uint64_t first : {0, 1, 3}) {
      if (first != 0 && !to.is_packed()) continue;
      // Each target in turn; the bits of all of them are the oracle's elsewhere.
      const Target target = Targets()[turn++ % Targets().size()];
      const ForcedPlan plan(from.type, to.type, {}, target);
      std::vector<std::byte> alone(*StorageBytes(to.type, first + n), std::byte{0xA7});
      plan.Run(source.bytes, 0, alone, first, n);
      for (const std::size_t threads : {1, 2, 3, 7}) {
        ThreadExecutor executor(threads);
        RunOptions run;
        run.executor = &executor;
        std::vector<std::byte> shared(alone.size(), std::byte{0xA7});
        plan.Run(source.bytes, 0, shared, first, n, run);
        EXPECT_TRUE(alone == shared)
            << plan.Name() << ", " << threads << " threads, first " << first;
        if (threads > 1 && first == 0) {
          EXPECT_GT(executor.tasks_run(), 1u) << plan.Name() << ": nothing was shared out";
        }
      }
      BackwardsExecutor backwards;
      RunOptions run;
      run.executor = &backwards;
      std::vector<std::byte> shared(alone.size(), std::byte{0xA7});
      plan.Run(source.bytes, 0, shared, first, n, run);
      EXPECT_TRUE(alone == shared) << plan.Name() << ", backwards, first " << first;
    }
  }
}

TEST_P(Threads, SameReportForAnyNumber) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    if (!Takes(from, to, 3, 31)) continue;
    const std::uint64_t n = Enough(from, to, 1);
    const Tensor source = Repeated(from, to, n);
    const ForcedPlan plan(from.type, to.type, {}, Targets().front());
    // From the tensor's beginning, and going on in the middle of a block.
    for (const std::uint64_t head : {0, 333}) {
      LossReport reports[5];
      std::vector<std::byte> results[5];
      for (std::size_t i = 0; i < 5; ++i) {
        const std::size_t counts[] = {0, 1, 2, 3, 7};
        ThreadExecutor executor(std::max<std::size_t>(1, counts[i]));
        LossMeter meter(from.type, to.type);
        RunOptions run;
        run.loss = &meter;
        results[i].resize(*StorageBytes(to.type, n));
        plan.Run(source.bytes, 0, results[i], 0, head, run);
        run.executor = counts[i] == 0 ? nullptr : &executor;
        run.loss_index = head;
        plan.Run(source.bytes, head, results[i], head, n - head, run);
        reports[i] = meter.Report();
        EXPECT_EQ(std::memcmp(&reports[i], &reports[0], sizeof reports[0]), 0)
            << plan.Name() << ", " << counts[i] << " threads, head " << head;
        EXPECT_TRUE(results[i] == results[0]) << plan.Name() << ", head " << head;
      }
      EXPECT_EQ(reports[0].elements, n);
    }
  }
}

// ThreadSanitizer does not see the synchronisation inside libtbb, which is not built with it.
#if defined(__SANITIZE_THREAD__)
constexpr bool kTbbIsSeen = false;
#else
constexpr bool kTbbIsSeen = true;
#endif

TEST(TbbExecutor, SameBits) {
  if (!kTbbIsSeen) GTEST_SKIP() << "oneTBB under ThreadSanitizer";
  const std::unique_ptr<Executor> executor = MakeTbbExecutor(2);
  if (executor == nullptr) GTEST_SKIP() << "built without oneTBB";
  EXPECT_GE(executor->Concurrency(), 1u);
  EXPECT_LE(executor->Concurrency(), 2u);
  for (const TypeInfo& from : FixedWidthTypes()) {
    for (const TypeInfo& to : FixedWidthTypes()) {
      if (!Takes(from, to, 5, 151)) continue;
      const std::uint64_t n = Enough(from, to, 4);
      const Tensor source = Repeated(from, to, n);
      const ForcedPlan plan(from.type, to.type, {}, Targets().front());
      std::vector<std::byte> alone(*StorageBytes(to.type, n)), shared(alone.size());
      LossMeter one(from.type, to.type), two(from.type, to.type);
      RunOptions run;
      run.loss = &one;
      plan.Run(source.bytes, 0, alone, 0, n, run);
      run.loss = &two;
      run.executor = executor.get();
      plan.Run(source.bytes, 0, shared, 0, n, run);
      EXPECT_TRUE(alone == shared) << plan.Name();
      const LossReport a = one.Report();
      const LossReport b = two.Report();
      EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0) << plan.Name();
    }
  }
}

TEST(TbbExecutor, EveryTaskOnce) {
  if (!kTbbIsSeen) GTEST_SKIP() << "oneTBB under ThreadSanitizer";
  const std::unique_ptr<Executor> executor = MakeTbbExecutor();
  if (executor == nullptr) GTEST_SKIP() << "built without oneTBB";
  EXPECT_GE(executor->Concurrency(), 1u);
  std::vector<std::atomic<int>> ran(1000);
  executor->ParallelFor(
      ran.size(),
      [](void* context, std::size_t index) {
        (*static_cast<std::vector<std::atomic<int>>*>(context))[index].fetch_add(1);
      },
      &ran);
  for (const std::atomic<int>& times : ran) EXPECT_EQ(times.load(), 1);
}

INSTANTIATE_TEST_SUITE_P(From, Threads, ::testing::ValuesIn(FixedWidthDataTypes()),
                         TypeParameterName);

// The first plans of a pair make its table of results: four at once, of every type of at most eight
// bits and options that no other test has made one for.
TEST(PlansAtOnce, MakeOneTable) {
  CastOptions options;
  options.saturate = false;
  options.round_mode = RoundingMode::kNearest;
  options.fnuz_infinity = FnuzInfinity::kNan;
  for (const TypeInfo& from : FixedWidthTypes()) {
    if (from.bits > 8) continue;
    std::vector<std::uint64_t> codes(std::size_t{1} << from.bits);
    for (std::size_t code = 0; code < codes.size(); ++code) codes[code] = code;
    const Tensor source = MakeTensor(from.type, codes);
    for (const TypeInfo& to : FixedWidthTypes()) {
      constexpr std::size_t kPlans = 4;
      struct Call {
        const Tensor& source;
        const TypeInfo& to;
        const CastOptions& options;
        std::vector<std::byte> results[kPlans];
        std::atomic<bool> ok{true};
      } call{source, to, options, {}};
      ThreadExecutor executor(kPlans);
      executor.ParallelFor(
          kPlans,
          [](void* opaque, std::size_t i) {
            auto& at = *static_cast<Call*>(opaque);
            const std::uint64_t n = at.source.codes.size();
            at.results[i].resize(*StorageBytes(at.to.type, n));
            CastPlan plan;
            if (!CastPlan::Bind(at.source.type, at.to.type, at.options, &plan).ok() ||
                !plan.Run(at.source.bytes, 0, at.results[i], 0, n, {}).ok()) {
              at.ok = false;
            }
          },
          &call);
      ASSERT_TRUE(call.ok);
      std::vector<std::uint64_t> expected(codes.size());
      oracle::CastMany(oracle::RowOf(static_cast<int>(from.type)),
                       oracle::RowOf(static_cast<int>(to.type)), ToOracle(options), codes,
                       expected.data());
      for (const std::vector<std::byte>& result : call.results) {
        ASSERT_EQ(result, oracle::Pack(expected, to.bits)) << from.name << " -> " << to.name;
      }
    }
  }
}

}  // namespace
}  // namespace tensorcast::testing
