// Reads and writes npy files: one array, from the first byte to the last.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/formats.h"

#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "files/error.h"
#include "files/system.h"
#include "formats/npy_array.h"
#include "formats/npy_dtype.h"
#include "formats/npy_header.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

std::string Stem(std::string_view path) {
  constexpr std::size_t kEnding = 4;
  std::string_view name = path.substr(files::NameBegin(path));
  if (name.size() > kEnding && name[name.size() - kEnding] == '.') name.remove_suffix(kEnding);
  return std::string(name);
}

void CheckIndex(std::size_t tensor) {
  if (tensor != 0) throw std::out_of_range("an .npy file holds one tensor");
}

class NpyReader final : public TensorReader {
 public:
  NpyReader(std::unique_ptr<files::ByteSource> source, const OpenOptions& options)
      : source_(std::move(source)), array_(*source_, Stem(source_->path()), options.assume_type) {
    contents_.tensors.push_back(array_.info());
  }

  const FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    CheckIndex(tensor);
    array_.Read(*source_, offset, out);
  }
  std::shared_ptr<std::byte> Map(std::size_t tensor) const override {
    CheckIndex(tensor);
    const std::optional<std::uint64_t> begin = array_.DenseBegin();
    return begin ? source_->Map(*begin, array_.info().bytes) : nullptr;
  }
  text::StringPiece ReadStrings(std::size_t tensor, std::uint64_t first,
                                std::uint64_t n) const override {
    CheckIndex(tensor);
    return array_.ReadStrings(*source_, first, n);
  }
  std::uint64_t file_bytes() const override { return source_->size(); }
  std::vector<std::string> notes() const override {
    if (array_.note().empty()) return {};
    return {words::PathText(source_->path()) + ": " + array_.note()};
  }

  void CheckUnchanged() const override { source_->CheckUnchanged(); }

 private:
  std::unique_ptr<files::ByteSource> source_;
  NpyArray array_;
  FileContents contents_;
};

NpyPlacement PlaceNpy(const std::string& path, const FileContents& contents) {
  if (contents.tensors.size() != 1) {
    throw Error(ErrorKind::kArguments,
                words::PathText(path) + ": an .npy file holds one tensor, not " +
                    std::to_string(contents.tensors.size()),
                Remedy::kChooseOneTensor, path);
  }
  return NpyPlacement(words::PathText(path), contents.tensors[0]);
}

class NpyWriter final : public TensorWriter {
 public:
  NpyWriter(const std::string& path, NpyPlacement placement, bool drops_metadata,
            const files::CreateOptions& options)
      : file_(path, placement.bytes(), options),
        placement_(std::move(placement)),
        drops_metadata_(drops_metadata) {
    file_.Write(0, std::as_bytes(std::span(placement_.header())));
  }

  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    CheckIndex(tensor);
    placement_.Write(offset, data, sink_);
  }
  void WriteStrings(std::size_t tensor, std::uint64_t first, const Strings& texts) override {
    CheckIndex(tensor);
    placement_.WriteStrings(first, texts, sink_);
  }
  std::string temporary() const override { return file_.temporary(); }
  void SyncPart() override { file_.SyncPart(); }
  std::uint64_t file_bytes() const override { return placement_.bytes(); }
  std::string reading_hint() const override {
    const std::string_view name = MlDtypesName(placement_.info().type);
    if (name.empty()) return {};
    return "numpy.load(" + words::PythonString(file_.path()) + ").view(ml_dtypes." +
           std::string(name) + ')';
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = file_.notes();
    if (drops_metadata_) {
      notes.push_back(words::PathText(file_.path()) +
                      ": the input's __metadata__ has no place in .npy");
    }
    return notes;
  }

 private:
  void DoSync() override { file_.Sync(); }
  void DoCommit() override { file_.Commit(); }

  files::OutputFile file_;
  const NpyPlacement placement_;
  const NpySink sink_ = [this](std::uint64_t offset, std::span<const std::byte> data) {
    file_.Write(offset, data);
  };
  bool drops_metadata_;
};

}  // namespace

bool LooksLikeNpy(std::span<const std::byte> head) {
  return head.size() >= kNpyMagic.size() &&
         std::memcmp(head.data(), kNpyMagic.data(), kNpyMagic.size()) == 0;
}

OpenedTensors OpenNpy(std::unique_ptr<files::ByteSource> source, const OpenOptions& options) {
  return {std::make_unique<NpyReader>(std::move(source), options)};
}

std::unique_ptr<TensorWriter> CreateNpy(const std::string& path, FileContents contents,
                                        const files::CreateOptions& options) {
  return std::make_unique<NpyWriter>(path, PlaceNpy(path, contents), !contents.metadata.empty(),
                                     options);
}

std::uint64_t MeasureNpy(const std::string& path, const FileContents& contents) {
  return PlaceNpy(path, contents).bytes();
}

}  // namespace tensorcast::formats
