// Lists a model's tensors and reads their values, where they stand or from the data files.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/onnx_tensors.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/onnx_numbers.h"
#include "core/shape.h"
#include "files/error.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;

// Where a tensor's values are: in one of the two, or in neither if they cannot be read.
struct OnnxTensorReader::Values {
  std::optional<protobuf::TensorProtoValues> inside;
  protobuf::ExternalRange outside;
};

namespace {

std::string TypeText(std::uint64_t number) {
  const std::string_view name = number != 0 ? core::NameOfUnknownType(number) : "";
  return name.empty() ? "type " + std::to_string(number) : std::string(name);
}

// What is called `name`, and if that was taken "name#2", "name#3" ...
class UniqueNames {
 public:
  std::string Make(const std::string& name) {
    if (taken_.insert(name).second) return name;
    std::uint64_t& last = last_.try_emplace(name, 1).first->second;
    for (;;) {
      std::string text = name + '#' + std::to_string(++last);
      if (taken_.insert(text).second) return text;
    }
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::uint64_t> last_;
};

// The name of a tensor in its graph or function.
std::string NameOf(const protobuf::OnnxModel& model, const OnnxTensorPlace& place) {
  if (place.initializer) {
    const std::string& name =
        model.graphs.at(*place.graph).initializers.at(*place.initializer).message.name;
    return name.empty() ? "initializer " + std::to_string(*place.initializer) : name;
  }
  const protobuf::OnnxNode& node = NodeOf(model, place);
  const protobuf::OnnxAttribute& attribute = node.attributes.at(place.attribute);
  std::string name = node.outputs.empty() ? node.name : node.outputs.front();
  if (name.empty()) name = "node " + std::to_string(place.node);
  if (node.op_type == "Constant" && attribute.name == "value") return name;
  name += '.' + attribute.name;
  if (attribute.type == core::AttributeType::kTensors) name += '.' + std::to_string(place.element);
  return name;
}

std::string PrefixOf(const protobuf::OnnxModel& model, const OnnxTensorPlace& place) {
  if (place.function) {
    const protobuf::OnnxFunction& function = model.functions.at(*place.function);
    return (function.domain.empty() ? "" : function.domain + '.') + function.name + '/';
  }
  const std::string& label = model.graphs.at(*place.graph).label;
  return label.empty() ? "" : label + '/';
}

// All tensors: of a graph its initializers, then those of its nodes.
std::vector<OnnxTensorPlace> PlacesIn(const protobuf::OnnxModel& model) {
  std::vector<OnnxTensorPlace> places;
  const auto add_nodes = [&](const std::vector<protobuf::OnnxNode>& nodes, OnnxTensorPlace place) {
    for (place.node = 0; place.node < nodes.size(); ++place.node) {
      const std::vector<protobuf::OnnxAttribute>& attributes = nodes[place.node].attributes;
      for (place.attribute = 0; place.attribute < attributes.size(); ++place.attribute) {
        const std::size_t tensors = attributes[place.attribute].tensors.size();
        for (place.element = 0; place.element < tensors; ++place.element) places.push_back(place);
      }
    }
  };
  for (std::size_t g = 0; g < model.graphs.size(); ++g) {
    OnnxTensorPlace place;
    place.graph = g;
    for (std::size_t i = 0; i < model.graphs[g].initializers.size(); ++i) {
      place.initializer = i;
      places.push_back(place);
    }
    place.initializer.reset();
    add_nodes(model.graphs[g].nodes, place);
  }
  for (std::size_t f = 0; f < model.functions.size(); ++f) {
    OnnxTensorPlace place;
    place.function = f;
    add_nodes(model.functions[f].nodes, place);
  }
  return places;
}

}  // namespace

const protobuf::OnnxNode& NodeOf(const protobuf::OnnxModel& model, const OnnxTensorPlace& place) {
  return (place.function ? model.functions.at(*place.function).nodes
                         : model.graphs.at(*place.graph).nodes)
      .at(place.node);
}

const std::map<std::string, std::int64_t>& ImportsOf(const protobuf::OnnxModel& model,
                                                     const OnnxTensorPlace& place) {
  if (place.function) return model.functions.at(*place.function).opset_imports;
  const std::size_t scope = model.graphs.at(*place.graph).opset_scope;
  return scope == 0 ? model.opset_imports : model.functions.at(scope - 1).opset_imports;
}

OnnxTensorReader::OnnxTensorReader(std::unique_ptr<files::ByteSource> source, bool allow_hard_links)
    : source_(std::move(source)),
      model_(protobuf::ReadOnnxModel(*source_)),
      files_(source_->path(), allow_hard_links),
      places_(PlacesIn(model_)) {
  contents_.metadata = model_.metadata;
  contents_.tensors.reserve(places_.size());
  values_.reserve(places_.size());
  UniqueNames names;
  std::uint64_t text = 0;  // a long label may stand before many names
  for (std::size_t i = 0; i < places_.size(); ++i) {
    std::string name = names.Make(PrefixOf(model_, places_[i]) + NameOf(model_, places_[i]));
    text += name.size();
    if (text > protobuf::kMostModelText) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(source_->path()) +
                      ": the names of its tensors, with those of the " +
                      "graphs they are in, take more than " +
                      std::to_string(protobuf::kMostModelText) + " bytes",
                  source_->path());
    }
    Add(tensor(i).message, std::move(name));
  }
}

