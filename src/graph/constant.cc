// Memory of constants; bytes of one's own.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/constant.h"

#include <algorithm>

namespace tensorcast::graph {
namespace {

class OwnBytes final : public ByteStore {
 public:
  explicit OwnBytes(std::string_view bytes) : bytes_(bytes) {}
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto part =
        std::as_bytes(std::span(bytes_)).subspan(static_cast<std::size_t>(offset), out.size());
    std::copy(part.begin(), part.end(), out.begin());
  }

 private:
  std::string bytes_;
};

}  // namespace

std::span<std::byte> Constant::Allocate(std::uint64_t bytes) {
  owned = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  const std::span<std::byte> memory(owned.get(), static_cast<std::size_t>(bytes));
  data = memory;
  return memory;
}

void Constant::Append(std::string_view text) {
  texts.insert(texts.end(), text.begin(), text.end());
  text_offsets.push_back(texts.size());
}

TensorView Constant::view() const {
  TensorView view;
  view.type = type;
  view.shape = shape;
  if (type == DataType::kString) {
    view.strings = strings();
  } else {
    view.data = data;
  }
  return view;
}

std::string Blob::Text(std::uint64_t most) const {
  std::string text(static_cast<std::size_t>(std::min(size, most)), '\0');
  if (!text.empty()) store->Read(begin, std::as_writable_bytes(std::span(text)));
  return text;
}

Blob BlobOf(std::string_view bytes) { return {std::make_shared<OwnBytes>(bytes), 0, bytes.size()}; }

}  // namespace tensorcast::graph
