// One tensor's report, however the tensor is cut: chunks through one meter, meters merged in any
// order, both at random, in place; and the positions that are refused.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/measured_cast.h"
#include "core/option_sets.h"
#include "core/source_codes.h"
#include "core/thread_executor.h"

namespace tensorcast::testing {
namespace {

constexpr std::uint64_t kElements = 6 * 1024 + 391;

class Chunks : public ::testing::TestWithParam<DataType> {
 protected:
  // Every destination, targets in turn: `check(plan, source, whole report, whole result)`.
  template <class Check> void ForEveryDestination(Check check) {
    const TypeInfo& from = *FindType(GetParam());
    std::size_t turn = 0;
    for (const TypeInfo& to : FixedWidthTypes()) {
      if (!Takes(from, to, 1, 7)) continue;
      const Tensor source = MakeTensor(from.type, SpecialCodes(from, to, kElements));
      const ForcedPlan plan(from.type, to.type, {}, Targets()[turn++ % Targets().size()]);
      std::vector<std::byte> result(*StorageBytes(to.type, kElements));
      LossMeter meter(from.type, to.type);
      RunMeasured(plan, source, result, 0, kElements, &meter);
      check(plan, source, meter.Report(), result);
    }
  }
};

TEST_P(Chunks, OneMeterGoesOnAnywhere) {
  ForEveryDestination([](const ForcedPlan& plan, const Tensor& source, const LossReport& whole,
                         const std::vector<std::byte>& whole_result) {
    std::mt19937_64 random(61);
    for (const std::uint64_t longest : {3, 200, 1024, 3000}) {
      LossMeter meter(whole.from, whole.to);
      std::vector<std::byte> result(whole_result.size());
      for (std::uint64_t at = 0; at < kElements;) {
        const std::uint64_t n = std::min(kElements - at, random() % (longest + 1));
        RunMeasured(plan, source, result, at, n, &meter);
        at += n;
      }
      EXPECT_TRUE(SameBytes(whole, meter.Report())) << plan.Name() << ", chunks to " << longest;
      EXPECT_EQ(result, whole_result) << plan.Name();
    }
  });
}

LossMeter SavedAndLoaded(const LossMeter& meter) {
  std::vector<std::byte> bytes(LossMeter::SavedBytes());
  EXPECT_TRUE(meter.Save(bytes).ok());
  LossMeter loaded(DataType::kBool, DataType::kBool);
  EXPECT_TRUE(loaded.Load(bytes).ok());
  std::vector<std::byte> again(bytes.size(), std::byte{0xA5});
  EXPECT_TRUE(loaded.Save(again).ok());
  EXPECT_EQ(again, bytes);
  return loaded;
}

TEST_P(Chunks, MetersGoOnWhereTheyWereSaved) {
  ForEveryDestination([](const ForcedPlan& plan, const Tensor& source, const LossReport& whole,
                         const std::vector<std::byte>& whole_result) {
    std::mt19937_64 random(63);
    LossMeter meter(whole.from, whole.to);
    std::vector<std::byte> result(whole_result.size());
    for (std::uint64_t at = 0; at < kElements;) {
      const std::uint64_t n = std::min(kElements - at, random() % 2500);
      RunMeasured(plan, source, result, at, n, &meter);
      at += n;
      meter = SavedAndLoaded(meter);
    }
    EXPECT_TRUE(SameBytes(whole, meter.Report())) << plan.Name();
  });
}

// Measures the tensor in pieces of one to three blocks, a meter for each, in random order.
std::vector<LossMeter> MetersOfPieces(const ForcedPlan& plan, const Tensor& source,
                                      const LossReport& whole, std::size_t result_bytes,
                                      std::mt19937_64& random) {
  std::vector<LossMeter> meters;
  std::vector<std::byte> result(result_bytes);
  for (std::uint64_t at = 0; at < kElements;) {
    const std::uint64_t n = std::min(kElements - at, 1024 * (1 + random() % 3));
    meters.emplace_back(whole.from, whole.to);
    RunMeasured(plan, source, result, at, n, &meters.back());
    at += n;
  }
  std::ranges::shuffle(meters, random);
  return meters;
}

TEST_P(Chunks, SavedMetersMergeInAnyOrder) {
  ForEveryDestination([](const ForcedPlan& plan, const Tensor& source, const LossReport& whole,
                         const std::vector<std::byte>& whole_result) {
    std::mt19937_64 random(64);
    LossMeter sum(whole.from, whole.to);
    for (const LossMeter& meter :
         MetersOfPieces(plan, source, whole, whole_result.size(), random)) {
      EXPECT_TRUE(sum.Merge(SavedAndLoaded(meter)).ok());
    }
    EXPECT_TRUE(SameBytes(whole, SavedAndLoaded(sum).Report())) << plan.Name();
  });
}

// What is loaded at all is a meter like any other: it reports, and saves the same bytes.
TEST_P(Chunks, HostileBytesAreRefusedOrAreAMeter) {
  ForEveryDestination([](const ForcedPlan&, const Tensor&, const LossReport& whole,
                         const std::vector<std::byte>&) {
    LossMeter meter(whole.from, whole.to);
    std::vector<std::byte> bytes(LossMeter::SavedBytes());
    EXPECT_EQ(meter.Save(std::span(bytes).first(bytes.size() - 1)).code(),
              StatusCode::kBufferTooSmall);
    ASSERT_TRUE(meter.Save(bytes).ok());
    EXPECT_EQ(meter.Load(std::span(bytes).first(bytes.size() - 1)).code(), StatusCode::kBadFile);
    EXPECT_EQ(meter.Load({}).code(), StatusCode::kBadFile);
    std::mt19937_64 random(65);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      std::vector<std::byte> hostile = bytes;
      hostile[at] ^= static_cast<std::byte>(1 + random() % 255);
      LossMeter loaded(DataType::kInt8, DataType::kInt8);
      if (const Status status = loaded.Load(hostile); !status.ok()) {
        EXPECT_EQ(status.code(), StatusCode::kBadFile) << at;
        EXPECT_EQ(loaded.Report().to, DataType::kInt8) << at;
        continue;
      }
      EXPECT_GE(at, 8u);  // the magic and the version
      EXPECT_EQ(loaded.Report().elements, 0u) << at;
      std::vector<std::byte> again(bytes.size());
      EXPECT_TRUE(loaded.Save(again).ok());
      LossMeter twice(DataType::kInt8, DataType::kInt8);
      EXPECT_TRUE(twice.Load(again).ok()) << at;
    }
  });
}

TEST_P(Chunks, MetersMergeInAnyOrder) {
  ForEveryDestination([](const ForcedPlan& plan, const Tensor& source, const LossReport& whole,
                         const std::vector<std::byte>& whole_result) {
    std::mt19937_64 random(62);
    for (int trial = 0; trial < 4; ++trial) {
      std::vector<LossMeter> meters =
          MetersOfPieces(plan, source, whole, whole_result.size(), random);
      LossMeter sum(whole.from, whole.to);
      for (const LossMeter& meter : meters) EXPECT_TRUE(sum.Merge(meter).ok());
      EXPECT_TRUE(SameBytes(whole, sum.Report())) << plan.Name();
      // As a tree, the first into the second ...
      while (meters.size() > 1) {
        EXPECT_TRUE(meters[meters.size() - 2].Merge(meters.back()).ok());
        meters.pop_back();
      }
      EXPECT_TRUE(SameBytes(whole, meters.front().Report())) << plan.Name() << ", a tree";
    }
  });
}

// Chunks that begin at multiples of 1,024 may come to one meter in any order.
TEST_P(Chunks, OneMeterTakesBlocksInAnyOrder) {
  ForEveryDestination([](const ForcedPlan& plan, const Tensor& source, const LossReport& whole,
                         const std::vector<std::byte>& whole_result) {
    std::mt19937_64 random(63);
    std::vector<std::uint64_t> begins;
    for (std::uint64_t at = 0; at < kElements; at += 1024) begins.push_back(at);
    std::ranges::shuffle(begins, random);
    LossMeter meter(whole.from, whole.to);
    std::vector<std::byte> result(whole_result.size());
    for (const std::uint64_t at : begins) {
      RunMeasured(plan, source, result, at, std::min<std::uint64_t>(1024, kElements - at), &meter);
    }
    EXPECT_TRUE(SameBytes(whole, meter.Report())) << plan.Name();
    EXPECT_EQ(result, whole_result) << plan.Name();
  });
}

// Measures a tensor as the contract allows: pieces that begin at multiples of 1,024, in any order,
// each in runs that go on where the last stopped, by any of some meters; these merge in any order,
// some while others are amid a piece.
LossReport MeasuredAtRandom(const ForcedPlan& plan, const Tensor& source, std::uint64_t n,
                            std::mt19937_64& random, std::span<std::byte> result,
                            Executor* executor = nullptr) {
  struct Piece {
    std::uint64_t begin, end;
  };
  std::vector<Piece> pieces;
  const std::uint64_t most_blocks = 1 + random() % (1 + n / 1024);
  for (std::uint64_t at = 0; at < n;) {
    const std::uint64_t end = std::min(n, at + 1024 * (1 + random() % most_blocks));
    pieces.push_back({at, end});
    at = end;
  }
  std::ranges::shuffle(pieces, random);
  std::vector<LossMeter> meters(1 + random() % 3, LossMeter(plan.plan().from(), plan.plan().to()));
  for (const Piece& piece : pieces) {
    const std::size_t taker = random() % meters.size();
    for (std::uint64_t at = piece.begin; at < piece.end;) {
      const std::uint64_t left = piece.end - at;
      const std::uint64_t run = random() % 3 == 0 ? left : 1 + random() % left;
      RunMeasured(plan, source, result, at, run, &meters[taker], executor);
      at += run;
      const std::size_t other = random() % meters.size();
      if (other != taker && random() % 4 == 0) {
        EXPECT_TRUE(meters[taker].Merge(meters[other]).ok());
        meters[other] = LossMeter(plan.plan().from(), plan.plan().to());
      }
    }
  }
  std::ranges::shuffle(meters, random);
  for (std::size_t i = 1; i < meters.size(); ++i) {
    EXPECT_TRUE(meters.front().Merge(meters[i]).ok());
  }
  return meters.front().Report();
}

TEST_P(Chunks, AnyCutAnyOrderAnyMerge) {
  ForEveryDestination([](const ForcedPlan& plan, const Tensor& source, const LossReport& whole,
                         const std::vector<std::byte>& whole_result) {
    ExpectReport(ExpectedLoss(source, whole.to, {}), whole, plan.Name());
    std::mt19937_64 random(64);
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<std::byte> result(whole_result.size());
      EXPECT_TRUE(SameBytes(whole, MeasuredAtRandom(plan, source, kElements, random, result)))
          << plan.Name() << ", trial " << trial;
      EXPECT_EQ(result, whole_result) << plan.Name();
    }
  });
}

