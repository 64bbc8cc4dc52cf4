// Makes the edits of each tensor, its node and its graph, and gives values their places.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/store/storage_edit.h"

#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "files/error.h"
#include "onnx/added_nodes.h"
#include "onnx/store/storage_model.h"
#include "protobuf/onnx_fields.h"
#include "protobuf/protobuf_wire.h"

namespace tensorcast::onnx {
namespace {

using core::ErrorKind;
using files::Error;
using protobuf::WireField;

constexpr std::uint64_t kDataAlignment = 4096;  // what mmap needs
// The changes that one tensor may take: a hostile one could have one for every few of its bytes.
constexpr std::size_t kMostChanges = 65536;

constexpr std::string_view kJoint = "__";  // in names, before the ending

constexpr std::uint32_t kGraphNode = protobuf::FieldNumber("GraphProto.node");
constexpr std::uint32_t kValueName = protobuf::FieldNumber("ValueInfoProto.name");
constexpr std::uint32_t kElemType = protobuf::FieldNumber("TypeProto.Tensor.elem_type");

bool IsValueField(std::uint32_t number) {
  static constexpr std::uint32_t kFields[] = {
      protobuf::kFloatData,  protobuf::kInt32Data,    protobuf::kStringData,
      protobuf::kInt64Data,  protobuf::kRawData,      protobuf::kDoubleData,
      protobuf::kUint64Data, protobuf::kExternalData, protobuf::kDataLocation};
  return std::ranges::find(kFields, number) != std::end(kFields);
}

class StorageEditor {
 public:
  // `all_out`: inline values go to the data file too, cast or not.
  StorageEditor(const formats::OnnxTensorReader& reader, const formats::FileContents& contents,
                const std::string& location, bool all_out)
      : reader_(reader),
        contents_(contents),
        location_(location),
        all_out_(all_out),
        stored_(reader.contents().tensors.size()) {
    made_.places.resize(contents.tensors.size());
    std::size_t output = 0;
    auto scaled = contents.scaled.begin();
    for (Stored& stored : stored_) {
      stored.output = output++;
      if (scaled == contents.scaled.end() || scaled->codes != stored.output) continue;
      stored.scaled = &*scaled++;
      ++output;
    }
    has_external_ = all_out || !reader.external_files().empty();
  }

  StorageEdit Make() {
    for (std::size_t i = 0; i < stored_.size(); ++i) Take(i);
    for (const auto& [index, nodes] : casts_) {
      const protobuf::OnnxGraph& graph = reader_.model().graphs[index];
      edit_.Replace(graph.path, FirstNode(graph), FirstNode(graph), nodes);
    }
    made_.pieces = edit_.Finish(reader_.source().size());
    for (const ModelPiece& piece : made_.pieces) {
      if (piece.tensor) made_.places[*piece.tensor].offset = piece.at;
      made_.model_bytes = piece.at + piece.size;
    }
    return std::move(made_);
  }

 private:
  // What becomes of one of the model's tensors.
  struct Stored {
    std::size_t output = 0;  // its index in the contents
    const formats::ScaledOutput* scaled = nullptr;
  };

  // As it is stored; of one that is scaled its codes.
  const formats::TensorInfo& InfoOf(std::size_t tensor) const {
    return contents_.tensors[stored_[tensor].output];
  }
  bool IsCast(std::size_t tensor) const {
    return stored_[tensor].scaled != nullptr ||
           InfoOf(tensor).type != reader_.contents().tensors[tensor].type;
  }

  ValuePlace::File FileOf(std::size_t tensor) const {
    using File = ValuePlace::File;
    const formats::TensorInfo& info = InfoOf(tensor);
    const bool was_external = reader_.is_external(tensor);
    const bool is_dense =
        info.type != DataType::kString && (info.type != DataType::kUndefined || was_external);
    if (!is_dense) return File::kNone;
    const bool is_large = info.bytes > kSmallTensorBytes;
    if (was_external) return is_large ? File::kData : File::kModel;
    if (all_out_ && is_large) return File::kData;
    if (!IsCast(tensor)) return File::kNone;
    // Not every runtime takes a Constant's value from another file.
    const bool is_initializer = reader_.place(tensor).initializer.has_value();
    return is_large && has_external_ && is_initializer ? File::kData : File::kModel;
  }

