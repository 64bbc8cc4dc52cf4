// Writes the files of an edited model: what is copied at once, values as they come, and the model
// under its name last.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/store/storage_model.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "files/digest.h"
#include "files/error.h"
#include "files/same_bytes.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "files/system_output_directory.h"
#include "onnx/store/data_files.h"
#include "onnx/store/storage_edit.h"
#include "words/utf8.h"

namespace tensorcast::onnx {
namespace {

using core::ErrorKind;
using files::Error;

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

[[noreturn]] void FailToLook(const std::string& path, const std::error_code& error) {
  throw Error(ErrorKind::kSystem,
              words::PathText(path) + ": cannot be accessed: " + error.message(), Remedy::kNone,
              path, error.value());
}

// The directory of a path, whatever it is called.
std::filesystem::path DirectoryOf(const std::string& path) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  return directory.empty() ? "." : directory;
}

bool InOneDirectory(const std::string& path, const formats::OnnxTensorReader& model) {
  std::error_code error;
  const bool same =
      std::filesystem::equivalent(DirectoryOf(path), DirectoryOf(model.source().path()), error);
  if (error && error != std::errc::no_such_file_or_directory) FailToLook(path, error);
  return same;
}

bool IsFree(const std::filesystem::path& path) {
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  if (type == std::filesystem::file_type::none) FailToLook(path.string(), error);
  return type == std::filesystem::file_type::not_found;
}

// Where the data goes, decided before anything is written.
struct Placement {
  bool keeps_data = false;  // in files of the names that the input gives its own
  // Else in one new file of this name. With a digest it is not yet known: zeros stand for it, so
  // that the model can be edited.
  std::string location;
  bool has_digest = false;
};

// `is_contested`: another run may take names that are free now.
Placement Place(const std::string& path, const formats::OnnxTensorReader& model,
                bool is_contested = false) {
  const std::string name = std::filesystem::path(path).filename().string();
  const auto& files = model.external_files();
  Placement placement;
  // Elsewhere copies of the data files are made, under names that are free; directories are not.
  placement.keeps_data =
      InOneDirectory(path, model) || std::all_of(files.begin(), files.end(), [&](const auto& file) {
        const std::string& location = file.first;
        return location.find('/') == std::string::npos && location != name && !is_contested &&
               IsFree(DirectoryOf(path) / location);
      });
  placement.location = DataName(name);
  placement.has_digest = is_contested || !IsFree(DirectoryOf(path) / placement.location);
  if (placement.has_digest) placement.location = DataName(name, std::string(kDigestDigits, '0'));
  return placement;
}

StorageEdit EditFor(const std::string& path, const formats::OnnxTensorReader& model,
                    const formats::FileContents& contents, const Placement& placement) {
  StorageEdit edit = MakeStorageEdit(model, contents, placement.location, placement.keeps_data);
  if (edit.has_data && !words::IsUtf8(placement.location)) {
    throw Error(ErrorKind::kArguments,
                words::PathText(path) + ": the model names its data file " +
                    words::Quoted(placement.location) +
                    ", which is not UTF-8, as ONNX needs it; name another output",
                path);
  }
  return edit;
}

// A data file that is made: a new one, or a copy.
struct DataFile {
  std::string path;
  std::uint64_t bytes = 0;
  const files::ByteSource* copied_from = nullptr;
};

std::vector<DataFile> DataFilesOf(const std::string& path, const formats::OnnxTensorReader& model,
                                  const StorageEdit& edit, const Placement& placement) {
  std::vector<DataFile> files;
  if (edit.has_data) {
    // As the path was given: "x.onnx" has no "./" in front.
    const std::filesystem::path beside = std::filesystem::path(path).parent_path();
    files.push_back({(beside / placement.location).generic_string(), edit.data_bytes, nullptr});
  } else if (edit.keeps_data && !InOneDirectory(path, model)) {
    for (const auto& [location, file] : model.external_files()) {
      files.push_back({(std::filesystem::path(path).parent_path() / location).generic_string(),
                       file->size(), file.get()});
    }
  }
  return files;
}

// Neither file may be any that the model is read from.
files::CreateOptions WithInputs(files::CreateOptions options,
                                const formats::OnnxTensorReader& model) {
  options.inputs.push_back(model.source().path());
  for (const auto& [location, file] : model.external_files()) {
    options.inputs.push_back(file->path());
  }
  return options;
}

// A model names its data, so that no data file ever takes another's place.
files::CreateOptions OfData(files::CreateOptions options) {
  options.overwrite = false;
  return options;
}

class Writer final : public formats::TensorWriter {
 public:
  Writer(const std::string& path, const formats::OnnxTensorReader& model,
         formats::FileContents contents, const files::CreateOptions& options,
         const std::atomic<bool>* interrupted)
      : source_(model),
        contents_(std::move(contents)),
        options_(options),
        interrupted_(interrupted),
        left_(RemoveJournaledData(path, options.inputs)),
        placement_(Place(path, model)),
        edit_(EditFor(path, model, contents_, placement_)),
        model_(path, edit_.model_bytes, options) {
    std::vector<DataFile> files = DataFilesOf(path, model, edit_, placement_);
    // Two runs that may replace each other's model must not stand in each other's way. By now this
    // one can be seen by the other.
    if (options.overwrite &&
        (model_.IsContested() || std::any_of(files.begin(), files.end(), [](const DataFile& file) {
           return !IsFree(file.path);
         }))) {
      placement_ = Place(path, model, true);
      edit_ = EditFor(path, model, contents_, placement_);
      model_.Truncate(edit_.model_bytes);
      files = DataFilesOf(path, model, edit_, placement_);
    }
    file_bytes_ = edit_.model_bytes;
    files::CreateOptions of_data = OfData(options);
    if (files.size() > 1) {  // a model may have as many as tensors
      staging_.emplace(path, files.size());
      of_data.staging = staging_->ForFiles();
    }
    for (const DataFile& file : files) {
      data_.push_back(std::make_unique<files::OutputFile>(file.path, file.bytes, of_data, path));
      data_paths_.push_back(file.path);
      file_bytes_ += file.bytes;
      if (file.copied_from != nullptr) Copy(*file.copied_from, 0, file.bytes, *data_.back(), 0);
    }
    for (const ModelPiece& piece : edit_.pieces) {
      if (piece.source) Copy(model.source(), *piece.source, piece.size, model_, piece.at);
    }
  }

