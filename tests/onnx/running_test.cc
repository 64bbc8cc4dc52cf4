// Models that run: inputs and their checks, defaults, constants, strings, views, chains.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "cast_models.h"

namespace {

using onnx_test::CastModel;
using onnx_test::Data;
using onnx_test::DataType;
using onnx_test::Floats;
using onnx_test::IntAttribute;
using onnx_test::kF16;
using onnx_test::kF32;
using onnx_test::kStrings;
using onnx_test::ModelBytes;
using onnx_test::MustRun;
using onnx_test::Parsed;
using onnx_test::ShapeOf;
using onnx_test::StatusCode;
using onnx_test::Tensor;
using onnx_test::Texts;
using onnx_test::TextsOf;
using onnx_test::To;
using tensorcast::GraphRun;
using tensorcast::SessionResults;

void ExpectRefused(const Parsed& parsed, const std::vector<Tensor>& inputs, StatusCode code,
                   const std::string& text) {
  ASSERT_TRUE(parsed.status.ok()) << parsed.error;
  SessionResults outputs;
  std::string error;
  EXPECT_EQ(onnx_test::Run(parsed, inputs, &outputs, &error).code(), code) << error;
  EXPECT_EQ(error, text);
  EXPECT_EQ(outputs.size(), 0u);
}

TEST(Running, InputsAreChecked) {
  const Parsed parsed(CastModel(25, kF32, kF16, To(kF16)));
  ExpectRefused(parsed, {}, StatusCode::kBadInput, "0 inputs given; the model has 1");
  ExpectRefused(parsed, {Floats({1}), Floats({1})}, StatusCode::kBadInput,
                "2 inputs given; the model has 1");
  ExpectRefused(parsed, {{}}, StatusCode::kBadInput,
                "input \"x\" is not given, and the model has no default for it");
  ExpectRefused(parsed, {{kF16, {1}, "ab"}}, StatusCode::kBadInput,
                "input \"x\" is float16; the model declares float32");
  ExpectRefused(parsed, {{static_cast<DataType>(14), {1}, "abcdefgh"}}, StatusCode::kBadInput,
                "input \"x\" is undefined; the model declares float32");
  ExpectRefused(parsed, {{kF32, {2}, "abc"}}, StatusCode::kBadInput,
                "input \"x\" has 3 bytes of data; the shape [2] of float32 takes 8");
  ExpectRefused(parsed, {{kF32, {1}, "abcdefgh"}}, StatusCode::kBadInput,
                "input \"x\" has 8 bytes of data; the shape [1] of float32 takes 4");
  ExpectRefused(parsed, {{kF32, {UINT64_MAX, 2}, ""}}, StatusCode::kBadInput,
                "input \"x\" has the shape [18446744073709551615, 2]: more than 2^64 - 1 elements");
  ExpectRefused(
      parsed, {{kF32, {UINT64_MAX}, ""}}, StatusCode::kBadInput,
      "input \"x\" has 0 bytes of data; the shape [18446744073709551615] of float32 takes "
      "more than 2^64 - 1 bits");
  const Parsed texts(CastModel(25, kStrings, kF32, To(kF32)));
  Tensor bad = Texts({"1", "2"});
  bad.shape = {3};
  ExpectRefused(texts, {bad}, StatusCode::kBadInput,
                "input \"x\" has 2 strings; the shape [3] takes 3");
  bad = Texts({"1", "2"});
  bad.offsets[1] = 3;
  ExpectRefused(texts, {bad}, StatusCode::kBadInput,
                "input \"x\" has offsets of strings that decrease or end beyond the bytes");
  bad.offsets = {0, 1, 9};
  ExpectRefused(texts, {bad}, StatusCode::kBadInput,
                "input \"x\" has offsets of strings that decrease or end beyond the bytes");
}

TEST(Running, ShapesPassThrough) {
  const Parsed parsed(CastModel(25, kF32, kF16, To(kF16)));
  std::vector<Tensor> inputs = {Floats({1})};
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{}, {1}, {1, 1, 1}, {0}, {5, 0, UINT64_MAX / 8}}) {
    inputs[0].shape = shape;
    const bool is_empty = std::count(shape.begin(), shape.end(), 0) != 0;
    inputs[0].data = is_empty ? "" : Floats({1}).data;
    const SessionResults outputs = MustRun(parsed, inputs);
    EXPECT_EQ(ShapeOf(outputs[0]), shape);
    EXPECT_EQ(outputs[0].type, kF16);
    EXPECT_EQ(Data(outputs[0]), is_empty ? std::string() : std::string("\x00\x3C", 2));
  }
}

