// Gives the messages of a model their places in a graph.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/run/graph_of_model.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/onnx_numbers.h"
#include "core/range.h"
#include "core/shape.h"
#include "files/error.h"
#include "graph/error.h"
#include "protobuf/external_data.h"
#include "protobuf/onnx_model.h"
#include "protobuf/tensor_proto_values.h"

namespace tensorcast::onnx {
namespace {

using protobuf::FieldNumber;

static_assert(graph::kMostListed == protobuf::kMostListed);

// Reads the tensors of one model, for any number of threads at once.
class ConstantReader {
 public:
  // `memory`: the model's bytes, or nothing where they are in a file.
  ConstantReader(std::shared_ptr<const files::ByteSource> source, std::span<const std::byte> memory,
                 bool allow_hard_links)
      : source_(std::move(source)), memory_(memory) {
    if (memory.data() == nullptr) files_.emplace(source_->path(), allow_hard_links);
  }

  // Throws Error; `type` is the message's, one of ours.
  graph::Constant Read(const protobuf::TensorProtoMessage& message, DataType type);

 private:
  // Where a tensor's values stand in the model's bytes as a result would have them: in one piece,
  // aligned, without pad bits.
  const std::byte* InMemory(const protobuf::TensorProtoMessage& message, DataType type,
                            std::uint64_t elements) const;

  std::shared_ptr<const files::ByteSource> source_;
  std::span<const std::byte> memory_;
  std::optional<protobuf::ExternalFiles> files_;  // none: the model is in memory
};

graph::Constant ConstantReader::Read(const protobuf::TensorProtoMessage& message, DataType type) {
  const auto fail = [&](core::ErrorKind kind, const std::string& why) {
    protobuf::FailTensorProto(*source_, message, kind, why);
  };
  graph::Constant constant;
  constant.type = type;
  constant.shape = message.dims;
  const auto elements = core::CheckedProduct(message.dims);
  if (!elements || (type != DataType::kString && !StorageBytes(type, *elements))) {
    fail(core::ErrorKind::kContents, "has the shape " + words::ShapeText(message.dims) + " of " +
                                         std::string(TypeName(type)) + ": more than 2^64 - 1 bits");
  }
  constant.elements = *elements;
  if (message.is_segment) fail(core::ErrorKind::kUnsupported, "holds a segment of a tensor");
  if (message.is_external) {
    if (!files_) {
      fail(
          core::ErrorKind::kUnsupported,
          "has external data, which a model in memory has no directory for; load it from its file");
    }
    const protobuf::ExternalRange range = protobuf::FindExternalValues(
        *files_, *source_, message, StorageBytes(type, *elements).value_or(0));
    const std::span<std::byte> data = constant.Allocate(range.bytes);
    range.file->Read(range.begin, data);
    range.file->CheckUnchanged();
    // Pad bits may hold anything in a file; results have them clean.
    core::ClearPadBits(*FindType(type), *elements, data);
    return constant;
  }
  const protobuf::TensorProtoValues values(*source_, message, type, *elements);
  if (type == DataType::kString) {
    for (std::uint64_t done = 0; done < *elements;) {
      const text::StringPiece piece = values.ReadStrings(done, *elements - done);
      for (std::uint64_t i = 0; i < piece.view().size(); ++i) {
        constant.Append(piece.view()[i]);
      }
      done += piece.view().size();
    }
    return constant;
  }
  if (const std::byte* const in_memory = InMemory(message, type, *elements)) {
    constant.data = {in_memory, static_cast<std::size_t>(values.bytes())};
    return constant;
  }
  const std::span<std::byte> data = constant.Allocate(values.bytes());
  values.Read(0, data);
  // Pad bits may hold anything in a file; results have them clean.
  core::ClearPadBits(*FindType(type), *elements, data);
  return constant;
}

const std::byte* ConstantReader::InMemory(const protobuf::TensorProtoMessage& message,
                                          DataType type, std::uint64_t elements) const {
  const bool is_one_piece =
      message.values.number == protobuf::kRawData && message.values.occurrences == 1;
  const auto bits = static_cast<std::uint64_t>(FindType(type)->bits);
  if (memory_.data() == nullptr || !is_one_piece || elements % 8 * bits % 8 != 0) return nullptr;
  const std::byte* const begin = memory_.data() + message.values.begin;
  const bool is_aligned = bits <= 8 || reinterpret_cast<std::uintptr_t>(begin) % (bits / 8) == 0;
  return is_aligned ? begin : nullptr;
}

// A tensor of the model, which is read when a program needs it.
class ModelTensor final : public graph::TensorData {
 public:
  ModelTensor(std::shared_ptr<ConstantReader> reader, protobuf::TensorProtoMessage message)
      : reader_(std::move(reader)), message_(std::move(message)) {}
  graph::Constant Read() const override {
    graph::Constant constant = reader_->Read(message_, core::TypeOfNumber(message_.data_type));
    if (constant.owned == nullptr && !constant.data.empty()) constant.holder = reader_;
    return constant;
  }

