// Checks each tensor against its storage, and reads it in its own order.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/torch_tensors.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/shape.h"
#include "files/error.h"
#include "files/system.h"
#include "formats/strided_elements.h"
#include "formats/torch_root.h"

namespace tensorcast::formats {

using core::ErrorKind;
namespace {

// Where a tensor's elements lie.
struct TorchPlace {
  std::uint64_t begin = 0;  // of its first element in the file
  std::uint32_t element_bytes = 0;
  std::uint32_t number_bytes = 0;  // of each of the two that make a complex element
  std::uint32_t dims = 0;          // index of its first in the reader's
  std::uint32_t rank = 0;          // 0: they stand in their order
};

void SwapBytes(std::span<std::byte> bytes, std::size_t element_bytes) {
  for (std::size_t i = 0; i + element_bytes <= bytes.size(); i += element_bytes) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + element_bytes));
  }
}

// Llama's own files: where there are several, each has some rows or columns of every matrix.
std::string PartNote(const std::string& path) {
  constexpr std::string_view kStem = "consolidated.", kEnding = ".pth";
  constexpr std::size_t kDigits = 2;
  const std::size_t begin = files::NameBegin(path);
  const std::string_view name = std::string_view(path).substr(begin);
  if (name.size() != kStem.size() + kDigits + kEnding.size() || !name.starts_with(kStem) ||
      !name.ends_with(kEnding)) {
    return {};
  }
  const bool is_first = name.substr(kStem.size(), kDigits) == "00";
  std::string other(kStem);
  other.append(is_first ? "01" : "00").append(kEnding);
  if (!files::IsFile(path.substr(0, begin) + other)) return {};
  return "is one of several parts (" + other +
         " stands beside it), each of which has some rows or columns of every matrix: they are not "
         "joined";
}

class TorchReader final : public TensorReader {
 public:
  TorchReader(std::unique_ptr<files::ByteSource> source, const TorchFile& file,
              const OpenOptions& options)
      : source_(std::move(source)), is_big_endian_(file.is_big_endian) {
    TorchRoot root = FindTorchRoot(*source_, file.machine, file.objects, file.top, options.root);
    contents_.tensors.reserve(root.tensors.size());
    places_.reserve(root.tensors.size());
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> sharing;  // by where storages begin
    for (NamedTorchTensor& one : root.tensors) {
      const std::uint64_t storage = Add(std::move(one.name), *one.tensor, file);
      const TensorInfo& info = contents_.tensors.back();
      if (info.bytes != 0 && info.why_not.empty()) {
        sharing[storage].push_back(contents_.tensors.size() - 1);
      }
    }
    notes_ = std::move(root.notes);
    SayShared(sharing);
    if (std::string note = PartNote(source_->path()); !note.empty()) {
      notes_.push_back(std::move(note));
    }
    for (std::string& note : notes_) note.insert(0, words::PathText(source_->path()) + ": ");
  }

