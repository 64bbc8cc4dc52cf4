// Writes the messages of a model; a large value is a piece that refers to it.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/run/model_of_graph.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/failure.h"
#include "core/onnx_numbers.h"
#include "core/shape.h"
#include "graph/cast_chains.h"
#include "graph/operator_versions.h"
#include "onnx/byte_sources.h"
#include "onnx/model_edit.h"
#include "onnx/run/training_metadata.h"
#include "protobuf/onnx_fields.h"
#include "protobuf/onnx_model.h"
#include "protobuf/protobuf_wire.h"
#include "words/error_text.h"

namespace tensorcast::onnx {
namespace {

using graph::Blob;
using protobuf::FieldNumber;

struct IrVersion {
  std::int64_t since;  // the first opset that came with it
  std::int64_t version;
};
// Source: onnx/helper.py, VERSION_TABLE; tests/peers/check_graphs.py holds it against that. No
// model gets an older one than that from which on an initializer need not be an input.
constexpr IrVersion kIrVersions[] = {{1, protobuf::kFirstIrOfConstants},
                                     {10, 5},
                                     {11, 6},
                                     {12, 7},
                                     {15, 8},
                                     {19, 9},
                                     {21, 10},
                                     {23, 11},
                                     {24, 12},
                                     {25, 13},
                                     {28, 14}};

// A tensor of another file, which is read when the first of it is wanted and let go with the last:
// by the one call, and thread, that writes the model.
class BytesOfTensor final : public graph::ByteStore {
 public:
  BytesOfTensor(std::shared_ptr<const graph::TensorData> data, std::uint64_t size)
      : data_(std::move(data)), size_(size) {}
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (!constant_) constant_ = data_->Read();
    const auto part = constant_->data.subspan(static_cast<std::size_t>(offset), out.size());
    std::copy(part.begin(), part.end(), out.begin());
    if (offset + out.size() == size_) constant_.reset();
  }

 private:
  std::shared_ptr<const graph::TensorData> data_;
  std::uint64_t size_;
  mutable std::optional<graph::Constant> constant_;
};

// Whether a tensor of it has its values in another file.
bool HasExternal(const graph::Attribute& attribute) {
  return std::any_of(attribute.tensors.begin(), attribute.tensors.end(),
                     [](const graph::Tensor& tensor) { return tensor.is_external; });
}
bool HasExternal(const graph::Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(),
                     [](const graph::Attribute& attribute) { return HasExternal(attribute); });
}

class ModelWriter {
 public:
  ModelWriter(const graph::Graph& graph, const std::vector<DataType>& types)
      : graph_(graph), types_(types) {}

  WireMessage Model(bool with_training) const {
    WireMessage model;
    model.AddVarint(FieldNumber("ModelProto.ir_version"),
                    static_cast<std::uint64_t>(GraphIrVersion()));
    AddOpsets(model);
    if (graph_.ir_version == 0) {
      model.AddBytes(FieldNumber("ModelProto.producer_name"), "tensorcast");
    }
    for (const Blob& field : graph_.model_fields) model.Add(field);
    if (with_training) {
      for (const auto& [key, value] : TrainingEntries(graph_)) {
        WireMessage entry;
        entry.AddBytes(FieldNumber("StringStringEntryProto.key"), key);
        entry.AddBytes(FieldNumber("StringStringEntryProto.value"), value);
        model.AddMessage(FieldNumber("ModelProto.metadata_props"), std::move(entry));
      }
    }
    model.AddMessage(FieldNumber("ModelProto.graph"), Graph());
    return model;
  }

 private:
  // That of the model that was read, unless something newer is in it now.
  std::int64_t GraphIrVersion() const {
    const std::int64_t of_opset = IrVersionOf(graph::OpsetOf(graph_.opsets).value_or(1));
    const auto is_new = [](const graph::Initializer& each) {
      return each.tensor.bytes.store == nullptr;
    };
    const bool is_as_read =
        std::all_of(graph_.opset_imports.begin(), graph_.opset_imports.end(),
                    [&](const graph::OpsetImport& import) {
                      return graph_.opsets.at(import.domain) == import.version;
                    }) &&
        std::none_of(graph_.initializers.begin(), graph_.initializers.end(), is_new);
    if (graph_.ir_version != 0 && is_as_read) return graph_.ir_version;
    return std::max(of_opset, graph_.ir_version);
  }

