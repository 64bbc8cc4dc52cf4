// MDF models as graphs and graphs as MDF models, through mdf.hpp: what a port, an argument and a
// constant mean, what is refused, and that a graph comes back as it was.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tensorcast/graph.hpp"
#include "tensorcast/mdf.hpp"
#include "tensorcast/session.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
namespace {

class Mdf : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("tensorcast-mdf-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::string Write(const std::string& text, const std::string& name = "model.json") const {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }

  static std::string Model(const std::string& nodes, const std::string& edges = "",
                           const std::string& more = "") {
    return R"({"m": {"format": "ModECI MDF v0.4", )" + more + R"("graphs": {"g": {"nodes": {)" +
           nodes + R"(}, "edges": {)" + edges + "}}}}}";
  }
  // A node with one input port `x`, of that type, and one output port `y`, of a function's value.
  static std::string Node(const std::string& function, const std::string& type = "float32",
                          const std::string& more = "") {
    return R"("A": {"input_ports": {"x": {"type": ")" + type + R"("}}, "functions": {"f": )" +
           function + R"(}, )" + more + R"("output_ports": {"y": {"value": "f"}}})";
  }

  Status Load(const std::string& text, Graph* graph, const mdf::LoadOptions& options = {}) {
    error_.clear();
    return mdf::Load(Write(text), options, graph, &error_);
  }

  // The node that a model of one function becomes.
  GraphNode OnlyNode(const std::string& text) {
    Graph graph;
    EXPECT_TRUE(Load(text, &graph).ok()) << error_;
    GraphNode node;
    EXPECT_TRUE(graph.Node(NodeKey::Index(0), &node).ok());
    return node;
  }

  // What a run gives for one float32 input; empty where there is none.
  std::vector<std::byte> Run(const Graph& graph, const std::vector<float>& input,
                             std::vector<std::uint64_t>* shape = nullptr) {
    Session session;
    EXPECT_TRUE(Session::Create(graph, {}, &session, &error_).ok()) << error_;
    const std::vector<std::uint64_t> sizes = {input.size()};
    std::vector<TensorView> views(session.inputs().size());
    if (!views.empty() && !input.empty()) {
      views[0] = {DataType::kFloat32, sizes, std::as_bytes(std::span(input)), {}};
    }
    SessionResults outputs;
    EXPECT_TRUE(session.Run(views, {}, &outputs, &error_).ok()) << error_;
    if (outputs.size() == 0) return {};
    if (shape != nullptr) shape->assign(outputs[0].shape.begin(), outputs[0].shape.end());
    return {outputs[0].data.begin(), outputs[0].data.end()};
  }

  static std::set<std::string> Names(const Graph& graph, std::span<const GraphValue> values) {
    std::set<std::string> names;
    for (const GraphValue& value : values) {
      GraphValueInfo info;
      EXPECT_TRUE(graph.Value(value, &info).ok());
      names.insert(info.name);
    }
    return names;
  }

  template <class T> static std::vector<std::byte> Bytes(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
  }

  std::filesystem::path folder_;
  std::string error_;
};

TEST_F(Mdf, EveryWayToWriteTo) {
  for (const char* const to :
       {"7", "\"7\"", "7.0", "[7]", "\"7.0\"", "\" 7 \"", "\"int64\"", "\"INT64\""}) {
    const GraphNode node = OnlyNode(Model(Node(
        std::string(R"({"function": "onnx::Cast", "args": {"input": "x", "to": )") + to + "}}")));
    EXPECT_EQ(node.to, DataType::kInt64) << to;
  }
  EXPECT_EQ(OnlyNode(Model(Node(R"({"function": {"onnx::Cast": {"input": "x", "to": true}}})"))).to,
            DataType::kFloat32);
  // A parameter of its name, and one that an argument names.
  EXPECT_EQ(OnlyNode(Model(Node(R"({"function": "onnx::Cast", "args": {"input": "x"}})", "float32",
                                R"("parameters": {"to": {"value": 7}}, )")))
                .to,
            DataType::kInt64);
  EXPECT_EQ(OnlyNode(Model(Node(R"({"function": "onnx::Cast", "args": {"input": "x", "to": "k"}})",
                                "float32",
                                R"("parameters": {"k": {"value": "n"}, "n": {"value": 7}}, )")))
                .to,
            DataType::kInt64);
  // An input port of its name.
  EXPECT_EQ(OnlyNode(Model(R"("A": {"input_ports": {"input": {"type": "float16"}},
      "functions": {"f": {"function": "onnx::Cast", "args": {"to": 7}}},
      "output_ports": {"y": {"value": "f"}}})"))
                .from,
            DataType::kFloat16);
}

TEST_F(Mdf, OptionsAndTheOpset) {
  Graph graph;
  ASSERT_TRUE(
      Load(Model(Node(
               R"({"function": "onnx::Cast", "args": {"input": "x", "to": 17, "saturate": 0}})")),
           &graph)
          .ok())
      << error_;
  EXPECT_EQ(graph.opset(), 19);
  EXPECT_FALSE(graph.Nodes()[0].saturate);
  ASSERT_TRUE(Load(Model(Node(R"({"function": "onnx::Cast",
                                  "args": {"input": "x", "to": 24, "round_mode": "nearest"}})")),
                   &graph)
                  .ok())
      << error_;
  EXPECT_EQ(graph.Nodes()[0].round_mode, RoundingMode::kNearest);
  const std::string cast = Node(R"({"function": "onnx::Cast", "args": {"input": "x", "to": 1}})");
  ASSERT_TRUE(Load(Model(cast, "", R"("onnx_opset_version": "23", )"), &graph).ok()) << error_;
  EXPECT_EQ(graph.opset(), 23);
  ASSERT_TRUE(Load(Model(cast, "", R"("onnx_opset_version": 9, )"), &graph).ok()) << error_;
  EXPECT_EQ(graph.opset(), 15);
  EXPECT_FALSE(Load(Model(cast, "", R"("onnx_opset_version": 29, )"), &graph).ok());
}

TEST_F(Mdf, ANumberIsAVectorOfOneToAFunctionAndItselfToAPort) {
  const std::string node = R"("A": {"parameters": {"k": {"value": 2.5},
      "c": {"function": "onnx::Cast", "args": {"input": "k", "to": 1}}}, "output_ports": {"y": {"value": "%"}}})";
  std::string of_cast = node, of_number = node;
  of_cast.replace(of_cast.find('%'), 1, "c");
  of_number.replace(of_number.find('%'), 1, "k");
  Graph graph;
  std::vector<std::uint64_t> shape;
  ASSERT_TRUE(Load(Model(of_cast), &graph).ok()) << error_;
  EXPECT_EQ(Run(graph, {}, &shape), Bytes<float>({2.5F}));
  EXPECT_EQ(shape, std::vector<std::uint64_t>{1});
  ASSERT_TRUE(Load(Model(of_number), &graph).ok()) << error_;
  EXPECT_EQ(Run(graph, {}, &shape), Bytes<double>({2.5}));
  EXPECT_TRUE(shape.empty());
}

