// 32- and 64-bit sources: hard codes, and codes on and beside every edge of every destination,
// under every option that has a say, on every target, against the oracle.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "core/forced_plan.h"
#include "core/option_sets.h"
#include "core/source_codes.h"

namespace tensorcast::testing {
namespace {

class Wide : public ::testing::TestWithParam<DataType> {};

TEST_P(Wide, HardCodesToEveryType) {
  const TypeInfo& from = *FindType(GetParam());
  const Tensor source = MakeTensor(from.type, HardCodes(from));
  for (const TypeInfo& to : FixedWidthTypes()) {
    for (const CastOptions& options : OptionSets(from, to)) {
      ExpectCastOnEveryTarget(source, to.type, options);
    }
  }
}

TEST_P(Wide, EdgesOfEveryType) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    const Tensor source = MakeTensor(from.type, EdgesOf(from, to));
    ASSERT_GT(source.codes.size(), to.bits == 8 || Sampled() ? 100u : 8u);
    for (const CastOptions& options : OptionSets(from, to)) {
      ExpectCastOnEveryTarget(source, to.type, options);
    }
  }
}

std::vector<DataType> WideTypes() {
  std::vector<DataType> types;
  for (const TypeInfo& row : FixedWidthTypes()) {
    if (row.bits > 16) types.push_back(row.type);
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(Wide, Wide, ::testing::ValuesIn(WideTypes()), TypeParameterName);

}  // namespace
}  // namespace tensorcast::testing
