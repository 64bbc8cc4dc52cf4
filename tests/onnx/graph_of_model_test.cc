// A ModelProto as a graph: everything has its place, and what is not understood keeps its bytes.
// The models are put together by hand.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/run/graph_of_model.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model_bytes.h"

namespace tensorcast::onnx {
namespace {

std::vector<std::string> NamesOf(const graph::Body& body, const std::vector<graph::ValueId>& ids) {
  std::vector<std::string> names;
  for (const graph::ValueId id : ids) {
    names.push_back(id == graph::kNoValue ? std::string() : body.name(id));
  }
  return names;
}
using Names = std::vector<std::string>;

TEST(GraphOfModel, ReadsValuesNodesAndTensors) {
  const std::string shaped =
      BytesField(1, "x") +
      BytesField(2, BytesField(1, VarintField(1, kFloat) +
                                      BytesField(2, BytesField(1, VarintField(1, 3)) +
                                                        BytesField(1, BytesField(2, "n")))));
  const std::string cast = NodeBytes("Cast", {"x"}, {"y"}, {AttributeInt("to", kFloat16)}, "c");
  const std::string unknown = NodeBytes("Unknown", {"y", "", "w"}, {"", "z"}) +
                              BytesField(6, "its documentation") + BytesField(7, "some.domain");
  const auto source = std::make_shared<io::MemorySource>(ModelBytes(
      BytesField(1, cast) + BytesField(1, unknown) +
          BytesField(5, TensorBytes("w", kFloat, 2, FloatBytes({1, 2}))) + BytesField(11, shaped) +
          BytesField(12, ValueBytes("z", kFloat)) + BytesField(13, ValueBytes("y", kFloat16)),
      19));
  const graph::Graph graph = ReadGraph(source, {}, false);
  EXPECT_EQ(graph.opsets.at(""), 19);
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.body.name(graph.inputs[0].value), "x");
  EXPECT_EQ(graph.inputs[0].number, kFloat);
  ASSERT_EQ(graph.inputs[0].shape.size(), 2u);
  EXPECT_EQ(graph.inputs[0].shape[0].size, 3u);
  EXPECT_FALSE(graph.inputs[0].shape[1].size);
  EXPECT_EQ(graph.body.name(graph.outputs.at(0).value), "z");
  EXPECT_EQ(graph.body.name(graph.between.at(0).value), "y");
  ASSERT_EQ(graph.body.nodes.size(), 2u);
  const graph::Node& first = graph.body.nodes[0];
  EXPECT_EQ(first.name, "c");
  EXPECT_EQ(first.attributes.at(0).name, "to");
  EXPECT_EQ(first.attributes.at(0).type, graph::AttributeType::kInt);
  EXPECT_EQ(first.attributes.at(0).i, 10);
  const graph::Node& second = graph.body.nodes[1];
  EXPECT_EQ(second.op_type, "Unknown");
  EXPECT_EQ(second.domain, "some.domain");
  EXPECT_EQ(NamesOf(graph.body, second.inputs), (Names{"y", "", "w"}));
  EXPECT_EQ(NamesOf(graph.body, second.outputs), (Names{"", "z"}));
  EXPECT_EQ(second.bytes.Text(), unknown);  // its documentation too
  ASSERT_EQ(graph.initializers.size(), 1u);
  const graph::Constant constant = graph.initializers[0].tensor.data->Read();
  EXPECT_EQ(constant.type, DataType::kFloat32);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(constant.data.data()), constant.data.size()),
            FloatBytes({1, 2}));
}

// Subgraphs are carried whole, in the attribute that holds them.
TEST(GraphOfModel, ASubgraphIsCarriedWhole) {
  const std::string innermost = BytesField(1, NodeBytes("Add", {"a", "own"}, {"i"})) +
                                BytesField(12, ValueBytes("i", kFloat));
  const std::string then =
      BytesField(1, NodeBytes("Neg", {"b"}, {"own"})) +
      BytesField(1, NodeBytes("Loop", {"", "own"}, {"t"}, {AttributeGraph("body", innermost)})) +
      BytesField(5, TensorBytes("c", kFloat, 1, FloatBytes({1}))) +
      BytesField(1, NodeBytes("Mul", {"t", "c"}, {"r"})) + BytesField(12, ValueBytes("r", kFloat));
  const std::string otherwise = BytesField(12, ValueBytes("c", kFloat));
  const auto source = std::make_shared<io::MemorySource>(
      ModelBytes(BytesField(1, NodeBytes("If", {"q"}, {"y"},
                                         {AttributeGraph("then_branch", then),
                                          AttributeGraph("else_branch", otherwise)})) +
                 BytesField(11, ValueBytes("a", kFloat)) + BytesField(11, ValueBytes("b", kFloat)) +
                 BytesField(11, ValueBytes("c", kFloat)) + BytesField(11, ValueBytes("q", 9)) +
                 BytesField(12, ValueBytes("y", kFloat))));
  const graph::Graph graph = ReadGraph(source, {}, false);
  const graph::Node& node = graph.body.nodes.at(0);
  ASSERT_EQ(node.attributes.size(), 2u);
  const auto carried = [&](std::size_t index) { return node.attributes[index].bytes.Text(); };
  EXPECT_NE(carried(0).find(then), std::string::npos);
  EXPECT_EQ(carried(0).find("else_branch"), std::string::npos);
  EXPECT_NE(carried(1).find(otherwise), std::string::npos);
}

}  // namespace
}  // namespace tensorcast::onnx
