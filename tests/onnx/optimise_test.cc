// Models without the Casts that can go: each rule, what has to stay, subgraphs, functions, and
// models that mean harm.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
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
using onnx_test::Function;
using onnx_test::IntAttribute;
using onnx_test::Lines;
using onnx_test::ModelBytes;
using onnx_test::Node;
using onnx_test::NodesOf;
using onnx_test::Optimisation;
using onnx_test::Optimised;
using onnx_test::OtherNode;
using onnx_test::RemovedOf;
using onnx_test::Through;
using onnx_test::To;
using onnx_test::ValueMessage;
using enum DataType;

// ---------------------------------------------------------------------------------- rules

TEST(Optimise, ACastToTheSameTypeGoes) {
  const Optimisation result = Optimised(
      Through(kFloat32, {CastNode("x", "a", kFloat32), OtherNode({"a", "a"}, "y")}, kFloat32));
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Opaque x x -> y"}));
  EXPECT_EQ(RemovedOf(result.report), Lines({"a same-type"}));
  EXPECT_EQ(result.report.removed[0].node, "n_a");
  EXPECT_EQ(result.report.removed[0].from, kFloat32);
  EXPECT_EQ(result.report.nodes_before, 2u);
  EXPECT_EQ(result.report.nodes_after, 1u);
}

TEST(Optimise, ARoundTripGoesWhereEveryBitComesBack) {
  const auto trip = [](DataType a, DataType b, const onnx::OptimizeOptions& options = {},
                       const std::string& back = {}) {
    return NodesOf(
        Optimised(
            Through(a, {CastNode("x", "b", b), CastNode("b", "c", a, back), OtherNode({"c"}, "y")},
                    a),
            options)
            .bytes);
  };
  const Lines gone = {"Opaque x -> y"};
  const Lines all = {"Cast x -> b", "Cast b -> c", "Opaque c -> y"};
  onnx::OptimizeOptions payloads;
  payloads.nan_payloads_may_change = true;
  EXPECT_EQ(trip(kInt32, kUint64), gone);
  EXPECT_EQ(trip(kUint8, kFloat16), gone);
  EXPECT_EQ(trip(kFloat8E4M3FN, kFloat16), gone);
  EXPECT_EQ(trip(kFloat16, kFloat32), all);
  EXPECT_EQ(trip(kFloat16, kFloat32, payloads), gone);
  EXPECT_EQ(trip(kBool, kUint8), all);
  EXPECT_EQ(trip(kBool, kUint8, payloads), all);
  EXPECT_EQ(trip(kFloat32, kFloat16, payloads), all);
  EXPECT_EQ(trip(kFloat8E5M2, kFloat32, payloads), all);
  EXPECT_EQ(trip(kFloat8E5M2, kFloat32, payloads, IntAttribute("saturate", 0)), gone);
  EXPECT_EQ(trip(kFloat8E5M2, kFloat32, {}, IntAttribute("saturate", 0)), all);
}

TEST(Optimise, AChainBecomesItsLastCast) {
  const Optimisation result = Optimised(Through(
      kFloat16,
      {CastNode("x", "a", kFloat32), CastNode("a", "b", kFloat64), CastNode("b", "y", kBfloat16)},
      kBfloat16));
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Cast x -> y"}));
  EXPECT_EQ(RemovedOf(result.report), Lines({"a chain", "b chain"}));
  EXPECT_EQ(result.report.casts_rerouted, 1u);
}

TEST(Optimise, WhatIsReadElsewhereStays) {
  const Optimisation result = Optimised(Through(
      kFloat16,
      {CastNode("x", "a", kFloat32), CastNode("a", "b", kFloat64), OtherNode({"a", "b"}, "y")},
      kFloat64));
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Cast x -> a", "Cast x -> b", "Opaque a b -> y"}));
  EXPECT_TRUE(result.report.removed.empty());
  EXPECT_EQ(result.report.casts_rerouted, 1u);
}

