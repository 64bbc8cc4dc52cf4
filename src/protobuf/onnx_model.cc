// Walks a ModelProto, field by field. Field numbers: onnx_fields.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "protobuf/onnx_model.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "files/error.h"

namespace tensorcast::protobuf {

using core::ErrorKind;
using files::Error;
namespace {

// A window over a source, so that thousands of small messages cost one read. For one thread.
class WindowedSource final : public files::ByteSource {
 public:
  explicit WindowedSource(const files::ByteSource& source) : source_(source) {}

  const std::string& path() const override { return source_.path(); }
  std::uint64_t size() const override { return source_.size(); }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (out.empty()) return;  // memcpy takes no null pointer
    if (out.size() > kWindow) return source_.Read(offset, out);
    if (offset < begin_ || offset + out.size() > begin_ + window_.size()) {
      window_.resize(
          static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, source_.size() - offset)));
      begin_ = offset;
      source_.Read(offset, window_);
    }
    std::memcpy(out.data(), window_.data() + (offset - begin_), out.size());
  }

 private:
  static constexpr std::size_t kWindow = 256 * 1024;
  const files::ByteSource& source_;
  mutable std::vector<std::byte> window_;
  mutable std::uint64_t begin_ = 0;
};

// What the structure's parts take in memory beside their texts: counted so that a small file of
// empty messages cannot fill it.
constexpr std::uint64_t kNodeBytes = 128;
constexpr std::uint64_t kAttributeBytes = 64;
constexpr std::uint64_t kTensorBytes = 768;  // with what its reader keeps of it
constexpr std::uint64_t kValueBytes = 64;

class ModelReader {
 public:
  explicit ModelReader(const files::ByteSource& source) : source_(source), windowed_(source) {}

  OnnxModel Read() {
    bool has_graph = false;
    WireField whole;
    whole.end = source_.size();
    ForEachField(whole, FieldsOf("ModelProto"), [&](WireReader&, const WireField& field) {
      switch (field.number) {
        case FieldNumber("ModelProto.ir_version"): model_.ir_version = Int(field); break;
        case FieldNumber("ModelProto.graph"):
          if (std::exchange(has_graph, true)) Fail(field, "graph", "is in the model twice");
          ReadGraph(field, {}, "", 0, 0);
          break;
        case FieldNumber("ModelProto.opset_import"): ReadOpset(field, model_.opset_imports); break;
        case FieldNumber("ModelProto.metadata_props"): ReadMetadata(field); break;
        case FieldNumber("ModelProto.training_info"): model_.has_training_info = true; break;
        case FieldNumber("ModelProto.functions"): ReadFunction(field); break;
        default: break;
      }
    });
    if (!has_graph) {
      throw Error(ErrorKind::kContents,
                  words::PathText(source_.path()) +
                      ": has no graph; expected an ONNX ModelProto, as "
                      "onnx.save writes",
                  source_.path());
    }
    return std::move(model_);
  }

 private:
  [[noreturn]] void Fail(const WireField& field, const std::string& what,
                         const std::string& why) const {
    throw Error(ErrorKind::kContents,
                words::PathText(source_.path()) + ": " + what + " at offset " +
                    std::to_string(field.offset) + ' ' + why,
                source_.path());
  }

  // Calls take(reader, field) with each field of a message; those that are known have their types.
  template <class Take>
  void ForEachField(const WireField& message, std::span<const OnnxField> known, const Take& take) {
    WireReader fields(windowed_, message.begin, message.end);
    for (WireField field; fields.Next(&field);) {
      const auto row = std::find_if(known.begin(), known.end(), [&](const OnnxField& each) {
        return each.number == field.number;
      });
      const bool is_known = row != known.end();
      const bool is_packed = is_known && row->is_repeated && field.type == WireType::kBytes;
      if (is_known && field.type != row->type && !is_packed) {
        Fail(field, std::string(row->name),
             "has the wire type " + std::to_string(static_cast<int>(field.type)) + "; expected " +
                 std::to_string(static_cast<int>(row->type)) + ", as in an ONNX ModelProto");
      }
      take(fields, field);
    }
  }

  static std::int64_t Int(const WireField& field) { return static_cast<std::int64_t>(field.value); }