TEST(Running, PackedTypesHaveCleanPadBits) {
  // Three int4: 1, -1, 7 with dirty pad bits in; to int4 (a copy), int2 (wrapped) and float32.
  const Tensor input{DataType::kInt4, {3}, "\xF1\xA7"};
  ModelBytes model;
  model.inputs = {{"x", DataType::kInt4}};
  model.outputs = {{"same", DataType::kInt4}, {"two", DataType::kInt2}, {"wide", kF32}};
  model.nodes = {{"Cast", {"x"}, {"same"}, To(DataType::kInt4)},
                 {"Cast", {"x"}, {"two"}, To(DataType::kInt2)},
                 {"Cast", {"x"}, {"wide"}, To(kF32)}};
  const std::vector<Tensor> inputs = {input};
  const SessionResults outputs = MustRun(Parsed(model), inputs);
  EXPECT_EQ(Data(outputs[0]), "\xF1\x07");
  EXPECT_EQ(Data(outputs[1]), "\x3D");  // 1, 3, 3: 01 11 11
  EXPECT_EQ(Data(outputs[2]), Floats({1, -1, 7}).data);
}

TEST(Running, IdentityIsAView) {
  ModelBytes model;
  model.inputs = {{"x", kF32}};
  model.outputs = {{"y", kF32}, {"z", kF32}, {"w", kF32}};
  model.nodes = {{"Identity", {"x"}, {"a"}},
                 {"Cast", {"a"}, {"y"}, To(kF32)},  // of one type: bits as they are
                 {"Identity", {"y"}, {"z"}},
                 {"Identity", {"k"}, {"w"}}};
  model.initializers = {onnx_test::TensorMessage("k", kF32, {1}, Floats({5}).data)};
  const Parsed parsed(model);
  const std::vector<Tensor> inputs = {Floats({1, 2})};
  std::vector<tensorcast::NodeProfile> profile;
  GraphRun run;
  run.profile = &profile;
  const SessionResults outputs = MustRun(parsed, inputs, run);
  const auto* const data = reinterpret_cast<const std::byte*>(inputs[0].data.data());
  EXPECT_EQ(outputs[0].data.data(), data);
  EXPECT_EQ(outputs[1].data.data(), data);
  EXPECT_EQ(Data(outputs[2]), Floats({5}).data);
  ASSERT_EQ(profile.size(), 4u);
  for (const auto& node : profile) {
    EXPECT_EQ(node.bytes_read, 0u);
    EXPECT_EQ(node.bytes_written, 0u);
  }
}

// As Graph::Parse has it: the caller's bytes may change, and go.
TEST(Running, AModelInMemoryIsCopied) {
  ModelBytes model;
  model.outputs = {{"y", kF32}, {"s", kStrings}};
  model.nodes = {{"Identity", {"k"}, {"y"}}, {"Cast", {"k"}, {"s"}, To(kStrings)}};
  model.initializers = {onnx_test::TensorMessage("k", kF32, {3}, Floats({5, -6, 7}).data)};
  for (const bool optimize : {false, true}) {
    tensorcast::onnx::LoadOptions options;
    options.optimize = optimize;
    Parsed parsed(model, options);
    ASSERT_TRUE(parsed.status.ok()) << parsed.error;
    parsed.bytes.assign(parsed.bytes.size(), '\xFF');
    parsed.bytes = std::string();
    const SessionResults outputs = MustRun(parsed, {});
    EXPECT_EQ(Data(outputs[0]), Floats({5, -6, 7}).data);
    EXPECT_EQ(TextsOf(outputs[1]), (std::vector<std::string>{"5.0", "-6.0", "7.0"}));
  }
}