 private:
  std::shared_ptr<ConstantReader> reader_;
  protobuf::TensorProtoMessage message_;
};

class GraphMaker {
 public:
  GraphMaker(std::shared_ptr<const files::ByteSource> source, std::span<const std::byte> memory,
             bool allow_hard_links)
      : source_(*source),
        model_(protobuf::ReadOnnxModel(source_)),
        reader_(std::make_shared<ConstantReader>(source, memory, allow_hard_links)),
        bytes_(std::move(source)) {}

  graph::Graph Make() {
    graph::Graph graph;
    graph.ir_version = model_.ir_version;
    TakeImports(graph);
    graph.opsets = std::move(model_.opset_imports);
    protobuf::OnnxGraph& main = model_.graphs.at(0);
    TakeFields(0, source_.size(), graph.model_fields,
               {FieldNumber("ModelProto.ir_version"), FieldNumber("ModelProto.graph"),
                FieldNumber("ModelProto.opset_import")});
    TakeFields(main.field.begin, main.field.end, graph.graph_fields,
               {FieldNumber("GraphProto.node"), FieldNumber("GraphProto.initializer"),
                FieldNumber("GraphProto.input"), FieldNumber("GraphProto.output"),
                FieldNumber("GraphProto.value_info")});
    TakeValues(main.inputs, graph.body, graph.inputs);
    graph.initializers.reserve(main.initializers.size());
    for (protobuf::OnnxTensor& tensor : main.initializers) {
      graph.initializers.push_back({graph.body.ValueOf(tensor.message.name), Tensor(tensor)});
    }
    graph.sparse_initializers = main.sparse_initializers;
    TakeNodes(main.nodes, graph.body);
    TakeValues(main.value_infos, graph.body, graph.between);
    TakeValues(main.outputs, graph.body, graph.outputs);
    graph.functions.reserve(model_.functions.size());
    for (protobuf::OnnxFunction& function : model_.functions) {
      graph.functions.push_back(Function(function));
    }
    return graph;
  }

 private:
  // The fields of a message, each whole, but for those that are told otherwise.
  void TakeFields(std::uint64_t begin, std::uint64_t end, std::vector<graph::Blob>& fields,
                  std::initializer_list<std::uint32_t> told) const {
    protobuf::WireReader reader(source_, begin, end);
    for (protobuf::WireField field; reader.Next(&field);) {
      if (std::find(told.begin(), told.end(), field.number) != told.end()) continue;
      fields.push_back({bytes_, field.offset, field.end - field.offset});
    }
  }

  void TakeImports(graph::Graph& graph) const {
    protobuf::WireReader reader(source_, 0, source_.size());
    for (protobuf::WireField field; reader.Next(&field);) {
      if (field.number != FieldNumber("ModelProto.opset_import")) continue;
      std::string domain;
      protobuf::WireReader parts(source_, field.begin, field.end);
      for (protobuf::WireField part; parts.Next(&part);) {
        if (part.number == FieldNumber("OperatorSetIdProto.domain")) {
          domain = Bytes(part).Text(part.size());
        }
      }
      if (domain == "ai.onnx") domain.clear();
      const std::int64_t version = model_.opset_imports.at(domain);
      graph.opset_imports.push_back({std::move(domain), version, Bytes(field)});
    }
  }

  void TakeValues(const std::vector<protobuf::OnnxValue>& values, graph::Body& body,
                  std::vector<graph::Declaration>& declarations) const {
    for (const protobuf::OnnxValue& value : values) {
      graph::Declaration& declared = declarations.emplace_back();
      declared.value = body.ValueOf(value.name);
      declared.has_type = value.has_type;
      declared.is_tensor = value.is_tensor;
      declared.number = value.elem_type;
      declared.has_shape = value.has_shape;
      for (std::size_t i = 0; i < value.shape.size(); ++i) {
        declared.shape.push_back({value.shape[i], value.dimension_names[i]});
      }
      declared.bytes = Bytes(value.field);
    }
  }

