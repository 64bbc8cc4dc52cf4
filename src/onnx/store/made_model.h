// The model that a conversion makes, without its values: what one that stands is held against.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_STORE_MADE_MODEL_H_
#define TENSORCAST_SRC_ONNX_STORE_MADE_MODEL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/faulty_file.h"
#include "formats/onnx_tensors.h"
#include "formats/tensor_info.h"
#include "onnx/store/storage_edit.h"

namespace tensorcast::onnx {

class MadeModel {
 public:
  // What CreateStorageModel makes of `model`, which outlives this, for the place of `found`, a
  // model that stands. Its data may have any of the names that it may get. Throws files::Error.
  MadeModel(const formats::OnnxTensorReader& model, formats::FileContents contents,
            const formats::OnnxTensorReader& found);

  // The data files that are missing or have another size: without them there is no reader.
  const std::vector<files::FaultyFile>& faulty_data() const { return faulty_data_; }

  // As a reader finds it, with the names that stored tensors get. Those that are written have no
  // values yet.
  const formats::OnnxTensorReader& reader() const { return made_ ? *made_ : model_; }
  // The index there of a tensor of the contents that is written; kNone: it is copied with the
  // model, or has no values.
  static constexpr std::size_t kNone = SIZE_MAX;
  std::size_t WrittenAs(std::size_t tensor) const { return written_as_.at(tensor); }
  bool IsWritten(std::size_t made) const { return is_written_.at(made); }

  // What is not as it is made outside of the values: of the model's file, but for what `faulty`
  // tensors of the reader take there, and of its data. Throws files::Error, files::Interrupted.
  std::vector<files::FaultyFile> FilesAmiss(std::span<const std::size_t> faulty,
                                            const std::atomic<bool>* interrupted) const;

 private:
  void FindWritten();
  bool HasTheGraph(std::span<const std::size_t> faulty, const std::atomic<bool>* interrupted) const;
  bool HasZerosBetween() const;

  const formats::OnnxTensorReader& model_;
  const formats::FileContents contents_;
  const formats::OnnxTensorReader& found_;
  std::string location_;  // of the data that is made
  StorageEdit edit_;
  std::unique_ptr<formats::OnnxTensorReader> made_;  // null: the model as it is
  std::vector<files::FaultyFile> faulty_data_;
  std::vector<std::size_t> written_as_;
  std::vector<bool> is_written_;
};

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_STORE_MADE_MODEL_H_
