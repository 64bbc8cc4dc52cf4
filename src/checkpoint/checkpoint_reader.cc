// Reads shards as one list of tensors.
//
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_reader.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "files/error.h"
#include "files/named_file.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "formats/formats.h"
#include "formats/safetensors_header.h"

namespace tensorcast::checkpoint {

using core::ErrorKind;
using files::Error;
namespace {

// What is read when a conversion is planned, and again when its output is made.
constexpr const char* kConfigurations[] = {"config.json", "hf_quant_config.json"};

}  // namespace

CheckpointReader::CheckpointReader(const std::string& directory,
                                   const formats::OpenOptions& options)
    : directory_(directory),
      enclosure_(files::EnclosureOfCheckpoint(directory)),
      components_(FindComponents(directory, enclosure_)),
      configurations_(StatusOfConfigurations()) {
  for (const Component& component : components_) {
    CheckpointPart part;
    part.directory = component.name + "/";
    part.library = component.library;
    part.class_name = component.class_name;
    part.files = FindCheckpointFiles(files::Joined(directory, component.name), enclosure_);
    Open(std::move(part), options);
  }
  if (components_.empty()) {
    CheckpointPart whole;
    whole.files = FindCheckpointFiles(directory, enclosure_);
    Open(std::move(whole), options);
  }
  const formats::NameOrder<formats::TensorInfo> by_name(contents_.tensors);
  if (const auto twice = by_name.Twice()) RefuseTwice(twice->first, twice->second);
  for (std::uint32_t i = 0; i < parts_.size(); ++i) HoldAgainstIndex(by_name, i);
}

void CheckpointReader::Open(CheckpointPart part, const formats::OpenOptions& options) {
  const CheckpointFiles& files = part.files;
  if (!files.index.empty()) {
    part.index = files::StatusOf(files::Joined(directory_, part.IndexPath()));
  }
  if (!files.is_torch) formats::RefuseRoot(directory_, options);
  if (!part.directory.empty() && files.is_gguf) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(files::Joined(directory_, part.directory)) +
                    ": a pipeline with components in GGUF is not read",
                directory_);
  }
  // The readers of both stand side by side, each shard with one of the two.
  for (const std::string& name : files.shards) {
    if (files.is_torch || files.is_gguf) {
      AddOpenedShard(part, name, options);
    } else {
      AddShard(part, name);
    }
  }
  std::ranges::copy(files.notes, std::back_inserter(notes_));
  parts_.push_back(std::move(part));
}

void CheckpointReader::AddShard(const CheckpointPart& part, const std::string& file) {
  const std::string name = part.directory + file;
  std::unique_ptr<files::ByteSource> source =
      files::OpenNamedFile(files::Joined(directory_, name), enclosure_, sources_.size());
  formats::RefuseStranger(*source);
  formats::SafetensorsHeader header = formats::ReadSafetensorsHeader(*source);
  const auto shard = static_cast<std::uint32_t>(shards_.size());
  for (formats::TensorInfo& info : header.contents.tensors) {
    info.shard = shard;
    info.name.insert(0, part.directory);
  }
  shards_.push_back({name, name, static_cast<std::uint32_t>(parts_.size()),
                     header.contents.metadata, source->size(), header.offsets.size()});
  sources_.push_back(std::move(source));
  readers_.emplace_back();
  firsts_.push_back(contents_.tensors.size());
  for (auto& [key, value] : header.contents.metadata) {
    const auto [place, is_new] = contents_.metadata.try_emplace(key, value);
    if (is_new || place->second == value) continue;
    notes_.push_back(words::PathText(files::Joined(directory_, name)) + ": has another value of " +
                     "__metadata__[" + words::Quoted(key) + "] than the files before it");
  }
  if (contents_.metadata.size() > formats::kMostMetadataEntries) {
    throw Error(ErrorKind::kContents,
                words::PathText(directory_) + ": has more than " +
                    std::to_string(formats::kMostMetadataEntries) +
                    " entries of __metadata__ in its files",
                directory_);
  }
  offsets_.insert(offsets_.end(), header.offsets.begin(), header.offsets.end());
  std::move(header.contents.tensors.begin(), header.contents.tensors.end(),
            std::back_inserter(contents_.tensors));
}

