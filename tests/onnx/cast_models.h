// ONNX models put together by hand: messages by the field numbers of onnx.proto, no library.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ONNX_CAST_MODELS_H_
#define TENSORCAST_TESTS_ONNX_CAST_MODELS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorcast/onnx.hpp"
#include "tensorcast/session.hpp"
#include "wire_bytes.h"

namespace onnx_test {

using tensorcast::DataType;
using tensorcast::Status;
using tensorcast::StatusCode;
using tensorcast::io::BytesField;
using tensorcast::io::LittleEndian;
using tensorcast::io::Negative;
using tensorcast::io::Tag;
using tensorcast::io::Varint;
using tensorcast::io::VarintField;

inline constexpr auto kF32 = DataType::kFloat32;
inline constexpr auto kF16 = DataType::kFloat16;
inline constexpr auto kStrings = DataType::kString;

// Numbers of AttributeProto.AttributeType.
enum AttributeKind : std::uint64_t {
  kFloat = 1,
  kInt = 2,
  kText = 3,
  kTensor = 4,
  kFloats = 6,
  kInts = 7,
  kTexts = 8,
};

inline std::uint32_t FloatBits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Attributes, as the fields that a node holds.
inline std::string AttributeField(std::string_view name, AttributeKind kind,
                                  std::string_view value) {
  return BytesField(5, BytesField(1, name) + std::string(value) + VarintField(20, kind));
}
inline std::string IntAttribute(std::string_view name, std::int64_t value) {
  return AttributeField(name, kInt, Tag(3, 0) + Negative(value));
}
inline std::string FloatAttribute(std::string_view name, float value) {
  return AttributeField(name, kFloat, Tag(2, 5) + LittleEndian(FloatBits(value), 4));
}
inline std::string TextAttribute(std::string_view name, std::string_view value) {
  return AttributeField(name, kText, BytesField(4, value));
}
inline std::string TensorAttribute(std::string_view name, std::string_view tensor) {
  return AttributeField(name, kTensor, BytesField(5, tensor));
}
inline std::string ReferenceAttribute(std::string_view name, AttributeKind kind,
                                      std::string_view refers_to) {
  return AttributeField(name, kind, BytesField(21, refers_to));
}
inline std::string To(DataType type) { return IntAttribute("to", static_cast<int>(type)); }

struct Node {
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string attributes = {};  // fields
  std::string name = {};
  std::string domain = {};
  std::string overload = {};
};

inline std::string NodeMessage(const Node& node) {
  std::string text;
  for (const std::string& input : node.inputs) text += BytesField(1, input);
  for (const std::string& output : node.outputs) text += BytesField(2, output);
  if (!node.name.empty()) text += BytesField(3, node.name);
  text += BytesField(4, node.op) + node.attributes;
  if (!node.domain.empty()) text += BytesField(7, node.domain);
  if (!node.overload.empty()) text += BytesField(8, node.overload);
  return text;
}

inline std::string TensorMessage(std::string_view name, DataType type,
                                 std::vector<std::uint64_t> shape, std::string_view raw) {
  std::string text;
  for (const std::uint64_t size : shape) text += VarintField(1, size);
  text += VarintField(2, static_cast<std::uint64_t>(type));
  return text + BytesField(8, name) + BytesField(9, raw);
}

inline std::string TextTensorMessage(std::string_view name, std::vector<std::string> texts) {
  std::string text = VarintField(1, texts.size()) +
                     VarintField(2, static_cast<std::uint64_t>(DataType::kString)) +
                     BytesField(8, name);
  for (const std::string& value : texts) text += BytesField(6, value);
  return text;
}

inline std::string OpsetMessage(std::string_view domain, std::int64_t version) {
  return (domain.empty() ? std::string() : BytesField(1, domain)) + Tag(2, 0) + Negative(version);
}

// A value of a tensor type; nothing of its shape is said.
inline std::string ValueMessage(std::string_view name, std::uint64_t type) {
  return BytesField(1, name) + BytesField(2, BytesField(1, VarintField(1, type)));
}
inline std::string ValueMessage(std::string_view name, DataType type) {
  return ValueMessage(name, static_cast<std::uint64_t>(type));
}

struct Function {
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Node> nodes;
  std::optional<std::int64_t> opset = 25;
  std::vector<std::string> attributes = {};  // names
  // Fields that a node would hold; they become defaults.
  std::vector<std::string> defaults = {};
  std::string domain = "local";
  std::string overload = {};
};

inline std::string FunctionMessage(const Function& function) {
  std::string text = BytesField(1, function.name);
  for (const std::string& input : function.inputs) text += BytesField(4, input);
  for (const std::string& output : function.outputs) text += BytesField(5, output);
  for (const std::string& name : function.attributes) text += BytesField(6, name);
  for (const Node& node : function.nodes) text += BytesField(7, NodeMessage(node));
  if (function.opset) text += BytesField(9, OpsetMessage("", *function.opset));
  text += BytesField(10, function.domain);
  // The tag of field 5 takes one byte, as that of field 11 does.
  for (const std::string& field : function.defaults) text += Tag(11, 2) + field.substr(1);
  if (!function.overload.empty()) text += BytesField(13, function.overload);
  return text;
}

// A model; its parts are public, to be put together at will.
struct ModelBytes {
  std::optional<std::int64_t> opset = 25;
  std::uint64_t ir_version = 10;
  std::vector<std::pair<std::string, DataType>> inputs = {};
  std::vector<std::pair<std::string, DataType>> outputs = {};
  std::vector<Node> nodes = {};
  std::vector<std::string> initializers = {};  // messages
  std::vector<Function> functions = {};
  std::string graph_fields = {};  // more of them