TEST(Running, Profile) {
  ModelBytes model = CastModel(25, kF32, kStrings, To(kF16));
  model.nodes = {{"Cast", {"x"}, {"h"}, To(kF16), "first"}, {"CastLike", {"h", "like"}, {"y"}}};
  model.inputs.push_back({"like", kStrings});
  const Parsed parsed(model);
  const std::vector<Tensor> inputs = {Floats({1, 2, 30}), Texts({})};
  std::vector<tensorcast::NodeProfile> profile;
  GraphRun run;
  run.profile = &profile;
  MustRun(parsed, inputs, run);
  ASSERT_EQ(profile.size(), 2u);
  EXPECT_EQ(profile[0].node, "first");
  EXPECT_EQ(profile[0].op_type, "Cast");
  EXPECT_EQ(profile[0].from, kF32);
  EXPECT_EQ(profile[0].to, kF16);
  EXPECT_EQ(profile[0].bytes_read, 12u);
  EXPECT_EQ(profile[0].bytes_written, 6u);
  EXPECT_GE(profile[0].seconds, 0.0);
  EXPECT_EQ(profile[1].node, "y");
  EXPECT_EQ(profile[1].op_type, "CastLike");
  EXPECT_EQ(profile[1].bytes_read, 6u);
  EXPECT_EQ(profile[1].bytes_written, 4 * 8 + std::string("1.02.030.0").size());
}

TEST(Running, DefaultsOfInputs) {
  for (const std::uint64_t ir_version : {3, 4, 10}) {
    ModelBytes model = CastModel(9, kF32, DataType::kInt32, To(DataType::kInt32));
    model.ir_version = ir_version;
    model.initializers = {onnx_test::TensorMessage("x", kF32, {2}, Floats({3, 4}).data)};
    const Parsed parsed(model);
    ASSERT_TRUE(parsed.status.ok()) << parsed.error;
    ASSERT_EQ(parsed.session.inputs().size(), 1u);
    EXPECT_TRUE(parsed.session.inputs()[0].has_default);
    const std::vector<Tensor> none(1);
    const SessionResults by_default = MustRun(parsed, none);
    EXPECT_EQ(Data(by_default[0]), std::string("\3\0\0\0\4\0\0\0", 8));
    EXPECT_EQ(ShapeOf(by_default[0]), (std::vector<std::uint64_t>{2}));
    const std::vector<Tensor> given = {Floats({-1})};
    EXPECT_EQ(Data(MustRun(parsed, given)[0]), "\xFF\xFF\xFF\xFF");
  }
}

TEST(Running, Face) {
  ModelBytes model = CastModel(17, kF32, kF16, To(kF16));
  // An input of shape [2, N].
  model.inputs = {};
  const std::string shape = onnx_test::BytesField(1, onnx_test::VarintField(1, 2)) +
                            onnx_test::BytesField(1, onnx_test::BytesField(2, "N"));
  const std::string type = onnx_test::VarintField(1, 1) + onnx_test::BytesField(2, shape);
  model.graph_fields = onnx_test::BytesField(
      11, onnx_test::BytesField(1, "x") + onnx_test::BytesField(2, onnx_test::BytesField(1, type)));
  const Parsed parsed(model);
  ASSERT_TRUE(parsed.status.ok()) << parsed.error;
  EXPECT_EQ(parsed.session.opset(), 17);
  ASSERT_EQ(parsed.session.inputs().size(), 1u);
  const auto& info = parsed.session.inputs()[0];
  EXPECT_EQ(info.name, "x");
  EXPECT_EQ(info.type, kF32);
  EXPECT_TRUE(info.has_shape);
  EXPECT_EQ(info.shape, (std::vector<std::optional<std::uint64_t>>{2, std::nullopt}));
  EXPECT_FALSE(info.has_default);
  std::size_t index = 9;
  EXPECT_TRUE(parsed.session.FindInput("x", &index).ok());
  EXPECT_EQ(index, 0u);
  EXPECT_EQ(parsed.session.FindInput("y", &index).code(), StatusCode::kNoSuchName);
  index = 9;
  EXPECT_TRUE(parsed.session.FindOutput("y", &index).ok());
  EXPECT_EQ(index, 0u);
  EXPECT_FALSE(parsed.session.outputs()[0].has_shape);
  // Sizes are not enforced.
  const std::vector<Tensor> inputs = {Floats({1, 2, 3})};
  EXPECT_EQ(ShapeOf(MustRun(parsed, inputs)[0]), (std::vector<std::uint64_t>{3}));
}

