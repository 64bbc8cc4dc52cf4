// Functions of the model: inlined, with their own opset, attributes by reference, and hostile ones.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "cast_models.h"

namespace {

using onnx_test::DataType;
using onnx_test::ExpectRefused;
using onnx_test::Floats;
using onnx_test::Function;
using onnx_test::IntAttribute;
using onnx_test::kF16;
using onnx_test::kF32;
using onnx_test::ModelBytes;
using onnx_test::MustRun;
using onnx_test::Node;
using onnx_test::Parsed;
using onnx_test::ReferenceAttribute;
using onnx_test::StatusCode;
using onnx_test::Tensor;
using onnx_test::TextAttribute;
using onnx_test::To;

Node Call(const std::string& function, std::vector<std::string> inputs,
          std::vector<std::string> outputs, const std::string& attributes = "",
          const std::string& name = "call") {
  return {function, std::move(inputs), std::move(outputs), attributes, name, "local"};
}

// x -> f -> y.
ModelBytes CallModel(DataType from, DataType to, std::vector<Function> functions,
                     const std::string& attributes = "") {
  ModelBytes model;
  model.inputs = {{"x", from}};
  model.outputs = {{"y", to}};
  model.nodes = {Call("f", {"x"}, {"y"}, attributes)};
  model.functions = std::move(functions);
  return model;
}

TEST(Functions, AreInlinedAtEachCall) {
  const Function f{"f",
                   {"a"},
                   {"b"},
                   {{"Cast", {"a"}, {"t"}, To(DataType::kInt8)}, {"Cast", {"t"}, {"b"}, To(kF32)}}};
  ModelBytes model = CallModel(kF32, kF32, {f});
  model.nodes = {Call("f", {"x"}, {"t"}), Call("f", {"t"}, {"y"})};
  const std::vector<Tensor> inputs = {Floats({1.75f, -2.5f, 3})};
  EXPECT_EQ(onnx_test::Data(MustRun(Parsed(model), inputs)[0]), Floats({1, -2, 3}).data);
}

TEST(Functions, HaveTheirOwnOpset) {
  // Inf to float8e4m3fnuz is NaN (0x80) at opset 23, the largest value (0x7F) at 24.
  const std::vector<Tensor> inputs = {Floats({1.0f / 0.0f})};
  for (const std::int64_t opset : {23, 24}) {
    Function f{"f", {"a"}, {"b"}, {{"Cast", {"a"}, {"b"}, To(DataType::kFloat8E4M3FNUZ)}}, opset};
    ModelBytes model = CallModel(kF32, DataType::kFloat8E4M3FNUZ, {f});
    model.opset = 47 - opset;
    EXPECT_EQ(onnx_test::Data(MustRun(Parsed(model), inputs)[0]), opset == 23 ? "\x80" : "\x7F");
  }
  Function f{"f", {"a"}, {"b"}, {{"Cast", {"a"}, {"b"}, To(kF16), "inner"}}, std::nullopt};
  ExpectRefused(
      CallModel(kF32, kF16, {f}), StatusCode::kBadFile,
      "node \"inner\" (Cast, in the function \"f\" called by node \"call\") has no version: "
      "the function has no opset_import of the domain ai.onnx");
  f.opset = 12;
  f.nodes[0].attributes = To(DataType::kBfloat16);
  EXPECT_EQ(Parsed(CallModel(kF32, DataType::kBfloat16, {f})).status.code(), StatusCode::kBadFile);
}

TEST(Functions, AttributesByReference) {
  Function f{"f",
             {"a"},
             {"b"},
             {{"Cast",
               {"a"},
               {"b"},
               ReferenceAttribute("to", onnx_test::kInt, "type") +
                   ReferenceAttribute("saturate", onnx_test::kInt, "clip"),
               "inner"}}};
  f.attributes = {"type", "clip"};
  const std::vector<Tensor> inputs = {Floats({1e9f})};
  const auto result = [&](const std::vector<Function>& functions, const std::string& attributes) {
    const ModelBytes model = CallModel(kF32, DataType::kFloat8E4M3FN, functions, attributes);
    return onnx_test::Data(MustRun(Parsed(model), inputs)[0]);
  };
  const std::string type = IntAttribute("type", 17);
  EXPECT_EQ(result({f}, type + IntAttribute("clip", 1)), "\x7E");
  EXPECT_EQ(result({f}, type + IntAttribute("clip", 0)), "\x7F");
  EXPECT_EQ(result({f}, type), "\x7E");  // left out: the operator's own default
  f.attributes = {"type"};
  f.defaults = {IntAttribute("clip", 0)};
  EXPECT_EQ(result({f}, type), "\x7F");
  EXPECT_EQ(result({f}, type + IntAttribute("clip", 1)), "\x7E");

  // Through two functions, each with a name of its own for it.
  Function outer{"f",
                 {"a"},
                 {"b"},
                 {Call("g", {"a"}, {"b"}, ReferenceAttribute("type", onnx_test::kInt, "kind"))}};
  outer.attributes = {"kind"};
  f.name = "g";
  EXPECT_EQ(result({outer, f}, IntAttribute("kind", 17)), "\x7F");

  f.name = "f";
  ExpectRefused(
      CallModel(kF32, kF16, {f}), StatusCode::kBadFile,
      "node \"inner\" (Cast, in the function \"f\" called by node \"call\") has no "
      "attribute \"to\": the type to cast to; Cast-25 at opset 25 casts float32, uint8, "
      "int8, uint16, int16, int32, int64, string, bool, float16, float64, uint32, uint64, "
      "bfloat16, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, "
      "float4e2m1, float8e8m0, uint2 and int2");
  ExpectRefused(CallModel(kF32, kF16, {f}, type + IntAttribute("colour", 1)), StatusCode::kBadFile,
                "node \"call\" (f) has the attribute \"colour\", which its function does not have");
  ExpectRefused(CallModel(kF32, kF16, {f}, type + type), StatusCode::kBadFile,
                "node \"call\" (f) has the attribute \"type\" twice");
  ModelBytes bare =
      onnx_test::CastModel(25, kF32, kF16, ReferenceAttribute("to", onnx_test::kInt, "type"));
  ExpectRefused(bare, StatusCode::kBadFile,
                "node \"c\" (Cast) has the attribute \"to\", a reference to \"type\"; only in a "
                "function there is something to refer to");
}

TEST(Functions, ConstantsByReference) {
  Function f{"f",
             {},
             {"b"},
             {{"Constant", {}, {"b"}, ReferenceAttribute("value", onnx_test::kTensor, "what")}}};
  f.attributes = {"what"};
  ModelBytes model;
  model.outputs = {{"y", kF32}, {"z", kF32}};
  const auto tensor = [](const Tensor& t) {
    return onnx_test::TensorAttribute("what",
                                      onnx_test::TensorMessage("", t.type, t.shape, t.data));
  };
  model.nodes = {Call("f", {}, {"y"}, tensor(Floats({1, 2}))),
                 Call("f", {}, {"z"}, tensor(Floats({3})))};
  model.functions = {f};
  const Parsed parsed(model);
  const auto outputs = MustRun(parsed, {});
  EXPECT_EQ(onnx_test::Data(outputs[0]), Floats({1, 2}).data);
  EXPECT_EQ(onnx_test::Data(outputs[1]), Floats({3}).data);
}

TEST(Functions, AreFoundByDomainNameAndOverload) {
  Function f{"f", {"a"}, {"b"}, {{"Cast", {"a"}, {"b"}, To(kF16)}}};
  Function other = f;
  other.overload = "wide";
  other.nodes[0].attributes = To(DataType::kFloat64);
  ModelBytes model = CallModel(kF32, DataType::kFloat64, {f, other});
  model.nodes[0].overload = "wide";
  EXPECT_TRUE(Parsed(model).status.ok());
  model.nodes[0].overload = "none";
  EXPECT_EQ(Parsed(model).status.code(), StatusCode::kUnsupportedFile);
  model.nodes[0].overload = "";
  model.nodes[0].domain = "elsewhere";
  EXPECT_EQ(Parsed(model).status.code(), StatusCode::kUnsupportedFile);
  ExpectRefused(CallModel(kF32, kF16, {f, f}), StatusCode::kBadFile,
                "has the function \"f\" of the domain \"local\" twice");
}

TEST(Functions, OptionalInputsAndOutputs) {
  // The second input and output may be left out, at the end and by an empty name.
  Function f{"f",
             {"a", "like"},
             {"b", "c"},
             {{"Cast", {"a"}, {"b"}, To(kF16)}, {"Identity", {"a"}, {"c"}}}};
  ModelBytes model = CallModel(kF32, kF16, {f});
  const std::vector<Tensor> inputs = {Floats({1})};
  EXPECT_EQ(onnx_test::Data(MustRun(Parsed(model), inputs)[0]), std::string("\x00\x3C", 2));
  model.nodes[0] = Call("f", {"x", ""}, {"y", ""});
  EXPECT_EQ(onnx_test::Data(MustRun(Parsed(model), inputs)[0]), std::string("\x00\x3C", 2));
  model.nodes[0] = Call("f", {"x", "", ""}, {"y"});
  ExpectRefused(model, StatusCode::kBadFile,
                "node \"call\" (f) has 3 inputs; the function takes 2");
  model.nodes[0] = Call("f", {"x"}, {"y", "z", "w"});
  ExpectRefused(model, StatusCode::kBadFile,
                "node \"call\" (f) has 3 outputs; the function gives 2");
  // What is absent may be handed on to another function, but not read.
  const Function g{"g", {"p", "q"}, {"r"}, {Call("f", {"p", "q"}, {"r"})}};
  model = CallModel(kF32, kF16, {f, g});
  model.nodes[0] = Call("g", {"x"}, {"y"});
  EXPECT_TRUE(Parsed(model).status.ok());
  f.nodes[0] = {"CastLike", {"a", "like"}, {"b"}, "", "inner"};
  ExpectRefused(CallModel(kF32, kF16, {f}), StatusCode::kBadFile,
                "node \"inner\" (CastLike, in the function \"f\" called by node \"call\") reads "
                "\"like\", an input of its function that the call leaves out");
}

TEST(Functions, NamesInsideAreTheirOwn) {
  // "x" is the caller's; the function does not see it.
  Function f{"f", {"a"}, {"b"}, {{"Identity", {"x"}, {"b"}, "", "inner"}}};
  ExpectRefused(CallModel(kF32, kF32, {f}), StatusCode::kBadFile,
                "node \"inner\" (Identity, in the function \"f\" called by node \"call\") reads "
                "\"x\", which nothing gives");
  f.nodes[0] = {"Cast", {"a"}, {"y"}, To(kF16)};
  ExpectRefused(
      CallModel(kF32, kF32, {f}), StatusCode::kBadFile,
      "node \"call\" (f) calls the function \"f\", whose output \"b\" no node of it gives");
  f.inputs = {"a", "a"};
  ExpectRefused(CallModel(kF32, kF32, {f}), StatusCode::kBadFile,
                "node \"call\" (f) calls the function \"f\", which has the input \"a\" twice");
}

TEST(Functions, RecursionIsRefused) {
  Function f{"f", {"a"}, {"b"}, {Call("f", {"a"}, {"b"}, "", "again")}};
  ExpectRefused(CallModel(kF32, kF32, {f}), StatusCode::kBadFile,
                "node \"again\" (f, in the function \"f\" called by node \"call\") calls the "
                "function \"f\" from within itself");
  f.nodes[0].op = "g";
  Function g{"g", {"a"}, {"b"}, {Call("f", {"a"}, {"b"}, "", "back")}};
  ExpectRefused(CallModel(kF32, kF32, {f, g}), StatusCode::kBadFile,
                "node \"back\" (f, in the function \"g\" called by node \"again\") calls the "
                "function \"f\" from within itself");
}

// Function k calls function k - 1 `calls` times; function 0 casts.
std::vector<Function> Tower(int height, int calls) {
  std::vector<Function> functions;
  for (int k = 0; k < height; ++k) {
    Function function{
        k == height - 1 ? "f" : "f" + std::to_string(k), {"v0"}, {"v" + std::to_string(calls)}, {}};
    for (int i = 0; i < calls; ++i) {
      const std::string in = "v" + std::to_string(i);
      const std::string out = "v" + std::to_string(i + 1);
      if (k == 0) {
        function.nodes.push_back({"Cast", {in}, {out}, To(kF32)});
      } else {
        function.nodes.push_back(Call("f" + std::to_string(k - 1), {in}, {out}));
      }
    }
    functions.push_back(std::move(function));
  }
  return functions;
}

TEST(Functions, ATowerDoesNotExplode) {
  EXPECT_TRUE(Parsed(CallModel(kF32, kF32, Tower(10, 2))).status.ok());
  EXPECT_TRUE(Parsed(CallModel(kF32, kF32, Tower(150, 1))).status.ok());
  const auto begin = std::chrono::steady_clock::now();
  const Parsed wide(CallModel(kF32, kF32, Tower(20, 10)));
  EXPECT_EQ(wide.status.code(), StatusCode::kUnsupportedFile);
  EXPECT_NE(wide.error.find("with its functions inlined the model has more than 10000000 nodes"),
            std::string::npos)
      << wide.error;
  const Parsed deep(CallModel(kF32, kF32, Tower(1000, 1)));
  EXPECT_EQ(deep.status.code(), StatusCode::kUnsupportedFile);
  EXPECT_NE(deep.error.find("is a call of a function inside 200 others"), std::string::npos)
      << deep.error;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  // The same with functions that do nothing at all.
  std::vector<Function> empty = Tower(40, 2);
  empty[0].nodes.clear();
  empty[0].outputs = {"v0"};
  EXPECT_EQ(Parsed(CallModel(kF32, kF32, empty)).status.code(), StatusCode::kUnsupportedFile);
}

TEST(Functions, LongNamesCountToo) {
  // Half a megabyte of name, looked up at each of a million calls.
  std::vector<Function> functions = Tower(20, 2);
  const std::string name(500'000, 'n');
  functions[0] = {"f0", {name}, {name}, {}};
  EXPECT_EQ(Parsed(CallModel(kF32, kF32, functions)).status.code(), StatusCode::kUnsupportedFile);
}

TEST(Functions, ThatNobodyCallsAreNotChecked) {
  Function broken{"g", {"a"}, {"b"}, {{"Softmax", {"zzz"}, {"b"}}}};
  ModelBytes model = onnx_test::CastModel(25, kF32, kF16, To(kF16));
  model.functions = {broken};
  EXPECT_TRUE(Parsed(model).status.ok());
}

}  // namespace