  void AddOpsets(WireMessage& model) const {
    std::map<std::string, std::int64_t> others = graph_.opsets;
    for (const graph::OpsetImport& import : graph_.opset_imports) {
      const std::int64_t version = graph_.opsets.at(import.domain);
      others.erase(import.domain);
      AddPart(model, FieldNumber("ModelProto.opset_import"), import.bytes,
              version != import.version, [&] {
                WireMessage message;
                AddOthers(message, import.bytes, {FieldNumber("OperatorSetIdProto.version")});
                message.AddVarint(FieldNumber("OperatorSetIdProto.version"),
                                  static_cast<std::uint64_t>(version));
                return message;
              });
    }
    for (const auto& [domain, version] : others) {
      WireMessage import;
      import.AddBytes(FieldNumber("OperatorSetIdProto.domain"), domain);
      import.AddVarint(FieldNumber("OperatorSetIdProto.version"),
                       static_cast<std::uint64_t>(version));
      model.AddMessage(FieldNumber("ModelProto.opset_import"), std::move(import));
    }
  }

  WireMessage Graph() const {
    WireMessage graph;
    for (const graph::Node& node : graph_.body.nodes) {
      AddPart(graph, FieldNumber("GraphProto.node"), node.bytes,
              node.is_changed || HasExternal(node) || graph_.body.HasRenamed(node),
              [&] { return Node(node); });
    }
    if (graph_.ir_version == 0) {
      graph.AddBytes(FieldNumber("GraphProto.name"), "graph");
    }
    for (const graph::Initializer& each : graph_.initializers) {
      const graph::Tensor& tensor = each.tensor;
      AddPart(graph, FieldNumber("GraphProto.initializer"), tensor.bytes,
              tensor.is_external || graph_.body.IsRenamed(each.value),
              [&] { return Tensor(tensor); });
    }
    const auto declare = [&](std::uint32_t field, const graph::Declaration& each) {
      AddPart(graph, field, each.bytes, each.is_changed || graph_.body.IsRenamed(each.value),
              [&] { return Value(each); });
    };
    for (const auto& each : graph_.inputs) declare(FieldNumber("GraphProto.input"), each);
    for (const auto& each : graph_.outputs) declare(FieldNumber("GraphProto.output"), each);
    for (const auto& each : graph_.between) declare(FieldNumber("GraphProto.value_info"), each);
    for (const Blob& field : graph_.graph_fields) graph.Add(field);
    return graph;
  }

  // A message as it stood, where it was read and is not changed, or as it is.
  template <class Make>
  static void AddPart(WireMessage& into, std::uint32_t field, const Blob& bytes, bool is_changed,
                      const Make& make) {
    if (bytes.store != nullptr && !is_changed) {
      into.AddBytes(field, bytes);
    } else {
      into.AddMessage(field, make());
    }
  }

  // The fields of what was read that are not told otherwise.
  static void AddOthers(WireMessage& into, const Blob& bytes,
                        std::initializer_list<std::uint32_t> told) {
    if (bytes.store == nullptr) return;
    const BlobSource source(bytes);
    protobuf::WireReader reader(source, 0, bytes.size);
    for (protobuf::WireField field; reader.Next(&field);) {
      if (std::find(told.begin(), told.end(), field.number) != told.end()) continue;
      into.Add(Blob{bytes.store, bytes.begin + field.offset, field.end - field.offset});
    }
  }

  // The last field of a number that a message which was read has; protobuf would join several.
  static Blob PartOf(const Blob& bytes, std::uint32_t number) {
    Blob part;
    if (bytes.store == nullptr) return part;
    const BlobSource source(bytes);
    protobuf::WireReader reader(source, 0, bytes.size);
    for (protobuf::WireField field; reader.Next(&field);) {
      if (field.number != number) continue;
      part = {bytes.store, bytes.begin + field.begin, field.size()};
    }
    return part;
  }