TEST(Running, ASessionThatIsNotMade) {
  const tensorcast::Session session;
  EXPECT_EQ(session.opset(), 0);
  EXPECT_TRUE(session.inputs().empty());
  std::size_t index = 0;
  EXPECT_EQ(session.FindOutput("y", &index).code(), StatusCode::kBadInput);
  SessionResults outputs;
  std::string error;
  EXPECT_EQ(session.Run({}, {}, &outputs, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, "the session was not made; create it of a graph, or load one");
  EXPECT_EQ(outputs.size(), 0u);
}

TEST(Running, CastLikeTakesTheTypeOfAnything) {
  ModelBytes model;
  model.inputs = {{"x", kF32}, {"unused", DataType::kInt8}};
  model.outputs = {{"a", DataType::kInt8}, {"b", kF16}, {"c", DataType::kInt64}, {"d", kF16}};
  model.initializers = {onnx_test::TensorMessage("w", kF16, {0}, "")};
  model.nodes = {{"Constant", {}, {"k"}, IntAttribute("value_int", 9)},
                 {"CastLike", {"x", "unused"}, {"a"}},
                 {"CastLike", {"x", "w"}, {"b"}},
                 {"CastLike", {"x", "k"}, {"c"}},
                 {"CastLike", {"x", "b"}, {"d"}}};
  const std::vector<Tensor> inputs = {Floats({-3}), {DataType::kInt8, {0}, ""}};
  const Parsed parsed(model);
  const SessionResults outputs = MustRun(parsed, inputs);
  EXPECT_EQ(Data(outputs[0]), "\xFD");
  EXPECT_EQ(Data(outputs[1]), std::string("\x00\xC2", 2));
  EXPECT_EQ(Data(outputs[2]), std::string("\xFD") + std::string(7, '\xFF'));
  EXPECT_EQ(Data(outputs[3]), std::string("\x00\xC2", 2));
}

TEST(Running, ConstantsOfEveryKind) {
  using onnx_test::AttributeField;
  using onnx_test::LittleEndian;
  ModelBytes model;
  model.opset = 13;
  model.outputs = {
      {"f", kF32},     {"fs", kF32},     {"i", DataType::kInt64}, {"is", DataType::kInt64},
      {"s", kStrings}, {"ss", kStrings}, {"t", DataType::kUint8}, {"ts", kStrings}};
  const std::string floats = onnx_test::Tag(7, 5) + LittleEndian(onnx_test::FloatBits(1), 4) +
                             onnx_test::Tag(7, 5) + LittleEndian(onnx_test::FloatBits(-2), 4);
  const std::string ints =
      onnx_test::VarintField(8, 3) + onnx_test::Tag(8, 0) + onnx_test::Negative(-1);
  model.nodes = {
      {"Constant", {}, {"f"}, onnx_test::FloatAttribute("value_float", 2.5f)},
      {"Constant", {}, {"fs"}, AttributeField("value_floats", onnx_test::kFloats, floats)},
      {"Constant", {}, {"i"}, IntAttribute("value_int", -7)},
      {"Constant", {}, {"is"}, AttributeField("value_ints", onnx_test::kInts, ints)},
      {"Constant", {}, {"s"}, onnx_test::TextAttribute("value_string", "one")},
      {"Constant",
       {},
       {"ss"},
       AttributeField("value_strings", onnx_test::kTexts,
                      onnx_test::BytesField(9, "a") + onnx_test::BytesField(9, ""))},
      {"Constant",
       {},
       {"t"},
       onnx_test::TensorAttribute("value",
                                  onnx_test::TensorMessage("", DataType::kUint8, {2, 1}, "xy"))},
      {"Constant",
       {},
       {"ts"},
       onnx_test::TensorAttribute("value", onnx_test::TextTensorMessage("", {"p", "qq"}))},
  };
  const Parsed parsed(model);
  const SessionResults outputs = MustRun(parsed, {});
  ASSERT_EQ(outputs.size(), 8u);
  EXPECT_EQ(Data(outputs[0]), Floats({2.5f}).data);
  EXPECT_EQ(ShapeOf(outputs[0]), std::vector<std::uint64_t>{});
  EXPECT_EQ(Data(outputs[1]), Floats({1, -2}).data);
  EXPECT_EQ(ShapeOf(outputs[1]), std::vector<std::uint64_t>{2});
  EXPECT_EQ(Data(outputs[2]), LittleEndian(static_cast<std::uint64_t>(-7), 8));
  EXPECT_EQ(Data(outputs[3]), LittleEndian(3, 8) + LittleEndian(UINT64_MAX, 8));
  EXPECT_EQ(TextsOf(outputs[4]), std::vector<std::string>{"one"});
  EXPECT_EQ(ShapeOf(outputs[4]), std::vector<std::uint64_t>{});
  EXPECT_EQ(TextsOf(outputs[5]), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(Data(outputs[6]), "xy");
  EXPECT_EQ(ShapeOf(outputs[6]), (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(TextsOf(outputs[7]), (std::vector<std::string>{"p", "qq"}));
}

TEST(Running, Strings) {
  const Parsed read(CastModel(9, kStrings, kF32, To(kF32)));
  std::vector<Tensor> inputs = {Texts({"1.5", "-INF", "1e3"})};
  EXPECT_EQ(Data(MustRun(read, inputs)[0]), Floats({1.5f, -1.0f / 0.0f, 1000}).data);
  const Parsed print(CastModel(9, kF32, kStrings, To(kStrings)));
  inputs = {Floats({0.5f, 1e10f, -1.0f / 0.0f})};
  EXPECT_EQ(TextsOf(MustRun(print, inputs)[0]),
            (std::vector<std::string>{"0.5", "10000000000.0", "-inf"}));
  const Parsed same(CastModel(9, kStrings, kStrings, To(kStrings)));
  inputs = {Texts({"a", "", "ccc"})};
  EXPECT_EQ(TextsOf(MustRun(same, inputs)[0]), (std::vector<std::string>{"a", "", "ccc"}));
  inputs = {{kF32, {0}, ""}};
  const SessionResults empty = MustRun(print, inputs);
  EXPECT_EQ(empty[0].strings.size(), 0u);
  EXPECT_EQ(ShapeOf(empty[0]), std::vector<std::uint64_t>{0});
}

TEST(Running, TextsThatAreNoNumbersAreNamed) {
  const Parsed to_float(CastModel(9, kStrings, kF32, To(kF32)));
  ExpectRefused(to_float, {Texts({"1", "2", "tw\no", "three"})}, StatusCode::kNotANumber,
                "node \"c\": the text at index 2, \"tw\\x0Ao\", is not a number");
  ModelBytes model = CastModel(9, kStrings, DataType::kInt8, To(DataType::kInt8));
  model.nodes[0].name = "";
  ExpectRefused(
      Parsed(model), {Texts({"1", "nan"})}, StatusCode::kNotAnInteger,
      "the node that gives \"y\": the text at index 1, \"nan\", is not an integer from -2^63 to "
      "2^64 - 1; a floating type holds it");
}

using Files = tensorcast::io::FileTest;

// w stands in w.bin from byte 4 on, int4 with dirty pad bits; the rest of the model inline.
ModelBytes ExternalModel(const std::vector<std::pair<std::string, std::string>>& entries) {
  ModelBytes model;
  model.outputs = {{"y", kF32}, {"z", DataType::kInt4}};
  model.nodes = {{"Cast", {"w"}, {"y"}, To(kF32), "c"}, {"Identity", {"w"}, {"z"}}};
  std::string tensor = onnx_test::VarintField(1, 3) + onnx_test::VarintField(2, 22) +
                       onnx_test::BytesField(8, "w") + onnx_test::VarintField(14, 1);
  for (const auto& [key, value] : entries) {
    tensor +=
        onnx_test::BytesField(13, onnx_test::BytesField(1, key) + onnx_test::BytesField(2, value));
  }
  model.initializers = {tensor};
  return model;
}

TEST_F(Files, ExternalData) {
  tensorcast::io::WriteBytes(Path("w.bin"), "....\xF1\xA7");
  const auto load = [&](const std::vector<std::pair<std::string, std::string>>& entries,
                        tensorcast::Session* session, std::string* error) {
    tensorcast::io::WriteBytes(Path("m.onnx"), ExternalModel(entries).Bytes());
    return tensorcast::Session::Load(Path("m.onnx"), {}, session, error).code();
  };
  tensorcast::Session session;
  std::string error;
  ASSERT_EQ(load({{"location", "w.bin"}, {"offset", "4"}, {"length", "2"}}, &session, &error),
            StatusCode::kOk)
      << error;
  SessionResults outputs;
  ASSERT_TRUE(session.Run({}, {}, &outputs, &error).ok()) << error;
  EXPECT_EQ(Data(outputs[0]), Floats({1, -1, 7}).data);
  EXPECT_EQ(Data(outputs[1]), "\xF1\x07");
  const std::string tensor = Path("m.onnx") + ": tensor \"w\" ";
  EXPECT_EQ(load({{"location", "w.bin"}, {"offset", "5"}}, &session, &error), StatusCode::kBadFile);
  EXPECT_EQ(error, tensor +
                       "has 2 bytes from offset 5 in \"w.bin\", but only 1 follow; the file is "
                       "cut short");
  EXPECT_EQ(load({{"location", "w.bin"}, {"offset", "18446744073709551615"}}, &session, &error),
            StatusCode::kBadFile);
  EXPECT_EQ(load({{"location", "w.bin"}, {"length", "6"}}, &session, &error), StatusCode::kBadFile);
  EXPECT_EQ(error, tensor + "has 6 bytes in \"w.bin\"; its type and shape take 2");
  EXPECT_EQ(load({{"location", "../w.bin"}}, &session, &error), StatusCode::kBadFile);
  EXPECT_EQ(load({{"location", "gone.bin"}}, &session, &error), StatusCode::kFileError);
}

TEST(Running, LongChainsTakeLinearTime) {
  const std::vector<Tensor> inputs = {Floats({1, 1.0001f})};
  double seconds[2] = {};
  const int lengths[2] = {1'000, 100'000};
  for (int i = 0; i < 2; ++i) {
    const std::string bytes = onnx_test::ChainModel(lengths[i]).Bytes();
    const auto begin = std::chrono::steady_clock::now();
    const Parsed parsed(bytes);
    const SessionResults outputs = MustRun(parsed, inputs);
    seconds[i] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_EQ(Data(outputs[0]), Floats({1, 1}).data);
    RecordProperty("seconds_" + std::to_string(lengths[i]), std::to_string(seconds[i]));
  }
  // A hundred times the nodes: were it quadratic, ten thousand times the time.
  EXPECT_LT(seconds[1], 1000 * std::max(seconds[0], 0.001));
}

TEST(Running, ManyReadersOfOneValue) {
  ModelBytes model = CastModel(25, kF32, kF16, To(kF16));
  model.outputs.clear();
  model.nodes.clear();
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "y" + std::to_string(i);
    const DataType type = i % 2 == 0 ? kF16 : DataType::kInt32;
    model.nodes.push_back({"Cast", {i < 2 ? "x" : "y" + std::to_string(i / 2)}, {name}, To(type)});
    model.outputs.push_back({name, type});
  }
  const std::vector<Tensor> inputs = {Floats({7})};
  const Parsed parsed(model);
  const SessionResults outputs = MustRun(parsed, inputs);
  ASSERT_EQ(outputs.size(), 2000u);
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(Data(outputs[static_cast<std::size_t>(i)]),
              i % 2 == 0 ? std::string("\x00\x47", 2) : std::string("\7\0\0\0", 4));
  }
}

TEST(Running, ResultsAndSessionsMove) {
  Parsed parsed(CastModel(25, kF32, kF16, To(kF16)));
  ASSERT_TRUE(parsed.status.ok());
  const tensorcast::Session moved = std::move(parsed.session);
  const Tensor input = Floats({1});
  const std::vector<tensorcast::TensorView> views = {input.view()};
  SessionResults outputs;
  ASSERT_TRUE(moved.Run(views, {}, &outputs).ok());
  SessionResults other = std::move(outputs);
  EXPECT_EQ(Data(other[0]), std::string("\x00\x3C", 2));
  ASSERT_TRUE(moved.Run(views, {}, &other).ok());
  EXPECT_EQ(Data(other[0]), std::string("\x00\x3C", 2));
}

TEST(Running, MemoryOfOldResultsIsUsedAgain) {
  const std::size_t n = 1 << 20;
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 2000);
  const std::vector<Tensor> inputs = {Floats(values)};
  ModelBytes model = CastModel(25, kF32, kF32, To(kF32));
  model.nodes = {{"Cast", {"x"}, {"h"}, To(kF16)},
                 {"Cast", {"h"}, {"y"}, To(kF32)},
                 {"Identity", {"x"}, {"same"}}};
  model.outputs.push_back({"same", kF32});
  const Parsed chain(model);
  SessionResults outputs = MustRun(chain, inputs);
  const std::byte* const first = outputs[0].data.data();
  std::string error;
  ASSERT_TRUE(onnx_test::Run(chain, inputs, &outputs, &error).ok()) << error;
  EXPECT_EQ(outputs[0].data.data(), first);
  EXPECT_TRUE(Data(outputs[0]) == inputs[0].data);

  // An output as the next run's input: it is not written over, and what views it keeps it alive.
  std::vector<tensorcast::TensorView> again = {outputs[0]};
  ASSERT_TRUE(chain.session.Run(again, {}, &outputs, &error).ok()) << error;
  EXPECT_NE(outputs[0].data.data(), first);
  EXPECT_EQ(outputs[1].data.data(), first);
  EXPECT_TRUE(Data(outputs[0]) == inputs[0].data);
  EXPECT_TRUE(Data(outputs[1]) == inputs[0].data);
  for (int i = 0; i < 3; ++i) {
    again = {outputs[static_cast<std::size_t>(i % 2)]};
    ASSERT_TRUE(chain.session.Run(again, {}, &outputs, &error).ok()) << error;
    EXPECT_TRUE(Data(outputs[0]) == inputs[0].data);
    EXPECT_TRUE(Data(outputs[1]) == inputs[0].data);
  }
  EXPECT_FALSE(chain.session.Run({}, {}, &outputs, &error).ok());
  EXPECT_EQ(outputs.size(), 0u);
}

TEST(Running, StringsAsTheNextRunsInput) {
  const Parsed print(CastModel(25, kF32, kStrings, To(kStrings)));
  const Parsed same(CastModel(25, kStrings, kStrings, To(kStrings)));
  const std::vector<Tensor> inputs = {Floats({1, 22})};
  SessionResults outputs = MustRun(print, inputs);
  std::string error;
  for (int i = 0; i < 3; ++i) {
    const std::vector<tensorcast::TensorView> again = {outputs[0]};
    ASSERT_TRUE(same.session.Run(again, {}, &outputs, &error).ok()) << error;
    EXPECT_EQ(TextsOf(outputs[0]), (std::vector<std::string>{"1.0", "22.0"}));
  }
}

}  // namespace
