// The pieces of an edited model read as one file, whose values are zeros.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/store/made_model.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "files/error.h"
#include "files/same_bytes.h"
#include "files/system.h"
#include "onnx/store/data_files.h"

namespace tensorcast::onnx {
namespace {

class PiecesSource final : public files::ByteSource {
 public:
  PiecesSource(std::string path, const files::ByteSource& model, const StorageEdit& edit)
      : path_(std::move(path)), model_(model), edit_(edit) {}

  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return edit_.model_bytes; }
  void CheckUnchanged() const override { model_.CheckUnchanged(); }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (out.empty()) return;
    // The last that begins there or before.
    auto piece = std::ranges::upper_bound(edit_.pieces, offset, {}, &ModelPiece::at) - 1;
    for (; !out.empty(); ++piece) {
      const std::uint64_t skipped = offset - piece->at;
      const auto part = out.first(
          static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), piece->size - skipped)));
      if (piece->source) {
        model_.Read(*piece->source + skipped, part);
      } else if (piece->tensor) {
        std::ranges::fill(part, std::byte{0});
      } else if (!part.empty()) {
        std::memcpy(part.data(), piece->bytes.data() + skipped, part.size());
      }
      offset += part.size();
      out = out.subspan(part.size());
    }
  }

 private:
  const std::string path_;
  const files::ByteSource& model_;
  const StorageEdit& edit_;
};

// The name that the data of a model has, or would have: a model that stands says which it got.
std::string LocationIn(const formats::OnnxTensorReader& found) {
  const std::string name = std::filesystem::path(found.source().path()).filename().string();
  for (const auto& [location, file] : found.external_files()) {
    if (IsDataName(location, name)) return location;
  }
  return DataName(name);
}

bool NamesSameFiles(const formats::OnnxTensorReader& one, const formats::OnnxTensorReader& other) {
  return std::ranges::equal(
      one.external_files(), other.external_files(), {}, [](const auto& file) { return file.first; },
      [](const auto& file) { return file.first; });
}

}  // namespace

MadeModel::MadeModel(const formats::OnnxTensorReader& model, formats::FileContents contents,
                     const formats::OnnxTensorReader& found)
    : model_(model),
      contents_(std::move(contents)),
      found_(found),
      location_(LocationIn(found)),
      edit_(MakeStorageEdit(model, contents_, location_, NamesSameFiles(model, found))) {
  written_as_.assign(contents_.tensors.size(), kNone);
  if (edit_.has_data) {
    const std::filesystem::path beside = std::filesystem::path(found.source().path()).parent_path();
    const std::string path = (beside / location_).generic_string();
    const bool is_missing = !files::IsFile(path);
    if (is_missing || files::InputFile(path).size() != edit_.data_bytes) {
      faulty_data_.push_back(
          {location_, is_missing ? files::FileFault::kMissing : files::FileFault::kContents});
      return;
    }
  }
  const bool is_copy = std::ranges::all_of(
      edit_.pieces, [](const ModelPiece& piece) { return piece.source.has_value(); });
  if (!is_copy) {
    made_ = std::make_unique<formats::OnnxTensorReader>(
        std::make_unique<PiecesSource>(found.source().path(), model.source(), edit_));
  }
  FindWritten();
}

void MadeModel::FindWritten() {
  const std::size_t count = reader().contents().tensors.size();
  is_written_.assign(count, false);
  // By where their values stand. Those without any stand nowhere, and need not be found.
  std::map<std::pair<bool, std::uint64_t>, std::size_t> at;
  for (std::size_t i = 0; i < edit_.places.size(); ++i) {
    const ValuePlace& place = edit_.places[i];
    if (place.file == ValuePlace::File::kNone || contents_.tensors[i].bytes == 0) continue;
    at.emplace(std::pair(place.file == ValuePlace::File::kData, place.offset), i);
  }
  for (std::size_t i = 0; i < count && !at.empty(); ++i) {
    const auto found = at.find(std::pair(reader().is_external(i), reader().values_begin(i)));
    if (found == at.end() || reader().contents().tensors[i].bytes == 0) continue;
    written_as_[found->second] = i;
    is_written_[i] = true;
  }
}

bool MadeModel::HasTheGraph(std::span<const std::size_t> faulty,
                            const std::atomic<bool>* interrupted) const {
  const files::ByteSource& found = found_.source();
  if (found.size() != edit_.model_bytes) return false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> passed_over;
  for (const ModelPiece& piece : edit_.pieces) {
    if (piece.tensor) passed_over.emplace_back(piece.at, piece.at + piece.size);
  }
  for (const std::size_t tensor : faulty) {
    const protobuf::TensorProtoMessage& message = reader().tensor(tensor).message;
    passed_over.emplace_back(message.begin, message.end);
  }
  passed_over.emplace_back(edit_.model_bytes, edit_.model_bytes);
  std::ranges::sort(passed_over);
  std::uint64_t at = 0;
  for (const auto& [begin, end] : passed_over) {
    if (!files::HaveSameBytes(reader().source(), found, at, begin, interrupted)) return false;
    at = std::max(at, end);
  }
  return true;
}

bool MadeModel::HasZerosBetween() const {
  const auto data = reader().external_files().find(location_);
  if (data == reader().external_files().end()) return true;  // no value stands there
  std::uint64_t at = 0;
  std::vector<std::byte> between;
  for (std::size_t i = 0; i < edit_.places.size(); ++i) {  // in the order of their offsets
    const ValuePlace& place = edit_.places[i];
    if (place.file != ValuePlace::File::kData) continue;
    between.resize(static_cast<std::size_t>(place.offset - at));  // less than the alignment
    data->second->Read(at, between);
    if (std::ranges::any_of(between, [](std::byte b) { return b != std::byte{0}; })) return false;
    at = place.offset + contents_.tensors[i].bytes;
  }
  return true;
}

std::vector<files::FaultyFile> MadeModel::FilesAmiss(std::span<const std::size_t> faulty,
                                                     const std::atomic<bool>* interrupted) const {
  std::vector<files::FaultyFile> amiss;
  if (!HasTheGraph(faulty, interrupted)) {
    const std::filesystem::path path(found_.source().path());
    amiss.push_back({path.filename().string(), files::FileFault::kContents});
  }
  if (edit_.has_data && !HasZerosBetween()) {
    amiss.push_back({location_, files::FileFault::kContents});
  }
  return amiss;
}

}  // namespace tensorcast::onnx
