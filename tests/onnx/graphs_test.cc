// Graphs that are built and changed, saved as models and loaded again: what is refused, what stays.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/graph.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "model_bytes.h"
#include "tensorcast/session.hpp"

namespace tensorcast {
namespace {

constexpr DataType kF32 = DataType::kFloat32, kF16 = DataType::kFloat16;

GraphOptions AtOpset(std::int64_t opset, bool raises = false) {
  GraphOptions options;
  options.opset = opset;
  options.raises_opset = raises;
  return options;
}

Graph Make(const GraphOptions& options = {}) {
  Graph graph;
  std::string error;
  EXPECT_TRUE(Graph::Create(options, &graph, &error).ok()) << error;
  return graph;
}

GraphValue Input(Graph& graph, const std::string& name, DataType type) {
  GraphValue value;
  std::string error;
  EXPECT_TRUE(graph.AddInput(name, type, &value, &error).ok()) << error;
  return value;
}

GraphValue Cast(Graph& graph, GraphValue input, const CastNode& node) {
  GraphValue value;
  std::string error;
  EXPECT_TRUE(graph.AddCast(input, node, &value, &error).ok()) << error;
  return value;
}

std::string NameOf(const Graph& graph, GraphValue value) {
  GraphValueInfo info;
  EXPECT_TRUE(graph.Value(value, &info).ok());
  return info.name;
}

std::vector<std::byte> Bytes(const Graph& graph, bool with_training = false) {
  std::vector<std::byte> bytes;
  std::string error;
  SaveOptions options;
  options.with_training = with_training;
  EXPECT_TRUE(graph.Serialize(options, &bytes, &error).ok()) << error;
  return bytes;
}

Graph Parsed(std::span<const std::byte> bytes) {
  Graph graph;
  std::string error;
  EXPECT_TRUE(Graph::Parse(bytes, {}, &graph, &error).ok()) << error;
  return graph;
}

TEST(GraphBuilding, NamesAreMadeUpAndUnique) {
  Graph graph = Make();
  const GraphValue x = Input(graph, "x", kF32);
  const GraphValue a = Cast(graph, x, {.to = kF16});
  const GraphValue b = Cast(graph, x, {.to = kF16});
  Cast(graph, x, {.to = kF16, .name = "Cast_2", .output_names = {"mine"}});
  const GraphValue c = Cast(graph, x, {.to = kF16});
  EXPECT_EQ(NameOf(graph, a), "Cast_0_output_0");
  EXPECT_EQ(NameOf(graph, b), "Cast_1_output_0");
  EXPECT_EQ(NameOf(graph, c), "Cast_3_output_0");
  ASSERT_TRUE(graph.MarkOutput(a, "y").ok());  // it takes the name
  EXPECT_EQ(NameOf(graph, a), "y");
  ASSERT_TRUE(graph.MarkOutput(a, "z").ok());  // and is copied for another
  ASSERT_TRUE(graph.MarkOutput(x, "x again").ok());
  EXPECT_EQ(graph.node_count(), 6u);
  EXPECT_EQ(graph.outputs().size(), 3u);
}

TEST(GraphBuilding, WhatIsRefusedChangesNothing) {
  Graph graph = Make(AtOpset(18)), other = Make();
  const GraphValue x = Input(graph, "x", kF32), foreign = Input(other, "x", kF32);
  std::string error;
  GraphValue value;
  const auto refuses = [&](StatusCode code, const Status& status, const std::string& expected) {
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(error, expected);
    EXPECT_EQ(graph.node_count(), 0u);
    EXPECT_EQ(graph.value_count(), 1u);
    EXPECT_EQ(graph.opset(), 18);
  };
  refuses(StatusCode::kBadInput, graph.AddCast(x, {}, &value, &error),
          "a Cast has no type to cast to: `to` is UNDEFINED; set it");
  refuses(StatusCode::kInvalidType,
          graph.AddCast(x, {.to = static_cast<DataType>(99)}, &value, &error),
          "a Cast is asked to cast to type 99, which is not an element type");
  EXPECT_EQ(graph.AddCast(x, {.to = DataType::kFloat8E4M3FN}, &value, &error).code(),
            StatusCode::kBadInput);
  EXPECT_NE(error.find("float8e4m3fn needs opset 19"), std::string::npos) << error;
  refuses(StatusCode::kBadInput, graph.AddCast(foreign, {.to = kF16}, &value, &error),
          "the input of a Cast is a value of another graph");
  refuses(StatusCode::kBadInput, graph.AddCast({}, {.to = kF16}, &value, &error),
          "the input of a Cast is an empty handle; give a value of this graph");
  refuses(StatusCode::kBadInput,
          graph.AddCast(x, {.to = kF16, .name = "c", .output_names = {"a", "b"}}, &value, &error),
          "node \"c\" is given names for 2 outputs; it has 1");
  refuses(StatusCode::kBadInput,
          graph.AddCast(x, {.to = kF16, .name = "c", .output_names = {"x"}}, &value, &error),
          "the name \"x\" of the output of node \"c\" is taken; a value of the graph has it");
  refuses(StatusCode::kBadInput,
          graph.AddCast(x, {.to = kF16, .name = std::string("a\0b", 3)}, &value, &error),
          "the name \"a\\x00b\" of a node has a control character; leave it out");
  refuses(StatusCode::kBadInput, graph.AddInput("x", kF32, &value, &error),
          "the name \"x\" of an input is taken; a value of the graph has it");
  refuses(StatusCode::kBadInput, graph.AddInput("\xFF", kF32, &value, &error),
          "the name \"\\xFF\" of an input is not UTF-8");
  refuses(StatusCode::kBadInput, graph.AddInput("w", DataType::kInt4, &value, &error),
          "input \"w\" is int4, which needs opset 21; the graph has opset 18: raise it");
  refuses(
      StatusCode::kInvalidOption,
      graph.AddCast(x, {.to = kF16, .round_mode = static_cast<RoundingMode>(9)}, &value, &error),
      "a rounding mode is none of up, down, nearest");
  std::vector<std::byte> bytes;
  refuses(StatusCode::kBadInput, graph.Serialize({}, &bytes, &error),
          "the graph has no output; mark one");
}

// Options that a type does not know mean nothing, whether or not the opset has them.
TEST(GraphBuilding, OptionsThatMeanNothingAreTaken) {
  for (const bool raises : {false, true}) {
    Graph graph = Make(AtOpset(13, raises));
    const GraphValue x = Input(graph, "x", kF32);
    const GraphValue y = Cast(
        graph, x, {.to = DataType::kInt8, .saturate = false, .round_mode = RoundingMode::kDown});
    ASSERT_TRUE(graph.MarkOutput(y, "y").ok());
    std::string error;
    CastChange change;
    change.saturate = false;
    EXPECT_TRUE(graph.Set(NodeKey::All(), change, &error).ok()) << error;
    EXPECT_EQ(graph.opset(), 13);
    EXPECT_EQ(Parsed(Bytes(graph)).Nodes().at(0).saturate, true);
  }
}

// No version of Identity has the float6 types: another name for one takes a Cast.
TEST(GraphBuilding, Float6HasNoIdentity) {
  Graph graph = Make(AtOpset(28));
  const GraphValue x = Input(graph, "x", DataType::kFloat6E2M3);
  GraphValue value;
  std::string error;
  EXPECT_EQ(graph.AddIdentity(x, "", "", &value, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error,
            "Identity takes no float6e2m3 in any opset up to 28; a Cast to the type that the value "
            "has gives the same");
  ASSERT_TRUE(graph.MarkOutput(x, "y", &error).ok()) << error;
  const std::vector<GraphNode> nodes = graph.Nodes();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].op_type, "Cast");
  EXPECT_EQ(nodes[0].to, DataType::kFloat6E2M3);
}

TEST(GraphBuilding, HandlesThatNeverWere) {
  Graph graph = Make();
  GraphValue x = Input(graph, "x", kF32), value;
  x.index = 7;
  std::string error;
  EXPECT_EQ(graph.AddCast(x, {.to = kF16}, &value, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error,
            "the input of a Cast is value 7 of the graph, which never had more than 1 value");
}

TEST(GraphBuilding, TheOpsetIsRaisedWhereThatIsAsked) {
  Graph graph = Make(AtOpset(5, true));
  const GraphValue x = Input(graph, "x", kF32);
  const GraphValue half = Cast(graph, x, {.to = kF16});
  EXPECT_EQ(graph.opset(), 5);
  const GraphValue small = Cast(graph, half, {.to = DataType::kFloat8E5M2, .saturate = false});
  EXPECT_EQ(graph.opset(), 19);
  const GraphValue scale =
      Cast(graph, half, {.to = DataType::kFloat8E8M0, .round_mode = RoundingMode::kDown});
  EXPECT_EQ(graph.opset(), 24);
  ASSERT_TRUE(graph.MarkOutput(small, "small").ok());
  ASSERT_TRUE(graph.MarkOutput(scale, "scale").ok());
  const Graph again = Parsed(Bytes(graph));
  EXPECT_EQ(again.opset(), 24);
  const std::vector<GraphNode> nodes = again.Nodes();
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_FALSE(nodes[1].saturate);
  EXPECT_EQ(nodes[2].round_mode, RoundingMode::kDown);
}

TEST(GraphBuilding, TheLowestOpset) {
  Graph graph = Make();
  const GraphValue x = Input(graph, "x", kF32);
  const GraphValue y = Cast(graph, x, {.to = DataType::kBfloat16});
  ASSERT_TRUE(graph.MarkOutput(y, "y").ok());
  std::string error;
  ASSERT_TRUE(graph.SetLowestOpset(&error).ok()) << error;
  EXPECT_EQ(graph.opset(), 13);
  EXPECT_EQ(graph.SetOpset(12, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(graph.opset(), 13);
  EXPECT_EQ(graph.SetOpset(99, &error).code(), StatusCode::kBadInput);
  ASSERT_TRUE(graph.Set(NodeKey::All(), {.to = kF16}, &error).ok()) << error;
  ASSERT_TRUE(graph.SetLowestOpset(&error).ok()) << error;
  EXPECT_EQ(graph.opset(), 1);
  EXPECT_EQ(Parsed(Bytes(graph)).opset(), 1);  // where `to` is a STRING
}

// Constants and what Identity makes of them hold the opset up too, and so does a function.
TEST(GraphBuilding, TheLowestOpsetOfConstantsAndFunctions) {
  Graph graph = Make();
  const std::vector<std::byte> code(1);
  const TensorView one{DataType::kFloat8E4M3FN, {}, code, {}};
  GraphValue constant;
  std::string error;
  ASSERT_TRUE(graph.AddConstant("c", one, &constant, &error).ok()) << error;
  ASSERT_TRUE(graph.MarkOutput(constant, "y").ok());
  EXPECT_EQ(graph.SetOpset(5, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, "value \"c\" is float8e4m3fn, which needs opset 19");
  ASSERT_TRUE(graph.SetLowestOpset(&error).ok()) << error;
  EXPECT_EQ(graph.opset(), 19);
}

// A type that changes goes on through what takes its type from it, and no further.
TEST(GraphChanging, TypesFollowThroughIdentityAndCastLike) {
  Graph graph = Make();
  const GraphValue x = Input(graph, "x", kF32);
  const GraphValue a = Cast(graph, x, {.to = kF16});
  GraphValue same, like, other;
  ASSERT_TRUE(graph.AddIdentity(a, "", "", &same).ok());
  ASSERT_TRUE(graph.AddCastLike(x, same, {}, &like).ok());
  const GraphValue last = Cast(graph, like, {.to = DataType::kInt8});
  ASSERT_TRUE(graph.AddIdentity(last, "", "", &other).ok());
  for (const GraphValue value : {same, like, other}) ASSERT_TRUE(graph.MarkOutput(value, "").ok());
  CastChange change;
  change.to = DataType::kFloat64;
  std::string error;
  ASSERT_TRUE(graph.Set(NodeKey::Index(0), change, &error).ok()) << error;
  const Graph again = Parsed(Bytes(graph));  // whose types are found anew
  for (const Graph* const each : {&std::as_const(graph), &again}) {
    std::vector<DataType> types;
    for (const GraphValue output : each->outputs()) {
      GraphValueInfo info;
      ASSERT_TRUE(each->Value(output, &info).ok());
      types.push_back(info.type);
    }
    EXPECT_EQ(types,
              (std::vector<DataType>{DataType::kFloat64, DataType::kFloat64, DataType::kInt8}));
  }
}

TEST(GraphChanging, SettingsByIndexByNameAndOfAll) {
  Graph graph = Make();
  const GraphValue x = Input(graph, "x", kF32);
  const GraphValue a = Cast(graph, x, {.to = DataType::kFloat8E4M3FN, .name = "first"});
  GraphValue like;
  std::string error;
  ASSERT_TRUE(graph.AddCastLike(x, a, {.name = "like"}, &like, &error).ok()) << error;
  ASSERT_TRUE(graph.MarkOutput(like, "y", &error).ok()) << error;
  ASSERT_TRUE(
      graph.Set(NodeKey::Name("first"), {.to = DataType::kFloat8E5M2, .saturate = false}).ok());
  ASSERT_TRUE(graph.Set(NodeKey::All(), {.training = false, .lda_coeff = 0.5}).ok());
  ASSERT_TRUE(graph.Set(NodeKey::Index(1), {.lda_coeff = -2}).ok());
  std::vector<GraphNode> nodes = graph.Nodes();
  EXPECT_EQ(nodes[0].to, DataType::kFloat8E5M2);
  EXPECT_FALSE(nodes[0].saturate);
  EXPECT_EQ(nodes[1].to, DataType::kFloat8E5M2);  // it follows
  EXPECT_TRUE(nodes[1].saturate);
  EXPECT_FALSE(nodes[1].training);
  EXPECT_EQ(nodes[0].lda_coeff, 0.5);
  EXPECT_EQ(nodes[1].lda_coeff, -2);
  EXPECT_EQ(graph.Set(NodeKey::Name("none"), {}, &error).code(), StatusCode::kNoSuchName);
  EXPECT_EQ(error, "node \"none\" is not in the graph");
  EXPECT_EQ(graph.Set(NodeKey::Index(2), {}, &error).code(), StatusCode::kNoSuchIndex);
  EXPECT_EQ(error, "node 2 is not in the graph, which has 2 nodes");
  EXPECT_EQ(graph.Set(NodeKey::Name("like"), {.to = kF16}, &error).code(), StatusCode::kBadInput);
  // float6 needs opset 28: no node is changed where one cannot be.
  EXPECT_EQ(graph.Set(NodeKey::All(), {.to = DataType::kFloat6E2M3}, &error).code(),
            StatusCode::kBadInput);
  EXPECT_EQ(graph.Nodes()[0].to, DataType::kFloat8E5M2);
}

TEST(GraphChanging, RenamesAndRemovals) {
  Graph graph = Make();
  const GraphValue x = Input(graph, "x", kF32);
  const GraphValue a = Cast(graph, x, {.to = kF16, .name = "a"});
  const GraphValue b = Cast(graph, a, {.to = kF32, .name = "b"});
  std::string error;
  EXPECT_EQ(graph.RemoveNode(NodeKey::Name("a"), &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, "node \"a\" gives \"a_output_0\", which 1 node input read; it stays");
  ASSERT_TRUE(graph.RemoveNode(NodeKey::Name("b"), &error).ok()) << error;
  EXPECT_EQ(graph.AddCast(b, {.to = kF16}, nullptr, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, "the input of a Cast is a value that was removed from the graph");
  ASSERT_TRUE(graph.RenameNode(NodeKey::Index(0), "only", &error).ok()) << error;
  ASSERT_TRUE(graph.RenameValue(x, "the input", &error).ok()) << error;
  ASSERT_TRUE(graph.RenameValue(a, "b_output_0", &error).ok()) << error;  // it is free again
  ASSERT_TRUE(graph.MarkOutput(a, "", &error).ok()) << error;
  const Graph again = Parsed(Bytes(graph));
  EXPECT_EQ(NameOf(again, again.inputs()[0]), "the input");
  EXPECT_EQ(NameOf(again, again.outputs()[0]), "b_output_0");
  GraphNode node;
  EXPECT_TRUE(again.Node(NodeKey::Name("only"), &node).ok());
}

// Everything that a model says stays, whatever else is changed: documentation, metadata, names of
// dimensions, fields that nobody knows, attributes of a changed node that are not changed.
TEST(GraphSaving, WhatWasLoadedStays) {
  const std::string value =
      io::BytesField(1, "x") +
      io::BytesField(
          2,
          io::BytesField(1, io::VarintField(1, onnx::kFloat) +
                                io::BytesField(2, io::BytesField(1, io::BytesField(2, "batch")) +
                                                      io::BytesField(1, io::VarintField(1, 3))))) +
      io::BytesField(3, "what x is");
  const std::string node =
      onnx::NodeBytes("Cast", {"x"}, {"y"}, {onnx::AttributeInt("to", onnx::kFloat16)}, "c") +
      io::BytesField(6, "why it is cast") + io::BytesField(99, "not known");
  const std::string unknown = io::BytesField(1234, "of the model");
  const std::string bytes =
      onnx::ModelBytes(io::BytesField(1, node) + io::BytesField(2, "its name") +
                           io::BytesField(11, value) +
                           io::BytesField(12, onnx::ValueBytes("y", onnx::kFloat16)) +
                           io::BytesField(10, "of the graph"),
                       21) +
      io::BytesField(14, io::BytesField(1, "key") + io::BytesField(2, "of metadata")) + unknown;
  Graph graph = Parsed(std::as_bytes(std::span(bytes)));
  GraphValueInfo info;
  ASSERT_TRUE(graph.Value(graph.inputs()[0], &info).ok());
  EXPECT_EQ(info.shape.at(0).name, "batch");
  EXPECT_EQ(info.shape.at(1).size, 3u);
  for (const bool is_changed : {false, true}) {
    if (is_changed) {
      ASSERT_TRUE(graph.Set(NodeKey::Index(0), {.to = DataType::kFloat64, .lda_coeff = 3}).ok());
    }
    const std::vector<std::byte> saved = Bytes(graph);
    const std::string text(reinterpret_cast<const char*>(saved.data()), saved.size());
    for (const std::string& part :
         {value, unknown, io::BytesField(6, "why it is cast"), io::BytesField(99, "not known"),
          io::BytesField(2, "its name"), io::BytesField(10, "of the graph"),
          io::BytesField(2, "of metadata"), is_changed ? io::BytesField(1, "c").substr(1) : node}) {
      EXPECT_NE(text.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(text.find("tensorcast"), std::string::npos);
    const Graph again = Parsed(saved);
    ASSERT_TRUE(again.Value(again.outputs()[0], &info).ok());
    EXPECT_EQ(info.type, is_changed ? DataType::kFloat64 : kF16);
  }
}

// What is said of a model's versions and of a value's type stays, where something else changes too.
TEST(GraphSaving, VersionsAndDenotationsStay) {
  const auto import = [](std::uint64_t version) {
    return io::BytesField(8, io::BytesField(1, "ai.onnx") + io::VarintField(2, version));
  };
  const std::string type =
      io::BytesField(1, io::VarintField(1, onnx::kFloat) +
                            io::BytesField(2, io::BytesField(1, "") + io::BytesField(1, ""))) +
      io::BytesField(6, "IMAGE");
  const std::string value = io::BytesField(1, "x") + io::BytesField(2, type);
  const std::string model =
      io::VarintField(1, 6) + import(13) +
      io::BytesField(
          7, io::BytesField(1, onnx::NodeBytes("Cast", {"x"}, {"y"},
                                               {onnx::AttributeInt("to", onnx::kFloat16)}, "c")) +
                 io::BytesField(11, value) +
                 io::BytesField(12, onnx::ValueBytes("y", onnx::kFloat16)) +
                 io::BytesField(2, "g"));
  const auto text_of = [](const Graph& graph) {
    const std::vector<std::byte> saved = Bytes(graph);
    return std::string(reinterpret_cast<const char*>(saved.data()), saved.size());
  };
  Graph graph = Parsed(std::as_bytes(std::span(model)));
  EXPECT_EQ(text_of(graph), model);
  ASSERT_TRUE(graph.RenameValue(graph.inputs()[0], "new").ok());
  std::string text = text_of(graph);
  EXPECT_NE(text.find(io::BytesField(1, "new") + io::BytesField(2, type)), std::string::npos);
  EXPECT_EQ(text.find(io::VarintField(1, 6) + import(13)), 0u);
  ASSERT_TRUE(graph.SetOpset(19).ok());
  text = text_of(graph);
  EXPECT_EQ(text.find(io::VarintField(1, 9) + import(19)), 0u);
}

TEST(GraphSaving, TrainingInformation) {
  Graph graph = Make();
  const GraphValue x = Input(graph, "x", kF32);
  const GraphValue a = Cast(graph, x, {.to = kF16, .training = false});
  const GraphValue b = Cast(graph, a, {.to = kF32, .lda_coeff = 0.1});
  const GraphValue c = Cast(graph, b, {.to = kF16, .training = false, .lda_coeff = -1e-300});
  ASSERT_TRUE(graph.MarkOutput(c, "y").ok());
  const Graph plain = Parsed(Bytes(graph));
  for (const GraphNode& node : plain.Nodes()) {
    EXPECT_TRUE(node.training);
    EXPECT_EQ(node.lda_coeff, 1);
  }
  Graph again = Parsed(Bytes(graph, true));
  const std::vector<GraphNode> nodes = again.Nodes();
  EXPECT_FALSE(nodes[0].training);
  EXPECT_EQ(nodes[1].lda_coeff, 0.1);
  EXPECT_FALSE(nodes[2].training);
  EXPECT_EQ(nodes[2].lda_coeff, -1e-300);
  // Saved plainly it is gone again.
  EXPECT_TRUE(Parsed(Bytes(again)).Nodes()[0].training);
  const std::string bytes =
      onnx::ModelBytes(io::BytesField(1, onnx::NodeBytes("Identity", {"x"}, {"y"})) +
                       io::BytesField(11, onnx::ValueBytes("x", onnx::kFloat)) +
                       io::BytesField(12, onnx::ValueBytes("y", onnx::kFloat)));
  for (const auto& [key, text] : std::vector<std::pair<std::string, std::string>>{
           {"tensorcast.training", "2"},
           {"tensorcast.training:y", "training=maybe"},
           {"tensorcast.training:y", "training=falselda_coeff=2"},
           {"tensorcast.training:y", "lda_coeff=0.5x"}}) {
    const std::string hostile =
        bytes + io::BytesField(14, io::BytesField(1, key) + io::BytesField(2, text));
    Graph graph_of_it;
    std::string error;
    EXPECT_EQ(Graph::Parse(std::as_bytes(std::span(hostile)), {}, &graph_of_it, &error).code(),
              StatusCode::kBadFile);
    EXPECT_EQ(error.rfind("the model: metadata_props has \"" + key + "\"", 0), 0u) << error;
  }
}

// Of a size that no model has, as a caller gives it who took another number for the size: no byte
// is touched.
TEST(GraphSaving, MoreBytesThanAModelHas) {
  const std::byte one{};
  const std::span<const std::byte> bytes(&one, std::size_t{3} << 30);
  std::string error;
  const auto expect_refused = [&](const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kBadFile);
    EXPECT_EQ(error, "the model: has 3221225472 bytes; protobuf allows 2147483647");
    error.clear();
  };
  Graph graph;
  expect_refused(Graph::Parse(bytes, {}, &graph, &error));
  onnx::LoadOptions options;
  for (const bool optimize : {false, true}) {
    options.optimize = optimize;
    Session session;
    expect_refused(Session::Parse(bytes, options, &session, &error));
  }
  std::vector<std::byte> optimized;
  expect_refused(onnx::Optimize(bytes, {}, &optimized, nullptr, &error));
}

TEST(GraphSaving, Optimizing) {
  Graph graph = Make();
  const GraphValue x = Input(graph, "x", kF16);
  const GraphValue wide = Cast(graph, x, {.to = kF32});
  const GraphValue wider = Cast(graph, wide, {.to = DataType::kFloat64});
  ASSERT_TRUE(graph.MarkOutput(Cast(graph, wider, {.to = DataType::kInt8}), "y").ok());
  std::string error;
  onnx::OptimizeReport report;
  ASSERT_TRUE(graph.Optimize({}, &report, &error).ok()) << error;
  ASSERT_EQ(graph.node_count(), 1u);  // float16 goes to int8 at once
  EXPECT_EQ(report.removed.size(), 2u);
  const GraphNode node = graph.Nodes()[0];
  EXPECT_EQ(node.from, kF16);
  EXPECT_EQ(node.to, DataType::kInt8);
  EXPECT_EQ(NameOf(graph, graph.outputs()[0]), "y");
  EXPECT_EQ(graph.AddIdentity(x, "", "", nullptr, &error).code(), StatusCode::kBadInput);
  // What trains keeps its chain: each node rounds gradients.
  Graph trains = Make();
  const GraphValue z = Cast(trains, Input(trains, "x", kF16), {.to = kF32, .lda_coeff = 2});
  ASSERT_TRUE(trains.MarkOutput(Cast(trains, z, {.to = DataType::kFloat64}), "y").ok());
  ASSERT_TRUE(trains.Optimize({}, &report, &error).ok()) << error;
  EXPECT_EQ(trains.node_count(), 2u);
  EXPECT_FALSE(report.untouched.empty());
}

TEST(GraphSaving, ConstantsAndFiles) {
  const std::string folder = ::testing::TempDir() + "tensorcast_graphs_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  Graph graph = Make();
  const std::vector<float> values = {1.5F, -2};
  const std::vector<std::uint64_t> shape = {2};
  GraphValue constant, y, texts;
  std::string error;
  ASSERT_TRUE(
      graph.AddConstant("w", {kF32, shape, std::as_bytes(std::span(values)), {}}, &constant, &error)
          .ok())
      << error;
  ASSERT_TRUE(graph.AddCast(constant, {.to = kF16}, &y, &error).ok()) << error;
  ASSERT_TRUE(graph.MarkOutput(y, "y", &error).ok()) << error;
  const std::vector<std::uint64_t> offsets = {0, 1, 3};
  const std::string joined = "155";
  ASSERT_TRUE(
      graph.AddConstant("", {DataType::kString, shape, {}, {offsets, joined}}, &texts, &error).ok())
      << error;
  ASSERT_TRUE(graph.AddCast(texts, {.to = DataType::kInt8}, &texts, &error).ok()) << error;
  ASSERT_TRUE(graph.MarkOutput(texts, "n", &error).ok()) << error;
  const std::string path = folder + "/made.onnx";
  ASSERT_TRUE(graph.Save(path, {}, &error).ok()) << error;
  EXPECT_EQ(graph.Save(path, {}, &error).code(), StatusCode::kBadInput);
  SaveOptions replaces;
  replaces.overwrite = true;
  ASSERT_TRUE(graph.Save(path, replaces, &error).ok()) << error;
  Graph loaded;
  ASSERT_TRUE(Graph::Load(path, {}, &loaded, &error).ok()) << error;
  ASSERT_TRUE(loaded.Save(path, replaces, &error).ok()) << error;  // over what it was loaded from
  std::filesystem::remove(path);
  for (const Graph* const each : {&graph, &loaded}) {
    Session session;
    ASSERT_TRUE(Session::Create(*each, {}, &session, &error).ok()) << error;
    ASSERT_TRUE(session.Run({}, &error).ok()) << error;
    std::vector<std::byte> halves(4), bytes(2);
    ASSERT_TRUE(session.CopyOutput("y", halves, {}, &error).ok()) << error;
    ASSERT_TRUE(session.CopyOutput("n", bytes, {}, &error).ok()) << error;
    EXPECT_EQ(halves[1], std::byte{0x3E});
    EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{1}, std::byte{55}}));
  }
  EXPECT_EQ(graph.Save(folder + "/none/made.onnx", {}, &error).code(), StatusCode::kFileError);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tensorcast