// Long runs, which an executor cuts once more.
TEST(AnyCut, InSlices) {
  constexpr std::uint64_t kMany = 700 * 1024 + 77;
  const DataType from = DataType::kFloat32, to = DataType::kFloat8E4M3FN;
  const Tensor source = MakeTensor(from, SpecialCodes(*FindType(from), *FindType(to), kMany));
  const ForcedPlan plan(from, to, {}, Targets().front());
  std::vector<std::byte> result(kMany);
  LossMeter meter(from, to);
  RunMeasured(plan, source, result, 0, kMany, &meter);
  const LossReport whole = meter.Report();
  ExpectReport(ExpectedLoss(source, to, {}), whole, plan.Name());
  std::mt19937_64 random(65);
  ThreadExecutor threads(3);
  BackwardsExecutor backwards;
  for (int trial = 0; trial < (Sampled() ? 6 : 20); ++trial) {
    Executor* const executor =
        trial % 2 == 0 ? static_cast<Executor*>(&threads) : static_cast<Executor*>(&backwards);
    EXPECT_TRUE(SameBytes(whole, MeasuredAtRandom(plan, source, kMany, random, result, executor)))
        << "trial " << trial;
  }
  EXPECT_GT(threads.tasks_run(), 0u);
}

// A run that goes back and stops inside a block, and one that goes on there.
TEST(AnyCut, GoesBackAndOn) {
  const Tensor source =
      MakeTensor(DataType::kUint8, std::vector<std::uint64_t>(2048, std::uint64_t{1}));
  const ForcedPlan plan(DataType::kUint8, DataType::kInt8, {}, Targets().front());
  std::vector<std::byte> result(2048);
  LossMeter meter(DataType::kUint8, DataType::kInt8);
  RunMeasured(plan, source, result, 1024, 1024, &meter);
  RunMeasured(plan, source, result, 0, 500, &meter);
  RunMeasured(plan, source, result, 500, 524, &meter);
  EXPECT_EQ(meter.Report().sum_squares, 2048);
}

