// Graphs put together by hand: every pair against the oracle, what each error says, and what is
// carried without being understood.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/error.h"
#include "graph/program.h"
#include "oracle/cast.h"
#include "oracle/packing.h"
#include "oracle/types.h"

namespace tensorcast::graph {
namespace {

constexpr std::int64_t kOpset = 28;

Declaration Declare(Body& body, const std::string& name, DataType type) {
  Declaration declared;
  declared.value = body.ValueOf(name);
  declared.has_type = declared.is_tensor = true;
  declared.number = static_cast<std::uint64_t>(type);
  return declared;
}

Node& AddNode(Body& body, const std::string& op, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs, std::vector<Attribute> attributes = {}) {
  Node& node = body.nodes.emplace_back();
  node.op_type = op;
  node.name = "n" + std::to_string(body.nodes.size());
  for (const std::string& input : inputs) {
    node.inputs.push_back(input.empty() ? kNoValue : body.ValueOf(input));
  }
  for (const std::string& output : outputs) {
    node.outputs.push_back(output.empty() ? kNoValue : body.ValueOf(output));
  }
  node.attributes = std::move(attributes);
  return node;
}

Attribute To(DataType type) { return IntAttribute("to", static_cast<int>(type)); }

// x -> y, of one type each.
Graph OneInputOneOutput(DataType from, DataType to) {
  Graph graph;
  graph.opsets[""] = kOpset;
  graph.inputs.push_back(Declare(graph.body, "x", from));
  graph.outputs.push_back(Declare(graph.body, "y", to));
  return graph;
}

Graph OneCast(DataType from, DataType to, std::vector<Attribute> more = {}) {
  Graph graph = OneInputOneOutput(from, to);
  more.insert(more.begin(), To(to));
  AddNode(graph.body, "Cast", {"x"}, {"y"}, std::move(more));
  return graph;
}

std::string ErrorOf(const Graph& graph, ErrorKind kind = ErrorKind::kContents) {
  try {
    Compile(graph, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

// Values that a graph holds in memory.
class Held final : public TensorData {
 public:
  explicit Held(std::vector<float> values) : values_(std::move(values)) {}
  Constant Read() const override {
    ++reads;
    Constant constant;
    constant.type = DataType::kFloat32;
    constant.shape = {values_.size()};
    constant.elements = values_.size();
    constant.data = std::as_bytes(std::span(values_));
    return constant;
  }
  mutable int reads = 0;

 private:
  std::vector<float> values_;
};

Tensor FloatTensor(const std::string& name, std::shared_ptr<const TensorData> data) {
  return {name, static_cast<std::uint64_t>(DataType::kFloat32), {2}, std::move(data)};
}

Results RunOn(const Program& program, DataType type, std::uint64_t elements,
              std::span<const std::byte> data) {
  const std::uint64_t shape[] = {elements};
  TensorView view;
  view.type = type;
  view.shape = shape;
  view.data = data;
  Results results;
  Run(program, std::span(&view, 1), {}, nullptr, results);
  return results;
}

// All codes of up to 16 bits, else codes that reach every exponent; not of whole bytes when packed.
std::vector<std::uint64_t> Codes(const oracle::Row& row) {
  std::vector<std::uint64_t> codes;
  if (row.bits <= 16) {
    for (std::uint64_t code = 0; code < (std::uint64_t{1} << row.bits); ++code) {
      codes.push_back(code);
    }
    codes.push_back(1);
    return codes;
  }
  const std::uint64_t mask = row.bits == 64 ? ~std::uint64_t{0} : 0xFFFFFFFF;
  for (int shift = 0; shift < row.bits; ++shift) {
    for (const std::uint64_t low : {0, 1, 3}) {
      const std::uint64_t code = (std::uint64_t{1} << shift) + low;
      codes.push_back(code & mask);
      codes.push_back(~code & mask);
      codes.push_back((code * 0x9E3779B97F4A7C15u) & mask);
    }
  }
  return codes;
}

TEST(Graphs, EveryPairGivesTheOraclesBits) {
  for (const oracle::Row& from : oracle::kRows) {
    const std::vector<std::uint64_t> codes = Codes(from);
    const std::vector<std::byte> data = oracle::Pack(codes, from.bits);
    for (const oracle::Row& to : oracle::kRows) {
      for (const bool saturate : {true, false}) {
        const auto from_type = static_cast<DataType>(from.id);
        const auto to_type = static_cast<DataType>(to.id);
        const Program program =
            Compile(OneCast(from_type, to_type, {IntAttribute("saturate", saturate ? 1 : 0)}), {});
        const Results results = RunOn(program, from_type, codes.size(), data);
        ASSERT_EQ(results.views.size(), 1u);
        EXPECT_EQ(results.views[0].type, to_type);
        oracle::Options options;
        options.saturate = saturate;
        std::vector<std::uint64_t> expected(codes.size());
        oracle::CastMany(from, to, options, codes, expected.data());
        const std::vector<std::byte> bytes = oracle::Pack(expected, to.bits);
        ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), results.views[0].data.begin(),
                               results.views[0].data.end()))
            << from.id << " -> " << to.id << ", saturate " << saturate;
      }
    }
  }
}

TEST(Graphs, ABodyHasOneValueOfAName) {
  Body body;
  const ValueId x = body.ValueOf("x");
  const ValueId y = body.ValueOf("y");
  EXPECT_NE(x, y);
  EXPECT_EQ(body.ValueOf("x"), x);
  EXPECT_EQ(body.size(), 2u);
  EXPECT_EQ(body.name(y), "y");
  EXPECT_EQ(body.Find("y"), y);
  EXPECT_FALSE(body.Find("z"));
  // Names stay found when many come, and when the body is moved.
  for (int i = 0; i < 1000; ++i) body.ValueOf(std::to_string(i));
  const Body moved = std::move(body);
  EXPECT_EQ(moved.Find("x"), x);
  EXPECT_EQ(moved.name(*moved.Find("999")), "999");
}

TEST(Graphs, AConstantIsReadOnlyWhereItIsNeeded) {
  Graph graph = OneInputOneOutput(DataType::kFloat32, DataType::kFloat16);
  graph.inputs.clear();
  const auto used = std::make_shared<Held>(std::vector<float>{1, -2});
  const auto unused = std::make_shared<Held>(std::vector<float>{3, 4});
  graph.initializers.push_back({graph.body.ValueOf("w"), FloatTensor("w", used)});
  graph.initializers.push_back({graph.body.ValueOf("v"), FloatTensor("v", unused)});
  AddNode(graph.body, "Cast", {"w"}, {"y"}, {To(DataType::kFloat16)});
  const Program program = Compile(graph, {});
  EXPECT_EQ(used->reads, 1);
  EXPECT_EQ(unused->reads, 0);
  Results results;
  graph::Run(program, {}, {}, nullptr, results);
  const std::vector<std::byte> expected =
      oracle::Pack(std::vector<std::uint64_t>{0x3C00, 0xC000}, 16);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), results.views[0].data.begin(),
                         results.views[0].data.end()));
}