  bool Wants(std::size_t tensor) const override {
    return edit_.places.at(tensor).file != ValuePlace::File::kNone;
  }
  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    const ValuePlace& place = edit_.places.at(tensor);
    if (place.file == ValuePlace::File::kModel) model_.Write(place.offset + offset, data);
    if (place.file == ValuePlace::File::kData) data_.front()->Write(place.offset + offset, data);
  }
  void WriteStrings(std::size_t, std::uint64_t, const Strings&) override {}  // copied, all of them
  std::uint64_t file_bytes() const override { return file_bytes_; }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = model_.notes();
    notes.insert(notes.end(), left_.notes.begin(), left_.notes.end());
    notes.insert(notes.end(), late_notes_.begin(), late_notes_.end());
    return notes;
  }

 private:
  void DoSync() override {
    if (edit_.has_data && placement_.has_digest) NameByDigest();
    for (const ModelPiece& piece : edit_.pieces) {
      if (!piece.source && !piece.tensor)
        model_.Write(piece.at, std::as_bytes(std::span(piece.bytes)));
    }
    for (const auto& data : data_) {
      StopIfInterrupted();
      data->Sync();
    }
    if (staging_) staging_->Sync();
    model_.Sync();
  }

  // Each state on the way is whole: data that no model names yet, then, with the model's name, the
  // new model and its data, then without the data of the one before. The model's name is the
  // commit.
  void DoCommit() override {
    const files::DirectoryLock lock(model_.path(), [this] { StopIfInterrupted(); });
    const std::optional<ReplacedData> replaced =
        options_.overwrite ? std::optional<ReplacedData>(model_.path()) : std::nullopt;
    const std::unique_ptr<DataJournal> journal = Journal(replaced);
    std::size_t named = 0;
    try {
      for (; named < data_.size(); ++named) NameData(named);
      if (!data_.empty()) model_.SyncDirectory();
      if (!model_.Name()) model_.FailTaken();
    } catch (...) {
      // That which failed, too: its name may have been given.
      for (std::size_t i = 0; i < data_.size() && i <= named; ++i) {
        const bool is_gone = data_[i] == nullptr || data_[i]->Unname();
        if (!is_gone && journal != nullptr) journal->Leave();
      }
      throw;
    }
    model_.SyncDirectory();
    // The model stands: for want of memory a note may be missing, or old data stay.
    try {
      NoteFiles();
    } catch (const std::bad_alloc&) {
    }
    bool is_clear = true;
    try {
      is_clear = !replaced || RemoveReplaced(*replaced);
    } catch (const std::bad_alloc&) {
      is_clear = replaced->names().empty();
    }
    if (!is_clear && journal != nullptr) journal->Leave();
  }

  // It lists the files that get their names now, and those that lose their model.
  std::unique_ptr<DataJournal> Journal(const std::optional<ReplacedData>& replaced) const {
    std::vector<JournaledFile> files = left_.failed;
    for (std::size_t i = 0; i < data_.size(); ++i) {
      if (const auto status = files::StatusOf(data_[i]->temporary())) {
        files.emplace_back(std::filesystem::path(data_paths_[i]).filename().string(), *status);
      }
    }
    for (const std::string& name : replaced ? replaced->names() : std::vector<std::string>()) {
      if (const auto status = files::StatusOf((DirectoryOf(model_.path()) / name).string())) {
        files.emplace_back(name, *status);
      }
    }
    if (files.empty()) return nullptr;
    auto journal = std::make_unique<DataJournal>(model_.path(), files);
    model_.SyncDirectory();
    return journal;
  }

  void NoteFiles() {
    for (const std::string& path : data_paths_) {
      late_notes_.push_back(words::PathText(path) + " holds its data; keep both together");
    }
    if (edit_.keeps_data && data_.empty()) {
      late_notes_.push_back(words::PathText(model_.path()) + " names the data files of the input");
    }
  }

  // Whether all went that no model needs.
  bool RemoveReplaced(const ReplacedData& replaced) {
    // Data of the same content has the same name: it may be the new model's own.
    std::vector<std::string> kept = options_.inputs;
    kept.insert(kept.end(), data_paths_.begin(), data_paths_.end());
    DataRemoval removal;
    try {
      removal = replaced.Remove(kept, [this] {
        return interrupted_ != nullptr && interrupted_->load(std::memory_order_relaxed);
      });
    } catch (const files::Error& error) {
      late_notes_.push_back(std::string("data of the model that was replaced may stay: ") +
                            error.what());
      return replaced.names().empty();
    }
    for (std::string& note : removal.notes) late_notes_.push_back(std::move(note));
    return removal.failed.empty() && left_.failed.empty();
  }

  void StopIfInterrupted() const {
    if (interrupted_ != nullptr && interrupted_->load(std::memory_order_relaxed)) {
      throw files::Interrupted();
    }
  }

  void Copy(const files::ByteSource& source, std::uint64_t from, std::uint64_t bytes,
            files::OutputFile& file, std::uint64_t to) {
    for (std::uint64_t done = 0; done < bytes; done += buffer_.size()) {
      StopIfInterrupted();
      buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBytes, bytes - done)));
      source.Read(from + done, buffer_);
      file.Write(to + done, buffer_);
    }
  }

  // The data is complete: its digest is known, and the model is edited to name it.
  void NameByDigest() {
    files::Xxh64 digest;
    for (std::uint64_t done = 0; done < edit_.data_bytes; done += buffer_.size()) {
      StopIfInterrupted();
      buffer_.resize(
          static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBytes, edit_.data_bytes - done)));
      data_.front()->Read(done, buffer_);
      digest.Add(buffer_);
    }
    const std::filesystem::path path(model_.path());
    placement_.location = DataName(path.filename().string(), digest.Hex());
    data_paths_.front() = (path.parent_path() / placement_.location).generic_string();
    const std::uint64_t model_bytes = edit_.model_bytes;
    edit_.pieces = {};
    edit_ = EditFor(model_.path(), source_, contents_, placement_);
    source_.CheckUnchanged();
    if (edit_.model_bytes != model_bytes) throw std::logic_error("a digest has one length");
  }

  void NameData(std::size_t i) {
    const std::string& path = data_paths_[i];
    if (data_[i]->NameAs(path)) return;
    if (!edit_.has_data || !placement_.has_digest) {
      throw Error(ErrorKind::kArguments,
                  words::PathText(path) + ": appeared while the model was " +
                      "written; convert again when no other run writes it",
                  path);
    }
    // Left by a run that was killed, or in use by a copy of the model that is replaced.
    if (!HoldsTheSame(path, *data_[i])) {
      throw Error(ErrorKind::kArguments,
                  words::PathText(path) +
                      ": the data of the model belongs here, and another file " +
                      "has the name; remove it, or name another output",
                  path);
    }
    data_[i].reset();
  }

  bool HoldsTheSame(const std::string& path, const files::OutputFile& data) {
    try {
      const files::InputFile there(path, files::EnclosureOfModel(model_.path(), false));
      return there.size() == edit_.data_bytes &&
             files::HaveSameBytes(there, data, edit_.data_bytes, interrupted_);
    } catch (const Error&) {
      return false;
    }
  }

  const formats::OnnxTensorReader& source_;
  const formats::FileContents contents_;
  const files::CreateOptions options_;
  const std::atomic<bool>* const interrupted_;
  const DataRemoval left_;  // of runs before this one: their names are free when ours are chosen
  Placement placement_;
  StorageEdit edit_;
  files::OutputFile model_;
  std::optional<files::StagingDirectory> staging_;        // of copies
  std::vector<std::unique_ptr<files::OutputFile>> data_;  // the one that is made, or copies
  std::vector<std::string> data_paths_;                   // their final names
  std::uint64_t file_bytes_ = 0;
  std::vector<std::string> late_notes_;
  std::vector<std::byte> buffer_;
};

}  // namespace

std::unique_ptr<formats::TensorWriter> CreateStorageModel(const std::string& path,
                                                          const formats::OnnxTensorReader& model,
                                                          formats::FileContents contents,
                                                          const files::CreateOptions& options,
                                                          const std::atomic<bool>* interrupted) {
  return std::make_unique<Writer>(path, model, std::move(contents), WithInputs(options, model),
                                  interrupted);
}

std::uint64_t CheckStorageModel(const std::string& path, const formats::OnnxTensorReader& model,
                                const formats::FileContents& contents,
                                const files::CreateOptions& options) {
  const Placement placement = Place(path, model);
  const StorageEdit edit = EditFor(path, model, contents, placement);
  const files::CreateOptions with_inputs = WithInputs(options, model);
  files::CheckOutput(path, edit.model_bytes, with_inputs);
  std::uint64_t bytes = edit.model_bytes;
  for (const DataFile& file : DataFilesOf(path, model, edit, placement)) {
    files::CheckOutput(file.path, file.bytes, OfData(with_inputs));
    bytes += file.bytes;
  }
  return bytes;
}

}  // namespace tensorcast::onnx