void CheckpointReader::AddOpenedShard(const CheckpointPart& part, const std::string& file,
                                      const formats::OpenOptions& options) {
  const std::string name = part.directory + file;
  const auto reader =
      formats::OpenTensorSource(
          files::OpenNamedFile(files::Joined(directory_, name), enclosure_, readers_.size()),
          options)
          .reader;
  const auto shard = static_cast<std::uint32_t>(shards_.size());
  const formats::FileContents& contents = reader->contents();
  const std::vector<formats::TensorInfo>& tensors = contents.tensors;
  shards_.push_back(
      {name, part.directory + (part.files.is_gguf ? std::string(kUsualFile) : WrittenName(file)),
       static_cast<std::uint32_t>(parts_.size()), contents.metadata, reader->file_bytes(),
       tensors.size()});
  contents_.metadata.insert(contents.metadata.begin(), contents.metadata.end());
  contents_.shown_metadata.insert(contents.shown_metadata.begin(), contents.shown_metadata.end());
  if (contents_.gguf_keys == nullptr) contents_.gguf_keys = contents.gguf_keys;
  sources_.emplace_back();
  readers_.push_back(reader);
  firsts_.push_back(contents_.tensors.size());
  offsets_.resize(offsets_.size() + tensors.size());
  for (const formats::TensorInfo& info : tensors) {
    formats::TensorInfo& added = contents_.tensors.emplace_back(info);
    added.shard = shard;
    added.name.insert(0, part.directory);
  }
}

void CheckpointReader::RefuseTwice(std::uint32_t one, std::uint32_t other) const {
  const std::vector<formats::TensorInfo>& tensors = contents_.tensors;
  throw Error(ErrorKind::kContents,
              words::PathText(directory_) + ": tensor " + words::Quoted(tensors[one].name) +
                  " is in " + words::PathText(shards_[tensors[one].shard].name) + " and in " +
                  words::PathText(shards_[tensors[other].shard].name) +
                  "; leave the file there that belongs to the checkpoint",
              directory_);
}

void CheckpointReader::HoldAgainstIndex(const formats::NameOrder<formats::TensorInfo>& by_name,
                                        std::uint32_t part_index) {
  const std::vector<formats::TensorInfo>& tensors = contents_.tensors;
  const CheckpointPart& part = parts_[part_index];
  if (part.files.index.empty()) return;
  const auto opened =
      files::OpenNamedFile(files::Joined(directory_, part.IndexPath()), enclosure_, 0);
  const files::ByteSource& index = *opened;
  const auto fail = [&](std::string_view tensor, const std::string& why) {
    throw Error(ErrorKind::kContents,
                words::PathText(index.path()) + ": tensor " + words::Quoted(tensor) + " " + why,
                index.path());
  };
  std::vector<bool> named(tensors.size());
  ReadIndex(
      index, "it says which files hold the checkpoint: mend it",
      [&](std::string_view tensor, std::string_view file) {
        const std::string name = part.directory + std::string(tensor);
        const std::optional<std::uint32_t> place = by_name.Find(name);
        if (!place) {
          fail(tensor, "should be in " + words::Quoted(file) +
                           ", which does not hold it; the two belong to different checkpoints "
                           "or the file is not complete: fetch both again");
        }
        const std::string found = shards_[tensors[*place].shard].name.substr(part.directory.size());
        if (found != file) {
          fail(tensor, "should be in " + words::Quoted(file) + ", but is in " +
                           words::Quoted(found) +
                           "; the index is not that of these files: fetch them again");
        }
        if (named[*place]) fail(tensor, "is named twice; a name stands once in an index");
        named[*place] = true;
      });
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (shards_[tensors[i].shard].part != part_index) named[i] = true;  // another index's affair
  }
  const auto unnamed = std::find(named.begin(), named.end(), false);
  if (unnamed == named.end()) return;
  const auto count = std::count(named.begin(), named.end(), false);
  parts_[part_index].unnamed = static_cast<std::size_t>(count);
  const formats::TensorInfo& first = tensors[static_cast<std::size_t>(unnamed - named.begin())];
  notes_.push_back(words::PathText(index.path()) + ": does not name " +
                   words::CountText(static_cast<std::uint64_t>(count), "tensor") +
                   " of its files, the first " + words::Quoted(first.name) + " in " +
                   words::PathText(shards_[first.shard].name) + "; they are read like the others");
}