TEST_P(Chunks, InPlace) {
  ForEveryDestination([](const ForcedPlan& plan, const Tensor& source, const LossReport& whole,
                         const std::vector<std::byte>& whole_result) {
    if (FindType(whole.from)->bits != FindType(whole.to)->bits) return;
    std::vector<std::byte> bytes = source.bytes;
    LossMeter meter(whole.from, whole.to);
    RunOptions run;
    run.loss = &meter;
    plan.Run(bytes, 0, bytes, 0, kElements, run);
    // Bits behind the last element are the source's own.
    std::vector<std::byte> expected = whole_result;
    const unsigned used =
        static_cast<unsigned>(kElements * static_cast<unsigned>(FindType(whole.to)->bits) % 8);
    if (used != 0) expected.back() |= source.bytes.back() & static_cast<std::byte>(0xFFu << used);
    EXPECT_EQ(bytes, expected) << plan.Name();
    EXPECT_TRUE(SameBytes(whole, meter.Report())) << plan.Name();
  });
}

TEST_P(Chunks, OtherPositionsAreRefused) {
  ForEveryDestination([](const ForcedPlan& plan, const Tensor& source, const LossReport& whole,
                         const std::vector<std::byte>& whole_result) {
    LossMeter meter(whole.from, whole.to);
    std::vector<std::byte> result(whole_result.size(), std::byte{0x3C});
    const std::vector<std::byte> before = result;
    RunOptions run;
    run.loss = &meter;
    const auto code_at = [&](std::uint64_t index) {
      run.loss_index = index;
      return plan.plan().Run(source.bytes, 0, result, 0, 10, run).code();
    };
    for (const std::uint64_t index : {1, 5, 1023, 1025, 3000}) {
      EXPECT_EQ(code_at(index), StatusCode::kLossPosition) << plan.Name() << " at " << index;
    }
    EXPECT_EQ(meter.Report().elements, 0u);
    EXPECT_EQ(result, before) << plan.Name();
    EXPECT_EQ(code_at(2048), StatusCode::kOk);
    const LossReport ten = meter.Report();
    for (const std::uint64_t index : {2049, 2057, 2059, 2067, 3}) {
      EXPECT_EQ(code_at(index), StatusCode::kLossPosition) << plan.Name() << " at " << index;
    }
    EXPECT_TRUE(SameBytes(meter.Report(), ten)) << plan.Name();
    EXPECT_EQ(code_at(2058), StatusCode::kOk);
    EXPECT_EQ(code_at(0), StatusCode::kOk);
    EXPECT_EQ(code_at(2068), StatusCode::kLossPosition);
    EXPECT_EQ(meter.Report().elements, 30u);
  });
}

