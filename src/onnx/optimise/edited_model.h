// A model after changes, as bytes that are put together where they are read: what stayed from the
// model as it was, what is new, and constants that are cast.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_OPTIMISE_EDITED_MODEL_H_
#define TENSORCAST_SRC_ONNX_OPTIMISE_EDITED_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/byte_source.h"
#include "onnx/model_edit.h"
#include "onnx/optimise/folded_constant.h"

namespace tensorcast::onnx {

// Has the path of the model as it was: external data is found from there.
class EditedModel final : public io::ByteSource {
 public:
  // `pieces` of `source`, whose tensors are those of `constants`, which are read from it.
  EditedModel(std::unique_ptr<const io::ByteSource> source, std::vector<ModelPiece> pieces,
              std::vector<FoldedConstant> constants);

  const std::string& path() const override { return source_->path(); }
  std::uint64_t size() const override { return size_; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override;
  void CheckUnchanged() const override { source_->CheckUnchanged(); }

 private:
  std::unique_ptr<const io::ByteSource> source_;
  std::vector<ModelPiece> pieces_;
  std::vector<FoldedConstant> constants_;
  std::uint64_t size_ = 0;
};

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_OPTIMISE_EDITED_MODEL_H_