  void Take(std::size_t tensor) {
    if (!PlaceIn(FileOf(tensor), stored_[tensor].output)) return;
    const formats::OnnxTensorPlace& place = reader_.place(tensor);
    std::vector<WireField> path =
        place.function ? std::vector{reader_.model().functions.at(*place.function).field}
                       : reader_.model().graphs.at(*place.graph).path;
    if (place.initializer) {
      path.push_back(reader_.tensor(tensor).field);
      EditTensor(tensor, path, IsCast(tensor) ? TakeInitializer(tensor) : "");
      return;
    }
    const protobuf::OnnxNode& node = formats::NodeOf(reader_.model(), place);
    path.push_back(node.field);
    if (IsCast(tensor)) TakeConstant(tensor, node, path);
    path.push_back(node.attributes.at(place.attribute).field);
    path.push_back(reader_.tensor(tensor).field);
    EditTensor(tensor, path, "");
  }

  // Gives an output's values their place; false: they are copied with the model.
  bool PlaceIn(ValuePlace::File file, std::size_t output) {
    ValuePlace& value = made_.places[output];
    value.file = file;
    if (file == ValuePlace::File::kData) {
      value.offset = (made_.data_bytes + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
      made_.data_bytes = value.offset + contents_.tensors[output].bytes;
      made_.has_data = true;
    }
    return file != ValuePlace::File::kNone;
  }

  // What brings an initializer back, and the input that goes with it; returns its new name.
  std::string TakeInitializer(std::size_t tensor) {
    const formats::OnnxTensorPlace& place = reader_.place(tensor);
    const std::string& name = reader_.tensor(tensor).message.name;
    const DataType to = InfoOf(tensor).type;
    std::string stored = NewName(name, TypeName(to));
    const protobuf::OnnxGraph& graph = reader_.model().graphs[*place.graph];
    std::string scale;
    if (stored_[tensor].scaled != nullptr) {
      scale = NewName(name, kScaleEnding);
      if (reader_.model().ir_version >= protobuf::kFirstIrOfConstants) {
        AddScaleInitializer(tensor, graph, scale);
      } else {
        AddScaleConstant(tensor, graph.path, FirstNode(graph), kGraphNode, scale);
      }
    }
    casts_[*place.graph] += BackNodes(tensor, kGraphNode, stored, scale, name);
    const auto& inputs = InputsOf(*place.graph);
    if (const auto input = inputs.find(name); input != inputs.end()) {
      EditInput(graph, *input->second, stored, to);
    }
    return stored;
  }

  // The nodes from what is stored to what was there: a Cast, or a DequantizeLinear, whose float32 a
  // Cast makes another type where that was the tensor's.
  std::string BackNodes(std::size_t tensor, std::uint32_t field, const std::string& stored,
                        const std::string& scale, const std::string& name) {
    const DataType from = reader_.contents().tensors[tensor].type;
    const std::int64_t opset = formats::ImportsOf(reader_.model(), reader_.place(tensor)).at("");
    const formats::ScaledOutput* const scaled = stored_[tensor].scaled;
    if (scaled == nullptr) return CastNode(field, stored, name, from, opset);
    if (from == DataType::kFloat32) return DequantizeNode(field, stored, scale, name, scaled->axis);
    const std::string between = NewName(name, TypeName(DataType::kFloat32));
    return DequantizeNode(field, stored, scale, between, scaled->axis) +
           CastNode(field, between, name, from, opset);
  }

  // The scales of a tensor, behind it.
  void AddScaleInitializer(std::size_t tensor, const protobuf::OnnxGraph& graph,
                           const std::string& name) {
    const std::size_t output = stored_[tensor].output + 1;
    const formats::TensorInfo& info = contents_.tensors[output];
    const bool is_outside = info.bytes > kSmallTensorBytes && has_external_;
    PlaceIn(is_outside ? ValuePlace::File::kData : ValuePlace::File::kModel, output);
    const std::uint64_t at = reader_.tensor(tensor).field.end;
    if (is_outside) {
      edit_.Replace(
          graph.path, at, at,
          ExternalInitializer(name, info,
                              ExternalValues(location_, made_.places[output].offset, info.bytes)));
    } else {
      const std::string head = TensorHead(name, info.shape, info.type, info.bytes);
      edit_.ReplaceByValues(graph.path, at, at, InitializerHead(head, info.bytes), output,
                            info.bytes);
    }
  }
  void AddScaleConstant(std::size_t tensor, std::span<const WireField> path, std::uint64_t at,
                        std::uint32_t field, const std::string& name) {
    const std::size_t output = stored_[tensor].output + 1;
    const formats::TensorInfo& info = contents_.tensors[output];
    PlaceIn(ValuePlace::File::kModel, output);
    const std::string head = TensorHead({}, info.shape, info.type, info.bytes);
    edit_.ReplaceByValues(path, at, at, ConstantHead(field, name, name, head, info.bytes), output,
                          info.bytes);
  }

  using Inputs = std::unordered_map<std::string_view, const protobuf::OnnxValue*>;
  const Inputs& InputsOf(std::size_t graph) {
    const auto [place, is_new] = inputs_.try_emplace(graph);
    if (is_new) {
      for (const protobuf::OnnxValue& value : reader_.model().graphs[graph].inputs) {
        place->second.emplace(value.name, &value);
      }
    }
    return place->second;
  }

  // Before IR version 4 an initializer has an input of its name and type.
  void EditInput(const protobuf::OnnxGraph& graph, const protobuf::OnnxValue& input,
                 const std::string& stored, DataType to) {
    std::vector<WireField> path = graph.path;
    path.push_back(input.field);
    ReplaceText(path, input.field, kValueName, stored);
    if (input.elem_type_field.number == 0) return;
    path.insert(path.end(), input.parents.begin(), input.parents.end());
    edit_.Replace(path, input.elem_type_field.offset, input.elem_type_field.end,
                  VarintFieldBytes(kElemType, static_cast<std::uint64_t>(to)));
  }

  // `path` ends with the node.
  void TakeConstant(std::size_t tensor, const protobuf::OnnxNode& node,
                    const std::vector<WireField>& path) {
    const std::string& name = node.outputs.front();
    const std::string stored = NewName(name, TypeName(InfoOf(tensor).type));
    ReplaceText(path, node.field, protobuf::FieldNumber("NodeProto.output"), stored);
    const auto around = std::span(path).first(path.size() - 1);
    const std::uint64_t at = node.field.end;
    std::string scale;
    if (stored_[tensor].scaled != nullptr) {
      scale = NewName(name, kScaleEnding);
      AddScaleConstant(tensor, around, at, node.field.number, scale);
    }
    edit_.Replace(around, at, at, BackNodes(tensor, node.field.number, stored, scale, name));
  }

  // Replaces a text of the message that `message` holds and `path` leads to. Of several the last
  // counts, so that it stands once afterwards.
  void ReplaceText(std::span<const WireField> path, const WireField& message, std::uint32_t number,
                   const std::string& text) {
    protobuf::WireReader fields(reader_.source(), message.begin, message.end);
    bool is_first = true;
    for (WireField field; fields.Next(&field);) {
      if (field.number != number) continue;
      edit_.Replace(path, field.offset, field.end, is_first ? BytesFieldBytes(number, text) : "");
      is_first = false;
    }
  }

  static std::uint64_t FirstNode(const protobuf::OnnxGraph& graph) {
    return graph.nodes.empty() ? graph.field.end : graph.nodes.front().field.offset;
  }

  // A tensor's type, its name (empty: it stays) and its values; `path` ends with its field.
  void EditTensor(std::size_t tensor, const std::vector<WireField>& path, const std::string& name) {
    const WireField& message = path.back();
    const std::size_t output = stored_[tensor].output;
    const ValuePlace& value = made_.places[output];
    const formats::TensorInfo& info = contents_.tensors[output];
    std::string type_bytes;
    if (IsCast(tensor)) {
      type_bytes = VarintFieldBytes(protobuf::kDataType, static_cast<std::uint64_t>(info.type));
    }
    std::string name_bytes = name.empty() ? "" : BytesFieldBytes(protobuf::kName, name);
    std::uint64_t inline_bytes = 0;
    std::string value_bytes;
    if (value.file == ValuePlace::File::kModel) {
      inline_bytes = info.bytes;
      value_bytes = BytesFieldHead(protobuf::kRawData, info.bytes);
    } else {
      value_bytes = ExternalValues(location_, value.offset, info.bytes);
    }
    const bool is_cast = IsCast(tensor);
    bool has_values = false;
    const auto place_values = [&](std::uint64_t begin, std::uint64_t end) {
      edit_.ReplaceByValues(path, begin, end, std::exchange(value_bytes, {}), output, inline_bytes);
      has_values = true;
    };
    // Values in many fields, of which there may be one for each element, become one range.
    std::uint64_t gone_begin = 0;
    std::uint64_t gone_end = 0;
    std::size_t changes = 0;
    const auto flush = [&] {
      if (gone_end == gone_begin) return;
      if (++changes > kMostChanges) {
        protobuf::FailTensorProto(reader_.source(), reader_.tensor(tensor).message,
                                  ErrorKind::kUnsupported,
                                  "has its values in more than " + std::to_string(kMostChanges) +
                                      " places; write it with onnx.save, then convert it");
      }
      if (has_values) {
        edit_.Replace(path, gone_begin, gone_end, {});
      } else {
        place_values(gone_begin, gone_end);
      }
    };
    protobuf::WireReader fields(reader_.source(), message.begin, message.end);
    for (WireField field; fields.Next(&field);) {
      if (IsValueField(field.number)) {
        if (field.offset != gone_end) {
          flush();
          gone_begin = field.offset;
        }
        gone_end = field.end;
      } else if (field.number == protobuf::kDataType && is_cast) {
        edit_.Replace(path, field.offset, field.end, std::exchange(type_bytes, {}));
      } else if (field.number == protobuf::kName && !name.empty()) {
        edit_.Replace(path, field.offset, field.end, std::exchange(name_bytes, {}));
      }
    }
    flush();
    if (!has_values) place_values(message.end, message.end);
  }

  // "<name>__<ending>", which no value and no node of the model has.
  std::string NewName(const std::string& name, std::string_view ending) {
    if (names_.empty()) GatherNames();
    const std::string stored = name + std::string(kJoint) + std::string(ending);
    std::string text = stored;
    if (names_.insert(text).second) return text;
    // Subgraphs may have thousands of one name.
    std::uint64_t& last = last_.try_emplace(stored, 1).first->second;
    do {
      text = stored + '_' + std::to_string(++last);
    } while (!names_.insert(text).second);
    return text;
  }

  void GatherNames() {
    const auto add_nodes = [&](const std::vector<protobuf::OnnxNode>& nodes) {
      for (const protobuf::OnnxNode& node : nodes) {
        names_.insert(node.name);
        names_.insert(node.inputs.begin(), node.inputs.end());
        names_.insert(node.outputs.begin(), node.outputs.end());
      }
    };
    for (const protobuf::OnnxGraph& graph : reader_.model().graphs) {
      add_nodes(graph.nodes);
      for (const protobuf::OnnxTensor& tensor : graph.initializers)
        names_.insert(tensor.message.name);
      for (const auto* const values : {&graph.inputs, &graph.outputs, &graph.value_infos}) {
        for (const protobuf::OnnxValue& value : *values) names_.insert(value.name);
      }
    }
    for (const protobuf::OnnxFunction& function : reader_.model().functions) {
      add_nodes(function.nodes);
      names_.insert(function.inputs.begin(), function.inputs.end());
      names_.insert(function.outputs.begin(), function.outputs.end());
    }
  }

  const formats::OnnxTensorReader& reader_;
  const formats::FileContents& contents_;
  const std::string& location_;
  const bool all_out_;
  std::vector<Stored> stored_;  // by the model's tensors
  bool has_external_ = false;
  StorageEdit made_;
  ModelEdit edit_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::uint64_t> last_;  // of new names, their last number
  std::unordered_map<std::size_t, Inputs> inputs_;       // by graph
  std::unordered_map<std::size_t, std::string> casts_;   // by graph: the nodes, as fields
};

}  // namespace

std::string_view NameBefore(std::string_view stored, std::string_view ending) {
  const std::size_t joint = stored.rfind(kJoint);
  if (joint == std::string_view::npos) return {};
  std::string_view rest = stored.substr(joint + kJoint.size());
  if (!rest.starts_with(ending)) return {};
  rest.remove_prefix(ending.size());
  const bool is_counted = rest.size() > 1 && rest.front() == '_' &&
                          rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return rest.empty() || is_counted ? stored.substr(0, joint) : std::string_view();
}

StorageEdit MakeStorageEdit(const formats::OnnxTensorReader& model,
                            const formats::FileContents& contents, const std::string& location,
                            bool keeps_data) {
  const std::vector<formats::TensorInfo>& before = model.contents().tensors;
  if (contents.tensors.size() != before.size() + contents.scaled.size()) {
    throw std::logic_error("a model keeps all its tensors");
  }
  bool is_cast = !contents.scaled.empty();
  for (std::size_t i = 0; !is_cast && i < before.size(); ++i) {
    is_cast = contents.tensors[i].type != before[i].type;
  }
  if (!is_cast && (keeps_data || model.external_files().empty())) {
    StorageEdit made;
    made.places.resize(before.size());
    made.model_bytes = model.source().size();
    made.pieces = ModelEdit().Finish(made.model_bytes);
    made.keeps_data = !model.external_files().empty();
    return made;
  }
  StorageEdit made = StorageEditor(model, contents, location, false).Make();
  if (made.model_bytes > kMostModelBytes) {
    made = StorageEditor(model, contents, location, true).Make();
  }
  if (made.model_bytes > kMostModelBytes) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(model.source().path()) + ": would take " +
                    words::CountText(made.model_bytes, "byte") +
                    " without the values that can be in another file; protobuf allows " +
                    std::to_string(kMostModelBytes),
                model.source().path());
  }
  return made;
}

}  // namespace tensorcast::onnx
