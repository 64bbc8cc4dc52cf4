// The loss report where one way to measure ends and the next begins: tensors of every small size,
// and stretches of two blocks that keep all, lose a few elements or all, in every order.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/measured_cast.h"
#include "core/source_codes.h"

namespace tensorcast::testing {
namespace {

constexpr DataType kStretchSources[] = {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16,
                                        DataType::kFloat64};
constexpr DataType kStretchResults[] = {
    DataType::kFloat32,        DataType::kBfloat16,   DataType::kFloat16, DataType::kFloat8E4M3FN,
    DataType::kFloat8E5M2FNUZ, DataType::kFloat4E2M1, DataType::kInt8,    DataType::kUint8};

// What float64 and integers of 32 and 64 bits are measured to in float64 lanes beside these.
constexpr DataType kWideResults[] = {DataType::kFloat64, DataType::kInt32,      DataType::kInt64,
                                     DataType::kUint64,  DataType::kFloat8E8M0, DataType::kBool};

void ExpectLossOfEverySize(const TypeInfo& from) {
  for (const DataType to : kStretchResults) {
    std::vector<std::size_t> sizes = {1023, 1024, 1025, 2047, 2048, 2049, 3071, 3073, 4096};
    for (std::size_t size = 0; size <= 300; ++size) sizes.push_back(size);
    std::ranges::sort(sizes);
    const Tensor source = MakeTensor(from.type, OrdinaryBlocks(from, sizes.back(), 17));
    const oracle::Row& from_row = oracle::RowOf(static_cast<int>(from.type));
    const oracle::Row& to_row = oracle::RowOf(static_cast<int>(to));
    const oracle::Options options = ToOracle({});
    oracle::LossOracle loss(from_row, to_row, options);
    std::size_t added = 0;
    for (const std::size_t size : sizes) {
      for (; added < size; ++added) {
        const std::uint64_t code = source.codes[added];
        loss.Add(code, oracle::Cast(from_row, to_row, options, code));
      }
      const oracle::LossFigures expected = loss.Figures();
      for (const Target target : Targets()) {
        const ForcedPlan plan(from.type, to, {}, target);
        LossMeter meter(from.type, to);
        std::vector<std::byte> result(*StorageBytes(to, size));
        RunMeasured(plan, source, result, 0, size, &meter);
        ExpectReport(expected, meter.Report(), plan.Name() + ", " + std::to_string(size));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(LossOfInt16, EverySize) { ExpectLossOfEverySize(*FindType(DataType::kInt16)); }

class LossStretches : public ::testing::TestWithParam<DataType> {};

TEST_P(LossStretches, EverySize) { ExpectLossOfEverySize(*FindType(GetParam())); }

// A number of a floating type by its exponent; where it is below the normal ones, the digits alone.
std::uint64_t NumberOf(const TypeInfo& row, int exponent, std::uint64_t random) {
  const std::uint64_t binade = std::uint64_t{1} << row.mantissa_bits;
  const int field = std::clamp(exponent + row.bias, 0, 2 * row.bias);
  const std::uint64_t magnitude = static_cast<std::uint64_t>(field) * binade + random % binade;
  return magnitude | (random >> 60 & 1) << (row.bits - 1);
}

// Blocks of a floating type, one of each kind a few times, in an order by chance.
std::vector<std::uint64_t> KindsOfBlocks(const TypeInfo& from, std::mt19937_64& random) {
  enum {
    kOnes,
    kWeights,
    kOneLow,
    kSmall,
    kTiny,
    kLeast,
    kZeros,
    kOneNan,
    kOneInfinity,
    kPositive,
    kKinds
  };
  std::vector<int> kinds;
  for (int kind = 0; kind < 2 * kKinds; ++kind) kinds.push_back(kind % kKinds);
  std::ranges::shuffle(kinds, random);
  const std::uint64_t sign = std::uint64_t{1} << (from.bits - 1);
  const std::uint64_t infinity = ((std::uint64_t{1} << from.exponent_bits) - 1)
                                 << from.mantissa_bits;
  std::vector<std::uint64_t> codes;
  for (const int kind : kinds) {
    const std::size_t begin = codes.size();
    for (std::size_t i = 0; i < 1024; ++i) {
      const std::uint64_t any = random();
      const int spread = static_cast<int>(any >> 32 & 15);
      std::uint64_t code = NumberOf(from, -5 - spread / 2, any);
      if (kind == kOnes) code = NumberOf(from, spread / 4, 0) | (any & sign);
      if (kind == kSmall) code = NumberOf(from, -24 + spread / 2, any);
      if (kind == kTiny) code = NumberOf(from, -126 + spread, any);
      if (kind == kLeast) code = NumberOf(from, -from.bias + spread / 4, any);
      if (kind == kZeros && any % 3 != 0) code = any & sign;
      if (kind == kPositive) code &= ~sign;
      codes.push_back(code);
    }
    // The ends of a block and of its vectors, and any place.
    constexpr std::size_t kPlaces[] = {0, 7, 15, 16, 1008, 1023};
    const std::size_t place = begin + (random() % 2 != 0 ? kPlaces[random() % 6] : random() % 1024);
    if (kind == kOneLow) codes[place] = NumberOf(from, -40, random());
    if (kind == kOneNan) codes[place] = infinity | 1;
    if (kind == kOneInfinity) codes[place] = infinity | (random() & sign);
  }
  codes.resize(codes.size() - random() % 1500);
  return codes;
}

// Integers of 32 and 64 bits, in the same way.
std::vector<std::uint64_t> KindsOfIntegers(const TypeInfo& from, std::mt19937_64& random) {
  enum { kFew, kTokens, kExact, kBelowWide, kOneWide, kAny, kZeros, kEnds, kPositive, kKinds };
  std::vector<int> kinds;
  for (int kind = 0; kind < 2 * kKinds; ++kind) kinds.push_back(kind % kKinds);
  std::ranges::shuffle(kinds, random);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - from.bits);
  std::vector<std::uint64_t> codes;
  for (const int kind : kinds) {
    const std::size_t begin = codes.size();
    for (std::size_t i = 0; i < 1024; ++i) {
      const std::uint64_t any = random();
      const auto of_bits = [&](int bits) {
        const std::uint64_t magnitude = any >> 1 & ((std::uint64_t{1} << bits) - 1);
        return from.has_sign && any % 2 != 0 ? 0 - magnitude : magnitude;
      };
      std::uint64_t code = of_bits(7);
      if (kind == kTokens) code = any % 128000;
      if (kind == kExact) code = of_bits(11) << 30;
      if (kind == kBelowWide || kind == kOneWide) code = of_bits(53);
      if (kind == kAny) code = any;
      if (kind == kZeros && any % 3 != 0) code = 0;
      if (kind == kEnds) code = (std::uint64_t{any % 4} << (from.bits - 2)) + of_bits(9);
      if (kind == kPositive) code = any >> (65 - from.bits + static_cast<int>(any % 30));
      codes.push_back(code & mask);
    }
    if (kind == kOneWide) codes[begin + random() % 1024] = random() & mask;
  }
  codes.resize(codes.size() - random() % 1500);
  return codes;
}

// A type's blocks in a few orders, cast to each of some types.
template <class Codes>
void ExpectLossInAnyOrder(const TypeInfo& from, std::span<const DataType> results,
                          const Codes& codes) {
  std::mt19937_64 random(18);
  for (const DataType to : results) {
    for (int order = 0; order < (Sampled() ? 1 : 3); ++order) {
      ExpectLossOnEveryTarget(MakeTensor(from.type, codes(from, random)), to, {});
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(LossStretches, KindsOfBlocksInAnyOrder) {
  const TypeInfo& from = *FindType(GetParam());
  ExpectLossInAnyOrder(from, kStretchResults, KindsOfBlocks);
  if (from.bits == 64) ExpectLossInAnyOrder(from, kWideResults, KindsOfBlocks);
}

TEST(LossOfIntegers, KindsOfBlocksInAnyOrder) {
  for (const DataType type :
       {DataType::kInt32, DataType::kUint32, DataType::kInt64, DataType::kUint64}) {
    ExpectLossInAnyOrder(*FindType(type), kStretchResults, KindsOfIntegers);
    ExpectLossInAnyOrder(*FindType(type), kWideResults, KindsOfIntegers);
  }
}

// Relative errors of 0.887, then of 1 where their products with a known error are subnormal: of
// whole stretches, and of runs within a block.
TEST(LossOfTinyNumbers, LargestRelativeError) {
  const auto of = [](std::ptrdiff_t first, std::size_t size) {
    std::vector<std::uint64_t> codes(size, 3);
    std::fill_n(codes.begin(), first, std::bit_cast<std::uint64_t>(0.53 * 0x1p-9));
    ExpectLossOnEveryTarget(MakeTensor(DataType::kFloat64, codes), DataType::kFloat8E4M3FN, {});
  };
  of(2048, 4096);
  of(512, 1000);
}

// The least relative error that there is: of 64-bit integers beside doubles.
TEST(LossOfIntegers, LeastRelativeError) {
  const auto of = [](DataType from, std::uint64_t code) {
    for (const std::size_t size : {1000, 1024, 4096}) {
      ExpectLossOnEveryTarget(MakeTensor(from, std::vector(size, code)), DataType::kFloat64, {});
    }
  };
  of(DataType::kUint64, (1ull << 63) + 1);
  of(DataType::kInt64, (1ull << 63) - 1);
  of(DataType::kInt64, (1ull << 62) + 1);
}

// A limit that is no integer, beside integers that doubles do not hold.
TEST(LossOfIntegers, LimitThatIsNoInteger) {
  for (const DataType from : {DataType::kInt64, DataType::kUint64}) {
    std::vector<std::uint64_t> codes(1024, 100);
    codes[700] = 1ull << 53;
    ExpectLossOnEveryTarget(MakeTensor(from, codes), DataType::kFloat6E2M3, {});
  }
}

// An outlier becomes a limit and loses nearly all; what later becomes zero loses more.
TEST(LossOfOutliers, LargestRelativeError) {
  const auto to = [](DataType type, std::uint64_t outlier, const CastOptions& options) {
    std::vector<std::uint64_t> codes(8192, 0x3F80);  // bfloat16
    codes[5] = outlier;
    std::fill(codes.begin() + 2048, codes.end(), 0x2000);
    ExpectLossOnEveryTarget(MakeTensor(DataType::kBfloat16, codes), type, options);
  };
  to(DataType::kFloat8E4M3FN, 0x5360, {});
  to(DataType::kFloat4E2M1, 0x5F00, {});
  to(DataType::kInt8, 0x5F00, {.integer_overflow = IntegerOverflow::kSaturate});
}

// The first of the elements that lose infinitely much, though the run that begins the tensor came
// after the other.
TEST(LossOfTinyNumbers, FirstOfInfiniteErrors) {
  constexpr std::uint64_t kHalf = std::bit_cast<std::uint64_t>(0.5);
  std::vector<std::uint64_t> codes(4096, kHalf);
  codes[2048 + 5] = 1;
  const Tensor source = MakeTensor(DataType::kFloat64, codes);
  for (const Target target : Targets()) {
    const ForcedPlan plan(DataType::kFloat64, DataType::kBool, {}, target);
    LossMeter meter(DataType::kFloat64, DataType::kBool);
    std::vector<std::byte> result(4096);
    for (const std::uint64_t first : {2048, 0}) {
      RunMeasured(plan, source, result, first, 2048, &meter);
    }
    const LossReport report = meter.Report();
    EXPECT_EQ(report.max_rel_example.index, 2053u) << plan.Name();
    EXPECT_EQ(report.max_rel_example.source_code, 1u) << plan.Name();
  }
}

// Elements that are measured twice: what is found later, though in a run that begins before, is no
// earlier example.
TEST(LossMeasuredTwice, ExamplesAreTheFirst) {
  struct Codes {
    DataType from, to;
    std::uint64_t kept, rounded;
  };
  for (const Codes& codes :
       {Codes{DataType::kFloat64, DataType::kFloat32, 0x3FF0000000000000, 0x3FF0000000000001},
        Codes{DataType::kFloat32, DataType::kBfloat16, 0x3F800000, 0x3F800001},
        Codes{DataType::kFloat8E4M3FN, DataType::kInt8, 0x38, 0x3C}}) {  // 1 and 1.5
    const auto with_error_at = [&codes](std::size_t at) {
      std::vector<std::uint64_t> all(8192, codes.kept);
      all[at] = codes.rounded;
      return MakeTensor(codes.from, all);
    };
    for (const Target target : Targets()) {
      const ForcedPlan plan(codes.from, codes.to, {}, target);
      LossMeter meter(codes.from, codes.to);
      std::vector<std::byte> result(4 * 8192);
      for (const std::size_t at : {5, 700}) {
        RunMeasured(plan, with_error_at(at), result, 0, 8192, &meter);
      }
      const LossReport report = meter.Report();
      EXPECT_EQ(report.first[static_cast<std::size_t>(Loss::kRounded)].index, 5u) << plan.Name();
      EXPECT_EQ(report.max_abs_example.index, 5u) << plan.Name();
      EXPECT_EQ(report.max_rel_example.index, 5u) << plan.Name();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(From, LossStretches, ::testing::ValuesIn(kStretchSources),
                         TypeParameterName);

}  // namespace
}  // namespace tensorcast::testing