// The function casts to the type that its caller's attribute names.
TEST(Graphs, AFunctionIsInlined) {
  Graph graph = OneInputOneOutput(DataType::kFloat32, DataType::kInt8);
  Function& function = graph.functions.emplace_back();
  function.domain = "mine";
  function.name = "F";
  function.attributes = {"type"};
  function.opsets[""] = kOpset;
  function.inputs = {function.body.ValueOf("a")};
  function.outputs = {function.body.ValueOf("b")};
  Attribute to;
  to.name = "to";
  to.type = AttributeType::kInt;
  to.ref = "type";
  AddNode(function.body, "Cast", {"a"}, {"b"}, {to});
  Node& call = AddNode(graph.body, "F", {"x"}, {"y"},
                       {IntAttribute("type", static_cast<int>(DataType::kInt8))});
  call.domain = "mine";
  const Program program = Compile(graph, {});
  const float values[] = {1.5f, -3.25f};
  const Results results = RunOn(program, DataType::kFloat32, 2, std::as_bytes(std::span(values)));
  ASSERT_EQ(results.views[0].type, DataType::kInt8);
  EXPECT_EQ(results.views[0].data[0], std::byte{1});
  EXPECT_EQ(results.views[0].data[1], static_cast<std::byte>(-3));

  graph.functions[0].body.nodes[0].inputs = {graph.functions[0].body.ValueOf("c")};
  EXPECT_EQ(ErrorOf(graph),
            "node \"n1\" (Cast, in the function \"F\" called by node \"n1\") reads \"c\", which "
            "nothing gives");
}

