// Finds the pieces that a range of bytes is made of.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/optimise/edited_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tensorcast::onnx {

EditedModel::EditedModel(std::unique_ptr<const io::ByteSource> source,
                         std::vector<ModelPiece> pieces, std::vector<FoldedConstant> constants)
    : source_(std::move(source)), pieces_(std::move(pieces)), constants_(std::move(constants)) {
  if (!pieces_.empty()) size_ = pieces_.back().at + pieces_.back().size;
}

void EditedModel::Read(std::uint64_t offset, std::span<std::byte> out) const {
  auto piece =
      std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                       [](std::uint64_t at, const ModelPiece& each) { return at < each.at; });
  if (piece != pieces_.begin()) piece = std::prev(piece);
  for (; !out.empty(); ++piece) {
    const std::uint64_t skipped = offset - piece->at;
    const std::span<std::byte> part = out.first(
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), piece->size - skipped)));
    if (piece->source) {
      source_->Read(*piece->source + skipped, part);
    } else if (piece->tensor) {
      constants_[*piece->tensor].Read(skipped, part);
    } else {
      const auto bytes = std::as_bytes(std::span(piece->bytes));
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(skipped), part.size(), part.begin());
    }
    out = out.subspan(part.size());
    offset += part.size();
  }
}

}  // namespace tensorcast::onnx