TEST(Optimise, AWiderValueIsReadOnlyWhereTheNarrowerGoes) {
  const auto chain = [](std::vector<std::string> also) {
    also.push_back("b");
    return NodesOf(Optimised(Through(kInt64,
                                     {CastNode("x", "a", kInt16), CastNode("a", "b", kInt8),
                                      OtherNode(also, "y")},
                                     kInt8))
                       .bytes);
  };
  EXPECT_EQ(chain({}), Lines({"Cast x -> b", "Opaque b -> y"}));
  EXPECT_EQ(chain({"a"}), Lines({"Cast x -> a", "Cast a -> b", "Opaque a b -> y"}));
}

TEST(Optimise, EqualCastsAreJoined) {
  const std::string wild = IntAttribute("saturate", 0);
  const Optimisation result = Optimised(
      Through(kFloat32,
              {CastNode("x", "a", kFloat16), CastNode("x", "b", kFloat16, wild),
               CastNode("x", "c", kFloat8E4M3FN), CastNode("x", "d", kFloat8E4M3FN, wild),
               CastNode("x", "e", kFloat8E4M3FN, wild), OtherNode({"a", "b", "c", "d", "e"}, "y")},
              kFloat32));
  // saturate makes no difference to float16.
  EXPECT_EQ(NodesOf(result.bytes),
            Lines({"Cast x -> a", "Cast x -> c", "Cast x -> d", "Opaque a a c d d -> y"}));
  EXPECT_EQ(RemovedOf(result.report), Lines({"b duplicate", "e duplicate"}));
}

TEST(Optimise, CastLikeIsACastToTheTypeOfItsSecondInput) {
  ModelBytes model = Through(kUint8,
                             {{"CastLike", {"x", "like"}, {"a"}},
                              CastNode("x", "b", kInt32),
                              {"CastLike", {"b", "x"}, {"c"}},
                              OtherNode({"a", "b", "c"}, "y")},
                             kInt32);
  model.inputs.emplace_back("like", kInt32);
  const Optimisation result = Optimised(model);
  EXPECT_EQ(NodesOf(result.bytes), Lines({"CastLike x like -> a", "Opaque a a x -> y"}));
  EXPECT_EQ(RemovedOf(result.report), Lines({"b duplicate", "c round-trip"}));
}

TEST(Optimise, CastLikeKnowsNoFloat6) {
  ModelBytes model = Through(
      kFloat6E2M3, {CastNode("x", "a", kFloat16), {"CastLike", {"a", "like"}, {"y"}}}, kFloat32);
  model.opset = 28;
  model.inputs.emplace_back("like", kFloat32);
  EXPECT_EQ(Optimised(model).bytes, model.Bytes());
}

TEST(Optimise, UnreadCastsGo) {
  const Optimisation result = Optimised(Through(
      kFloat32, {CastNode("x", "a", kFloat16), CastNode("a", "b", kFloat32), OtherNode({"x"}, "y")},
      kFloat32));
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Opaque x -> y"}));
  EXPECT_EQ(RemovedOf(result.report), Lines({"a unread", "b unread"}));
  // A text that is not a number ends the run.
  const ModelBytes text =
      Through(kString, {CastNode("x", "a", kFloat32), {"Identity", {"x"}, {"y"}}}, kString);
  EXPECT_EQ(Optimised(text).bytes, text.Bytes());
}

TEST(Optimise, GraphOutputsStay) {
  ModelBytes model = Through(
      kUint8, {CastNode("x", "a", kInt32), CastNode("a", "y", kUint8), CastNode("x", "z", kUint8)},
      kUint8);
  model.outputs.emplace_back("z", kUint8);
  const Optimisation result = Optimised(model);
  // A copy each.
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Cast x -> y", "Cast x -> z"}));
  EXPECT_EQ(RemovedOf(result.report), Lines({"a round-trip"}));
}

// The pad bits of a caller's buffer may hold anything.
TEST(Optimise, PadBitsAreStillCleared) {
  const ModelBytes model =
      Through(kInt4, {CastNode("x", "a", kInt4), {"Identity", {"a"}, {"y"}}}, kInt4);
  EXPECT_EQ(Optimised(model).bytes, model.Bytes());
  const Optimisation result = Optimised(Through(
      kInt8, {CastNode("x", "a", kInt4), CastNode("a", "b", kInt4), {"Identity", {"b"}, {"y"}}},
      kInt4));
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Cast x -> a", "Identity a -> y"}));
}

