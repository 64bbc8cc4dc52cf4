// Builds the directory under its hidden name: the copies first, then what the tensors' places say.
//
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/pipeline.h"
#include "files/error.h"
#include "files/file_status.h"
#include "files/named_file.h"
#include "files/system_directory.h"
#include "files/system_output_directory.h"
#include "files/text_output.h"
#include "formats/formats.h"
#include "formats/reading_code.h"
#include "json/json_text.h"
#include "json/ordered_json.h"

namespace tensorcast::checkpoint {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::string_view kEmptyIndex =
    "{\n  \"metadata\": {\n    \"total_size\": 0\n  },\n  \"weight_map\": {}\n}\n";

// What a version control system keeps in a directory; around it stands somebody's work.
constexpr std::string_view kRepositories[] = {".git", ".hg", ".jj", ".svn"};

// The contents of each shard in turn; `contents` gives up its tensors to them where it may.
template <class Contents, class Take>
void ForEachShard(Contents& contents, const Sharding& sharding, Take take) {
  std::vector<std::vector<std::uint32_t>> tensors(sharding.shards.size());
  for (std::uint32_t i = 0; i < sharding.shard_of.size(); ++i) {
    tensors[sharding.shard_of[i]].push_back(i);
  }
  for (std::size_t shard = 0; shard < tensors.size(); ++shard) {
    formats::FileContents part;
    part.metadata = sharding.metadata[shard];
    part.tensors.reserve(tensors[shard].size());
    for (const std::uint32_t i : tensors[shard]) {
      part.tensors.push_back(std::move(contents.tensors[i]));
      part.tensors.back().name = NameInShard(sharding.shards[shard], part.tensors.back().name);
    }
    take(shard, std::move(part), tensors[shard]);
  }
}

// Whether a configuration is one of a model. Other programs have such members too, with other
// values.
bool NamesModel(const std::string& path) {
  constexpr std::string_view kKeys[] = {"model_type", "architectures", "torch_dtype"};
  const auto is_name = [](const json::OrderedJson& value) {
    return value.is_string() && !value.get_ref<const std::string&>().empty();
  };
  try {
    const json::JsonText config(path, ReadText(files::InputFile(path), kMostConfigBytes));
    return std::any_of(std::begin(kKeys), std::end(kKeys), [&](std::string_view key) {
      const json::OrderedJson value = json::JsonOrNull(config.Find(key).value_or(""));
      return is_name(value) || (key == "architectures" && value.is_array() &&
                                std::any_of(value.begin(), value.end(), is_name));
    });
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kSystem) throw;
    return false;
  }
}

bool IsRepository(std::string_view name) {
  return std::find(std::begin(kRepositories), std::end(kRepositories), name) !=
         std::end(kRepositories);
}

