// The table of formats against the texts it is taken from, as literals.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scaled_format.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scale/scale_search.h"

namespace tensorcast::scale {
namespace {

TEST(ScaledFormat, EveryRuleOfEveryFormatCanBeWritten) {
  std::string names;
  for (const ScaledFormat& format : ScaledFormats()) {
    names += std::string(format.name) + " ";
    ASSERT_FALSE(format.rules.empty());
    for (const NamedRule& rule : format.rules) {
      // A search begins with the first rule; integers in groups have a quantiser of their own.
      const ScaleRule plain = IsSearch(rule.rule) ? format.rules.front().rule : rule.rule;
      if (format.group_bits == 0) CheckedWritten(format.scaling, plain);  // throws
      EXPECT_EQ(format.FindRule(rule.name), rule.rule);
    }
    EXPECT_EQ(FindScaledFormat(format.name), &format);
    EXPECT_EQ(format.FindRule("least"), std::nullopt);
  }
  EXPECT_EQ(names,
            "fp8-tensor fp8-row fp8-block int8-row mxfp8 mxfp8-e5m2 mxfp6 mxfp6-e3m2 mxfp4 nvfp4 "
            "q8_0 q5_1 q5_0 q4_1 q4_0 int4-group int8-group ");
  EXPECT_EQ(FindScaledFormat("fp8"), nullptr);
}

TEST(ScaledFormat, SizesOfGroups) {
  for (const std::string_view name : {"int4-group", "int8-group"}) {
    const ScaledFormat& usual = *FindScaledFormat(name);
    EXPECT_EQ(FindGroups(usual, 128, false), &usual);
    for (const std::uint64_t size : kGroupSizes) {
      for (const bool is_asymmetric : {false, true}) {
        const ScaledFormat* const found = FindGroups(usual, size, is_asymmetric);
        ASSERT_NE(found, nullptr) << name << ' ' << size;
        EXPECT_EQ(found->name, name);
        EXPECT_EQ(found->block_columns, size);
        EXPECT_EQ(found->is_asymmetric, is_asymmetric);
        EXPECT_EQ(found->group_bits, usual.group_bits);
        EXPECT_EQ(found->cells, size == 0 ? CellsBy::kRows : CellsBy::kGroups);
      }
    }
    EXPECT_EQ(FindGroups(usual, 16, false), nullptr);
  }
}

TEST(ScaledFormat, CellsAndBits) {
  const std::vector<std::uint64_t> shape = {300, 256};
  const auto expect = [&](std::string_view name, std::uint64_t cells, double bits) {
    const ScaledFormat& format = *FindScaledFormat(name);
    ASSERT_TRUE(format.Takes(shape));
    const Partition partition = format.PartitionOf(shape);
    EXPECT_EQ(partition.cells(), cells) << name;
    EXPECT_DOUBLE_EQ(BitsPerValue(format.scaling, partition), bits) << name;
  };
  expect("fp8-tensor", 1, 8 + 32 / 76800.0);
  expect("fp8-row", 300, 8.125);
  expect("fp8-block", 6, 8 + 6 * 32 / 76800.0);
  expect("int8-row", 300, 8.125);
  expect("mxfp8", 2400, 8.25);
  expect("mxfp6", 2400, 6.25);
  expect("mxfp4", 2400, 4.25);
  expect("nvfp4", 4800, 4.5 + 32 / 76800.0);
}

TEST(ScaledFormat, LeavesWhatItCannotHold) {
  const auto takes = [](std::string_view name, std::vector<std::uint64_t> shape) {
    return FindScaledFormat(name)->Takes(shape);
  };
  EXPECT_TRUE(takes("nvfp4", {2, 48}));
  EXPECT_FALSE(takes("mxfp4", {2, 48}));
  EXPECT_FALSE(takes("mxfp4", {32, 0}));
  EXPECT_FALSE(takes("mxfp4", {}));
  EXPECT_TRUE(takes("fp8-block", {3, 5}));
  EXPECT_FALSE(takes("fp8-row", {0, 5}));
}

}  // namespace
}  // namespace tensorcast::scale
