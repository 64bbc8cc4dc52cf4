// What two tensors that no cast connects have for figures, of every pair of types on every target,
// against the oracle's.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/loss.h"
#include "core/measured_cast.h"
#include "core/option_sets.h"
#include "core/source_codes.h"

namespace tensorcast::testing {
namespace {

oracle::LossFigures ExpectedPair(const Tensor& a, const Tensor& b) {
  oracle::LossOracle loss = oracle::LossOracle::OfPair(oracle::RowOf(static_cast<int>(a.type)),
                                                       oracle::RowOf(static_cast<int>(b.type)));
  for (std::size_t i = 0; i < a.codes.size(); ++i) loss.Add(a.codes[i], b.codes[i]);
  return loss.Figures();
}

// In two runs, the second of which begins at a block.
void ExpectPairOnEveryTarget(const Tensor& a, const Tensor& b) {
  const oracle::LossFigures expected = ExpectedPair(a, b);
  const std::uint64_t n = a.codes.size(), cut = n / 2 / 1024 * 1024;
  for (const Target target : Targets()) {
    const std::string name = std::string(TypeName(a.type)) + " and " +
                             std::string(TypeName(b.type)) + ", " + std::string(TargetName(target));
    LossMeter meter(a.type, b.type), rest(a.type, b.type);
    core::LossView view = {
        FindType(a.type), FindType(b.type), a.bytes.data(), 0, b.bytes.data(), 0};
    ASSERT_TRUE(core::MeasurePair(meter, view, cut, 0, target).ok()) << name;
    view.source_first = view.result_first = cut;
    ASSERT_TRUE(core::MeasurePair(rest, view, n - cut, cut, target).ok()) << name;
    ASSERT_TRUE(meter.Merge(rest).ok()) << name;
    ExpectReport(expected, meter.Report(), name);
  }
}

class LossOfPair : public ::testing::TestWithParam<DataType> {};

// Results of a cast, of which some stay, some are the codes beside them, and some are any: ends of
// the range, Inf and NaN are among those.
TEST_P(LossOfPair, SpecialsAndEdges) {
  const TypeInfo& from = *FindType(GetParam());
  std::mt19937_64 random(7);
  for (const TypeInfo& to : FixedWidthTypes()) {
    const Tensor a = MakeTensor(from.type, SpecialCodes(from, to, Scaled(2048 + 333)));
    std::vector<std::uint64_t> codes = SpecialCodes(to, from, a.codes.size());
    const std::uint64_t mask = to.bits == 64 ? ~0ull : (1ull << to.bits) - 1;
    CastOptions saturating;
    saturating.integer_overflow = IntegerOverflow::kSaturate;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::uint64_t made = CastBits(from.type, to.type, a.codes[i], saturating);
      switch (random() % 4) {
        case 0: codes[i] = made; break;
        case 1: codes[i] = (made + 1) & mask; break;
        case 2: codes[i] = (made - 1) & mask; break;
        default: break;
      }
    }
    ExpectPairOnEveryTarget(a, MakeTensor(to.type, codes));
    if (HasFailure()) return;
  }
}

TEST_P(LossOfPair, OrdinaryValues) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    const Tensor a = MakeTensor(from.type, OrdinaryBlocks(from, Scaled(6 * 1024 + 517), 3));
    std::vector<std::uint64_t> codes = OrdinaryBlocks(to, a.codes.size(), 4);
    for (std::size_t i = 0; i < codes.size(); i += 2) {
      codes[i] = CastBits(from.type, to.type, a.codes[i]);
    }
    ExpectPairOnEveryTarget(a, MakeTensor(to.type, codes));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(From, LossOfPair, ::testing::ValuesIn(FixedWidthDataTypes()),
                         TypeParameterName);

TEST(LossOfPairs, MeterOfOtherTypesIsRefused) {
  LossMeter meter(DataType::kFloat32, DataType::kFloat32);
  const std::vector<std::byte> bytes(4);
  const core::LossView view = {
      FindType(DataType::kFloat32), FindType(DataType::kInt32), bytes.data(), 0, bytes.data(), 0};
  EXPECT_EQ(core::MeasurePair(meter, view, 1, 0).code(), StatusCode::kLossMismatch);
}

}  // namespace
}  // namespace tensorcast::testing