OnnxTensorReader::~OnnxTensorReader() = default;

void OnnxTensorReader::Add(const protobuf::TensorProtoMessage& message, std::string name) {
  if (message.is_segment) {
    protobuf::FailTensorProto(*source_, message, ErrorKind::kUnsupported,
                              "holds a segment of a tensor; put its parts together first");
  }
  TensorInfo info;
  info.name = std::move(name);
  info.type = core::TypeOfNumber(message.data_type);
  info.dtype = info.type == DataType::kUndefined ? TypeText(message.data_type)
                                                 : std::string(FindType(info.type)->onnx_name);
  info.shape = message.dims;
  const std::optional<std::uint64_t> elements = core::CheckedProduct(message.dims);
  const bool has_size = info.type != DataType::kUndefined && info.type != DataType::kString;
  std::optional<std::uint64_t> bytes;
  if (elements && has_size) bytes = StorageBytes(info.type, *elements);
  if (!elements || (has_size && !bytes)) {
    protobuf::FailTensorProto(*source_, message, ErrorKind::kContents,
                              "has the shape " + words::ShapeText(message.dims) + " of " +
                                  info.dtype + ": more than 2^64 - 1 bits");
  }
  info.elements = *elements;
  auto values = std::make_unique<Values>();
  if (message.is_external) {
    values->outside = protobuf::FindExternalValues(files_, *source_, message, bytes);
    info.bytes = values->outside.bytes;
  } else if (info.type != DataType::kUndefined) {
    values->inside.emplace(*source_, message, info.type, info.elements);
    info.bytes = values->inside->bytes();
  } else if (message.values.number == protobuf::kRawData) {
    values->outside = {source_.get(), message.values.begin, message.values.bytes};
    info.bytes = message.values.bytes;
  }
  contents_.tensors.push_back(std::move(info));
  values_.push_back(std::move(values));
}

const protobuf::OnnxTensor& OnnxTensorReader::tensor(std::size_t tensor) const {
  const OnnxTensorPlace& place = places_.at(tensor);
  if (place.initializer) return model_.graphs.at(*place.graph).initializers.at(*place.initializer);
  return NodeOf(model_, place).attributes.at(place.attribute).tensors.at(place.element);
}

std::uint64_t OnnxTensorReader::values_begin(std::size_t tensor) const {
  const protobuf::TensorProtoMessage& message = tensor_of(tensor);
  return message.is_external ? values_.at(tensor)->outside.begin : message.values.begin;
}

void OnnxTensorReader::Read(std::size_t tensor, std::uint64_t offset,
                            std::span<std::byte> out) const {
  const Values& values = *values_.at(tensor);
  if (values.inside) {
    values.inside->Read(offset, out);
  } else if (!out.empty()) {
    values.outside.file->Read(values.outside.begin + offset, out);
  }
}

text::StringPiece OnnxTensorReader::ReadStrings(std::size_t tensor, std::uint64_t first,
                                                std::uint64_t n) const {
  return values_.at(tensor)->inside.value().ReadStrings(first, n);
}

void OnnxTensorReader::CheckUnchanged() const {
  source_->CheckUnchanged();
  for (const auto& [location, file] : external_files()) file->CheckUnchanged();
}

std::vector<std::string> OnnxTensorReader::external_paths() const {
  std::vector<std::string> paths;
  for (const auto& [location, file] : external_files()) paths.push_back(file->path());
  return paths;
}

std::vector<std::string> OnnxTensorReader::notes() const {
  std::vector<std::string> notes;
  std::uint64_t sparse = 0;
  for (const protobuf::OnnxGraph& graph : model_.graphs) sparse += graph.sparse_initializers;
  if (sparse != 0) {
    notes.push_back(words::PathText(source_->path()) + ": " +
                    words::CountText(sparse, "sparse initializer") +
                    " only in models, as they are");
  }
  if (model_.has_training_info) {
    notes.push_back(words::PathText(source_->path()) +
                    ": training_info is kept only in models, as it is");
  }
  return notes;
}

OpenedTensors OpenOnnxModel(std::unique_ptr<files::ByteSource> source, const OpenOptions& options) {
  auto reader = std::make_shared<OnnxTensorReader>(std::move(source), options.allow_hard_links);
  return {reader, reader.get()};
}

}  // namespace tensorcast::formats