TEST_F(Mdf, InputsOfOneNameAreOneAndTypesMayBeLeftOpen) {
  const std::string nodes = R"j("A": {"input_ports": {"x": {"type": "float", "shape": "(2,)"
}
}
, "output_ports" : {
  "y" : { "value" : "x" }
}
},
         "B": {"input_ports": {"x": {"shape": [2]}}, "output_ports": {"z": {"value": "x"}}})j";
  std::vector<ValueInfo> inputs;
  ASSERT_TRUE(mdf::Inputs(Write(Model(nodes)), &inputs, &error_).ok()) << error_;
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].type, DataType::kUndefined);
  EXPECT_EQ(inputs[0].shape, std::vector<std::optional<std::uint64_t>>{2});
  Graph graph;
  EXPECT_EQ(Load(Model(nodes), &graph).code(), StatusCode::kUnsupportedFile);
  mdf::LoadOptions options;
  options.input_types = {{"x", DataType::kFloat16}};
  ASSERT_TRUE(Load(Model(nodes), &graph, options).ok()) << error_;
  GraphValueInfo info;
  ASSERT_TRUE(graph.Value(graph.inputs()[0], &info).ok());
  EXPECT_EQ(info.type, DataType::kFloat16);
  EXPECT_EQ(graph.outputs().size(), 2U);
}

TEST_F(Mdf, ADefaultIsTakenWhereNothingIsGiven) {
  Graph graph;
  ASSERT_TRUE(Load(Model(R"("A": {"input_ports": {"x": {"default_value": [1.5, 2.5]}},
      "functions": {"f": {"function": "onnx::Cast", "args": {"input": "x", "to": 1}}},
      "output_ports": {"y": {"value": "f"}}})"),
                   &graph)
                  .ok())
      << error_;
  EXPECT_EQ(Run(graph, {}), Bytes<float>({1.5F, 2.5F}));
}

