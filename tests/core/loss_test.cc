// The loss report of every pair under every option that has a say, on every target, against the
// oracle's: each count, each first example, each figure.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "core/measured_cast.h"
#include "core/option_sets.h"
#include "core/source_codes.h"

namespace tensorcast::testing {
namespace {

class LossOfType : public ::testing::TestWithParam<DataType> {};

TEST_P(LossOfType, SpecialsAndEdges) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    // Some blocks and a part; a multiple of no vector. From four blocks on codes are counted, and
    // what has been met in four is no news in the fifth.
    const std::size_t elements = from.bits <= 8 ? 5 * 1024 + 333 : Scaled(2048 + 333);
    const Tensor source = MakeTensor(from.type, SpecialCodes(from, to, elements));
    for (const CastOptions& options : OptionSets(from, to)) {
      ExpectLossOnEveryTarget(source, to.type, options);
      if (HasFailure()) return;
    }
  }
}

// The sums: blocks of very different scale, whose squares neither overflow nor vanish.
TEST_P(LossOfType, SumsOverBlocks) {
  const TypeInfo& from = *FindType(GetParam());
  const Tensor source = MakeTensor(from.type, ScaledBlocks(from, Scaled(20 * 1024 + 517), 7));
  for (const TypeInfo& to : FixedWidthTypes()) {
    ExpectLossOnEveryTarget(source, to.type, {});
    if (HasFailure()) return;
  }
}

TEST_P(LossOfType, OrdinaryBlocks) {
  const TypeInfo& from = *FindType(GetParam());
  const Tensor source = MakeTensor(from.type, OrdinaryBlocks(from, Scaled(10 * 1024 + 700), 8));
  for (const TypeInfo& to : FixedWidthTypes()) {
    ExpectLossOnEveryTarget(source, to.type, {});
    if (HasFailure()) return;
  }
}

// A code by itself: no kind hides behind an earlier one's example, no maximum behind a larger.
TEST_P(LossOfType, OneElement) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    const std::vector<std::uint64_t> codes = SpecialCodes(from, to, Scaled(60));
    for (const CastOptions& options : MeaningfulOptions(from, to)) {
      for (const std::uint64_t code : codes) {
        ExpectLossOnEveryTarget(MakeTensor(from.type, {code}), to.type, options);
        if (HasFailure()) return;
      }
    }
  }
}

// Codes are counted where nothing is lost, too, of so many.
TEST(LossOfCodes, OfManyThatLoseNothing) {
  for (const DataType type : {DataType::kFloat8E4M3FN, DataType::kInt4, DataType::kUint8}) {
    const TypeInfo& from = *FindType(type);
    const Tensor source = MakeTensor(type, ScaledBlocks(from, 257 * 1024 + 77, 9));
    ExpectLossOnEveryTarget(source, DataType::kFloat32, {});
  }
}

INSTANTIATE_TEST_SUITE_P(From, LossOfType, ::testing::ValuesIn(FixedWidthDataTypes()),
                         TypeParameterName);

}  // namespace
}  // namespace tensorcast::testing
