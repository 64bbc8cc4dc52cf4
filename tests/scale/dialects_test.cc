// What holds for the row of every dialect, one that is added too: nothing is half said, and what it
// writes it reads.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dialects/dialect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scale/gguf_quantiser.h"
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
    EXPECT_TRUE(one->read_config == nullptr || !one->methods.empty() || one->has_config != nullptr);
    EXPECT_TRUE(one->edit_config == nullptr || one->read_config != nullptr);
    EXPECT_TRUE(one->join_config == nullptr ||
                (one->write_config != nullptr && one->edit_config != nullptr));
    // A file says how in the words of config.json, or in a member that is read by itself.
    EXPECT_EQ(one->file.IsRead() && !one->file.member.empty(), one->read_file != nullptr);
    EXPECT_EQ(one->packed.name.empty(), one->packed.are == nullptr);
    EXPECT_EQ(one->metadata_key.empty(), one->edit_metadata == nullptr);
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

// The tensors that a weight becomes, as a file has them.
struct Stored {
  WrittenForm form;
  std::vector<formats::TensorInfo> tensors;

  Stored(const Dialect& dialect, const WrittenLayout& layout, std::string_view name)
      : form{.format = FindScaledFormat(layout.format), .dialect = &dialect, .layout = &layout} {
    for (const WrittenTensor& made : TensorsOf(form, name, kShape)) tensors.push_back(InfoOf(made));
  }

  WeightTensors Weight() const {
    return {.codes = &tensors[0],
            .scale = &tensors[1],
            .global = tensors.size() > 2 ? &tensors[2] : nullptr};
  }

  static constexpr std::uint64_t kShape[] = {256, 384};
};

constexpr std::string_view kWeight = "model.layers.0.up.weight";

TEST(Dialects, WhatIsWrittenIsRead) {
  // Without a configuration these are taken for those of the library that is named behind them:
  // they have the same names, types and shapes, and mean the same.
  const std::map<std::string, std::string_view> kTakenFor = {
      {"modelopt fp8-tensor", "compressed-tensors"}, {"comfyui fp8-tensor", "compressed-tensors"}};
  // Read by read_packed, by a description or a configuration of modules (check_written.py).
  const std::set<std::string> kDecodeThemselves = {"comfyui int8-row", "comfyui mxfp8",
                                                   "comfyui nvfp4",    "mlx mxfp4",
                                                   "mlx mxfp8",        "mlx nvfp4"};
  for (const Dialect* const dialect : Dialects()) {
    if (dialect->layout == kModelLayout) continue;  // of which the graph tells
    for (const WrittenLayout& layout : dialect->written) {
      ASSERT_NE(FindScaledFormat(layout.format), nullptr) << layout.format;
      if (!layout.block.empty()) {  // gguf_quantiser_test.cc
        EXPECT_TRUE(IsGgufWritten(layout.block));
        continue;
      }
      const std::string what = std::string(dialect->layout) + " " + std::string(layout.format);
      const Stored stored(*dialect, layout, kWeight);
      const WeightTensors weight = stored.Weight();
      EXPECT_TRUE(IsFound(*weight.scale, *weight.codes, CompanionRole::kScale));
      if (weight.global != nullptr) {
        EXPECT_TRUE(IsFound(*weight.global, *weight.codes, CompanionRole::kSecondScale));
      }
      if (kDecodeThemselves.contains(what)) {
        EXPECT_NE(dialect->read_packed, nullptr);
        continue;
      }
      for (const bool has_config : {true, false}) {
        SCOPED_TRACE(what + (has_config ? "" : ", without a configuration"));
        QuantizationConfig config;
        if (has_config) config.dialect = dialect;
        const std::vector<Reading> readings = ReadingsOf(weight, config);
        ASSERT_EQ(readings.size(), 1U);
        const Reading& reading = readings.front();
        const auto other = has_config ? kTakenFor.end() : kTakenFor.find(what);
        EXPECT_EQ(reading.dialect->name, other == kTakenFor.end() ? dialect->name : other->second);
        EXPECT_EQ(reading.Name(), layout.format);
        EXPECT_TRUE(std::ranges::equal(reading.shape, stored.form.ShapeOf(Stored::kShape)));
        EXPECT_EQ(reading.IsTransposed(), layout.is_transposed);
        EXPECT_EQ(reading.scaling.global_use, layout.global_use);
        EXPECT_EQ(reading.name, kWeight);
      }
    }
  }
}

// Libraries that are made up: one calls codes and scales by endings that others' endings end in, or
// puts these behind the whole name, or behind its codes'.
struct MadeUp {
  Layout read;
  WrittenLayout written;
};
constexpr MadeUp kMadeUp[] = {
    {{".n_codes", ".weight", ".n_scale"},
     {.format = "fp8-row", .codes = ".n_codes", .scale = ".n_scale", .plain = ".weight"}},
    {{".n_codes", "", ".n_scale"}, {"fp8-row", ".n_codes", ".n_scale"}},
    {{".kodes", ".weight", ".kodes_scale"},
     {.format = "fp8-row", .codes = ".kodes", .scale = ".kodes_scale", .plain = ".weight"}},
    {{".kodes", ".weight", ".kodes.scale"},
     {.format = "fp8-row", .codes = ".kodes", .scale = ".kodes.scale", .plain = ".weight"}},
};

TEST(Dialects, NamesThatEndLikeOthersAreNotTakenForThem) {
  for (const MadeUp& one : kMadeUp) {
    SCOPED_TRACE(std::string(one.read.codes) + ", " + std::string(one.read.scale));
    const Dialect nadir = {.name = "Nadir",
                           .layouts = std::span(&one.read, 1),
                           .layout = "nadir",
                           .written = std::span(&one.written, 1)};
    const auto all = Dialects();
    std::vector<const Dialect*> with_it(all.begin(), all.end());
    with_it.push_back(&nadir);
    const Stored stored(nadir, one.written, kWeight);
    for (const Dialect* const named : {&nadir, static_cast<const Dialect*>(nullptr)}) {
      QuantizationConfig config;
      config.dialect = named;
      const std::vector<Reading> readings = ReadingsOf(stored.Weight(), config, with_it);
      ASSERT_EQ(readings.size(), 1U);
      EXPECT_EQ(readings.front().dialect, &nadir);
      EXPECT_EQ(readings.front().name, kWeight);
      EXPECT_EQ(readings.front().Name(), "fp8-row");
    }
  }
}

TEST(Dialects, CodesAndScalesHaveOneName) {
  formats::TensorInfo codes = InfoOf({"a.weight", {256, 384}, DataType::kFloat8E4M3FN, 256 * 384});
  formats::TensorInfo scale = InfoOf({"b.weight_scale", {256, 1}, DataType::kFloat32, 1024});
  EXPECT_TRUE(ReadingsOf({.codes = &codes, .scale = &scale}, {}).empty());
  scale.name = "a.weight_scale";
  EXPECT_EQ(ReadingsOf({.codes = &codes, .scale = &scale}, {}).size(), 1U);
  // A parameter that is not called "weight", whose scale is called as if it were.
  codes.name = "a";
  const std::vector<Reading> readings = ReadingsOf({.codes = &codes, .scale = &scale}, {});
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings.front().name, "a");
}

}  // namespace
}  // namespace tensorcast::scale