  std::string Bytes() const {
    std::string graph;
    for (const Node& node : nodes) graph += BytesField(1, NodeMessage(node));
    graph += BytesField(2, "g");
    for (const std::string& tensor : initializers) graph += BytesField(5, tensor);
    for (const auto& [name, type] : inputs) graph += BytesField(11, ValueMessage(name, type));
    for (const auto& [name, type] : outputs) graph += BytesField(12, ValueMessage(name, type));
    graph += graph_fields;
    std::string model = VarintField(1, ir_version) + BytesField(7, graph);
    if (opset) model += BytesField(8, OpsetMessage("", *opset));
    for (const Function& function : functions) model += BytesField(25, FunctionMessage(function));
    return model;
  }
};

// x -> Cast -> y, of types and attributes as given.
inline ModelBytes CastModel(std::int64_t opset, DataType from, DataType to,
                            std::string attributes) {
  ModelBytes model;
  model.opset = opset;
  model.inputs = {{"x", from}};
  model.outputs = {{"y", to}};
  model.nodes = {{"Cast", {"x"}, {"y"}, std::move(attributes), "c"}};
  return model;
}

// A chain of casts to and fro; an even number of them.
inline ModelBytes ChainModel(int length) {
  ModelBytes model = CastModel(25, DataType::kFloat32, DataType::kFloat32, To(DataType::kFloat16));
  model.nodes.clear();
  for (int i = 0; i < length; ++i) {
    model.nodes.push_back({"Cast",
                           {i == 0 ? "x" : "v" + std::to_string(i)},
                           {i + 1 == length ? "y" : "v" + std::to_string(i + 1)},
                           To(i % 2 == 0 ? DataType::kFloat16 : DataType::kFloat32)});
  }
  return model;
}

// A model that was parsed, and the bytes it was parsed from.
struct Parsed {
  explicit Parsed(std::string model_bytes, const tensorcast::onnx::LoadOptions& options = {})
      : bytes(std::move(model_bytes)) {
    status = tensorcast::Session::Parse(std::as_bytes(std::span(bytes)), options, &session, &error);
  }
  explicit Parsed(const ModelBytes& model_bytes, const tensorcast::onnx::LoadOptions& options = {})
      : Parsed(model_bytes.Bytes(), options) {}

  std::string bytes;
  tensorcast::Session session;
  std::string error;
  Status status;
};

inline void ExpectRefused(const ModelBytes& model, StatusCode code, const std::string& text) {
  const Parsed parsed(model);
  EXPECT_EQ(parsed.status.code(), code) << parsed.error;
  EXPECT_EQ(parsed.error, "the model: " + text);
}

// Values that own what they hold.
struct Tensor {
  DataType type = DataType::kUndefined;
  std::vector<std::uint64_t> shape = {};
  std::string data = {};
  std::vector<std::uint64_t> offsets = {};  // of strings, whose bytes are `data`

  tensorcast::TensorView view() const {
    tensorcast::TensorView result;
    result.type = type;
    result.shape = shape;
    if (type == DataType::kString) {
      result.strings = {offsets, data};
    } else {
      result.data = std::as_bytes(std::span(data));
    }
    return result;
  }
};

inline Tensor Floats(const std::vector<float>& values) {
  Tensor tensor{DataType::kFloat32, {values.size()}};
  for (const float value : values) tensor.data += LittleEndian(FloatBits(value), 4);
  return tensor;
}

inline Tensor Texts(const std::vector<std::string>& values) {
  Tensor tensor{DataType::kString, {values.size()}, {}, {0}};
  for (const std::string& value : values) {
    tensor.data += value;
    tensor.offsets.push_back(tensor.data.size());
  }
  return tensor;
}

inline std::string Data(const tensorcast::TensorView& view) {
  return {reinterpret_cast<const char*>(view.data.data()), view.data.size()};
}

inline std::vector<std::string> TextsOf(const tensorcast::TensorView& view) {
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < view.strings.size(); ++i) texts.emplace_back(view.strings[i]);
  return texts;
}

inline std::vector<std::uint64_t> ShapeOf(const tensorcast::TensorView& view) {
  return {view.shape.begin(), view.shape.end()};
}

inline Status Run(const Parsed& parsed, const std::vector<Tensor>& inputs,
                  tensorcast::SessionResults* outputs, std::string* error,
                  const tensorcast::GraphRun& run = {}) {
  std::vector<tensorcast::TensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  return parsed.session.Run(views, run, outputs, error);
}

// `inputs` must live as long as what comes back is used.
inline tensorcast::SessionResults MustRun(const Parsed& parsed, const std::vector<Tensor>& inputs,
                                          const tensorcast::GraphRun& run = {}) {
  EXPECT_TRUE(parsed.status.ok()) << parsed.error;
  tensorcast::SessionResults outputs;
  std::string error;
  EXPECT_TRUE(Run(parsed, inputs, &outputs, &error, run).ok()) << error;
  return outputs;
}

}  // namespace onnx_test

#endif  // TENSORCAST_TESTS_ONNX_CAST_MODELS_H_
