// Constants that are cast in the model, random graphs, whose outputs keep every bit, and files with
// data beside them.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cast_models.h"
#include "optimised.h"
#include "tensorcast/onnx.hpp"

namespace {

namespace onnx = tensorcast::onnx;
using onnx_test::BytesField;
using onnx_test::CastNode;
using onnx_test::DataType;
using onnx_test::IntAttribute;
using onnx_test::Lines;
using onnx_test::ModelBytes;
using onnx_test::MustRun;
using onnx_test::NodesOf;
using onnx_test::Optimisation;
using onnx_test::Optimised;
using onnx_test::OtherNode;
using onnx_test::Parsed;
using onnx_test::RemovedOf;
using onnx_test::StatusCode;
using onnx_test::Tensor;
using onnx_test::TensorMessage;
using onnx_test::Through;
using enum DataType;

// ------------------------------------------------------------------------------ constants

ModelBytes WithConstant(DataType type, std::vector<std::uint64_t> shape, const std::string& raw,
                        DataType to) {
  ModelBytes model =
      Through(kFloat32, {CastNode("w", "a", to), OtherNode({"x", "a"}, "y")}, kFloat32);
  model.initializers = {TensorMessage("w", type, std::move(shape), raw)};
  return model;
}

std::string Repeated(const std::string& text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

TEST(OptimiseModels, ConstantsAreCastWhereTheFileDoesNotGrow) {
  const std::string one = onnx_test::LittleEndian(0x3F800000, 4);  // 1.0f
  const ModelBytes model = WithConstant(kFloat32, {100}, Repeated(one, 100), kFloat16);
  const Optimisation result = Optimised(model);
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Opaque x a -> y"}));
  const std::string half(std::string("\x00\x3C", 2));
  EXPECT_NE(result.bytes.find(TensorMessage("a", kFloat16, {100}, Repeated(half, 100))),
            std::string::npos);
  EXPECT_EQ(result.bytes.find(Repeated(one, 100)), std::string::npos);
  EXPECT_EQ(RemovedOf(result.report), Lines({"a constant"}));
  EXPECT_LT(result.bytes.size(), model.Bytes().size());
  // The other way it would grow.
  const ModelBytes wide = WithConstant(kFloat16, {100}, Repeated(half, 100), kFloat32);
  EXPECT_EQ(Optimised(wide).bytes, wide.Bytes());
  onnx::OptimizeOptions all;
  all.fold_all = true;
  EXPECT_NE(
      Optimised(wide, all).bytes.find(TensorMessage("a", kFloat32, {100}, Repeated(one, 100))),
      std::string::npos);
}

TEST(OptimiseModels, AConstantThatIsReadElsewhereStays) {
  ModelBytes model = WithConstant(kFloat32, {}, onnx_test::LittleEndian(0x40000000, 4), kInt8);
  model.nodes.back().inputs.push_back("w");
  const Optimisation result = Optimised(model);
  // A scalar takes less than its Cast.
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Opaque x a w -> y"}));
  EXPECT_NE(result.bytes.find(TensorMessage("a", kInt8, {}, "\x02")), std::string::npos);
  EXPECT_NE(result.bytes.find(model.initializers[0]), std::string::npos);
}

TEST(OptimiseModels, CastsOfConstantsFollowOneAnother) {
  ModelBytes model = WithConstant(kFloat64, {3}, std::string(24, '\0'), kInt32);
  model.nodes.insert(model.nodes.begin() + 1, CastNode("a", "b", kFloat16));
  model.nodes.back().inputs = {"x", "b"};
  const Optimisation result = Optimised(model);
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Opaque x b -> y"}));
  EXPECT_NE(result.bytes.find(TensorMessage("b", kFloat16, {3}, std::string(6, '\0'))),
            std::string::npos);
  EXPECT_EQ(result.bytes.find(BytesField(8, "a")), std::string::npos);
}

TEST(OptimiseModels, AConstantsNodeGivesTheResult) {
  ModelBytes model = Through(
      kFloat32,
      {{"Constant",
        {},
        {"w"},
        onnx_test::TensorAttribute(
            "value", TensorMessage("", kFloat32, {3}, onnx_test::Floats({1, -2, 300}).data))},
       CastNode("w", "y", kInt4)},
      kInt4);
  model.outputs = {{"z", kInt4}};
  model.nodes.push_back({"Identity", {"y"}, {"z"}});
  const Optimisation result = Optimised(model);
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Constant -> y", "Identity y -> z"}));
  const std::vector<Tensor> inputs = {onnx_test::Floats({0})};
  EXPECT_EQ(onnx_test::Data(MustRun(Parsed(result.bytes), inputs)[0]),
            onnx_test::Data(MustRun(Parsed(model), inputs)[0]));
}

TEST(OptimiseModels, WhatMayBeOverriddenIsNotFolded) {
  ModelBytes model = WithConstant(kFloat32, {1}, std::string(4, '\0'), kFloat16);
  model.inputs.emplace_back("w", kFloat32);
  EXPECT_EQ(Optimised(model).bytes, model.Bytes());
  ModelBytes old = WithConstant(kFloat32, {1}, std::string(4, '\0'), kFloat16);
  old.ir_version = 3;
  EXPECT_EQ(Optimised(old).bytes, old.Bytes());
  // Values that do not fit the shape are left to whoever runs the model.
  const ModelBytes broken = WithConstant(kFloat32, {1}, std::string(3, '\0'), kFloat16);
  EXPECT_EQ(Optimised(broken).bytes, broken.Bytes());
}

// ------------------------------------------------------------------------------ random graphs

std::string Codes(DataType type, std::mt19937_64& random) {
  const auto bytes = tensorcast::StorageBytes(type, 512).value();
  std::string data(static_cast<std::size_t>(bytes), '\0');
  for (char& byte : data) byte = static_cast<char>(random());
  return data;
}

// Graphs of Casts, CastLikes and Identities over all types, with many outputs.
TEST(OptimiseModels, RandomGraphsKeepEveryBit) {
  std::mt19937_64 random(20261122);
  std::uint64_t removed = 0;
  for (int round = 0; round < 400; ++round) {
    const auto opset = std::vector<std::int64_t>{13, 19, 21, 23, 24, 25, 28}[random() % 7];
    std::vector<DataType> types;
    const std::int64_t since[] = {0,  1,  1,  1,  1,  1,  1,  1,  99, 1,  1,  1,  1,  1, 99,
                                  99, 13, 19, 19, 19, 19, 21, 21, 23, 24, 25, 25, 28, 28};
    for (int id = 1; id <= 28; ++id) {
      if (since[id] <= opset) types.push_back(static_cast<DataType>(id));
    }
    // Few types make more chains.
    std::shuffle(types.begin(), types.end(), random);
    types.resize(2 + random() % 6);
    ModelBytes model;
    model.opset = opset;
    std::vector<std::pair<std::string, DataType>> values;
    std::vector<Tensor> inputs;
    for (int i = 0; i < 3; ++i) {
      const DataType type = types[random() % types.size()];
      values.emplace_back("x" + std::to_string(i), type);
      model.inputs.push_back(values.back());
      inputs.push_back({type, {512}, Codes(type, random)});
    }
    const std::size_t nodes = 3 + random() % 25;
    for (std::size_t i = 0; i < nodes; ++i) {
      const auto& [from, type] =
          values[values.size() - 1 - random() % std::min<std::size_t>(values.size(), 4)];
      const std::string name = "v" + std::to_string(i);
      DataType to = types[random() % types.size()];
      const std::string saturate =
          opset >= 19 && random() % 3 == 0 ? IntAttribute("saturate", 0) : "";
      const bool no_float6 = type < kFloat6E2M3 && to < kFloat6E2M3;
      if (random() % 8 == 0) {
        model.nodes.push_back({"Identity", {from}, {name}});
        to = type;
      } else if (opset >= 15 && no_float6 && random() % 6 == 0) {
        const auto& like = values[random() % values.size()];
        if (like.second >= kFloat6E2M3) continue;
        to = like.second;
        model.nodes.push_back({"CastLike", {from, like.first}, {name}, saturate});
      } else {
        model.nodes.push_back(CastNode(from, name, to, saturate));
      }
      values.emplace_back(name, to);
    }
    for (std::size_t i = 3; i < values.size(); ++i) {
      if (random() % 3 == 0 || i + 1 == values.size()) model.outputs.push_back(values[i]);
    }
    onnx::OptimizeOptions options;
    options.fold_all = random() % 2 == 0;
    const Optimisation result = Optimised(model, options);
    removed += result.report.removed.size();
    const Parsed before(model);
    const Parsed after(result.bytes);
    const auto outputs_before = MustRun(before, inputs);
    const auto outputs_after = MustRun(after, inputs);
    ASSERT_EQ(outputs_before.size(), outputs_after.size());
    for (std::size_t i = 0; i < outputs_before.size(); ++i) {
      ASSERT_EQ(onnx_test::Data(outputs_before[i]), onnx_test::Data(outputs_after[i]))
          << "round " << round << " output " << model.outputs[i].first;
    }
    // Nothing is left for a second pass.
    const Optimisation again = Optimised(result.bytes, options);
    EXPECT_TRUE(again.report.removed.empty()) << "round " << round << RemovedOf(again.report)[0];
    // A model that is optimised where it is loaded gives the same.
    const Parsed loaded(model.Bytes(), {.optimize = true});
    const auto outputs_loaded = MustRun(loaded, inputs);
    for (std::size_t i = 0; i < outputs_before.size(); ++i) {
      ASSERT_EQ(onnx_test::Data(outputs_before[i]), onnx_test::Data(outputs_loaded[i]));
    }
  }
  EXPECT_GT(removed, 1000u);
}

// ------------------------------------------------------------------------------ files

class OptimiseFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "optimiseXXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_;
};

// A tensor of 512 floats in a file.
std::string ExternalTensor(const std::string& name, const std::string& location) {
  const auto entry = [](const std::string& key, const std::string& value) {
    return BytesField(13, BytesField(1, key) + BytesField(2, value));
  };
  return onnx_test::VarintField(1, 512) + onnx_test::VarintField(2, 1) + BytesField(8, name) +
         entry("location", location) + entry("length", "2048") + onnx_test::VarintField(14, 1);
}

TEST_F(OptimiseFiles, DataInOtherFilesStaysAsItIs) {
  ModelBytes model = Through(
      kFloat32,
      {CastNode("x", "a", kFloat32), CastNode("w", "b", kFloat16), OtherNode({"a", "b"}, "y")},
      kFloat32);
  model.initializers = {ExternalTensor("w", "w.bin")};
  const std::string path = Write("m.onnx", model.Bytes());
  std::string data(2048, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i);
  Write("w.bin", data);
  onnx::OptimizeReport report;
  std::string error;
  ASSERT_TRUE(onnx::Optimize(path, (folder_ / "out.onnx").string(), {}, &report, &error).ok())
      << error;
  EXPECT_EQ(NodesOf(Read("out.onnx")), Lines({"Cast w -> b", "Opaque x b -> y"}));
  ASSERT_EQ(report.kept.size(), 1u);
  EXPECT_EQ(report.kept[0].reason, "the constant is in another file");
  // In another folder the data goes along.
  std::filesystem::create_directories(folder_ / "there");
  ASSERT_TRUE(
      onnx::Optimize(path, (folder_ / "there" / "out.onnx").string(), {}, &report, &error).ok())
      << error;
  EXPECT_EQ(Read("there/w.bin"), data);
  // Where that name is taken the values move.
  Write("taken/w.bin", "something else");
  ASSERT_TRUE(
      onnx::Optimize(path, (folder_ / "taken" / "out.onnx").string(), {}, &report, &error).ok())
      << error;
  EXPECT_EQ(Read("taken/w.bin"), "something else");
  EXPECT_EQ(Read("taken/out.onnx.data"), data);
  EXPECT_EQ(NodesOf(Read("taken/out.onnx")), Lines({"Cast w -> b", "Opaque x b -> y"}));
}

TEST_F(OptimiseFiles, NothingIsReplacedUnasked) {
  const std::string path = Write(
      "m.onnx",
      Through(kFloat32, {CastNode("x", "a", kFloat32), OtherNode({"a"}, "y")}, kFloat32).Bytes());
  const std::string out = Write("out.onnx", "old");
  std::string error;
  EXPECT_EQ(onnx::Optimize(path, out, {}, nullptr, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(Read("out.onnx"), "old");
  onnx::OptimizeOptions options;
  options.overwrite = true;
  EXPECT_EQ(onnx::Optimize(path, path, options, nullptr, &error).code(), StatusCode::kBadInput);
  EXPECT_TRUE(onnx::Optimize(path, out, options, nullptr, &error).ok()) << error;
  EXPECT_EQ(NodesOf(Read("out.onnx")), Lines({"Opaque x -> y"}));
  EXPECT_EQ(onnx::Optimize((folder_ / "none.onnx").string(), out, options, nullptr, &error).code(),
            StatusCode::kFileError);
}

TEST_F(OptimiseFiles, AFileIsRunOptimised) {
  const std::string path = Write(
      "m.onnx",
      Through(kUint8, {CastNode("x", "a", kInt32), CastNode("a", "y", kInt64)}, kInt64).Bytes());
  onnx::LoadOptions options;
  options.optimize = true;
  tensorcast::Session session;
  std::string error;
  ASSERT_TRUE(tensorcast::Session::Load(path, options, &session, &error).ok()) << error;
  std::vector<tensorcast::NodeProfile> profile;
  tensorcast::GraphRun run;
  run.profile = &profile;
  const Tensor input{kUint8, {2}, "\x05\xFF"};
  const std::vector<tensorcast::TensorView> views = {input.view()};
  tensorcast::SessionResults outputs;
  ASSERT_TRUE(session.Run(views, run, &outputs, &error).ok()) << error;
  EXPECT_EQ(profile.size(), 1u);
  EXPECT_EQ(onnx_test::Data(outputs[0]),
            onnx_test::LittleEndian(5, 8) + onnx_test::LittleEndian(255, 8));
}

}  // namespace