TEST(Optimise, TypesAreKeptBySimpleOperators) {
  const Optimisation result = Optimised(Through(kUint8,
                                                {{"Reshape", {"x", "shape"}, {"r"}},
                                                 {"Transpose", {"r"}, {"t"}},
                                                 {"Concat", {"t", "t"}, {"k"}},
                                                 CastNode("k", "a", kUint8),
                                                 OtherNode({"a"}, "y")},
                                                kUint8));
  EXPECT_EQ(result.report.removed.size(), 1u);
  // Of what gives no type away nothing is concluded.
  const ModelBytes unknown = Through(
      kUint8, {OtherNode({"x"}, "u"), CastNode("u", "a", kUint8), OtherNode({"a"}, "y")}, kUint8);
  const Optimisation kept = Optimised(unknown);
  EXPECT_EQ(kept.bytes, unknown.Bytes());
  EXPECT_FALSE(kept.report.changed());
  ASSERT_EQ(kept.report.kept.size(), 1u);
  EXPECT_EQ(kept.report.kept[0].reason, "nothing says the type of its input");
  EXPECT_EQ(kept.report.kept[0].remedy, onnx::KeptRemedy::kInferShapes);
}

TEST(Optimise, ValueInfoIsBelievedAndRemovedWithItsValue) {
  ModelBytes model = Through(
      kUint8, {OtherNode({"x"}, "u"), CastNode("u", "a", kInt16), OtherNode({"a"}, "y")}, kUint8);
  model.graph_fields =
      BytesField(13, ValueMessage("u", kInt16)) + BytesField(13, ValueMessage("a", kInt16));
  const Optimisation result = Optimised(model);
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Opaque x -> u", "Opaque u -> y"}));
  EXPECT_EQ(result.bytes.find(ValueMessage("a", kInt16)), std::string::npos);
  EXPECT_NE(result.bytes.find(ValueMessage("u", kInt16)), std::string::npos);
  // One that contradicts its node makes the value unclear.
  model.graph_fields =
      BytesField(13, ValueMessage("u", kInt16)) + BytesField(13, ValueMessage("a", kInt32));
  EXPECT_EQ(Optimised(model).bytes, model.Bytes());
}

TEST(Optimise, WhatIsNotUnderstoodKeepsItsBytes) {
  const auto stays = [](ModelBytes model, const char* what) {
    EXPECT_EQ(Optimised(model).bytes, model.Bytes()) << what;
  };
  const auto one = [](Node node) {
    return Through(kFloat32, {std::move(node), OtherNode({"a"}, "y")}, kFloat32);
  };
  stays(one({"Cast", {"x"}, {"a"}, To(kFloat32), {}, "elsewhere"}), "another domain");
  stays(one(CastNode("x", "a", kFloat32, IntAttribute("speed", 1))), "an unknown attribute");
  stays(one({"Cast", {"x"}, {"a"}}), "no `to`");
  stays(one({"Cast", {"x", "x"}, {"a"}, To(kFloat32)}), "two inputs");
  stays(one({"Cast", {"x"}, {"a"}, To(kFloat32) + BytesField(10, "device")}), "an unknown field");
  ModelBytes old = one(CastNode("x", "a", kFloat32, IntAttribute("saturate", 1)));
  old.opset = 13;
  stays(old, "an attribute of a later opset");
  ModelBytes overridden = one(CastNode("x", "a", kFloat32));
  Function function{"Cast", {"i"}, {"o"}, {{"Neg", {"i"}, {"o"}}}};
  function.domain = "";
  overridden.functions = {function};
  stays(overridden, "a function of the model's own");
  ModelBytes trained = one(CastNode("x", "a", kFloat32));
  const std::string bytes =
      trained.Bytes() + BytesField(14, BytesField(1, "tensorcast.training") + BytesField(2, "1"));
  const Optimisation result = Optimised(bytes);
  EXPECT_EQ(result.bytes, bytes);
  EXPECT_EQ(result.report.untouched, "the model trains: its gradients go through every Cast");
  const std::string training = trained.Bytes() + BytesField(20, "");
  EXPECT_EQ(Optimised(training).bytes, training);
}

