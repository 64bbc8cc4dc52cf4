// Walks the directory.
//
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_others.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "files/error.h"
#include "files/named_file.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "json/ordered_json.h"

namespace tensorcast::checkpoint {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::size_t kMostFiles = 100'000;
constexpr std::size_t kMostDirectoryDepth = 32;
constexpr std::string_view kModules = "modules.json";

// The directories that sentence-transformers builds a model of: {"path": "2_Dense"} ...
std::set<std::string> ModulesOf(const CheckpointReader& reader) {
  std::set<std::string> modules;
  const auto file =
      files::OpenNamedFile(files::Joined(reader.directory(), kModules), reader.enclosure(), 0);
  const json::OrderedJson list = json::JsonOrNull(ReadText(*file, kMostConfigBytes));
  if (!list.is_array()) return modules;
  for (const json::OrderedJson& module : list) {
    if (!module.is_object()) continue;
    const auto named = module.find("path");
    if (named != module.end() && named->is_string()) modules.insert(named->get<std::string>());
  }
  return modules;
}

bool IsPassedOver(std::string_view name) {
  constexpr std::string_view kNames[] = {".git", ".cache", ".huggingface", "__pycache__",
                                         files::kLockName};
  const bool is_temporary = name.starts_with('.') &&
                            (name.ends_with(".tmp") || name.ends_with(".tmp.old")) &&
                            name.find(".tensorcast-") != std::string_view::npos;
  return is_temporary || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

class DirectoryWalker {
 public:
  explicit DirectoryWalker(const CheckpointReader& reader) : reader_(reader) {
    const std::size_t below = files::Joined(reader.directory(), "").size();
    for (const std::string& path : reader.external_paths()) read_.insert(path.substr(below));
    for (const CheckpointPart& part : reader.parts()) directories_.insert(part.directory);
  }

  OtherFiles Walk() {
    Directory("", 0);
    return std::move(others_);
  }

 private:
  // `relative` is the directory's path, with a slash at its end; that of the checkpoint is empty.
  void Directory(const std::string& relative, std::size_t depth) {
    if (depth > kMostDirectoryDepth) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(files::Joined(reader_.directory(), relative)) +
                      ": is more than " + std::to_string(kMostDirectoryDepth) +
                      " directories deep in the checkpoint",
                  files::Joined(reader_.directory(), relative));
    }
    const std::vector<files::DirectoryEntry> entries =
        files::ListDirectory(files::Joined(reader_.directory(), relative));
    if (relative.empty() &&
        std::any_of(entries.begin(), entries.end(), [](const files::DirectoryEntry& entry) {
          return entry.name == kModules && entry.kind == files::DirectoryEntry::Kind::kFile;
        })) {
      modules_.merge(ModulesOf(reader_));
    }
    for (const files::DirectoryEntry& entry : entries) {
      const std::string path = relative + entry.name;
      if (IsPassedOver(entry.name)) continue;
      if (entry.kind == files::DirectoryEntry::Kind::kDirectory && !entry.is_link) {
        Directory(path + '/', depth + 1);
      } else if (entry.kind == files::DirectoryEntry::Kind::kFile) {
        File(relative, entry);
      } else {
        others_.left_out.push_back(path);
      }
    }
  }

  void File(const std::string& relative, const files::DirectoryEntry& entry) {
    constexpr std::string_view kAnyIndex = ".index.json";
    const std::string path = relative + entry.name;
    if (read_.contains(path) || path == kRecordFile ||
        (directories_.contains(relative) && IsIndexName(entry.name))) {
      return;
    }
    const bool is_weights = IsWeightsName(entry.name) || entry.name.ends_with(kAnyIndex);
    if (is_weights && !modules_.contains(relative.substr(0, relative.find('/')))) {
      others_.left_out.push_back(path);
      return;
    }
    if (others_.copied.size() == kMostFiles) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(reader_.directory()) + ": holds more than " +
                      std::to_string(kMostFiles) + " files",
                  reader_.directory());
    }
    for (std::size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      std::string directory = path.substr(0, slash);
      if (made_.insert(directory).second) others_.directories.push_back(std::move(directory));
    }
    others_.copied.push_back(path);
    others_.bytes += entry.bytes;
  }

  const CheckpointReader& reader_;
  std::set<std::string> modules_;
  std::set<std::string> read_;         // paths
  std::set<std::string> directories_;  // of what is read
  std::set<std::string> made_;         // directories that hold something
  OtherFiles others_;
};

}  // namespace

OtherFiles FindOtherFiles(const CheckpointReader& reader) { return DirectoryWalker(reader).Walk(); }

}  // namespace tensorcast::checkpoint
