// Tensors that stand in Fortran order, read as those are that do not.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_DIFF_ROW_MAJOR_H_
#define TENSORCAST_SRC_DIFF_ROW_MAJOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/strided_elements.h"
#include "formats/tensor_reader.h"

namespace tensorcast::diff {

// Every tensor is row-major; of those that are not in the file, a window or two tiles are held.
// Strings and types of less than a byte are in that order in no format.
class RowMajorReader final : public formats::TensorReader {
 public:
  explicit RowMajorReader(std::shared_ptr<const formats::TensorReader> base);

  const formats::FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override;
  text::StringPiece ReadStrings(std::size_t tensor, std::uint64_t first,
                                std::uint64_t n) const override {
    return base_->ReadStrings(tensor, first, n);
  }
  std::uint64_t file_bytes() const override { return base_->file_bytes(); }
  void CheckUnchanged() const override { base_->CheckUnchanged(); }
  std::vector<std::string> external_paths() const override { return base_->external_paths(); }
  std::vector<std::string> notes() const override { return base_->notes(); }

 private:
  std::shared_ptr<const formats::TensorReader> base_;
  formats::FileContents contents_;
  // Of each tensor, where its elements stand in the file; none where they stand in their order.
  std::vector<std::vector<formats::StridedDim>> dims_;
  mutable formats::StridedTiles tiles_;
};

}  // namespace tensorcast::diff

#endif  // TENSORCAST_SRC_DIFF_ROW_MAJOR_H_