// An index of the output: the input's, with another total and another map.
class OutputIndex {
 public:
  OutputIndex(const CheckpointReader& reader, const formats::FileContents& contents,
              const Sharding& sharding, const WrittenIndex& index)
      : tensors_(contents.tensors),
        sharding_(sharding),
        below_(DirectoryOfShard(index.path).size()) {
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
      const std::string& shard = sharding.shards[sharding.shard_of[i]];
      if (DirectoryOfShard(shard) == DirectoryOfShard(index.path)) order_.push_back(i);
    }
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return tensors_[a].name < tensors_[b].name;
    });
    std::uint64_t total = 0, values = 0;
    for (const std::uint32_t i : order_) {
      total += tensors_[i].bytes;
      values += tensors_[i].elements;
    }
    const std::string of_input = reader.parts()[index.part].IndexPath();
    const std::string old = files::Joined(reader.directory(), of_input);
    json::JsonText text(
        old, of_input.empty()
                 ? std::string(kEmptyIndex)
                 : ReadText(*files::OpenNamedFile(old, reader.enclosure(), 0), kMostIndexBytes));
    if (const std::optional<std::string> metadata = text.Find("metadata");
        metadata && metadata->starts_with('{')) {
      json::JsonText members(old, *metadata);
      members.Set("total_size", std::to_string(total));
      // transformers': elements as the files have them.
      if (members.Find("total_parameters")) {
        members.Set("total_parameters", std::to_string(values));
      }
      text.Set("metadata", members.text());
    } else {
      text.Set("metadata", "{\"total_size\": " + std::to_string(total) + '}');
    }
    std::size_t begin = 0, end = 0;
    text.ForEach([&](const json::JsonText::Member& member) {
      if (member.keys.size() != 1 || member.keys.front() != "weight_map") return;
      begin = member.value_begin;
      end = member.value_end;
    });
    head_ = text.text().substr(0, begin);
    tail_ = text.text().substr(end);
  }

  void Write(const std::string& path, const files::CreateOptions& options) const {
    std::uint64_t bytes = 0;
    ForEachPiece([&](std::string_view piece) { bytes += piece.size(); });
    files::TextOutput file(path, bytes, options);
    ForEachPiece([&](std::string_view piece) { file.Add(piece); });
    file.Commit();
  }

 private:
  template <class Take> void ForEachPiece(Take take) const {
    take(head_);
    std::string_view before = "{\n    ";
    for (const std::uint32_t i : order_) {
      take(before);
      take(json::JsonString(tensors_[i].name.substr(below_)) + ": " +
           json::JsonString(sharding_.shards[sharding_.shard_of[i]].substr(below_)));
      before = ",\n    ";
    }
    take(order_.empty() ? "{}" : "\n  }");
    take(tail_);
  }

  const std::vector<formats::TensorInfo>& tensors_;
  const Sharding& sharding_;
  const std::size_t below_;  // what is left away of paths and names: those of its directory
  std::vector<std::uint32_t> order_;
  std::string head_;
  std::string tail_;
};