TEST(Optimise, AnnotatedValuesStay) {
  ModelBytes model =
      Through(kFloat32, {CastNode("x", "a", kFloat32), OtherNode({"a"}, "y")}, kFloat32);
  model.graph_fields = BytesField(14, BytesField(1, "a"));
  EXPECT_EQ(Optimised(model).bytes, model.Bytes());
  model.graph_fields = BytesField(
      14, BytesField(1, "x") + BytesField(2, BytesField(1, "SCALE_TENSOR") + BytesField(2, "a")));
  EXPECT_EQ(Optimised(model).bytes, model.Bytes());
}

// ------------------------------------------------------------------------------ subgraphs

std::string Graph(const std::vector<Node>& nodes, const std::string& output, DataType type,
                  const std::string& more = {}) {
  std::string text;
  for (const Node& node : nodes) text += BytesField(1, NodeMessage(node));
  return text + BytesField(2, "s") + BytesField(12, ValueMessage(output, type)) + more;
}
std::string GraphAttribute(const std::string& name, const std::string& graph) {
  return BytesField(5, BytesField(1, name) + BytesField(6, graph) + onnx_test::VarintField(20, 5));
}

TEST(Optimise, SubgraphsReadWhatIsAroundThem) {
  ModelBytes model = Through(
      kUint8,
      {CastNode("x", "a", kInt32),
       {"If",
        {"flag"},
        {"y"},
        GraphAttribute("then_branch", Graph({CastNode("a", "b", kUint8), CastNode("x", "c", kInt32),
                                             OtherNode({"b", "c"}, "t")},
                                            "t", kUint8)) +
            GraphAttribute("else_branch",
                           Graph({CastNode("a", "b", kInt64), OtherNode({"b"}, "e")}, "e", kUint8)),
        "if"}},
      kUint8);
  model.inputs.emplace_back("flag", kBool);
  const Optimisation result = Optimised(model);
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Cast x -> a", "If flag -> y", "Opaque x a -> t",
                                          "Cast x -> b", "Opaque b -> e"}));
  EXPECT_EQ(RemovedOf(result.report), Lines({"b round-trip", "c duplicate"}));
  EXPECT_EQ(result.report.removed[0].graph, "if.then_branch");
}

TEST(Optimise, ASubgraphsOutputStaysWhereverItIsGiven) {
  ModelBytes model = Through(
      kUint8,
      {CastNode("x", "a", kUint8),
       {"If", {"flag"}, {"y"}, GraphAttribute("then_branch", Graph({}, "a", kUint8)), "if"}},
      kUint8);
  model.inputs.emplace_back("flag", kBool);
  EXPECT_EQ(Optimised(model).bytes, model.Bytes());
}

TEST(Optimise, ShadowedNamesAreLeftAlone) {
  ModelBytes model = Through(
      kUint8,
      {CastNode("x", "a", kUint8),
       {"If",
        {"flag"},
        {"y"},
        GraphAttribute("then_branch", Graph({OtherNode({"x"}, "a"), CastNode("a", "b", kUint8),
                                             OtherNode({"b"}, "t")},
                                            "t", kUint8)),
        "if"},
       OtherNode({"a"}, "z")},
      kUint8);
  model.inputs.emplace_back("flag", kBool);
  EXPECT_EQ(Optimised(model).bytes, model.Bytes());
}

TEST(Optimise, FunctionsAreTreatedOnce) {
  ModelBytes model = Through(kFloat32, {{"f", {"x"}, {"y"}, {}, {}, "local"}}, kFloat32);
  model.functions = {
      {"f",
       {"i"},
       {"o"},
       {CastNode("i", "a", kUint8), CastNode("a", "b", kFloat32), CastNode("b", "c", kUint8),
        CastNode("a", "d", kFloat32), OtherNode({"b", "c", "d"}, "o")}}};
  const Optimisation result = Optimised(model);
  EXPECT_EQ(NodesOf(result.bytes),
            Lines({"f x -> y", "Cast i -> a", "Cast a -> b", "Opaque b a b -> o"}));
  EXPECT_EQ(RemovedOf(result.report), Lines({"c round-trip", "d duplicate"}));
  EXPECT_EQ(result.report.removed[0].graph, "local.f");
  // The types of its inputs are the call's, and so is what stands for an attribute of it.
  model.functions[0].nodes = {
      CastNode("i", "a", kFloat32),
      {"Cast", {"a"}, {"o"}, onnx_test::ReferenceAttribute("to", onnx_test::kInt, "kind")}};
  model.functions[0].attributes = {"kind"};
  EXPECT_EQ(Optimised(model).bytes, model.Bytes());
}