  void Count(const WireField& field, std::uint64_t bytes) {
    text_ += bytes;
    if (bytes > kMostModelText || text_ > kMostModelText) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(source_.path()) +
                      ": the structure of the model takes more than " +
                      std::to_string(kMostModelText) + " bytes at offset " +
                      std::to_string(field.offset) + "; models with less are read",
                  source_.path());
    }
  }

  std::string Text(WireReader& reader, const WireField& field) {
    Count(field, field.size());
    return reader.ReadText(field);
  }

  std::string Domain(WireReader& reader, const WireField& field) {
    std::string domain = Text(reader, field);
    if (domain == "ai.onnx") domain.clear();
    return domain;
  }

  void ReadOpset(const WireField& field, std::map<std::string, std::int64_t>& imports) {
    std::string domain;
    std::int64_t version = 0;
    ForEachField(field, FieldsOf("OperatorSetIdProto"), [&](WireReader& fields, const auto& part) {
      if (part.number == FieldNumber("OperatorSetIdProto.domain")) domain = Domain(fields, part);
      if (part.number == FieldNumber("OperatorSetIdProto.version")) version = Int(part);
    });
    Count(field, kValueBytes);
    if (!imports.emplace(domain, version).second) {
      Fail(field, "opset_import",
           "imports the domain " + words::Quoted(domain.empty() ? "ai.onnx" : domain) +
               " for the second time");
    }
  }

  StringEntry ReadEntry(const WireField& field) {
    StringEntry entry;
    ForEachField(field, FieldsOf("StringStringEntryProto"),
                 [&](WireReader& fields, const auto& part) {
                   if (part.number == FieldNumber("StringStringEntryProto.key"))
                     entry.key = Text(fields, part);
                   if (part.number == FieldNumber("StringStringEntryProto.value"))
                     entry.value = Text(fields, part);
                 });
    return entry;
  }

  void ReadMetadata(const WireField& field) {
    StringEntry entry = ReadEntry(field);
    // protobuf forbids no second one; onnx takes the last
    model_.metadata[std::move(entry.key)] = std::move(entry.value);
  }

  // Returns its index. `path` ends with the message that holds the graph's field.
  std::size_t ReadGraph(const WireField& field, std::vector<WireField> path, std::string label,
                        std::size_t scope, std::size_t depth) {
    if (depth > kMostNestedGraphs) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(source_.path()) + ": graph at offset " +
                      std::to_string(field.offset) + " lies in more than " +
                      std::to_string(kMostNestedGraphs) + " others",
                  source_.path());
    }
    const std::size_t index = model_.graphs.size();
    model_.graphs.emplace_back();
    path.push_back(field);
    Count(field, kNodeBytes + label.size() + path.size() * sizeof(WireField));
    OnnxGraph graph;
    graph.field = field;
    graph.path = path;
    graph.label = std::move(label);
    graph.opset_scope = scope;
    const std::string inner = graph.label.empty() ? "" : graph.label + '/';
    ForEachField(field, FieldsOf("GraphProto"), [&](WireReader& fields, const WireField& part) {
      switch (part.number) {
        case FieldNumber("GraphProto.node"):
          graph.nodes.push_back(ReadNode(part, graph.path, inner, scope, depth));
          break;
        case FieldNumber("GraphProto.name"): graph.name = Text(fields, part); break;
        case FieldNumber("GraphProto.initializer"):
          graph.initializers.push_back(ReadTensor(part));
          break;
        case FieldNumber("GraphProto.input"): graph.inputs.push_back(ReadValue(part)); break;
        case FieldNumber("GraphProto.output"): graph.outputs.push_back(ReadValue(part)); break;
        case FieldNumber("GraphProto.value_info"):
          graph.value_infos.push_back(ReadValue(part));
          break;
        case FieldNumber("GraphProto.sparse_initializer"):
          ++graph.sparse_initializers;
          graph.sparse_names.push_back(ReadSparseName(part));
          break;
        case FieldNumber("GraphProto.quantization_annotation"):
          ReadAnnotation(part, graph.annotated);
          break;
        default: break;
      }
    });
    model_.graphs[index] = std::move(graph);
    return index;
  }

  OnnxTensor ReadTensor(const WireField& field) {
    Count(field, kTensorBytes);
    OnnxTensor tensor;
    tensor.field = field;
    tensor.message = ReadTensorProtoMessage(windowed_, field.begin, field.end);
    std::uint64_t texts = tensor.message.name.size();
    for (const auto& [key, value] : tensor.message.metadata) texts += key.size() + value.size();
    Count(field, texts + 8 * tensor.message.dims.size());
    return tensor;
  }

  // The name of a SparseTensorProto, which is that of its values.
  std::string ReadSparseName(const WireField& field) {
    std::string name;
    ForEachField(field, FieldsOf("SparseTensorProto"), [&](WireReader&, const WireField& part) {
      if (part.number != FieldNumber("SparseTensorProto.values")) return;
      ForEachField(part, FieldsOf("TensorProto"), [&](WireReader& values, const WireField& value) {
        if (value.number == kName) name = Text(values, value);
      });
    });
    Count(field, sizeof(std::string));
    return name;
  }

  // Adds the names in a TensorAnnotation: of its value, and of those that say how it is quantised.
  void ReadAnnotation(const WireField& field, std::vector<std::string>& names) {
    ForEachField(field, FieldsOf("TensorAnnotation"), [&](WireReader& fields, const auto& part) {
      Count(part, sizeof(std::string));
      if (part.number == FieldNumber("TensorAnnotation.tensor_name")) {
        names.push_back(Text(fields, part));
      } else if (part.number == FieldNumber("TensorAnnotation.quant_parameter_tensor_names")) {
        if (std::string value = ReadEntry(part).value; !value.empty()) {
          names.push_back(std::move(value));
        }
      }
    });
  }

  // `inner` begins the labels of the graphs in it.
  OnnxNode ReadNode(const WireField& field, const std::vector<WireField>& path,
                    const std::string& inner, std::size_t scope, std::size_t depth) {
    Count(field, kNodeBytes);
    OnnxNode node;
    node.field = field;
    std::vector<WireField> attributes;  // read last: their graphs' labels want the node's name
    ForEachField(field, FieldsOf("NodeProto"), [&](WireReader& fields, const WireField& part) {
      switch (part.number) {
        case FieldNumber("NodeProto.input"): node.inputs.push_back(Text(fields, part)); break;
        case FieldNumber("NodeProto.output"): node.outputs.push_back(Text(fields, part)); break;
        case FieldNumber("NodeProto.name"): node.name = Text(fields, part); break;
        case FieldNumber("NodeProto.op_type"): node.op_type = Text(fields, part); break;
        case FieldNumber("NodeProto.attribute"): attributes.push_back(part); break;
        case FieldNumber("NodeProto.domain"): node.domain = Domain(fields, part); break;
        case FieldNumber("NodeProto.overload"): node.overload = Text(fields, part); break;
        case FieldNumber("NodeProto.doc_string"):
        case FieldNumber("NodeProto.metadata_props"): break;
        default: node.has_other_fields = true; break;
      }
      Count(part, sizeof(std::string));
    });
    const std::string name =
        !node.name.empty() ? node.name : (node.outputs.empty() ? node.op_type : node.outputs[0]);
    for (const WireField& attribute : attributes) {
      node.attributes.push_back(ReadAttribute(attribute, path, &field, inner + name, scope, depth));
    }
    return node;
  }

  // `node` (null: a function's default) is the message that holds it, within `path`.
  OnnxAttribute ReadAttribute(const WireField& field, const std::vector<WireField>& path,
                              const WireField* node, const std::string& label, std::size_t scope,
                              std::size_t depth) {
    Count(field, kAttributeBytes);
    OnnxAttribute attribute;
    attribute.field = field;
    std::vector<WireField> graphs;
    bool has_f = false, has_i = false, has_s = false, has_t = false, has_g = false;
    bool is_declared = false;
    ForEachField(field, FieldsOf("AttributeProto"), [&](WireReader& fields, const WireField& part) {
      switch (part.number) {
        case FieldNumber("AttributeProto.name"): attribute.name = Text(fields, part); break;
        case FieldNumber("AttributeProto.f"):
          attribute.f = std::bit_cast<float>(static_cast<std::uint32_t>(part.value));
          has_f = true;
          break;
        case FieldNumber("AttributeProto.i"):
          attribute.i = Int(part);
          has_i = true;
          break;
        case FieldNumber("AttributeProto.s"):
          attribute.s = part;
          has_s = true;
          break;
        // An attribute has one of each: protobuf would put the contents of several together.
        case FieldNumber("AttributeProto.t"):
          if (std::exchange(has_t, true)) Fail(part, "tensor", "is in its attribute twice");
          attribute.tensors.push_back(ReadTensor(part));
          break;
        case FieldNumber("AttributeProto.g"):
          if (std::exchange(has_g, true)) Fail(part, "graph", "is in its attribute twice");
          graphs.push_back(part);
          break;
        case FieldNumber("AttributeProto.tensors"):
          attribute.tensors.push_back(ReadTensor(part));
          break;
        case FieldNumber("AttributeProto.graphs"): graphs.push_back(part); break;
        case FieldNumber("AttributeProto.floats"): ReadFloats(part, attribute); break;
        case FieldNumber("AttributeProto.ints"): ReadInts(fields, part, attribute); break;
        case FieldNumber("AttributeProto.strings"):
          ++attribute.listed;
          if (attribute.strings.size() < kMostListed) attribute.strings.push_back(part);
          Count(part, sizeof(WireField));
          break;
        case FieldNumber("AttributeProto.type"):
          attribute.type = static_cast<core::AttributeType>(Int(part));
          is_declared = true;
          break;
        case FieldNumber("AttributeProto.ref_attr_name"): attribute.ref = Text(fields, part); break;
        default: break;
      }
    });
    if (!is_declared) {  // models of IR version 1
      attribute.type = has_f                        ? core::AttributeType::kFloat
                       : has_i                      ? core::AttributeType::kInt
                       : has_s                      ? core::AttributeType::kString
                       : !attribute.tensors.empty() ? core::AttributeType::kTensor
                       : !graphs.empty()            ? core::AttributeType::kGraph
                       : !attribute.floats.empty()  ? core::AttributeType::kFloats
                       : !attribute.ints.empty()    ? core::AttributeType::kInts
                       : !attribute.strings.empty() ? core::AttributeType::kStrings
                                                    : core::AttributeType::kUndefined;
    }
    for (const WireField& graph : graphs) {
      std::vector<WireField> within = path;
      if (node != nullptr) within.push_back(*node);
      within.push_back(field);
      attribute.graphs.push_back(
          ReadGraph(graph, std::move(within), label + '.' + attribute.name, scope, depth + 1));
    }
    return attribute;
  }

  void ReadFloats(const WireField& field, OnnxAttribute& attribute) {
    const auto add = [&](std::uint32_t bits) {
      ++attribute.listed;
      if (attribute.floats.size() < kMostListed) {
        attribute.floats.push_back(std::bit_cast<float>(bits));
      }
    };
    if (field.type == WireType::kFixed32) return add(static_cast<std::uint32_t>(field.value));
    if (field.size() % 4 != 0) Fail(field, "floats", "is not a whole number of 4-byte floats");
    const std::uint64_t n = field.size() / 4;
    std::vector<std::uint32_t> bits(
        static_cast<std::size_t>(std::min<std::uint64_t>(n, kMostListed)));
    windowed_.Read(field.begin, std::as_writable_bytes(std::span(bits)));
    for (const std::uint32_t value : bits) add(value);
    attribute.listed += n - bits.size();
    Count(field, 4 * bits.size());
  }

  void ReadInts(WireReader& fields, const WireField& field, OnnxAttribute& attribute) {
    const auto add = [&](std::uint64_t value) {
      ++attribute.listed;
      if (attribute.ints.size() >= kMostListed) return;
      attribute.ints.push_back(static_cast<std::int64_t>(value));
      Count(field, 8);
    };
    if (field.type == WireType::kVarint) return add(field.value);
    for (std::uint64_t value; fields.NextVarint(&value);) add(value);
  }

  // A ValueInfoProto: name, and of the type what a tensor_type says.
  OnnxValue ReadValue(const WireField& field) {
    Count(field, kValueBytes);
    OnnxValue value;
    value.field = field;
    ForEachField(field, FieldsOf("ValueInfoProto"), [&](WireReader& fields, const auto& part) {
      if (part.number == FieldNumber("ValueInfoProto.name")) value.name = Text(fields, part);
      if (part.number != FieldNumber("ValueInfoProto.type")) return;
      value.has_type = true;
      // A message that stands in several fields is one, put together of their contents; of the
      // kinds of type the last counts, and is put together only of what follows another kind.
      ForEachField(part, FieldsOf("TypeProto"), [&](WireReader&, const WireField& type) {
        if (type.number == FieldNumber("TypeProto.denotation")) return;
        if (type.number > FieldNumber("TypeProto.optional_type")) return;  // the last kind
        if (type.number == FieldNumber("TypeProto.tensor_type")) {
          value.is_tensor = true;
          ReadTensorType({part, type}, value);
        } else {
          OnnxValue other;
          other.field = value.field;
          other.name = std::move(value.name);
          other.has_type = true;
          value = std::move(other);
        }
      });
    });
    return value;
  }

  // `path`: the fields of the type and of its tensor_type.
  void ReadTensorType(const std::vector<WireField>& path, OnnxValue& value) {
    ForEachField(path.back(), FieldsOf("TypeProto.Tensor"), [&](WireReader&, const auto& part) {
      if (part.number == FieldNumber("TypeProto.Tensor.elem_type")) {
        value.elem_type = part.value;
        value.elem_type_field = part;
        value.parents = path;
      }
      if (part.number != FieldNumber("TypeProto.Tensor.shape")) return;
      value.has_shape = true;
      ForEachField(part, FieldsOf("TensorShapeProto"), [&](WireReader&, const WireField& dim) {
        if (dim.number == FieldNumber("TensorShapeProto.dim")) ReadDimension(dim, value);
      });
    });
  }

  void ReadDimension(const WireField& field, OnnxValue& value_info) {
    Count(field, sizeof(std::optional<std::uint64_t>) + sizeof(std::string));
    std::optional<std::uint64_t>& size = value_info.shape.emplace_back();
    std::string& name = value_info.dimension_names.emplace_back();
    ForEachField(field, FieldsOf("TensorShapeProto.Dimension"),
                 [&](auto& fields, const auto& part) {
                   // Some exporters write -1 for a size that they do not know.
                   if (part.number == FieldNumber("TensorShapeProto.Dimension.dim_value")) {
                     size = Int(part) < 0 ? std::nullopt : std::optional<std::uint64_t>(part.value);
                     name.clear();
                   } else if (part.number == FieldNumber("TensorShapeProto.Dimension.dim_param")) {
                     size.reset();
                     name = Text(fields, part);
                   }
                 });
  }

  void ReadFunction(const WireField& field) {
    Count(field, kNodeBytes);
    const std::size_t index = model_.functions.size();
    model_.functions.emplace_back();
    OnnxFunction function;
    function.field = field;
    std::vector<WireField> nodes;
    std::vector<WireField> defaults;
    ForEachField(field, FieldsOf("FunctionProto"), [&](WireReader& fields, const WireField& part) {
      Count(part, sizeof(std::string));
      switch (part.number) {
        case FieldNumber("FunctionProto.name"): function.name = Text(fields, part); break;
        case FieldNumber("FunctionProto.input"):
          function.inputs.push_back(Text(fields, part));
          break;
        case FieldNumber("FunctionProto.output"):
          function.outputs.push_back(Text(fields, part));
          break;
        case FieldNumber("FunctionProto.attribute"):
          function.attributes.push_back(Text(fields, part));
          break;
        case FieldNumber("FunctionProto.node"): nodes.push_back(part); break;
        case FieldNumber("FunctionProto.opset_import"):
          ReadOpset(part, function.opset_imports);
          break;
        case FieldNumber("FunctionProto.domain"): function.domain = Domain(fields, part); break;
        case FieldNumber("FunctionProto.attribute_proto"): defaults.push_back(part); break;
        case FieldNumber("FunctionProto.overload"): function.overload = Text(fields, part); break;
        default: break;
      }
    });
    // Labels of what lies in it want its name.
    const std::string label =
        (function.domain.empty() ? "" : function.domain + '.') + function.name;
    const std::vector<WireField> path = {field};
    for (const WireField& node : nodes) {
      function.nodes.push_back(ReadNode(node, path, label + '/', index + 1, 0));
    }
    for (const WireField& attribute : defaults) {
      function.default_attributes.push_back(
          ReadAttribute(attribute, path, nullptr, label, index + 1, 0));
    }
    model_.functions[index] = std::move(function);
  }

  const files::ByteSource& source_;
  WindowedSource windowed_;
  OnnxModel model_;
  std::uint64_t text_ = 0;
};

}  // namespace

const OnnxAttribute* OnnxNode::Find(std::string_view attribute) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(),
                   [&](const OnnxAttribute& each) { return each.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

OnnxModel ReadOnnxModel(const files::ByteSource& source) { return ModelReader(source).Read(); }

}  // namespace tensorcast::protobuf