class CheckpointWriter final : public formats::TensorWriter {
 public:
  CheckpointWriter(const std::string& path, const CheckpointReader& reader,
                   formats::FileContents contents, Sharding sharding,
                   const CheckpointExtras& extras, const files::CreateOptions& options,
                   std::uint64_t bytes, const std::atomic<bool>* interrupted)
      : interrupted_(interrupted),
        input_(reader.directory()),
        directory_(path, input_, bytes,
                   extras.others.copied.size() + extras.texts.size() + sharding.shards.size() +
                       sharding.indexes.size() + 1,
                   options, WhyNotReplaced,
                   [interrupted] { files::StopIfInterrupted(interrupted); }),
        like_weights_(files::PermissionsOfOutput(files::Joined(directory_.staging().path(), ""),
                                                 InputsOf(reader))),
        notes_(extras.notes),
        reading_hint_(formats::SafetensorsReadingHint(contents.tensors)) {
    for (const std::string& name : extras.others.directories) directory_.Add(name);
    for (const std::string& shard : sharding.shards) AddDirectoryOf(shard, extras.others);
    Say(reader, extras.others);
    if (options.begun.empty()) {
      WriteOthers(reader, extras);
      for (const WrittenIndex& index : sharding.indexes) {
        OutputIndex(reader, contents, sharding, index)
            .Write(files::Joined(directory_.path(), index.path), Within(index.path));
      }
    }
    places_.resize(contents.tensors.size());
    const std::size_t most_open = files::MostOpenFiles();
    ForEachShard(
        contents, sharding,
        [&](std::size_t shard, formats::FileContents part, std::span<const std::uint32_t> tensors) {
          files::StopIfInterrupted(interrupted_);
          for (std::uint32_t i = 0; i < tensors.size(); ++i) places_[tensors[i]] = i;
          const std::string& name = sharding.shards[shard];
          files::CreateOptions within = Within(name);
          within.permissions = like_weights_;
          within.staging.closes_files = shards_.size() >= most_open;
          within.staging.stays = directory_.staging().ForFiles().stays;
          within.takes_begun = options.takes_begun;
          if (!options.begun.empty()) {
            within.begun = files::Joined(directory_.staging().path(), name);
          }
          shards_.push_back(formats::CreateSafetensors(files::Joined(directory_.path(), name),
                                                       std::move(part), within));
        });
    shard_of_ = std::move(sharding.shard_of);
  }

  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    shards_[shard_of_.at(tensor)]->Write(places_[tensor], offset, data);
  }
  std::uint64_t file_bytes() const override {
    std::uint64_t bytes = 0;
    for (const auto& shard : shards_) bytes += shard->file_bytes();
    return bytes;
  }
  std::string temporary() const override { return directory_.staging().path(); }
  void SyncPart() override {
    for (const auto& shard : shards_) {
      files::StopIfInterrupted(interrupted_);
      shard->SyncPart();
    }
  }
  std::string reading_hint() const override { return reading_hint_; }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = notes_;
    for (std::string& note : directory_.notes()) notes.push_back(std::move(note));
    return notes;
  }

 private:
  static std::vector<std::string> InputsOf(const CheckpointReader& reader) {
    std::vector<std::string> inputs = reader.external_paths();
    inputs.push_back(reader.directory());
    return inputs;
  }

  // A component may hold nothing but weights.
  void AddDirectoryOf(const std::string& shard, const OtherFiles& others) {
    const std::string below(DirectoryOfShard(shard));
    if (below.empty()) return;
    const std::string name = below.substr(0, below.size() - 1);
    if (std::ranges::count(others.directories, name) == 0 && made_.insert(name).second) {
      directory_.Add(name);
    }
  }

  // A file of the directory, by its path in it, is made where the directory is, no more open to
  // others than the input's of that name or, where it has none, than its weights.
  files::CreateOptions Within(const std::string& name) const {
    files::CreateOptions options;
    const std::size_t slash = name.rfind('/');
    options.staging =
        directory_.staging().ForFiles(slash == std::string::npos ? "" : name.substr(0, slash));
    options.staging.holds_parts = true;
    options.staging.closes_files = false;
    options.staging.stays = false;  // it is complete at once
    options.inputs = {files::Joined(input_, name)};
    if (!files::IsFile(options.inputs.front())) options.permissions = like_weights_;
    return options;
  }

  // What the directory holds beside its tensors and their index.
  void WriteOthers(const CheckpointReader& reader, const CheckpointExtras& extras) {
    for (const std::string& name : extras.others.copied) {
      files::StopIfInterrupted(interrupted_);
      copied_.push_back(
          files::OpenNamedFile(files::Joined(input_, name), reader.enclosure(), SIZE_MAX));
      if (!extras.texts.contains(name)) Copy(*copied_.back(), name);
    }
    for (const auto& [name, text] : extras.texts) {
      files::WriteText(files::Joined(directory_.path(), name), text, Within(name));
    }
  }

  void Copy(const files::ByteSource& from, const std::string& name) {
    files::OutputFile to(files::Joined(directory_.path(), name), from.size(), Within(name));
    std::vector<std::byte> buffer;
    for (std::uint64_t done = 0; done < from.size(); done += buffer.size()) {
      files::StopIfInterrupted(interrupted_);
      buffer.resize(
          static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes, from.size() - done)));
      from.Read(done, buffer);
      to.Write(done, buffer);
    }
    to.Commit();
  }

  void Say(const CheckpointReader& reader, const OtherFiles& others) {
    constexpr std::size_t kShown = 5;
    if (others.left_out.empty()) return;
    std::string names;
    for (std::size_t i = 0; i < others.left_out.size() && i < kShown; ++i) {
      names += (i == 0 ? "" : ", ") + words::PathText(others.left_out[i]);
    }
    if (others.left_out.size() > kShown) {
      names += " and " + std::to_string(others.left_out.size() - kShown) + " more";
    }
    notes_.push_back(words::PathText(reader.directory()) +
                     ": not copied (weights that are not read, " + "or not files): " + names);
  }

  void DoSync() override {
    for (const auto& source : copied_) {
      files::StopIfInterrupted(interrupted_);
      source->CheckUnchanged();
    }
    for (const auto& shard : shards_) {
      files::StopIfInterrupted(interrupted_);
      shard->Commit();
    }
    files::StopIfInterrupted(interrupted_);
    directory_.Sync();
  }
  void DoCommit() override { directory_.Commit(); }

  const std::atomic<bool>* const interrupted_;
  const std::string input_;
  files::OutputDirectory directory_;  // outlives the files in it
  const unsigned like_weights_;
  std::set<std::string> made_;  // directories beside those of the files that are copied
  std::vector<std::unique_ptr<files::ByteSource>> copied_;
  std::vector<std::unique_ptr<formats::TensorWriter>> shards_;
  std::vector<std::uint32_t> shard_of_;  // each tensor's
  std::vector<std::uint32_t> places_;    // each tensor's in its shard
  std::vector<std::string> notes_;
  const std::string reading_hint_;
};