// ------------------------------------------------------------------------------ bytes moved

TEST(Optimise, BytesMovedAreToldWhereSizesAreKnown) {
  const auto shaped = [](const std::string& name, DataType type) {
    const std::string dim = BytesField(1, onnx_test::VarintField(1, 1000));
    return BytesField(1, name) +
           BytesField(2, BytesField(1, onnx_test::VarintField(1, static_cast<std::uint64_t>(type)) +
                                           BytesField(2, dim)));
  };
  ModelBytes model = Through(
      kFloat16,
      {CastNode("x", "a", kFloat32), CastNode("a", "y", kFloat64), CastNode("u", "z", kFloat16)},
      kFloat64);
  model.inputs = {{"u", kFloat32}};
  model.outputs = {{"y", kFloat64}, {"z", kFloat16}};
  model.graph_fields = BytesField(11, shaped("x", kFloat16));
  const onnx::OptimizeReport report = Optimised(model).report;
  EXPECT_EQ(report.bytes_moved_before, 2000u + 4000 + 4000 + 8000);
  EXPECT_EQ(report.bytes_moved_after, 2000u + 8000);
  EXPECT_EQ(report.unknown_before, 1u);
  EXPECT_EQ(report.unknown_after, 1u);
}

// ------------------------------------------------------------------------------ means harm

TEST(Optimise, CyclesAndNamesOfTwoMeaningsAreLeftAlone) {
  const auto stays = [](const ModelBytes& model) {
    EXPECT_EQ(Optimised(model).bytes, model.Bytes());
  };
  stays(Through(kUint8,
                {CastNode("b", "a", kInt16), CastNode("a", "b", kUint8), OtherNode({"b"}, "y")},
                kUint8));
  stays(Through(kUint8, {CastNode("a", "a", kUint8), OtherNode({"a"}, "y")}, kUint8));
  stays(Through(kUint8,
                {CastNode("x", "a", kUint8), CastNode("x", "a", kUint8), OtherNode({"a"}, "y")},
                kUint8));
  stays(Through(kUint8, {CastNode("x", "x", kUint8), OtherNode({"x"}, "y")}, kUint8));
  stays(Through(kUint8, {OtherNode({"a"}, "y"), CastNode("x", "a", kUint8)}, kUint8));
  stays(Through(kUint8, {CastNode("nowhere", "a", kUint8), OtherNode({"a"}, "y")}, kUint8));
  stays(Through(kUint8,
                {CastNode("", "a", kUint8), CastNode("x", "", kUint8), OtherNode({"a"}, "y")},
                kUint8));
}

TEST(Optimise, GarbageIsRefusedInOneLine) {
  for (const std::string& bytes : {std::string(), std::string("not a model"),
                                   Through(kUint8, {}, kUint8).Bytes().substr(0, 20)}) {
    std::vector<std::byte> made(1, std::byte{7});
    std::string error;
    const auto status = onnx::Optimize(std::as_bytes(std::span(bytes)), {}, &made, nullptr, &error);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(error.empty());
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_EQ(made.size(), 1u);
  }
}

TEST(Optimise, AHundredThousandNodes) {
  const std::size_t nodes = 100'000;
  ModelBytes model = Through(kUint8, {}, kUint8);
  std::string last = "x";
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::string next = "v" + std::to_string(i);
    model.nodes.push_back(CastNode(last, next, i % 2 == 0 ? kInt32 : kUint8));
    last = next;
  }
  model.nodes.push_back(OtherNode({last}, "y"));
  const Optimisation result = Optimised(model);
  EXPECT_EQ(NodesOf(result.bytes), Lines({"Opaque x -> y"}));
  EXPECT_EQ(result.report.removed.size(), nodes);
}

}  // namespace