  WireMessage Node(const graph::Node& node) const {
    WireMessage message;
    const auto names = [&](std::uint32_t field, const std::vector<graph::ValueId>& ids) {
      for (const graph::ValueId id : ids) {
        message.AddBytes(field, id == graph::kNoValue ? std::string_view() : graph_.body.name(id));
      }
    };
    names(FieldNumber("NodeProto.input"), node.inputs);
    names(FieldNumber("NodeProto.output"), node.outputs);
    message.AddBytes(FieldNumber("NodeProto.name"), node.name);
    message.AddBytes(FieldNumber("NodeProto.op_type"), node.op_type);
    if (!node.domain.empty()) {
      message.AddBytes(FieldNumber("NodeProto.domain"), node.domain);
    }
    if (!node.overload.empty()) {
      message.AddBytes(FieldNumber("NodeProto.overload"), node.overload);
    }
    for (const graph::Attribute& attribute : node.attributes) {
      if (attribute.bytes.store == nullptr && !HasMeaning(node, attribute)) continue;
      AddPart(message, FieldNumber("NodeProto.attribute"), attribute.bytes, HasExternal(attribute),
              [&] { return Attribute(attribute); });
    }
    AddOthers(message, node.bytes,
              {FieldNumber("NodeProto.input"), FieldNumber("NodeProto.output"),
               FieldNumber("NodeProto.name"), FieldNumber("NodeProto.op_type"),
               FieldNumber("NodeProto.domain"), FieldNumber("NodeProto.overload"),
               FieldNumber("NodeProto.attribute")});
    return message;
  }

  // ONNX Runtime refuses `saturate` and `round_mode` where the type does not know them, and they
  // mean nothing there.
  bool HasMeaning(const graph::Node& node, const graph::Attribute& attribute) const {
    if (node.outputs.empty() || node.outputs[0] == graph::kNoValue) return true;
    const TypeInfo* const to = FindType(types_[node.outputs[0]]);
    if (attribute.name == "saturate") return to != nullptr && graph::KnowsSaturate(*to);
    return attribute.name != "round_mode" || (to != nullptr && graph::KnowsRoundMode(*to));
  }

  static WireMessage Attribute(const graph::Attribute& attribute) {
    WireMessage message;
    message.AddBytes(FieldNumber("AttributeProto.name"), attribute.name);
    message.AddVarint(FieldNumber("AttributeProto.type"),
                      static_cast<std::uint64_t>(attribute.type));
    switch (attribute.type) {
      case core::AttributeType::kInt:
        message.AddVarint(FieldNumber("AttributeProto.i"), static_cast<std::uint64_t>(attribute.i));
        break;
      case core::AttributeType::kString:
        message.AddBytes(FieldNumber("AttributeProto.s"), attribute.s);
        break;
      default:
        for (const graph::Tensor& tensor : attribute.tensors) {
          message.AddMessage(FieldNumber("AttributeProto.t"), Tensor(tensor));
        }
    }
    return message;
  }

  static WireMessage Tensor(const graph::Tensor& tensor) {
    WireMessage message;
    message.AddBytes(protobuf::kName, tensor.name);
    if (tensor.bytes.store != nullptr) {
      AddOthers(message, tensor.bytes,
                {protobuf::kName, protobuf::kExternalData, protobuf::kDataLocation});
      if (tensor.is_external) AddExternal(message, tensor);
      return message;
    }
    for (const std::uint64_t size : tensor.shape) message.AddVarint(protobuf::kDims, size);
    message.AddVarint(protobuf::kDataType, tensor.number);
    if (core::TypeOfNumber(tensor.number) == DataType::kString) {
      const graph::Constant texts = tensor.data->Read();
      for (std::uint64_t i = 0; i < texts.elements; ++i) {
        message.AddBytes(protobuf::kStringData, texts.strings()[i]);
      }
    } else {
      message.AddBytes(protobuf::kRawData, tensor.values);
    }
    return message;
  }

  static void AddExternal(WireMessage& message, const graph::Tensor& tensor) {
    const DataType type = core::TypeOfNumber(tensor.number);
    const std::optional<std::uint64_t> elements = core::CheckedProduct(tensor.shape);
    const std::optional<std::uint64_t> bytes =
        elements && FindType(type) != nullptr ? StorageBytes(type, *elements) : std::nullopt;
    if (!bytes) {
      throw core::Failure(StatusCode::kUnsupportedFile,
                          "tensor " + words::Quoted(tensor.name) +
                              " has external data of a type that is not known here");
    }
    message.AddBytes(protobuf::kRawData,
                     Blob{std::make_shared<BytesOfTensor>(tensor.data, *bytes), 0, *bytes});
  }

