// Writes the files of a laid-out model: what is copied at once, values as they come.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/storage_model.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "io/error_text.h"
#include "io/system.h"
#include "io/utf8.h"
#include "onnx/storage_layout.h"

namespace tensorcast::onnx {
namespace {

using io::Error;
using io::ErrorKind;

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

std::string DataPath(const std::string& path) { return path + ".data"; }

// The directory of a path, whatever it is called.
std::filesystem::path DirectoryOf(const std::string& path) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  return directory.empty() ? "." : directory;
}

bool InOneDirectory(const std::string& path, const io::OnnxTensorReader& model) {
  std::error_code ignored;
  return std::filesystem::equivalent(DirectoryOf(path), DirectoryOf(model.source().path()),
                                     ignored);
}

// What the model calls its data files: paths from its directory.
std::vector<std::string> Locations(const io::OnnxTensorReader& model) {
  const std::string& path = model.source().path();
  const std::size_t slash = path.rfind('/');
  std::vector<std::string> locations = model.external_paths();
  for (std::string& each : locations) each.erase(0, slash == std::string::npos ? 0 : slash + 1);
  return locations;
}

StorageLayout LayOut(const std::string& path, const io::OnnxTensorReader& model,
                     const io::FileContents& contents) {
  const std::string location = std::filesystem::path(DataPath(path)).filename().string();
  const std::vector<std::string> locations = Locations(model);
  // Elsewhere copies of the data files do; directories are not made for them.
  const bool keeps_data =
      InOneDirectory(path, model) ||
      std::none_of(locations.begin(), locations.end(),
                   [](const std::string& each) { return each.find('/') != std::string::npos; });
  StorageLayout layout = LayOutStorage(model, contents, location, keeps_data);
  if (layout.has_data && !io::IsUtf8(location)) {
    throw Error(ErrorKind::kArguments,
                io::PathText(path) + ": the model names its data file " + io::Quoted(location) +
                    ", which is not UTF-8, as ONNX needs it; name another output");
  }
  return layout;
}

// A data file that is copied as it is.
struct DataCopy {
  std::string from;
  std::string to;
  std::uint64_t bytes = 0;
};

std::vector<DataCopy> CopiesOf(const std::string& path, const io::OnnxTensorReader& model,
                               const StorageLayout& layout) {
  std::vector<DataCopy> copies;
  if (!layout.keeps_data || InOneDirectory(path, model)) return copies;
  const std::vector<std::string> paths = model.external_paths();
  const std::vector<std::string> locations = Locations(model);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    copies.push_back({paths[i], (DirectoryOf(path) / locations[i]).string(),
                      io::InputFile(paths[i], model.source().path()).size()});
  }
  return copies;
}

// Neither file may be any that the model is read from.
io::CreateOptions WithInputs(io::CreateOptions options, const io::OnnxTensorReader& model) {
  options.inputs.push_back(model.source().path());
  for (std::string& path : model.external_paths()) options.inputs.push_back(std::move(path));
  return options;
}

class Writer final : public StorageModelWriter {
 public:
  Writer(const std::string& path, const io::OnnxTensorReader& model, StorageLayout layout,
         const io::CreateOptions& options)
      : layout_(std::move(layout)), model_(path, layout_.model_bytes, options) {
    if (layout_.has_data) {
      data_.push_back(
          std::make_unique<io::OutputFile>(DataPath(path), layout_.data_bytes, options));
    }
    for (const DataCopy& copy : CopiesOf(path, model, layout_)) {
      data_.push_back(std::make_unique<io::OutputFile>(copy.to, copy.bytes, options));
      const io::InputFile source(copy.from, model.source().path());
      Copy(source, 0, copy.bytes, *data_.back(), 0);
      layout_.data_bytes += copy.bytes;
    }
    for (const ModelPiece& piece : layout_.pieces) {
      if (piece.source) {
        Copy(model.source(), *piece.source, piece.size, model_, piece.at);
      } else {
        model_.Write(piece.at, std::as_bytes(std::span(piece.bytes)));
      }
    }
    layout_.pieces = {};
  }

  bool Wants(std::size_t tensor) const override {
    return layout_.places.at(tensor).file != ValuePlace::File::kNone;
  }
  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    const ValuePlace& place = layout_.places.at(tensor);
    if (place.file == ValuePlace::File::kModel) model_.Write(place.offset + offset, data);
    if (place.file == ValuePlace::File::kData) data_.front()->Write(place.offset + offset, data);
  }
  void WriteStrings(std::size_t, std::uint64_t, const Strings&) override {}  // copied, all of them
  void Commit() override {
    // A model never stands there without its data.
    for (const auto& data : data_) data->Commit();
    model_.Commit();
  }
  std::uint64_t file_bytes() const override { return layout_.model_bytes + layout_.data_bytes; }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = model_.notes();
    for (const auto& data : data_) {
      notes.insert(notes.end(), data->notes().begin(), data->notes().end());
      notes.push_back(io::PathText(data->path()) + " holds its data; keep both together");
    }
    if (layout_.keeps_data && data_.empty()) {
      notes.push_back(io::PathText(model_.path()) + " names the data files of the input");
    }
    return notes;
  }

 private:
  void Copy(const io::ByteSource& source, std::uint64_t from, std::uint64_t bytes,
            io::OutputFile& file, std::uint64_t to) {
    for (std::uint64_t done = 0; done < bytes; done += buffer_.size()) {
      buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBytes, bytes - done)));
      source.Read(from + done, buffer_);
      file.Write(to + done, buffer_);
    }
  }

  StorageLayout layout_;
  io::OutputFile model_;
  std::vector<std::unique_ptr<io::OutputFile>> data_;  // the one that is made, or copies
  std::vector<std::byte> buffer_;
};

}  // namespace

std::unique_ptr<StorageModelWriter> CreateStorageModel(const std::string& path,
                                                       const io::OnnxTensorReader& model,
                                                       const io::FileContents& contents,
                                                       const io::CreateOptions& options) {
  return std::make_unique<Writer>(path, model, LayOut(path, model, contents),
                                  WithInputs(options, model));
}

std::uint64_t CheckStorageModel(const std::string& path, const io::OnnxTensorReader& model,
                                const io::FileContents& contents,
                                const io::CreateOptions& options) {
  const StorageLayout layout = LayOut(path, model, contents);
  const io::CreateOptions with_inputs = WithInputs(options, model);
  io::CheckOutput(path, layout.model_bytes, with_inputs);
  std::uint64_t bytes = layout.model_bytes + layout.data_bytes;
  if (layout.has_data) io::CheckOutput(DataPath(path), layout.data_bytes, with_inputs);
  for (const DataCopy& copy : CopiesOf(path, model, layout)) {
    io::CheckOutput(copy.to, copy.bytes, with_inputs);
    bytes += copy.bytes;
  }
  return bytes;
}

}  // namespace tensorcast::onnx