TEST_F(Mdf, OutputsAreWhatNoEdgeTakes) {
  Graph graph;
  ASSERT_TRUE(
      Load(
          Model(
              R"("B": {"input_ports": {"in": {}}, "output_ports": {"y": {"value": "in"}, "x": {"value": "in"}}},
                    "A": {"input_ports": {"x": {"type": "int8"}},
                          "output_ports": {"y": {"value": "x"}, "z": {"value": "x"}}})",
              R"("e": {"sender": "A", "receiver": "B", "sender_port": "z", "receiver_port": "in"})"),
          &graph)
          .ok())
      << error_;
  std::vector<std::string> names;
  for (const GraphValue& output : graph.outputs()) {
    GraphValueInfo info;
    ASSERT_TRUE(graph.Value(output, &info).ok());
    names.push_back(info.name);
  }
  // y stands twice, and x is an input.
  EXPECT_EQ(names, (std::vector<std::string>{"A_y", "B_y", "B_x"}));
}

TEST_F(Mdf, WhatIsNotAModelOfCastsIsRefused) {
  const auto cast = [](const std::string& args) {
    return Model(Node(R"({"function": "onnx::Cast", "args": {)" + args + "}}"));
  };
  const std::string edge =
      R"("e": {"sender": "A", "receiver": "B", "sender_port": "y", "receiver_port": "in")";
  const auto edged = [&](const std::string& more, const std::string& port = "{}") {
    return Model(R"("A": {"output_ports": {"y": {"value": "1"}}}, "B": {"input_ports": {"in": )" +
                     port + R"(}, "output_ports": {"y": {"value": "in"}}})",
                 edge + more + "}");
  };
  struct Case {
    std::string text;
    StatusCode code;
    const char* says;
  };
  const StatusCode contents = StatusCode::kBadFile, other = StatusCode::kUnsupportedFile;
  for (
      const Case& each : {
          Case{cast(R"("input": "x")"), contents, "has no `to`"},
          Case{cast(R"("to": 1)"), contents, "has no argument \"input\""},
          Case{cast(R"("input": "x", "to": 7.5)"), contents, "not the number of a type"},
          Case{cast(R"("input": "x", "to": -1)"), contents, "not the number of a type"},
          Case{cast(R"("input": "x", "to": 99)"), contents, "is 99"},
          Case{cast(R"("input": "x", "to": [1, 2])"), contents, "not the number of a type"},
          Case{cast(R"("input": "x", "to": "float9")"), contents, "neither a type nor a name"},
          Case{cast(R"("input": "x", "to": 17, "saturate": 2)"), contents, "is not 0 or 1"},
          Case{cast(R"("input": "x", "to": 24, "round_mode": "UP")"), contents,
               "up, down, nearest"},
          Case{cast(R"("input": "x + 1", "to": 1)"), other, "the expression \"x + 1\""},
          Case{cast(R"("input": "f", "to": 1)"), other, "depends on itself"},
          Case{cast(R"("input": {"a": 1}, "to": 1)"), other, "is an object"},
          Case{cast(R"("input": [[1], [1, 2]], "to": 1)"), contents, "differ in their lengths"},
          Case{cast(R"("input": [1, [2]], "to": 1)"), contents, "differ in their lengths"},
          Case{cast(R"("input": [1, "a"], "to": 1)"), other, "texts among numbers"},
          Case{cast(R"("input": [-1, 18446744073709551615], "to": 1)"), other, "beyond int64"},
          Case{cast(R"("input": [0.5, 9007199254740993], "to": 1)"), other, "float64"},
          Case{Model(Node(R"({"function": "MatMul", "args": {"A": "x", "B": "x"}})")), other,
               "\"MatMul\""},
          Case{Model(Node(R"({"value": "x", "function": "onnx::Identity"})")), contents,
               "both a value"},
          Case{Model(Node(R"({"args": {}})")), contents, "neither a value"},
          Case{Model(Node(R"({"function": "onnx::Constant", "args": {"value": 1, "b": 2}})")),
               contents, "one argument"},
          Case{edged(R"(, "parameters": {"weight": 0.5})"), other, "weight another number"},
          Case{edged(R"(, "parameters": {"weight": [[1]]})"), other, "weight a list"},
          Case{edged("", R"({"default_value": 1})"), other, "default_value and the edge"},
          Case{
              Model(
                  R"("A": {"output_ports": {"y": {"value": "1"}}}, "B": {"input_ports": {"in": {}}})",
                  edge + "}, \"f\": " + edge.substr(5) + "}"),
              other, "two edges, \"e\" and \"f\""},
          Case{
              Model(
                  R"("A": {"input_ports": {"in": {}}, "output_ports": {"y": {"value": "in"}}})",
                  R"("e": {"sender": "A", "receiver": "A", "sender_port": "y", "receiver_port": "in"})"),
              other, "in a circle"},
          Case{Model(R"("A": 1)"), contents, "it is an object"},
          Case{Model(R"("A": {})"), contents, "has no output"},
          Case{Model(R"("A": {"input_ports": {"x": {"shape": "(2"}}})"), contents, "(2, 3)"},
          Case{Model(R"("A": {"input_ports": {"x": {}}, "parameters": {"x": {"value": 1}}})"),
               contents, "two values named \"x\""},
          Case{Model(
                   R"("A": {"parameters": {"p": {"value": "p + 1", "default_initial_value": 0}}})"),
               other, "keeps a value"},
          Case{Model("", "", R"("onnx_opset_version": "new", )"), contents, "onnx_opset_version"},
      }) {
    Graph graph;
    EXPECT_EQ(Load(each.text, &graph).code(), each.code) << each.says << ": " << error_;
    EXPECT_NE(error_.find(each.says), std::string::npos) << each.says << ": " << error_;
    EXPECT_TRUE(error_.starts_with(Path("model.json") + ": ")) << error_;
    EXPECT_EQ(error_.find('\n'), std::string::npos) << error_;
  }
}

TEST_F(Mdf, ALongRowOfParametersIsRefusedAndNotFollowed) {
  std::string parameters = R"("p0": {"value": 1})";
  for (int i = 1; i < 2000; ++i) {
    parameters = "\"p" + std::to_string(i) + R"(": {"value": "p)" + std::to_string(i - 1) +
                 "\"}, " + parameters;
  }
  Graph graph;
  EXPECT_EQ(Load(Model(R"("A": {"parameters": {)" + parameters + "}}"), &graph).code(),
            StatusCode::kUnsupportedFile);
  EXPECT_NE(error_.find("stands behind"), std::string::npos) << error_;
}

// Every type's codes as a constant: what is written gives the same codes back.
TEST_F(Mdf, ConstantsOfEveryTypeKeepTheirCodes) {
  for (const TypeInfo& type : Types()) {
    if (type.type == DataType::kString) continue;
    const std::uint64_t n = type.bits <= 8 ? std::uint64_t{1} << type.bits : 64;
    std::vector<std::byte> codes(static_cast<std::size_t>(*StorageBytes(type.type, n)));
    if (type.bits == 8) {
      for (std::size_t i = 0; i < codes.size(); ++i) {
        codes[i] = static_cast<std::byte>(type.type == DataType::kBool ? i % 2 : i);
      }
    } else if (type.bits < 8) {
      std::size_t bit = 0;  // each code once, packed from the lowest bit on
      for (std::uint64_t code = 0; code < n; ++code) {
        for (int k = 0; k < type.bits; ++k, ++bit) {
          codes[bit / 8] |= static_cast<std::byte>((code >> k & 1) << (bit % 8));
        }
      }
    } else {
      for (std::size_t i = 0; i < codes.size(); ++i)
        codes[i] = static_cast<std::byte>(i * 37 % 120);
    }
    // A NaN is the one that a cast of Python's gives: those with a sign or a payload are refused.
    std::vector<std::byte> wide(static_cast<std::size_t>(n) * 8);
    const DataType through = type.is_float() ? DataType::kFloat64 : DataType::kInt64;
    if (type.type != DataType::kUint64) {
      CastOptions options;
      options.saturate = false;
      ASSERT_TRUE(Cast(type.type, codes, through, wide, n, options).ok());
      if (type.is_float()) {
        for (std::size_t i = 0; i < wide.size(); i += 8) {
          double number = 0;
          std::memcpy(&number, &wide[i], 8);
          if (std::isnan(number)) number = std::numeric_limits<double>::quiet_NaN();
          std::memcpy(&wide[i], &number, 8);
        }
      }
      ASSERT_TRUE(Cast(through, wide, type.type, codes, n, options).ok());
    }
    const std::vector<std::uint64_t> shape = {n};
    GraphOptions made;
    Graph graph;
    ASSERT_TRUE(Graph::Create(made, &graph).ok());
    GraphValue value;
    const Status added = graph.AddConstant("k", {type.type, shape, codes, {}}, &value, &error_);
    if (!added.ok()) continue;  // ONNX has no opset with it
    ASSERT_TRUE(graph.MarkOutput(value, "y").ok());
    for (const char* const ending : {"json", "bson"}) {
      const std::string path = Path("k." + std::string(ending));
      const Status saved = mdf::Save(graph, path, {true, {}}, &error_);
      ASSERT_TRUE(saved.ok()) << TypeName(type.type) << ": " << error_;
      Graph read;
      ASSERT_TRUE(mdf::Load(path, {}, &read, &error_).ok())
          << TypeName(type.type) << ": " << error_;
      EXPECT_EQ(Run(read, {}), codes) << TypeName(type.type) << " by " << ending;
    }
  }
}

TEST_F(Mdf, WhatMdfDoesNotHaveIsNotWritten) {
  const auto refusal = [&](DataType type, const std::vector<std::uint64_t>& shape,
                           const std::vector<std::byte>& data) {
    Graph graph;
    GraphValue value;
    EXPECT_TRUE(graph.AddConstant("k", {type, shape, data, {}}, &value, &error_).ok()) << error_;
    EXPECT_TRUE(graph.MarkOutput(value, "y").ok());
    EXPECT_EQ(mdf::Save(graph, Path("k.json"), {}, &error_).code(), StatusCode::kUnsupportedFile);
    EXPECT_FALSE(std::filesystem::exists(Path("k.json")));
    return error_;
  };
  EXPECT_NE(refusal(DataType::kFloat32, {}, Bytes<float>({1})).find("no dimensions"),
            std::string::npos);
  EXPECT_NE(refusal(DataType::kFloat32, {0, 3}, {}).find("[0, 3]"), std::string::npos);
  EXPECT_NE(refusal(DataType::kFloat32, {1}, Bytes<std::uint32_t>({0x7FC12345})).find("payload"),
            std::string::npos);
  Graph empty;
  EXPECT_EQ(mdf::Save(empty, Path("k.json"), {}, &error_).code(), StatusCode::kBadInput);
  EXPECT_EQ(mdf::Save(empty, Path("k.txt"), {}, &error_).code(), StatusCode::kBadInput);
}

// Names that are not Python's stand in the metadata, and come back.
TEST_F(Mdf, NamesAndOptionsComeBack) {
  GraphOptions made;
  Graph graph;
  ASSERT_TRUE(Graph::Create(made, &graph).ok());
  GraphValue x, like, y, z;
  const std::vector<GraphDimension> shape = {{.size = 2}, {.size = 3}};
  ASSERT_TRUE(graph.AddInput("in/put.0", DataType::kFloat32, shape, &x).ok());
  ASSERT_TRUE(graph.AddInput("to", DataType::kFloat8E5M2, &like).ok());
  ASSERT_TRUE(
      graph.AddCast(x, {.to = DataType::kFloat8E8M0, .round_mode = RoundingMode::kDown}, &y).ok());
  ASSERT_TRUE(graph.AddCastLike(x, like, {.saturate = false, .name = "a node"}, &z).ok());
  ASSERT_TRUE(graph.AddInput("spare", DataType::kInt4, nullptr).ok());  // which nothing reads
  ASSERT_TRUE(graph.MarkOutput(y, "out:0").ok());
  ASSERT_TRUE(graph.MarkOutput(z, "lambda").ok());
  ASSERT_TRUE(graph.MarkOutput(x, "copy").ok());
  std::vector<std::string> endings = {"json", "bson"};
#ifdef HAS_YAML
  endings.emplace_back("yaml");
#endif
  for (const std::string& ending : endings) {
    ASSERT_TRUE(mdf::Save(graph, Path("m." + ending), {}, &error_).ok()) << error_;
    Graph read;
    ASSERT_TRUE(mdf::Load(Path("m." + ending), {}, &read, &error_).ok()) << error_;
    EXPECT_EQ(read.Summary(SummaryFormat::kCsv), graph.Summary(SummaryFormat::kCsv)) << ending;
    EXPECT_EQ(Names(read, read.inputs()), Names(graph, graph.inputs())) << ending;
    EXPECT_EQ(Names(read, read.outputs()), Names(graph, graph.outputs())) << ending;
    std::vector<std::byte> before, after;
    ASSERT_TRUE(graph.Serialize({}, &before).ok());
    ASSERT_TRUE(read.Serialize({}, &after).ok());
    EXPECT_EQ(before.size(), after.size()) << ending;
  }
}

TEST_F(Mdf, AFileThatIsNotOneIsToldApart) {
  EXPECT_FALSE(mdf::IsModelFile(Path("missing.json")));
  EXPECT_TRUE(mdf::IsModelFile(Write(Model(""), "no_ending")));
  EXPECT_FALSE(mdf::IsModelFile(Write("text", "notes")));
  EXPECT_TRUE(mdf::IsModelName("a.yml"));
  EXPECT_FALSE(mdf::IsModelName("a.onnx"));
  Graph graph;
  EXPECT_EQ(mdf::Load(Path("missing.json"), {}, &graph, &error_).code(), StatusCode::kFileError);
}

}  // namespace
}  // namespace tensorcast