  const FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    const TorchPlace& place = places_.at(tensor);
    const TensorInfo& info = contents_.tensors[tensor];
    if (!info.why_not.empty()) {
      files::FailFile(*source_,
                      "tensor " + words::Quoted(info.name) + " (" + info.dtype + ") " +
                          std::string(info.why_not),
                      ErrorKind::kUnsupported);
    }
    // Of what is passed through any bytes may be asked for.
    if (const std::uint64_t before = offset % place.element_bytes;
        before != 0 || out.size() % place.element_bytes != 0) {
      const std::uint64_t whole = (before + out.size() + place.element_bytes - 1) /
                                  place.element_bytes * place.element_bytes;
      std::vector<std::byte> elements(static_cast<std::size_t>(whole));
      Read(tensor, offset - before, elements);
      std::ranges::copy(std::span(elements).subspan(before, out.size()), out.begin());
      return;
    }
    if (place.rank == 0) {
      source_->Read(place.begin + offset, out);
    } else {
      const auto dims = std::span<const StridedDim>(dims_).subspan(place.dims, place.rank);
      if (IsTurned(dims)) {
        tiles_.Read(*source_, place.begin, dims, place.element_bytes, info.bytes, offset, out);
      } else {
        ReadStrided(*source_, place.begin, dims, place.element_bytes, offset / place.element_bytes,
                    out);
      }
    }
    if (is_big_endian_ && place.number_bytes > 1) SwapBytes(out, place.number_bytes);
  }
  std::shared_ptr<std::byte> Map(std::size_t tensor) const override {
    const TorchPlace& place = places_.at(tensor);
    const TensorInfo& info = contents_.tensors[tensor];
    const bool is_turned = is_big_endian_ && place.number_bytes > 1;
    if (info.bytes == 0 || !info.why_not.empty() || place.rank != 0 || is_turned) return nullptr;
    return source_->Map(place.begin, info.bytes);
  }
  std::uint64_t file_bytes() const override { return source_->size(); }
  void CheckUnchanged() const override { source_->CheckUnchanged(); }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  // Gives where the storage begins of which it is a view.
  std::uint64_t Add(std::string name, const TorchTensor& tensor, const TorchFile& file) {
    const auto fail = [&](const std::string& why) {
      files::FailFile(*source_, "tensor " + words::Quoted(name) + " " + why);
    };
    const TorchType& type = *tensor.type;
    const bool is_ours = type.type != DataType::kUndefined;
    TensorInfo info;
    info.why_not = tensor.why_not;
    const std::span<const std::uint64_t> sizes = file.objects.SizesOf(tensor);
    const std::optional<std::uint64_t> elements = core::CheckedProduct(sizes);
    if (!elements || *elements > UINT64_MAX / 16) {
      fail("has the shape " + words::ShapeText(sizes) + ": more elements than are read");
    }
    TorchPlace place;
    place.element_bytes = type.bytes;
    place.number_bytes = is_ours ? type.bytes : type.bytes / 2;
    std::uint64_t whole = 0;
    if (*elements != 0 && info.why_not.empty()) {
      const std::span<const std::uint64_t> strides = file.objects.StridesOf(tensor);
      const TorchStorage& storage = file.objects.storages()[tensor.storage];
      const StoragePlace at = file.find(storage);
      const std::optional<std::uint64_t> last = LastElement(tensor, sizes, strides);
      if (!last || *last >= at.bytes / type.bytes) {
        fail("of the shape " + words::ShapeText(sizes) + " and the strides " +
             words::ShapeText(strides) + " from element " + std::to_string(tensor.offset) +
             " leaves its storage " + words::Quoted(storage.key) + ", of " +
             words::CountText(at.bytes / type.bytes, "element"));
      }
      place.begin = at.begin + tensor.offset * type.bytes;
      whole = at.whole;
      const std::vector<StridedDim> dims = JoinedDims(sizes, strides);
      place.dims = static_cast<std::uint32_t>(dims_.size());
      place.rank = static_cast<std::uint32_t>(dims.size());
      dims_.insert(dims_.end(), dims.begin(), dims.end());
    }
    if (type.type == DataType::kFloat4E2M1 && sizes.empty()) {
      info.why_not = "is one byte of two float4, which has no shape";
    }
    info.name = std::move(name);
    // A type that safetensors has is passed through under its name there.
    info.dtype = !is_ours && info.why_not.empty() ? "C64" : type.name;
    info.type = type.type;
    info.shape.assign(sizes.begin(), sizes.end());
    info.elements = *elements;
    info.is_big_endian = is_big_endian_ && type.bytes > 1;
    if (type.type == DataType::kFloat4E2M1 && !sizes.empty()) {
      // torch counts bytes of two elements, which lie side by side in the last dimension.
      info.shape.back() *= 2;
      info.elements *= 2;
    }
    info.bytes = is_ours ? *StorageBytes(info.type, info.elements) : info.elements * type.bytes;
    contents_.tensors.push_back(std::move(info));
    places_.push_back(place);
    return whole;
  }

  // The last element that a tensor reaches in its storage; nothing where that is beyond 2^64.
  static std::optional<std::uint64_t> LastElement(const TorchTensor& tensor,
                                                  std::span<const std::uint64_t> sizes,
                                                  std::span<const std::uint64_t> strides) {
    std::uint64_t last = tensor.offset;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::uint64_t steps = sizes[i] - 1;
      if (steps != 0 && strides[i] > (UINT64_MAX - last) / steps) return std::nullopt;
      last += steps * strides[i];
    }
    return last;
  }

  void SayShared(const std::unordered_map<std::uint64_t, std::vector<std::size_t>>& sharing) {
    std::uint64_t count = 0;
    std::size_t first = SIZE_MAX;
    std::size_t second = 0;
    for (const auto& [storage, tensors] : sharing) {
      if (tensors.size() < 2) continue;
      count += tensors.size();
      if (tensors[0] < first) {
        first = tensors[0];
        second = tensors[1];
      }
    }
    if (count == 0) return;
    notes_.push_back(words::CountText(count, "tensor") + " share storages (" +
                     words::EscapeName(contents_.tensors[first].name) + " and " +
                     words::EscapeName(contents_.tensors[second].name) +
                     (count == 2 ? ")" : ", ...)") + ": each is read under its own name");
  }

  std::unique_ptr<files::ByteSource> source_;
  const bool is_big_endian_;
  FileContents contents_;
  std::vector<TorchPlace> places_;
  std::vector<StridedDim> dims_;
  mutable StridedTiles tiles_;
  std::vector<std::string> notes_;
};

}  // namespace

OpenedTensors ReadTorchFile(std::unique_ptr<files::ByteSource> source, const TorchFile& file,
                            const OpenOptions& options) {
  return {std::make_shared<TorchReader>(std::move(source), file, options)};
}

}  // namespace tensorcast::formats
