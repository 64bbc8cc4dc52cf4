// Names data files, and reads the models of a directory for what they name.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/store/data_files.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "files/digest.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "formats/tensor_file.h"
#include "protobuf/external_data.h"
#include "protobuf/onnx_model.h"

namespace tensorcast::onnx {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelEnding = ".onnx";
constexpr std::string_view kDataEnding = ".data";

// "m.onnx" as "m" and ".onnx".
std::pair<std::string_view, std::string_view> SplitEnding(std::string_view model) {
  const std::size_t stem =
      formats::HasEnding(model, kModelEnding) ? model.size() - kModelEnding.size() : model.size();
  return {model.substr(0, stem), model.substr(stem)};
}

// What a model says of its data files. Nothing: that cannot be told.
std::optional<std::set<std::string>> Locations(const std::string& path) {
  std::set<std::string> locations;
  try {
    const files::InputFile file(path);
    const protobuf::OnnxModel model = protobuf::ReadOnnxModel(file);
    // Their tensors are not listed.
    if (model.has_training_info) return std::nullopt;
    const auto add = [&](const protobuf::OnnxTensor& tensor) {
      if (tensor.message.is_external) {
        locations.insert(protobuf::ParseExternalData(file, tensor.message).location);
      }
    };
    const auto add_attributes = [&](const std::vector<protobuf::OnnxAttribute>& attributes) {
      for (const protobuf::OnnxAttribute& attribute : attributes) {
        std::for_each(attribute.tensors.begin(), attribute.tensors.end(), add);
      }
    };
    for (const protobuf::OnnxGraph& graph : model.graphs) {
      if (graph.sparse_initializers != 0) return std::nullopt;
      std::for_each(graph.initializers.begin(), graph.initializers.end(), add);
      for (const protobuf::OnnxNode& node : graph.nodes) add_attributes(node.attributes);
    }
    for (const protobuf::OnnxFunction& function : model.functions) {
      add_attributes(function.default_attributes);
      for (const protobuf::OnnxNode& node : function.nodes) add_attributes(node.attributes);
    }
    file.CheckUnchanged();
  } catch (const files::Error&) {
    return std::nullopt;
  }
  return locations;
}

// What a file is called for as long as it is there.
using FileKey = std::pair<std::uint64_t, std::uint64_t>;
FileKey KeyOf(const files::FileStatus& status) { return {status.device, status.number}; }

// The names of the files in a directory, or what of them could be read.
std::vector<std::string> FilesIn(const fs::path& directory, bool* is_unreadable) {
  std::vector<std::string> names;
  try {
    for (files::DirectoryEntry& entry :
         files::ListDirectory(directory.empty() ? "." : directory.string())) {
      if (entry.kind == files::DirectoryEntry::Kind::kFile) names.push_back(std::move(entry.name));
    }
  } catch (const files::Error&) {
    *is_unreadable = true;
  }
  return names;
}

// What the models of a directory need.
class NeededData {
 public:
  explicit NeededData(const fs::path& directory) {
    for (const std::string& name : FilesIn(directory, &is_unreadable_)) {
      if (!formats::HasEnding(name, kModelEnding)) continue;
      const std::optional<std::set<std::string>> locations = Locations((directory / name).string());
      if (!locations && unclear_.empty()) unclear_ = name;
      for (const std::string& location : locations.value_or(std::set<std::string>())) {
        if (const auto status = files::StatusOf((directory / location).string())) {
          users_.emplace(KeyOf(*status), name);
        }
      }
    }
  }

  // A model that names the file; empty where none does, as far as can be told.
  std::string UserOf(const files::FileStatus& status) const {
    const auto user = users_.find(KeyOf(status));
    return user != users_.end() ? user->second : std::string();
  }
  // Why a file stays; empty where nothing here needs it.
  std::string WhyStays(const files::FileStatus& status) const {
    if (is_unreadable_) return "its directory cannot be read";
    const std::string user = UserOf(status);
    const std::string& name = user.empty() ? unclear_ : user;
    return name.empty() ? std::string() : words::PathText(name) + " may use it";
  }

