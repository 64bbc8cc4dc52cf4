// onnx: the tensors of an ONNX model, as one tensor file: initializers and the tensors of
// attributes, in subgraphs and functions too, inline or in external data.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_ONNX_TENSORS_H_
#define TENSORCAST_SRC_FORMATS_ONNX_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/tensor_file.h"
#include "protobuf/external_data.h"
#include "protobuf/onnx_model.h"
#include "protobuf/tensor_proto_values.h"

namespace tensorcast::formats {

// Where a tensor of the reader stands in its model.
struct OnnxTensorPlace {
  // The graph it belongs to, or the function; exactly one is set.
  std::optional<std::size_t> graph;     // index in OnnxModel::graphs
  std::optional<std::size_t> function;  // index in OnnxModel::functions
  // An initializer of `graph`, or else attribute `attribute` of node `node`.
  std::optional<std::size_t> initializer;
  std::size_t node = 0;
  std::size_t attribute = 0;
  std::size_t element = 0;  // which of the attribute's tensors
};

// The node whose attribute the tensor is; not of an initializer.
const protobuf::OnnxNode& NodeOf(const protobuf::OnnxModel& model, const OnnxTensorPlace& place);

// The opset imports in force where the tensor stands: the model's, or a function's own.
const std::map<std::string, std::int64_t>& ImportsOf(const protobuf::OnnxModel& model,
                                                     const OnnxTensorPlace& place);

// Reads a model. Tensors of the main graph have their own names; Constants that of their output;
// others "<label>/<name>" or, of another attribute, "<output>.<attribute>"; a name that would stand
// twice gets "#2", "#3" ... behind it.
class OnnxTensorReader final : public TensorReader {
 public:
  explicit OnnxTensorReader(std::unique_ptr<files::ByteSource> source,
                            bool allow_hard_links = false);
  ~OnnxTensorReader() override;

  const FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override;
  text::StringPiece ReadStrings(std::size_t tensor, std::uint64_t first,
                                std::uint64_t n) const override;
  std::uint64_t file_bytes() const override { return source_->size() + files_.bytes(); }
  void CheckUnchanged() const override;
  std::vector<std::string> external_paths() const override;
  // What the graph's operators take as scales and zero points, whatever it is called.
  std::vector<std::string> notes() const override;

  const files::ByteSource& source() const { return *source_; }
  const protobuf::OnnxModel& model() const { return model_; }
  // The index is that of the tensor in contents().
  const OnnxTensorPlace& place(std::size_t tensor) const { return places_.at(tensor); }
  const protobuf::OnnxTensor& tensor(std::size_t tensor) const;
  bool is_external(std::size_t tensor) const { return tensor_of(tensor).is_external; }
  // Where its values begin, in the model's file or in its data file.
  std::uint64_t values_begin(std::size_t tensor) const;
  // The external data files, by location.
  const std::map<std::string, std::unique_ptr<files::ByteSource>>& external_files() const {
    return files_.files();
  }

 private:
  struct Values;
  void Add(const protobuf::TensorProtoMessage& message, std::string name);
  const protobuf::TensorProtoMessage& tensor_of(std::size_t index) const {
    return tensor(index).message;
  }

  std::unique_ptr<files::ByteSource> source_;
  protobuf::OnnxModel model_;
  protobuf::ExternalFiles files_;
  FileContents contents_;
  std::vector<OnnxTensorPlace> places_;
  std::vector<std::unique_ptr<Values>> values_;
};

OpenedTensors OpenOnnxModel(std::unique_ptr<files::ByteSource> source, const OpenOptions& options);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_ONNX_TENSORS_H_