TEST(Merge, OtherTensors) {
  const TypeInfo& from = *FindType(DataType::kFloat32);
  const ForcedPlan plan(DataType::kFloat32, DataType::kFloat8E4M3FN, {}, Targets().front());
  const Tensor a = MakeTensor(from.type, ScaledBlocks(from, 3000, 3));
  const Tensor b = MakeTensor(from.type, ScaledBlocks(from, 5001, 4));
  std::vector<std::byte> result(5001);
  LossMeter one(from.type, DataType::kFloat8E4M3FN), two(from.type, DataType::kFloat8E4M3FN);
  RunMeasured(plan, a, result, 0, 3000, &one);
  RunMeasured(plan, b, result, 0, 5001, &two);
  LossMeter ab = one;
  LossMeter ba = two;
  ASSERT_TRUE(ab.Merge(two).ok());
  ASSERT_TRUE(ba.Merge(one).ok());
  const LossReport x = ab.Report();
  const LossReport y = ba.Report();
  EXPECT_EQ(x.elements, 8001u);
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) EXPECT_EQ(x.counts[kind], y.counts[kind]);
  EXPECT_EQ(x.sum_squares, y.sum_squares);
  EXPECT_EQ(x.sum_squared_error, y.sum_squared_error);
  EXPECT_EQ(x.max_abs_error, y.max_abs_error);
  EXPECT_EQ(x.max_rel_error, y.max_rel_error);
  EXPECT_EQ(x.snr_db, y.snr_db);
  EXPECT_EQ(x.amax, y.amax);
  EXPECT_EQ(x.smallest_nonzero, y.smallest_nonzero);
  EXPECT_EQ(one.Report().elements, 3000u);

  // Another source type, but the same destination: that of a checkpoint with mixed tensors.
  LossMeter other_from(DataType::kFloat64, DataType::kFloat8E4M3FN);
  EXPECT_TRUE(ab.Merge(other_from).ok());
  LossMeter other_to(DataType::kFloat32, DataType::kFloat8E5M2);
  EXPECT_EQ(ab.Merge(other_to).code(), StatusCode::kLossMismatch);
  LossMeter other_options(DataType::kFloat32, DataType::kFloat8E4M3FN, {.saturate = false});
  EXPECT_EQ(ab.Merge(other_options).code(), StatusCode::kLossMismatch);
}