 private:
  bool is_unreadable_ = false;
  std::map<FileKey, std::string> users_;
  std::string unclear_;  // a model that may name anything
};

// What tells the files of these paths from all others; a path without a file is passed over.
std::set<FileKey> KeysOf(const std::vector<std::string>& paths) {
  std::set<FileKey> keys;
  for (const std::string& path : paths) {
    if (const auto status = files::StatusOf(path)) keys.insert(KeyOf(*status));
  }
  return keys;
}

// The status of a regular file that a name itself stands for.
std::optional<files::FileStatus> OwnFile(const fs::path& file) {
  std::error_code ignored;
  if (fs::symlink_status(file, ignored).type() != fs::file_type::regular) return std::nullopt;
  return files::StatusOf(file.string());
}

void NoteStays(const fs::path& file, std::string_view what, const std::string& why,
               DataRemoval& removal) {
  removal.notes.push_back(words::PathText(file.string()) + ", " + std::string(what) +
                          ", stays: " + why);
}

void RemoveFile(const fs::path& file, const files::FileStatus& status, std::string_view what,
                DataRemoval& removal) {
  std::error_code error;
  fs::remove(file, error);
  if (!error) return;
  removal.failed.emplace_back(file.filename().string(), status);
  NoteStays(file, what, "it could not be removed: " + error.message(), removal);
}

// The 16 digits in a name that has them.
std::string_view DigestIn(std::string_view name, std::string_view model) {
  if (!IsDataName(name, model) || name == DataName(model)) return {};
  return name.substr(SplitEnding(model).first.size() + 1, kDigestDigits);
}

// Whether a file's bytes have the digest; nothing where that was not found out.
std::optional<bool> HasDigest(const fs::path& path, std::string_view digest,
                              const std::function<bool()>& is_interrupted) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  try {
    const files::InputFile file(path.string());
    std::vector<std::byte> buffer;
    files::Xxh64 found;
    for (std::uint64_t done = 0; done < file.size(); done += buffer.size()) {
      if (is_interrupted()) return std::nullopt;
      buffer.resize(static_cast<std::size_t>(std::min(kPiece, file.size() - done)));
      file.Read(done, buffer);
      found.Add(buffer);
    }
    file.CheckUnchanged();
    return found.Hex() == digest;
  } catch (const files::Error&) {
    return std::nullopt;
  }
}

constexpr std::string_view kReplaced = "the data of the model that was replaced";
constexpr std::string_view kLeft = "left by a run that was killed";
constexpr std::string_view kUnnamed = "which no model here names";

}  // namespace

std::string DataName(std::string_view model) {
  return std::string(model) + std::string(kDataEnding);
}

std::string DataName(std::string_view model, std::string_view digest) {
  const auto [stem, ending] = SplitEnding(model);
  return std::string(stem) + '.' + std::string(digest) + std::string(ending) +
         std::string(kDataEnding);
}

bool IsDataName(std::string_view name, std::string_view model) {
  if (name == DataName(model)) return true;
  const std::size_t stem = SplitEnding(model).first.size() + 1;
  if (name.size() < stem + kDigestDigits) return false;
  const std::string_view digest = name.substr(stem, kDigestDigits);
  return digest.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         name == DataName(model, digest);
}

