// Every code of every source of at most 16 bits, to all 25 types, under every option that has a
// say, on every target, against the oracle.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "core/forced_plan.h"
#include "core/option_sets.h"
#include "core/source_codes.h"

namespace tensorcast::testing {
namespace {

class Exhaustive : public ::testing::TestWithParam<DataType> {};

TEST_P(Exhaustive, EveryCodeToEveryType) {
  const TypeInfo& from = *FindType(GetParam());
  const Tensor source = MakeTensor(from.type, AllCodes(from));
  for (const TypeInfo& to : FixedWidthTypes()) {
    for (const CastOptions& options : OptionSets(from, to)) {
      ExpectCastOnEveryTarget(source, to.type, options);
    }
  }
  EXPECT_GT(ComparedCodes(), 25u * source.codes.size());
  RecordProperty("codes", std::to_string(ComparedCodes()));
}

std::vector<DataType> NarrowTypes() {
  std::vector<DataType> types;
  for (const TypeInfo& row : FixedWidthTypes()) {
    if (row.bits <= 16) types.push_back(row.type);
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(Narrow, Exhaustive, ::testing::ValuesIn(NarrowTypes()), TypeParameterName);

}  // namespace
}  // namespace tensorcast::testing
