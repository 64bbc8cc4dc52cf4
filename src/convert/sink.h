// Where a conversion's result goes: what an output can hold, and what writes it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_SINK_H_
#define TENSORCAST_SRC_CONVERT_SINK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/open_tensor_file.h"
#include "convert/new_names.h"
#include "convert/runner.h"
#include "convert/selection.h"
#include "convert/survey.h"
#include "files/faulty_file.h"
#include "files/output_options.h"
#include "formats/onnx_tensors.h"
#include "formats/tensor_reader.h"
#include "formats/tensor_writer.h"
#include "onnx/store/made_model.h"

namespace tensorcast::convert {

using files::FaultyFile;
using files::FileFault;

// An output that is yet to be made. It may refer to the input's reader, which outlives it.
class Sink {
 public:
  virtual ~Sink() = default;
  // What the file is called where it holds one tensor ("an .npy"); empty where it holds many.
  virtual std::string_view one_tensor_file() const { return {}; }
  // Whether its readers get tensors in the type that they had: then a scale goes on scaling them.
  virtual bool gives_types_back() const { return false; }
  // Whether the writer must know what texts take before the first is written (TensorInfo::text).
  virtual bool measures_texts() const { return true; }
  // Takes back what cannot be held in another type, or had better not be, with the reason. May read
  // tensors for that. Throws files::Error (arguments) where a type can be held by no tensor here,
  // and what RunJobs throws.
  virtual void Restrict(std::span<Decision> /*decisions*/, const JobOptions& /*options*/) const {}
  // Whether scaled weights can be written: several tensors for one, with names that say what they
  // are.
  virtual bool holds_scaled_weights() const { return false; }
  // Whether such weights can be GGUF's blocks, and are nothing else.
  virtual bool holds_blocks() const { return false; }
  // Whether Restrict tells which tensors are weights that a scaled format is for; else their names
  // do.
  virtual bool tells_weights() const { return has_graph(); }
  // Whether they are a model's: Restrict tells by its graph which tensors these are, and how each
  // is held (the layout of models).
  virtual bool has_graph() const { return false; }
  // Something the user should know of decisions that Restrict has seen.
  virtual std::vector<std::string> NotesOn(std::span<const Decision> /*decisions*/) const {
    return {};
  }
  // The form that a tensor gets of a scaled format that is asked for.
  virtual scale::WrittenForm FormOf(std::size_t /*tensor*/, const scale::WrittenForm& asked) const {
    return asked;
  }
  // The order in which the output has tensors, by their indices in the input as it is read, of
  // those that are left or of all: `left` is set where it is another one. Throws files::Error where
  // some are missing or too many.
  virtual void Arrange(const formats::FileContents& /*input*/,
                       std::optional<std::vector<std::size_t>>& /*left*/) const {}
  // Whether a tensor of the input can be held as `to`.
  virtual bool CanHold(std::size_t /*tensor*/, DataType /*to*/) const { return true; }
  // The checks of Create that need no writing; returns the size that the output would have.
  virtual std::uint64_t Check(const formats::FileContents& contents,
                              const files::CreateOptions& options) const = 0;
  // The paths of files that Create copies beside the tensors. Throws files::Error.
  virtual std::vector<std::string> OtherInputs() const { return {}; }
  // Of an output that is a directory: the names of its files of tensors, and which of them each
  // tensor goes into. Else nothing.
  virtual std::vector<std::string> FilesOf(const formats::FileContents& /*contents*/,
                                           const files::CreateOptions& /*options*/,
                                           std::vector<std::uint32_t>& /*file_of*/) const {
    return {};
  }
  // What Create would make beside the tensors, and is not so in an output that stands: files of a
  // directory, safetensors' metadata, the keys of a GGUF file. Throws files::Error where one cannot
  // be read.
  virtual std::vector<FaultyFile> OtherFilesAmiss(const formats::FileContents& /*contents*/,
                                                  const checkpoint::OpenedInput& /*found*/) const {
    return {};
  }
  // Of a model: what Create would make in the place of one that stands. Throws files::Error.
  virtual std::unique_ptr<onnx::MadeModel> MadeInPlaceOf(const formats::OnnxTensorReader& /*found*/,
                                                         formats::FileContents /*contents*/) const {
    return nullptr;
  }
  // Throws files::Error, and files::Interrupted where it copies much.
  virtual std::unique_ptr<formats::TensorWriter> Create(
      formats::FileContents contents, const files::CreateOptions& options,
      const std::atomic<bool>* interrupted) const = 0;
};

// A sink for the ending of `path`, of what `input` is; a checkpoint's directory is written
// where one is read and the path has the ending of no format, or a slash. `names`: those that the
// input's tensors get. `like`: a file whose
// names, order and keys a .gguf gets, or empty; `rule`: that of scales, where one is asked for.
// Throws files::Error: unsupported where a model is to be written of tensors that are none's; what
// opening `like` throws.
std::unique_ptr<Sink> OpenSink(const std::string& path, const checkpoint::OpenedInput& input,
                               const NewNames& names, const std::string& like,
                               std::optional<ScaleRule> rule, const Opening& opening);

// The model itself, with tensors stored in other types.
std::unique_ptr<Sink> OpenModelSink(const std::string& path,
                                    const formats::OnnxTensorReader& model);

// Nothing is written: anything holds tensors that are only measured, but a model's scaled weights
// are what they would be in one. `model` is null if the tensors are no model's.
std::unique_ptr<Sink> OpenMeasure(const formats::OnnxTensorReader* model);

// A directory made of another: its shards, and its other files.
std::unique_ptr<Sink> OpenCheckpointSink(const std::string& path,
                                         const checkpoint::CheckpointReader& reader);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_SINK_H_