// Nodes and subgraphs of operators that are none of ours stand in the graph as they were; only to
// run them is refused.
TEST(Graphs, WhatIsNotUnderstoodIsCarried) {
  Graph graph = OneInputOneOutput(DataType::kFloat32, DataType::kFloat32);
  Attribute branch;
  branch.name = "then_branch";
  branch.type = AttributeType::kGraph;
  branch.bytes = BlobOf(std::string("any\0bytes", 9));
  Node& node = AddNode(graph.body, "If", {"x"}, {"y"}, {branch});
  node.bytes = BlobOf("the whole node");
  Graph moved = std::move(graph);
  const Node& kept = moved.body.nodes[0];
  EXPECT_EQ(kept.bytes.Text(), "the whole node");
  EXPECT_EQ(kept.bytes.Text(3), "the");
  EXPECT_EQ(kept.attributes[0].bytes.Text(), std::string("any\0bytes", 9));
  EXPECT_EQ(ErrorOf(moved, ErrorKind::kUnsupported),
            "node \"n1\" (If) is an operator of ai.onnx that is not run here; only Cast, CastLike, "
            "Identity, Constant and functions of the model are");
}

TEST(Graphs, ErrorsNameTheNodeAndTheValue) {
  {
    Graph graph = OneInputOneOutput(DataType::kFloat32, DataType::kFloat16);
    AddNode(graph.body, "Cast", {"z"}, {"y"}, {To(DataType::kFloat16)});
    EXPECT_EQ(ErrorOf(graph), "node \"n1\" (Cast) reads \"z\", which nothing gives");
    AddNode(graph.body, "Identity", {"x"}, {"z"});
    EXPECT_EQ(ErrorOf(graph),
              "node \"n1\" (Cast) reads \"z\", which a later node gives; nodes are in the order in "
              "which they run");
  }
  {
    Graph graph = OneCast(DataType::kFloat32, DataType::kFloat16);
    AddNode(graph.body, "Identity", {"x"}, {"y"});
    EXPECT_EQ(ErrorOf(graph),
              "node \"n2\" (Identity) gives \"y\", which is given before; a name has one value");
  }
  {
    Graph graph = OneCast(DataType::kFloat32, DataType::kFloat16);
    graph.outputs[0].number = static_cast<std::uint64_t>(DataType::kInt8);
    EXPECT_EQ(ErrorOf(graph), "the output \"y\" is declared int8, but its node gives float16");
    graph.outputs[0] = Declare(graph.body, "q", DataType::kFloat16);
    EXPECT_EQ(ErrorOf(graph), "the output \"q\" is given by no node");
  }
  {
    Graph graph = OneCast(DataType::kFloat32, DataType::kFloat8E4M3FN);
    graph.opsets[""] = 18;
    EXPECT_NE(ErrorOf(graph).find("float8e4m3fn needs opset 19"), std::string::npos)
        << ErrorOf(graph);
    graph.opsets.clear();
    EXPECT_EQ(ErrorOf(graph),
              "node \"n1\" (Cast) has no version: the model has no opset_import of the domain "
              "ai.onnx");
  }
  {
    Graph graph = OneInputOneOutput(DataType::kFloat32, DataType::kFloat16);
    AddNode(graph.body, "Cast", {""}, {"y"}, {To(DataType::kFloat16)});
    EXPECT_EQ(ErrorOf(graph), "node \"n1\" (Cast) leaves out an input that it needs");
    graph.body.nodes[0].name.clear();
    EXPECT_EQ(ErrorOf(graph), "the node that gives \"y\" (Cast) leaves out an input that it needs");
  }
}

}  // namespace
}  // namespace tensorcast::graph