std::uint64_t ShardBytes(const std::string& path, const formats::FileContents& contents,
                         const Sharding& sharding) {
  std::uint64_t bytes = 0;
  ForEachShard(
      contents, sharding,
      [&](std::size_t shard, const formats::FileContents& part, std::span<const std::uint32_t>) {
        bytes += formats::MeasureSafetensors(files::Joined(path, sharding.shards[shard]), part);
      });
  return bytes;
}

}  // namespace

std::string WhyNotReplaced(const std::string& path) {
  constexpr std::string_view kModelConfig = "config.json";
  const std::vector<files::DirectoryEntry> entries = files::ListDirectory(path);
  bool has_weights = false, has_config = false, has_components = false;
  for (const files::DirectoryEntry& entry : entries) {
    if (IsRepository(entry.name)) return "holds " + entry.name;
    for (const std::string_view name : kRepositories) {
      if (entry.kind != files::DirectoryEntry::Kind::kDirectory || entry.is_link) break;
      const std::string below = files::Joined(entry.name, name);
      if (files::StatusOf(files::Joined(path, below))) return "holds " + words::PathText(below);
    }
    const bool is_file = entry.kind == files::DirectoryEntry::Kind::kFile;
    has_weights = has_weights || (is_file && entry.name.ends_with(kSafetensorsEnding));
    has_config = has_config || (is_file && entry.name == kModelConfig);
    has_components = has_components || (is_file && entry.name == kPipelineFile);
  }
  if (entries.empty() || has_weights) return {};
  if (has_components && NamesPipeline(files::Joined(path, kPipelineFile))) return {};
  if (has_config && NamesModel(files::Joined(path, kModelConfig))) return {};
  return "holds " + words::PathText(entries.front().name) + " and no checkpoint";
}

std::unique_ptr<formats::TensorWriter> CreateCheckpoint(
    const std::string& path, const CheckpointReader& reader, formats::FileContents contents,
    Sharding sharding, const CheckpointExtras& extras, const files::CreateOptions& options,
    const std::atomic<bool>* interrupted) {
  const std::uint64_t bytes =
      CheckCheckpoint(path, reader, contents, sharding, extras.others.bytes, options);
  return std::make_unique<CheckpointWriter>(path, reader, std::move(contents), std::move(sharding),
                                            extras, options, bytes, interrupted);
}

std::uint64_t CheckCheckpoint(const std::string& path, const CheckpointReader& reader,
                              const formats::FileContents& contents, const Sharding& sharding,
                              std::uint64_t other_bytes, const files::CreateOptions& options) {
  const std::uint64_t bytes = ShardBytes(path, contents, sharding) + other_bytes;
  files::CheckOutputDirectory(path, reader.directory(), bytes, options, WhyNotReplaced);
  return bytes;
}

}  // namespace tensorcast::checkpoint
