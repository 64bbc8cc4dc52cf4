// Models that break a rule: the code, and the text word for word where it says what to do.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cast_models.h"

namespace {

using onnx_test::CastModel;
using onnx_test::DataType;
using onnx_test::ExpectRefused;
using onnx_test::IntAttribute;
using onnx_test::kF16;
using onnx_test::kF32;
using onnx_test::ModelBytes;
using onnx_test::Node;
using onnx_test::Parsed;
using onnx_test::StatusCode;
using onnx_test::TextAttribute;

void ExpectBadCast(std::int64_t opset, const std::string& attributes, const std::string& why) {
  ExpectRefused(CastModel(opset, kF32, kF16, attributes), StatusCode::kBadFile,
                "node \"c\" (Cast) " + why);
}

constexpr char kTypes6[] =
    "float32, uint8, int8, uint16, int16, int32, int64, bool, float16, float64, uint32 and uint64";
constexpr char kTypes13[] =
    "float32, uint8, int8, uint16, int16, int32, int64, string, bool, float16, float64, uint32, "
    "uint64 and bfloat16";

TEST(Errors, To) {
  const std::string legal13 = std::string("Cast-13 at opset 14 casts ") + kTypes13;
  ExpectBadCast(14, "", "has no attribute \"to\": the type to cast to; " + legal13);
  ExpectBadCast(14, IntAttribute("to", 0), "has the attribute \"to\" = 0 (UNDEFINED); " + legal13);
  ExpectBadCast(14, IntAttribute("to", 14),
                "has the attribute \"to\" = 14 (COMPLEX64); " + legal13);
  ExpectBadCast(14, IntAttribute("to", 15),
                "has the attribute \"to\" = 15 (COMPLEX128); " + legal13);
  ExpectBadCast(14, IntAttribute("to", 99),
                "has the attribute \"to\" = 99, which is not a type; " + legal13);
  ExpectBadCast(14, IntAttribute("to", -1),
                "has the attribute \"to\" = -1, which is not a type; " + legal13);
  // A number that is 10 modulo 2^32.
  ExpectBadCast(14, IntAttribute("to", (std::int64_t{1} << 32) + 10),
                "has the attribute \"to\" = 4294967306, which is not a type; " + legal13);
  ExpectBadCast(14, IntAttribute("to", 22),
                "has the attribute \"to\" = 22 (INT4); " + legal13 +
                    "; int4 needs opset 21: upgrade the model with onnx.version_converter");
  ExpectBadCast(14, TextAttribute("to", "FLOAT16"),
                "has the attribute \"to\" = \"FLOAT16\", a STRING; that of Cast-13 is an INT, the "
                "number of a type");
  ExpectBadCast(14, onnx_test::FloatAttribute("to", 10),
                "has the attribute \"to\" = 10.000000, a FLOAT; that of Cast-13 is an INT, the "
                "number of a type");
  ExpectBadCast(14, IntAttribute("to", 10) + IntAttribute("to", 10),
                "has the attribute \"to\" twice");
}

TEST(Errors, ToAsText) {
  const std::string legal = std::string("; Cast-1 at opset 5 casts ") + kTypes6;
  ExpectBadCast(5, TextAttribute("to", "half"),
                "has the attribute \"to\" = \"half\", which is not a type" + legal);
  ExpectBadCast(5, TextAttribute("to", ""),
                "has the attribute \"to\" = \"\", which is not a type" + legal);
  ExpectBadCast(5, TextAttribute("to", "a\nb\x1b[31m"),
                "has the attribute \"to\" = \"a\\x0Ab\\x1B[31m\", which is not a type" + legal);
  ExpectBadCast(5, TextAttribute("to", "STRING"),
                "has the attribute \"to\" = \"STRING\" (STRING)" + legal +
                    "; string needs opset 9: upgrade the model with onnx.version_converter");
  ExpectBadCast(5, IntAttribute("to", 10),
                "has the attribute \"to\" = 10, an INT; that of Cast-1 is a STRING, a type's name");
}

TEST(Errors, AttributesOfOtherVersions) {
  const std::string to = IntAttribute("to", 10);
  ExpectBadCast(
      18, to + IntAttribute("saturate", 0),
      "has the attribute \"saturate\" = 0, which Cast-13 does not have; it came with opset "
      "19");
  ExpectBadCast(
      23, to + TextAttribute("round_mode", "up"),
      "has the attribute \"round_mode\" = \"up\", which Cast-23 does not have; it came with "
      "opset 24");
  ExpectBadCast(25, to + IntAttribute("axis", 3),
                "has the attribute \"axis\" = 3, which Cast-25 does not have; it has \"to\", "
                "\"saturate\", \"round_mode\"");
  ExpectBadCast(25, to + IntAttribute("saturate", 1) + IntAttribute("saturate", 1),
                "has the attribute \"saturate\" twice");
}

TEST(Errors, AttributeValues) {
  const std::string to = IntAttribute("to", 10);
  for (const char* mode : {"UP", "Up", "bogus", "", "nearest "}) {
    ExpectBadCast(25, to + TextAttribute("round_mode", mode),
                  std::string("has the attribute \"round_mode\" = \"") + mode +
                      "\"; expected up, down or nearest, in lower case");
  }
  ExpectBadCast(
      25, to + IntAttribute("round_mode", 1),
      "has the attribute \"round_mode\" = 1, an INT; it is a STRING: up, down or nearest");
  ExpectBadCast(25, to + TextAttribute("saturate", "1"),
                "has the attribute \"saturate\" = \"1\", a STRING; it is an INT, 0 or 1");
}

TEST(Errors, CastLike) {
  ModelBytes model;
  model.opset = 14;
  model.inputs = {{"x", kF32}, {"t", kF16}};
  model.outputs = {{"y", kF16}};
  model.nodes = {{"CastLike", {"x", "t"}, {"y"}, "", "l"}};
  ExpectRefused(
      model, StatusCode::kBadFile,
      "node \"l\" (CastLike) does not exist at opset 14; it came with opset 15: upgrade the "
      "model with onnx.version_converter");
  model.opset = 15;
  model.nodes[0].attributes = IntAttribute("to", 10);
  ExpectRefused(model, StatusCode::kBadFile,
                "node \"l\" (CastLike) has the attribute \"to\" = 10, which CastLike-15 does not "
                "have; it has no attributes");
  model.nodes[0].attributes = IntAttribute("saturate", 0);
  ExpectRefused(model, StatusCode::kBadFile,
                "node \"l\" (CastLike) has the attribute \"saturate\" = 0, which CastLike-15 does "
                "not have; it came with opset 19");
  model.nodes[0].attributes = "";
  model.inputs[1].second = DataType::kFloat8E5M2;
  const std::string legal = std::string("; CastLike-15 at opset 15 casts ") + kTypes13 +
                            "; float8e5m2 needs opset 19: upgrade the model with "
                            "onnx.version_converter";
  ExpectRefused(
      model, StatusCode::kBadFile,
      "node \"l\" (CastLike) has the second input of type float8e5m2, which its opset does "
      "not cast" +
          legal);
  model.inputs = {{"x", DataType::kFloat8E5M2}, {"t", kF16}};
  ExpectRefused(
      model, StatusCode::kBadFile,
      "node \"l\" (CastLike) has the first input of type float8e5m2, which its opset does "
      "not cast" +
          legal);
  model.nodes[0].inputs = {"x"};
  ExpectRefused(model, StatusCode::kBadFile, "node \"l\" (CastLike) has 1 input; it takes 2");
  model.nodes[0].inputs = {"x", ""};
  ExpectRefused(model, StatusCode::kBadFile,
                "node \"l\" (CastLike) leaves out an input that it needs");
}

TEST(Errors, NumbersOfInputsAndOutputs) {
  ModelBytes model = CastModel(25, kF32, kF16, IntAttribute("to", 10));
  model.nodes[0].inputs = {};
  ExpectRefused(model, StatusCode::kBadFile, "node \"c\" (Cast) has 0 inputs; it takes 1");
  model.nodes[0].inputs = {"x", "x"};
  ExpectRefused(model, StatusCode::kBadFile, "node \"c\" (Cast) has 2 inputs; it takes 1");
  model.nodes[0].inputs = {"x"};
  model.nodes[0].outputs = {"y", "z"};
  ExpectRefused(model, StatusCode::kBadFile, "node \"c\" (Cast) has 2 outputs; it gives 1");
  model.nodes[0].outputs = {};
  ExpectRefused(model, StatusCode::kBadFile, "node \"c\" (Cast) has 0 outputs; it gives 1");
}

TEST(Errors, Names) {
  const std::string to = IntAttribute("to", 10);
  ModelBytes model = CastModel(25, kF32, kF16, to);
  model.nodes[0].inputs = {"nothing"};
  ExpectRefused(model, StatusCode::kBadFile,
                "node \"c\" (Cast) reads \"nothing\", which nothing gives");
  model.nodes[0].inputs = {"y"};
  ExpectRefused(model, StatusCode::kBadFile,
                "node \"c\" (Cast) reads \"y\", which it gives itself");
  model.nodes = {{"Cast", {"later"}, {"y"}, to}, {"Cast", {"x"}, {"later"}, to}};
  ExpectRefused(model, StatusCode::kBadFile,
                "the node that gives \"y\" (Cast) reads \"later\", which a later node gives; nodes "
                "are in the order in which they run");
  model.nodes = {{"Cast", {"x"}, {"y"}, to}, {"Cast", {"x"}, {"y"}, to, "again"}};
  ExpectRefused(model, StatusCode::kBadFile,
                "node \"again\" (Cast) gives \"y\", which is given before; a name has one value");
  model.nodes = {{"Cast", {"x"}, {"x"}, to, "over"}};
  ExpectRefused(model, StatusCode::kBadFile,
                "node \"over\" (Cast) gives \"x\", which is given before; a name has one value");
  model.nodes = {};
  ExpectRefused(model, StatusCode::kBadFile, "the output \"y\" is given by no node");
  model = CastModel(25, kF32, kF16, to);
  model.inputs.push_back({"x", kF32});
  ExpectRefused(model, StatusCode::kBadFile, "the input \"x\" is in the graph twice");
  model = CastModel(25, kF32, kF16, to);
  model.outputs.push_back({"y", kF16});
  ExpectRefused(model, StatusCode::kBadFile, "the output \"y\" is in the graph twice");
}

TEST(Errors, DeclaredTypes) {
  ModelBytes model = CastModel(25, kF32, DataType::kInt8, IntAttribute("to", 10));
  ExpectRefused(model, StatusCode::kBadFile,
                "the output \"y\" is declared int8, but its node gives float16");
  model = CastModel(25, kF32, kF16, IntAttribute("to", 10));
  model.graph_fields = onnx_test::BytesField(13, onnx_test::ValueMessage("y", DataType::kBfloat16));
  ExpectRefused(model, StatusCode::kBadFile,
                "the value \"y\" is declared bfloat16, but its node gives float16");
  model.graph_fields = onnx_test::BytesField(11, onnx_test::ValueMessage("z", 14));
  ExpectRefused(model, StatusCode::kUnsupportedFile,
                "the input \"z\" has the element type 14, which is not a type that is cast");
  model.graph_fields = onnx_test::BytesField(11, onnx_test::BytesField(1, "z"));
  ExpectRefused(model, StatusCode::kBadFile, "the input \"z\" has no type");
  // A TypeProto whose sequence_type (4) is empty.
  model.graph_fields = onnx_test::BytesField(
      11, onnx_test::BytesField(1, "z") + onnx_test::BytesField(2, onnx_test::BytesField(4, "")));
  ExpectRefused(
      model, StatusCode::kUnsupportedFile,
      "the input \"z\" is not a tensor (a sequence, a map or an optional); only tensors are "
      "cast");
}

TEST(Errors, OtherOperators) {
  ModelBytes model = CastModel(25, kF32, kF16, IntAttribute("to", 10));
  model.nodes.push_back({"Add", {"x", "x"}, {"z"}, "", "sum"});
  ExpectRefused(model, StatusCode::kUnsupportedFile,
                "node \"sum\" (Add) is an operator of ai.onnx that is not run here; only Cast, "
                "CastLike, Identity, Constant and functions of the model are");
  model.nodes.back() = {"Cast", {"x"}, {"z"}, IntAttribute("to", 10), "theirs", "com.example"};
  ExpectRefused(
      model, StatusCode::kUnsupportedFile,
      "node \"theirs\" (Cast) is of the domain \"com.example\" that is not run here; only "
      "Cast, CastLike, Identity, Constant and functions of the model are");
}

TEST(Errors, NoOpset) {
  ModelBytes model = CastModel(25, kF32, kF16, IntAttribute("to", 10));
  model.opset.reset();
  ExpectRefused(model, StatusCode::kBadFile,
                "node \"c\" (Cast) has no version: the model has no opset_import of the domain "
                "ai.onnx");
  // Where no node has a version there is nothing to choose.
  model.nodes = {{"Identity", {"x"}, {"y"}}};
  model.outputs[0].second = kF32;
  EXPECT_TRUE(Parsed(model).status.ok());
}

TEST(Errors, Initializers) {
  ModelBytes model = CastModel(25, kF32, kF16, IntAttribute("to", 10));
  const std::string four(4, '\0');
  model.initializers = {onnx_test::TensorMessage("x", DataType::kInt32, {1}, four)};
  ExpectRefused(model, StatusCode::kBadFile,
                "the initializer \"x\" is int32, the input of its name float32");
  model.initializers = {onnx_test::TensorMessage("w", kF32, {1}, four),
                        onnx_test::TensorMessage("w", kF32, {1}, four)};
  ExpectRefused(model, StatusCode::kBadFile, "the initializer \"w\" is in the graph twice");
  model.inputs = {};
  model.initializers = {onnx_test::TensorMessage("x", static_cast<DataType>(14), {1}, four + four)};
  ExpectRefused(
      model, StatusCode::kUnsupportedFile,
      "node \"c\" (Cast) reads \"x\", a tensor of type 14, which is not a type that is cast");
  model.initializers = {};
  model.graph_fields = onnx_test::BytesField(15, "");  // a sparse initializer
  ExpectRefused(model, StatusCode::kUnsupportedFile,
                "node \"c\" (Cast) reads \"x\", which nothing gives; sparse initializers are not "
                "read");
}

TEST(Errors, ExternalDataOfAModelInMemory) {
  ModelBytes model = CastModel(25, kF32, kF16, IntAttribute("to", 10));
  model.inputs = {};
  const std::string entry = onnx_test::BytesField(1, "location") + onnx_test::BytesField(2, "w");
  model.initializers = {onnx_test::VarintField(1, 1) + onnx_test::VarintField(2, 1) +
                        onnx_test::BytesField(8, "x") + onnx_test::BytesField(13, entry) +
                        onnx_test::VarintField(14, 1)};
  ExpectRefused(
      model, StatusCode::kUnsupportedFile,
      "tensor \"x\" has external data, which a model in memory has no directory for; load "
      "it from its file");
}

TEST(Errors, Constants) {
  const auto refused = [](const std::string& attributes, StatusCode code, const std::string& why,
                          std::int64_t opset = 25) {
    ModelBytes model;
    model.opset = opset;
    model.outputs = {{"y", kF32}};
    model.nodes = {{"Constant", {}, {"y"}, attributes, "k"}};
    ExpectRefused(model, code, "node \"k\" (Constant) " + why);
  };
  refused("", StatusCode::kBadFile, "has 0 attributes; a Constant has one, its value");
  refused(onnx_test::FloatAttribute("value_float", 1) + IntAttribute("value_int", 1),
          StatusCode::kBadFile, "has 2 attributes; a Constant has one, its value");
  refused(IntAttribute("value", 1), StatusCode::kBadFile,
          "has the attribute \"value\", an INT; expected a TENSOR");
  refused(IntAttribute("value_float", 1), StatusCode::kBadFile,
          "has the attribute \"value_float\", an INT; expected the kind that its name says");
  refused(IntAttribute("to", 1), StatusCode::kBadFile,
          "has the attribute \"to\"; a Constant has value, value_float, value_floats, value_int, "
          "value_ints, value_string or value_strings");
  refused(onnx_test::FloatAttribute("value_float", 1), StatusCode::kBadFile,
          "has the attribute \"value_float\" at opset 11; it came with opset 12", 11);
  refused(onnx_test::AttributeField("sparse_value", static_cast<onnx_test::AttributeKind>(11),
                                    onnx_test::BytesField(22, "")),
          StatusCode::kUnsupportedFile, "is a sparse tensor; only dense ones are cast");
}

TEST(Errors, BytesThatAreNoModel) {
  for (const std::string& bytes :
       {std::string(), std::string("PK\x03\x04"), std::string(100, 'x')}) {
    const Parsed parsed(bytes);
    EXPECT_EQ(parsed.status.code(), StatusCode::kBadFile) << parsed.error;
    EXPECT_EQ(parsed.error.substr(0, 11), "the model: ") << parsed.error;
  }
}

TEST(Errors, EveryCutOfAModelIsRefusedOrLoads) {
  ModelBytes model =
      CastModel(25, kF32, kF16, IntAttribute("to", 10) + TextAttribute("round_mode", "up"));
  model.functions = {{"f", {"a"}, {"b"}, {{"Identity", {"a"}, {"b"}}}}};
  model.initializers = {onnx_test::TensorMessage("x", kF32, {2}, std::string(8, '\1'))};
  const std::string bytes = model.Bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Parsed parsed(bytes.substr(0, size));
    EXPECT_EQ(parsed.status.ok(), parsed.error.empty()) << size;
  }
}

TEST(Errors, MissingFile) {
  tensorcast::Session session;
  std::string error;
  EXPECT_EQ(tensorcast::Session::Load("/nonexistent/m.onnx", {}, &session, &error).code(),
            StatusCode::kFileError);
  EXPECT_NE(error.find("/nonexistent/m.onnx"), std::string::npos) << error;
  EXPECT_EQ(tensorcast::Session::Load("/nonexistent/m.onnx", {}, &session).code(),
            StatusCode::kFileError);
}

TEST(Errors, Options) {
  tensorcast::onnx::LoadOptions options;
  options.contradictions = static_cast<tensorcast::onnx::Contradictions>(2);
  const Parsed parsed(CastModel(25, kF32, kF16, IntAttribute("to", 10)), options);
  EXPECT_EQ(parsed.status.code(), StatusCode::kInvalidOption);
  EXPECT_FALSE(parsed.error.empty());
}

}  // namespace