  WireMessage Value(const graph::Declaration& declared) const {
    WireMessage message;
    message.AddBytes(FieldNumber("ValueInfoProto.name"), graph_.body.name(declared.value));
    const Blob was_type = PartOf(declared.bytes, FieldNumber("ValueInfoProto.type"));
    const Blob was_tensor = PartOf(was_type, FieldNumber("TypeProto.tensor_type"));
    if (was_type.store != nullptr && (!declared.is_tensor || was_tensor.store == nullptr)) {
      message.AddBytes(FieldNumber("ValueInfoProto.type"), was_type);
      AddOthers(message, declared.bytes,
                {FieldNumber("ValueInfoProto.name"), FieldNumber("ValueInfoProto.type")});
      return message;
    }
    WireMessage tensor;
    tensor.AddVarint(FieldNumber("TypeProto.Tensor.elem_type"), declared.number);
    AddOthers(tensor, was_tensor, {FieldNumber("TypeProto.Tensor.elem_type")});
    if (declared.has_shape && was_tensor.store == nullptr) {
      WireMessage shape;
      for (const graph::Dimension& dimension : declared.shape) {
        WireMessage dim;
        if (dimension.size) {
          dim.AddVarint(FieldNumber("TensorShapeProto.Dimension.dim_value"), *dimension.size);
        } else if (!dimension.name.empty()) {
          dim.AddBytes(FieldNumber("TensorShapeProto.Dimension.dim_param"), dimension.name);
        }
        shape.AddMessage(FieldNumber("TensorShapeProto.dim"), std::move(dim));
      }
      tensor.AddMessage(FieldNumber("TypeProto.Tensor.shape"), std::move(shape));
    }
    WireMessage type;
    type.AddMessage(FieldNumber("TypeProto.tensor_type"), std::move(tensor));
    AddOthers(type, was_type, {FieldNumber("TypeProto.tensor_type")});
    message.AddMessage(FieldNumber("ValueInfoProto.type"), std::move(type));
    AddOthers(message, declared.bytes,
              {FieldNumber("ValueInfoProto.name"), FieldNumber("ValueInfoProto.type")});
    return message;
  }

  const graph::Graph& graph_;
  const std::vector<DataType>& types_;
};

// Whether a tensor of a function has external data, which keeps the names that it has.
bool HasExternalInFunctions(const graph::Graph& graph) {
  for (const graph::Function& function : graph.functions) {
    const std::vector<graph::Node>& nodes = function.body.nodes;
    if (std::any_of(nodes.begin(), nodes.end(),
                    [](const graph::Node& node) { return HasExternal(node); })) {
      return true;
    }
  }
  return false;
}

}  // namespace

void WireMessage::Add(std::string_view bytes) {
  size_ += bytes.size();
  if (pieces_.empty() || pieces_.back().blob.store != nullptr) pieces_.emplace_back();
  pieces_.back().bytes += bytes;
}

void WireMessage::Add(const Blob& bytes) {
  if (bytes.size == 0) return;
  size_ += bytes.size;
  pieces_.push_back({{}, bytes});
}

void WireMessage::AddVarint(std::uint32_t field, std::uint64_t value) {
  Add(VarintFieldBytes(field, value));
}

void WireMessage::AddBytes(std::uint32_t field, std::string_view payload) {
  Add(BytesFieldHead(field, payload.size()));
  Add(payload);
}

void WireMessage::AddBytes(std::uint32_t field, const Blob& payload) {
  Add(BytesFieldHead(field, payload.size));
  Add(payload);
}

void WireMessage::AddMessage(std::uint32_t field, WireMessage message) {
  Add(BytesFieldHead(field, message.size_));
  size_ += message.size_;
  for (Piece& piece : message.pieces_) {
    if (piece.blob.store == nullptr && !pieces_.empty() && pieces_.back().blob.store == nullptr) {
      pieces_.back().bytes += piece.bytes;
    } else {
      pieces_.push_back(std::move(piece));
    }
  }
}

std::int64_t IrVersionOf(std::int64_t opset) {
  std::int64_t version = kIrVersions[0].version;
  for (const IrVersion& each : kIrVersions) {
    if (each.since <= opset) version = each.version;
  }
  return version;
}

WireMessage ModelOfGraph(const graph::Graph& graph, const std::vector<DataType>& types,
                         bool with_training) {
  if (HasExternalInFunctions(graph)) {
    throw core::Failure(StatusCode::kUnsupportedFile,
                        "a function of the model has external data, which is not moved; put it "
                        "into the model first");
  }
  WireMessage model = ModelWriter(graph, types).Model(with_training);
  if (model.size() > kMostModelBytes) {
    throw core::Failure(StatusCode::kBadInput,
                        "the model would have " + std::to_string(model.size()) +
                            " bytes; protobuf allows 2^31 - 1: keep large constants out of it");
  }
  return model;
}

}  // namespace tensorcast::onnx