void CheckpointReader::Read(std::size_t tensor, std::uint64_t offset,
                            std::span<std::byte> out) const {
  const std::uint32_t shard = contents_.tensors.at(tensor).shard;
  if (readers_[shard] != nullptr) {
    readers_[shard]->Read(tensor - firsts_[shard], offset, out);
  } else {
    sources_[shard]->Read(offsets_[tensor] + offset, out);
  }
}

std::shared_ptr<std::byte> CheckpointReader::Map(std::size_t tensor) const {
  const std::uint32_t shard = contents_.tensors.at(tensor).shard;
  if (readers_[shard] != nullptr) return readers_[shard]->Map(tensor - firsts_[shard]);
  return sources_[shard]->Map(offsets_[tensor], contents_.tensors[tensor].bytes);
}

std::uint64_t CheckpointReader::file_bytes() const {
  std::uint64_t bytes = 0;
  for (const CheckpointShard& shard : shards_) bytes += shard.bytes;
  return bytes;
}

std::vector<std::uint64_t> CheckpointReader::BytesOfParts() const {
  std::vector<std::uint64_t> bytes(parts_.size());
  for (const formats::TensorInfo& info : contents_.tensors) {
    bytes[shards_[info.shard].part] += info.bytes;
  }
  return bytes;
}

void CheckpointReader::CheckUnchanged() const {
  for (const auto& source : sources_) {
    if (source != nullptr) source->CheckUnchanged();
  }
  for (const auto& reader : readers_) {
    if (reader != nullptr) reader->CheckUnchanged();
  }
  const auto check = [](const std::string& path, const std::optional<files::FileStatus>& before,
                        const std::optional<files::FileStatus>& now) {
    if (before && now && files::MayBeRewritten(*before, *now)) files::FailRewritten(path);
    if (before.has_value() == now.has_value()) return;
    throw Error(ErrorKind::kSystem, words::PathText(path) +
                                        (before ? ": is gone" : ": is there only") +
                                        " since the checkpoint was opened; convert it again");
  };
  const std::vector<std::string> paths = Configurations();
  const std::vector<std::optional<files::FileStatus>> now = StatusOfConfigurations();
  for (std::size_t i = 0; i < now.size(); ++i) check(paths[i], configurations_[i], now[i]);
  for (const CheckpointPart& part : parts_) {
    if (!part.index) continue;
    const std::string path = files::Joined(directory_, part.IndexPath());
    check(path, part.index, files::StatusOf(path));
  }
}

std::vector<std::string> CheckpointReader::Configurations() const {
  std::vector<std::string> paths;
  for (const char* const name : kConfigurations) paths.push_back(files::Joined(directory_, name));
  if (!components_.empty()) paths.push_back(files::Joined(directory_, kPipelineFile));
  for (const Component& component : components_) {
    for (const char* const name : kConfigurations) {
      paths.push_back(files::Joined(files::Joined(directory_, component.name), name));
    }
  }
  return paths;
}

std::vector<std::optional<files::FileStatus>> CheckpointReader::StatusOfConfigurations() const {
  std::vector<std::optional<files::FileStatus>> all;
  for (const std::string& path : Configurations()) all.push_back(files::StatusOf(path));
  return all;
}

std::vector<std::string> CheckpointReader::notes() const {
  std::vector<std::string> notes = notes_;
  for (const auto& reader : readers_) {
    if (reader != nullptr) std::ranges::move(reader->notes(), std::back_inserter(notes));
  }
  return notes;
}

std::vector<std::string> CheckpointReader::external_paths() const {
  std::vector<std::string> paths;
  for (const CheckpointShard& shard : shards_) {
    paths.push_back(files::Joined(directory_, shard.name));
  }
  for (const auto& reader : readers_) {
    if (reader != nullptr) std::ranges::move(reader->external_paths(), std::back_inserter(paths));
  }
  for (const CheckpointPart& part : parts_) {
    if (!part.files.index.empty()) paths.push_back(files::Joined(directory_, part.IndexPath()));
  }
  return paths;
}

}  // namespace tensorcast::checkpoint
