// Where everything of a model stands once some of its tensors are stored in other types: the pieces
// of the model file and the places of the values.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_STORE_STORAGE_EDIT_H_
#define TENSORCAST_SRC_ONNX_STORE_STORAGE_EDIT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/onnx_tensors.h"
#include "formats/tensor_info.h"
#include "onnx/model_edit.h"

namespace tensorcast::onnx {

// Where the values of one tensor are written.
struct ValuePlace {
  enum class File {
    kNone,  // they are copied with the model
    kModel,
    kData,
  };
  File file = File::kNone;
  std::uint64_t offset = 0;
};

// Of the names that tensors get: "w" is stored as "w__float16", or "w__float16_2" where that name
// is taken, and its scale as "w__scale".
inline constexpr std::string_view kScaleEnding = "scale";

// The name before, of one with this ending; else empty.
std::string_view NameBefore(std::string_view stored, std::string_view ending);

struct StorageEdit {
  std::vector<ModelPiece> pieces;
  std::vector<ValuePlace> places;  // by tensor
  std::uint64_t model_bytes = 0;
  std::uint64_t data_bytes = 0;
  bool has_data = false;    // there is a data file
  bool keeps_data = false;  // it names the data files of the input
};

// `location`: what the model calls its data file. `keeps_data`: where no tensor is cast the new
// model is to name the data files of `model`. Throws files::Error (unsupported) where the model
// file would be larger than protobuf allows.
StorageEdit MakeStorageEdit(const formats::OnnxTensorReader& model,
                            const formats::FileContents& contents, const std::string& location,
                            bool keeps_data);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_STORE_STORAGE_EDIT_H_