// A meter that took over what others measured goes on with the types it was made for.
TEST(Merge, GoesOnAfter) {
  const Tensor bytes =
      MakeTensor(DataType::kUint8, std::vector<std::uint64_t>(1500, std::uint64_t{200}));
  const Tensor floats = MakeTensor(
      DataType::kFloat32, std::vector<std::uint64_t>(1500, std::uint64_t{0x43480000}));  // 200
  const ForcedPlan of_bytes(DataType::kUint8, DataType::kInt8, {}, Targets().front());
  const ForcedPlan of_floats(DataType::kFloat32, DataType::kInt8, {}, Targets().front());
  std::vector<std::byte> result(1500);
  LossMeter first(DataType::kUint8, DataType::kInt8);
  LossMeter second(DataType::kFloat32, DataType::kInt8);
  RunMeasured(of_bytes, bytes, result, 0, 1500, &first);
  ASSERT_TRUE(second.Merge(first).ok());
  EXPECT_EQ(second.Report().from, DataType::kUint8);
  RunMeasured(of_floats, floats, result, 0, 1500, &second);
  EXPECT_EQ(second.Report().from, DataType::kUndefined);
  EXPECT_EQ(second.Report().elements, 3000u);
  // ONNX leaves only the floats' result open.
  EXPECT_EQ(second.Report().count(Loss::kUndefined), 1500u);
  EXPECT_EQ(second.Report().count(Loss::kWrapped), 3000u);
  // The other way round.
  LossMeter third(DataType::kFloat32, DataType::kInt8);
  RunMeasured(of_floats, floats, result, 0, 700, &third);
  ASSERT_TRUE(third.Merge(first).ok());
  RunMeasured(of_floats, floats, result, 700, 800, &third);
  EXPECT_EQ(third.Report().from, DataType::kUndefined);
  EXPECT_EQ(third.Report().count(Loss::kUndefined), 1500u);
  EXPECT_EQ(third.Report().sum_squares, second.Report().sum_squares);
  EXPECT_EQ(third.Report().sum_squared_error, second.Report().sum_squared_error);
}

TEST(Report, OfNothing) {
  for (const TypeInfo& from : FixedWidthTypes()) {
    LossMeter meter(from.type, DataType::kFloat16);
    const LossReport report = meter.Report();
    EXPECT_EQ(report.elements, 0u);
    EXPECT_EQ(report.compared, 0u);
    EXPECT_EQ(report.rmse, 0);
    EXPECT_TRUE(std::isinf(report.snr_db) && report.snr_db > 0);
    EXPECT_EQ(report.amax, 0);
    EXPECT_EQ(report.smallest_nonzero, 0);
    EXPECT_EQ(report.max_abs_error, 0);
    EXPECT_EQ(report.max_rel_error, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(From, Chunks, ::testing::ValuesIn(FixedWidthDataTypes()),
                         TypeParameterName);

}  // namespace
}  // namespace tensorcast::testing