ReplacedData::ReplacedData(const std::string& path) {
  const fs::path file(path);
  const std::string name = file.filename().string();
  directory_ = file.parent_path().string();
  model_ = name;
  std::error_code error;
  const fs::file_type type = fs::symlink_status(file, error).type();
  // What a link leads to, or what has another name too, is not gone when this name is.
  const bool goes = type == fs::file_type::regular && fs::hard_link_count(file, error) == 1;
  if (error && type != fs::file_type::not_found) {
    note_ = "data of the model that was replaced may stay: " + words::PathText(path) +
            " could not be accessed: " + error.message();
  }
  if (goes) {
    for (const std::string& location : Locations(path).value_or(std::set<std::string>())) {
      if (IsDataName(location, name)) names_.push_back(location);
    }
  }
  bool ignored = false;
  for (std::string& other : FilesIn(directory_, &ignored)) {
    if (std::ranges::find(names_, other) != names_.end()) continue;
    has_plain_ = has_plain_ || other == DataName(name);
    if (!DigestIn(other, name).empty()) left_.push_back(std::move(other));
  }
}

DataRemoval ReplacedData::Remove(const std::vector<std::string>& kept,
                                 const std::function<bool()>& is_interrupted) const {
  DataRemoval removal;
  if (!note_.empty()) removal.notes.push_back(note_);
  if (names_.empty() && left_.empty() && !has_plain_) return removal;
  const NeededData needed(directory_);
  const std::set<FileKey> kept_files = KeysOf(kept);
  for (const std::string& name : names_) {
    const fs::path file = fs::path(directory_) / name;
    std::error_code error;
    if (fs::symlink_status(file, error).type() == fs::file_type::none) {
      NoteStays(file, kReplaced, "it cannot be accessed: " + error.message(), removal);
    }
    const std::optional<files::FileStatus> status = OwnFile(file);
    if (!status || kept_files.contains(KeyOf(*status))) continue;
    if (const std::string why = needed.WhyStays(*status); !why.empty()) {
      NoteStays(file, kReplaced, why, removal);
    } else {
      RemoveFile(file, *status, kReplaced, removal);
    }
  }
  for (const std::string& name : left_) {
    const fs::path file = fs::path(directory_) / name;
    const std::optional<files::FileStatus> status = OwnFile(file);
    if (!status || kept_files.contains(KeyOf(*status)) || !needed.UserOf(*status).empty()) continue;
    const std::optional<bool> fits = HasDigest(file, DigestIn(name, model_), is_interrupted);
    if (fits && !*fits) continue;  // another's
    const std::string why = !fits ? "it could not be read" : needed.WhyStays(*status);
    if (why.empty()) {
      RemoveFile(file, *status, kLeft, removal);
    } else {
      NoteStays(file, kUnnamed, why, removal);
    }
  }
  // Anybody may have called it so, and there is no digest to tell.
  const fs::path plain = fs::path(directory_) / DataName(model_);
  const std::optional<files::FileStatus> status = has_plain_ ? OwnFile(plain) : std::nullopt;
  if (status && !kept_files.contains(KeyOf(*status)) && needed.UserOf(*status).empty()) {
    NoteStays(plain, kUnnamed, "it may be another program's; remove it if nothing needs it",
              removal);
  }
  return removal;
}

DataRemoval RemoveJournaledData(const std::string& path, const std::vector<std::string>& kept) {
  DataRemoval removal;
  const fs::path directory = fs::path(path).parent_path();
  const std::string model = fs::path(path).filename().string();
  const std::set<FileKey> kept_files = KeysOf(kept);
  std::optional<NeededData> needed;
  TakeJournals(path, [&](const JournaledFile& one) {
    const fs::path file = directory / one.name;
    const std::optional<files::FileStatus> status = OwnFile(file);
    if (!status || !one.Is(*status) || kept_files.contains(KeyOf(*status))) return true;
    if (!needed) needed.emplace(directory);
    if (!needed->UserOf(*status).empty()) return true;
    std::string why = needed->WhyStays(*status);
    if (why.empty() && !IsDataName(one.name, model)) why = "its name is not one that is made here";
    if (why.empty()) {
      RemoveFile(file, *status, kLeft, removal);
    } else {
      NoteStays(file, kLeft, why, removal);
    }
    return removal.failed.empty();
  });
  return removal;
}

}  // namespace tensorcast::onnx