  graph::Blob Bytes(const protobuf::WireField& field) const {
    return {bytes_, field.begin, field.size()};
  }

  graph::Tensor Tensor(protobuf::OnnxTensor& from) const {
    graph::Tensor tensor;
    tensor.name = from.message.name;
    tensor.number = from.message.data_type;
    tensor.shape = from.message.dims;
    tensor.is_external = from.message.is_external;
    tensor.bytes = Bytes(from.field);
    tensor.data = std::make_shared<ModelTensor>(reader_, std::move(from.message));
    return tensor;
  }

  static std::vector<graph::ValueId> Values(const std::vector<std::string>& names,
                                            graph::Body& body) {
    std::vector<graph::ValueId> values;
    values.reserve(names.size());
    for (const std::string& name : names) {
      values.push_back(name.empty() ? graph::kNoValue : body.ValueOf(name));
    }
    return values;
  }

  void TakeNodes(std::vector<protobuf::OnnxNode>& nodes, graph::Body& body) {
    body.nodes.reserve(nodes.size());
    for (protobuf::OnnxNode& from : nodes) {
      graph::Node& node = body.nodes.emplace_back();
      node.op_type = std::move(from.op_type);
      node.domain = std::move(from.domain);
      node.overload = std::move(from.overload);
      node.name = std::move(from.name);
      node.inputs = Values(from.inputs, body);
      node.bytes = Bytes(from.field);
      node.attributes.reserve(from.attributes.size());
      for (protobuf::OnnxAttribute& attribute : from.attributes) {
        node.attributes.push_back(Attribute(attribute));
      }
      node.outputs = Values(from.outputs, body);
      from = protobuf::OnnxNode();  // of a million nodes two copies would be there at once
    }
  }

  graph::Attribute Attribute(protobuf::OnnxAttribute& from) {
    graph::Attribute attribute = PlainAttribute(from, bytes_);
    attribute.bytes = Bytes(from.field);
    attribute.ref = std::move(from.ref);
    attribute.ints = std::move(from.ints);
    attribute.floats = std::move(from.floats);
    for (const protobuf::WireField& text : from.strings) attribute.strings.push_back(Bytes(text));
    attribute.listed = from.listed;
    for (protobuf::OnnxTensor& tensor : from.tensors) {
      attribute.tensors.push_back(Tensor(tensor));
    }
    return attribute;
  }

  graph::Function Function(protobuf::OnnxFunction& from) {
    graph::Function function;
    function.domain = std::move(from.domain);
    function.name = std::move(from.name);
    function.overload = std::move(from.overload);
    function.attributes = std::move(from.attributes);
    function.opsets = std::move(from.opset_imports);
    graph::Body& body = function.body;
    for (const std::string& input : from.inputs) function.inputs.push_back(body.ValueOf(input));
    TakeNodes(from.nodes, body);
    for (const std::string& output : from.outputs) {
      function.outputs.push_back(body.ValueOf(output));
    }
    for (protobuf::OnnxAttribute& attribute : from.default_attributes) {
      function.default_attributes.push_back(Attribute(attribute));
    }
    return function;
  }

  const files::ByteSource& source_;
  protobuf::OnnxModel model_;
  std::shared_ptr<ConstantReader> reader_;
  std::shared_ptr<const graph::ByteStore> bytes_;
};

}  // namespace

graph::Attribute PlainAttribute(const protobuf::OnnxAttribute& from,
                                const std::shared_ptr<const graph::ByteStore>& bytes) {
  graph::Attribute attribute;
  attribute.name = from.name;
  attribute.type = from.type;
  attribute.i = from.i;
  attribute.f = from.f;
  if (from.s.number != 0) attribute.s = {bytes, from.s.begin, from.s.size()};
  return attribute;
}

graph::Graph ReadGraph(std::shared_ptr<const files::ByteSource> source,
                       std::span<const std::byte> memory, bool allow_hard_links) {
  return GraphMaker(std::move(source), memory, allow_hard_links).Make();
}

void FailModel(const files::ByteSource& source, const graph::Error& error) {
  throw files::Error(error.kind(), words::PathText(source.path()) + ": " + error.what(),
                     source.path());
}

}  // namespace tensorcast::onnx
