// What holds for the row of every dialect, one that is added too: nothing is half said, and what it
// writes it reads.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dialects/dialect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "scale/layouts.h"
#include "scale/written_form.h"

namespace tensorcast::scale {
namespace {

std::string Called(const Dialect& dialect) {
  return std::string(dialect.name) + " (" + std::string(dialect.layout) + ")";
}

TEST(Dialects, WhatBelongsTogetherIsThereTogether) {
  for (const Dialect* const one : Dialects()) {
    SCOPED_TRACE(Called(*one));
    EXPECT_EQ(one->layout.empty(), one->written.empty());
    EXPECT_TRUE(one->layouts.empty() || !one->name.empty());
    // The configuration of a method is read before it is edited.
    EXPECT_TRUE(one->read_config == nullptr || !one->methods.empty());
    EXPECT_TRUE(one->edit_config == nullptr || one->read_config != nullptr);
    EXPECT_TRUE(one->join_config == nullptr ||
                (one->write_config != nullptr && one->edit_config != nullptr));
    EXPECT_EQ(one->metadata_key.empty(), one->edit_metadata == nullptr);
    EXPECT_EQ(one->metadata_key.empty(), one->why_not_described == nullptr);
    for (const ReaderNote& note : one->reader_notes) {
      EXPECT_FALSE(note.noun.empty() || note.fate.empty() || note.has == nullptr);
    }
  }
}

TEST(Dialects, NamesAreOfOneDialectEach) {
  std::set<std::string_view> layouts, methods;
  for (const Dialect* const one : Dialects()) {
    SCOPED_TRACE(Called(*one));
    EXPECT_TRUE(one->layout.empty() || layouts.insert(one->layout).second);
    for (const std::string_view method : one->methods) {
      EXPECT_TRUE(methods.insert(method).second) << method;
      EXPECT_EQ(DialectOfMethod(method), one);
    }
    EXPECT_TRUE(one->layout.empty() || DialectOfLayout(one->layout) == one);
  }
  // Where only one is looked for.
  const auto all = Dialects();
  EXPECT_EQ(
      std::ranges::count_if(all, [](const Dialect* one) { return one->read_file != nullptr; }), 1);
  EXPECT_EQ(
      std::ranges::count_if(all, [](const Dialect* one) { return !one->metadata_key.empty(); }), 1);
}

formats::TensorInfo InfoOf(const WrittenTensor& made) {
  formats::TensorInfo info;
  info.name = made.name;
  info.type = made.type;
  info.shape = made.shape;
  info.elements = 1;
  for (const std::uint64_t size : made.shape) info.elements *= size;
  info.bytes = made.bytes;
  return info;
}

// Whether a row of the names makes one tensor the companion of another.
bool IsFound(const formats::TensorInfo& companion, const formats::TensorInfo& codes,
             CompanionRole role) {
  return std::ranges::any_of(CompanionNames(), [&](const CompanionName& row) {
    if (row.role != role || !codes.name.ends_with(row.tensor)) return false;
    const std::string stem = codes.name.substr(0, codes.name.size() - row.tensor.size());
    return companion.name == stem + std::string(row.companion) && TensorFits(row, codes, true) &&
           CompanionFits(row, companion, codes);
  });
}

TEST(Dialects, WhatIsWrittenIsRead) {
  const std::string name = "model.layers.0.up.weight";
  const std::vector<std::uint64_t> shape = {256, 384};
  for (const Dialect* const dialect : Dialects()) {
    if (dialect->layout == kModelLayout) continue;  // of which the graph tells
    QuantizationConfig config;
    config.dialect = dialect;
    for (const WrittenLayout& layout : dialect->written) {
      SCOPED_TRACE(Called(*dialect) + ", " + std::string(layout.format));
      const ScaledFormat* const format = FindScaledFormat(layout.format);
      ASSERT_NE(format, nullptr);
      const WrittenForm form = {.format = format, .dialect = dialect, .layout = &layout};
      std::vector<formats::TensorInfo> tensors;
      for (const WrittenTensor& made : TensorsOf(form, name, shape)) {
        tensors.push_back(InfoOf(made));
      }
      WeightTensors weight = {.codes = &tensors[0], .scale = &tensors[1]};
      EXPECT_TRUE(IsFound(tensors[1], tensors[0], CompanionRole::kScale));
      if (tensors.size() > 2) {
        weight.global = &tensors[2];
        EXPECT_TRUE(IsFound(tensors[2], tensors[0], CompanionRole::kSecondScale));
      }
      const std::vector<Reading> readings = ReadingsOf(weight, config);
      ASSERT_EQ(readings.size(), 1U);
      const Reading& reading = readings.front();
      EXPECT_EQ(reading.dialect, dialect);
      EXPECT_EQ(reading.Name(), layout.format);
      EXPECT_EQ(reading.shape, shape);
      EXPECT_EQ(reading.scaling.global_use, layout.global_use);
      const std::string& codes = weight.codes->name;
      EXPECT_EQ(codes.substr(0, codes.size() - reading.layout->codes.size()) +
                    std::string(reading.layout->plain),
                name);
    }
  }
}

}  // namespace
}  // namespace tensorcast::scale
