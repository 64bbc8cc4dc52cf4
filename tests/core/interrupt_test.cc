// A run that is told to end early: when it looks, what it leaves, and that a flag that stays false
// changes nothing.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/forced_plan.h"
#include "core/slices.h"
#include "core/source_codes.h"
#include "core/thread_executor.h"

namespace tensorcast::testing {
namespace {

TEST(Interrupt, SlicesAndPiecesCoverEveryElementOnce) {
  for (const std::uint64_t n : {1, 7, 8, 1023, 1024, 1025, 5000, 40'000}) {
    for (const std::uint64_t head : {0, 1, 1023}) {
      for (const std::uint64_t grid : {1, 8, 1024}) {
        for (const std::uint64_t wanted : {1, 2, 16, 1000}) {
          for (const std::uint64_t piece : {1, 100, 1024, 3000}) {
            const core::Slices slices(n, head, grid, wanted);
            ASSERT_GE(slices.count, 1u);
            ASSERT_LE(slices.count, wanted);
            std::vector<int> seen(n);
            std::vector<std::uint64_t> stopped(slices.count, UINT64_MAX);
            BackwardsExecutor executor;
            const std::atomic<bool> never{false};
            const auto see = [&](std::size_t slice, std::uint64_t begin, std::uint64_t end) {
              ASSERT_LT(begin, end);
              // In order within a slice; each beginning is element 0 or on the grid from `head`.
              if (stopped[slice] != UINT64_MAX) {
                ASSERT_EQ(begin, stopped[slice]);
              }
              if (begin != 0) {
                ASSERT_EQ((begin - std::min(head, n)) % grid, 0u);
              }
              ASSERT_LE(end - begin, std::max(piece, grid) + (begin == 0 ? head : 0));
              stopped[slice] = end;
              for (std::uint64_t i = begin; i < end; ++i) ++seen[i];
            };
            ASSERT_TRUE(slices.ForEach(&executor, &never, piece, see));
            ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::int64_t>(n))
                << n << " " << head << " " << grid << " " << wanted << " " << piece;
          }
        }
      }
    }
  }
}

TEST(Interrupt, NoPieceBeginsOnceItIsTrue) {
  for (const std::uint64_t wanted : {1, 4}) {
    const core::Slices slices(10'000, 0, 10, wanted);
    BackwardsExecutor executor;
    std::atomic<bool> interrupted{false};
    int pieces = 0;
    const auto third_interrupts = [&](std::size_t, std::uint64_t, std::uint64_t) {
      if (++pieces == 3) interrupted = true;
    };
    EXPECT_FALSE(slices.ForEach(&executor, &interrupted, 100, third_interrupts));
    EXPECT_EQ(pieces, 3);
  }
  // The last piece's end is the run's: nothing was left out.
  const core::Slices slices(100, 0, 10, 1);
  std::atomic<bool> interrupted{false};
  EXPECT_TRUE(
      slices.ForEach(nullptr, &interrupted, 100,
                     [&](std::size_t, std::uint64_t, std::uint64_t) { interrupted = true; }));
}

// An executor that interrupts after its first task.
class InterruptingExecutor final : public Executor {
 public:
  explicit InterruptingExecutor(std::atomic<bool>* flag) : flag_(flag) {}
  std::size_t Concurrency() const noexcept override { return 4; }
  void ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                   void* context) override {
    for (std::size_t i = 0; i < tasks; ++i) {
      task(context, i);
      flag_->store(true);
    }
  }

 private:
  std::atomic<bool>* flag_;
};

constexpr std::size_t kFloats = 2 << 20;  // 16 MiB in and out, to float32

TEST(Interrupt, ARunEndsWhereItIs) {
  const std::vector<float> source(kFloats, 1.5f);
  std::vector<double> destination(kFloats, 0.0);
  const std::atomic<bool> set{true};
  RunOptions run;
  run.interrupted = &set;
  EXPECT_EQ(Cast(source, destination, {}, run).code(), StatusCode::kInterrupted);
  EXPECT_EQ(std::count(destination.begin(), destination.end(), 0.0),
            static_cast<std::ptrdiff_t>(kFloats));

  std::atomic<bool> flag{false};
  InterruptingExecutor executor(&flag);
  run.interrupted = &flag;
  run.executor = &executor;
  EXPECT_EQ(Cast(source, destination, {}, run).code(), StatusCode::kInterrupted);
  EXPECT_EQ(destination.front(), 1.5);
  EXPECT_EQ(destination.back(), 0.0);

  flag = false;
  LossMeter meter(DataType::kFloat32, DataType::kFloat64);
  run.loss = &meter;
  EXPECT_EQ(Cast(source, destination, {}, run).code(), StatusCode::kInterrupted);

  // Refusals and runs of nothing come before.
  std::vector<double> shorter(1);
  EXPECT_EQ(Cast(source, shorter, {}, run).code(), StatusCode::kBufferTooSmall);
  EXPECT_TRUE(Cast(std::vector<float>(), shorter, {}, {.interrupted = &set}).ok());
}

TEST(Interrupt, FromAnotherThread) {
  const std::vector<float> source(kFloats, 1.5f);
  std::vector<double> destination(kFloats, 0.0);
  std::atomic<bool> flag{false};
  std::atomic<int> runs{0};
  std::thread other([&] {
    while (runs.load() < 3) std::this_thread::yield();
    flag.store(true);
  });
  Status status;
  while (status.ok()) {
    status = Cast(source, destination, {}, {.interrupted = &flag});
    ++runs;
  }
  other.join();
  EXPECT_EQ(status.code(), StatusCode::kInterrupted);
}

TEST(Interrupt, AFlagThatStaysFalseChangesNothing) {
  const std::atomic<bool> never{false};
  for (const TypeInfo& from : FixedWidthTypes()) {
    for (const TypeInfo& to : FixedWidthTypes()) {
      // A few partners each: the pieces know widths only.
      if (!Takes(from, to, 23, 151)) continue;
      const std::uint64_t n =
          kInterruptBytes * 8 / static_cast<std::uint64_t>(from.bits + to.bits) * 2 + 3001;
      const std::vector<std::uint64_t> some = MixedCodes(from, to, 4096, 3);
      std::vector<std::uint64_t> codes(n);
      for (std::uint64_t i = 0; i < n; ++i) codes[i] = some[i % some.size()];
      const Tensor source = MakeTensor(from.type, std::move(codes));
      for (const std::uint64_t loss_index : {std::uint64_t{0}, std::uint64_t{1024 * 7}}) {
        LossReport reports[2];
        std::vector<std::byte> results[2];
        for (const bool looks : {false, true}) {
          LossMeter meter(from.type, to.type);
          CastPlan plan;
          ASSERT_TRUE(CastPlan::Bind(from.type, to.type, {}, &plan).ok());
          std::vector<std::byte>& result = results[looks];
          result.assign(*StorageBytes(to.type, n), std::byte{0});
          RunOptions run;
          run.loss = &meter;
          run.loss_index = loss_index;
          if (looks) run.interrupted = &never;
          // In two parts, so that the second begins inside a block and a byte.
          const std::uint64_t part = 1001;
          ASSERT_TRUE(plan.Run(source.bytes, 0, result, 0, part, run).ok());
          run.loss_index += part;
          ASSERT_TRUE(plan.Run(source.bytes, part, result, part, n - part, run).ok());
          reports[looks] = meter.Report();
        }
        ASSERT_TRUE(results[0] == results[1]) << from.name << " -> " << to.name;
        const LossReport &a = reports[0], &b = reports[1];
        ASSERT_TRUE(std::equal(std::begin(a.counts), std::end(a.counts), std::begin(b.counts)))
            << from.name << " -> " << to.name;
        ASSERT_EQ(a.sum_squares, b.sum_squares) << from.name << " -> " << to.name;
        ASSERT_EQ(a.sum_squared_error, b.sum_squared_error) << from.name << " -> " << to.name;
        ASSERT_EQ(a.max_abs_example.index, b.max_abs_example.index);
      }
    }
  }
}

TEST(Interrupt, Strings) {
  constexpr std::size_t kCount = 50'000;
  std::vector<std::uint64_t> offsets = {0};
  std::string bytes;
  for (std::size_t i = 0; i < kCount; ++i) {
    bytes += std::to_string(i % 997) + ".25";
    offsets.push_back(bytes.size());
  }
  const Strings texts = {offsets, bytes};
  const std::atomic<bool> set{true}, never{false};
  for (const std::size_t threads : {1, 3}) {
    ThreadExecutor executor(threads);
    std::vector<float> plain(kCount), numbers(kCount);
    const auto parse = [&](std::vector<float>& into, const std::atomic<bool>* flag) {
      return ParseStrings(texts, DataType::kFloat32, std::as_writable_bytes(std::span(into)), {},
                          {.executor = &executor, .interrupted = flag});
    };
    EXPECT_EQ(parse(numbers, &set).code(), StatusCode::kInterrupted);
    ASSERT_TRUE(parse(plain, nullptr).ok());
    ASSERT_TRUE(parse(numbers, &never).ok());
    EXPECT_EQ(plain, numbers);
    EXPECT_EQ(plain[997 + 12], 12.25f);

    std::uint64_t sizes[2] = {};
    std::vector<char> printed[2];
    std::vector<std::uint64_t> table[2];
    for (const bool looks : {false, true}) {
      const RunOptions run = {.executor = &executor, .interrupted = looks ? &never : nullptr};
      const auto source = std::as_bytes(std::span(plain));
      ASSERT_TRUE(
          PrintedStringBytes(DataType::kFloat32, source, kCount, &sizes[looks], {}, run).ok());
      printed[looks].resize(sizes[looks]);
      table[looks].resize(kCount + 1);
      ASSERT_TRUE(
          PrintStrings(DataType::kFloat32, source, kCount, table[looks], printed[looks], {}, run)
              .ok());
      std::uint64_t bytes_needed = 7;
      EXPECT_EQ(PrintedStringBytes(DataType::kFloat32, source, kCount, &bytes_needed, {},
                                   {.interrupted = &set})
                    .code(),
                StatusCode::kInterrupted);
      EXPECT_EQ(PrintStrings(DataType::kFloat32, source, kCount, table[looks], printed[looks], {},
                             {.executor = &executor, .interrupted = &set})
                    .code(),
                StatusCode::kInterrupted);
      ASSERT_TRUE(
          PrintStrings(DataType::kFloat32, source, kCount, table[looks], printed[looks], {}, run)
              .ok());
    }
    EXPECT_EQ(printed[0], printed[1]);
    EXPECT_EQ(table[0], table[1]);
    EXPECT_EQ(std::string(printed[0].data(), 14), "0.251.252.253.");
  }
}

}  // namespace
}  // namespace tensorcast::testing
