// Puts tensors into shards.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/checkpoint_writer.h"
#include "files/error.h"

namespace tensorcast::checkpoint {

using core::ErrorKind;
using files::Error;
namespace {

// More than any checkpoint that is published has.
constexpr std::size_t kMostFilesWritten = 512;

void RefuseMany(const CheckpointReader& reader, std::size_t shards) {
  if (shards <= kMostFilesWritten) return;
  throw Error(ErrorKind::kArguments,
              words::PathText(reader.directory()) + ": would become " + std::to_string(shards) +
                  " files; at most " + std::to_string(kMostFilesWritten) +
                  " are written: let a file hold more",
              reader.directory());
}

// The files of one part of a checkpoint, or of all of it.
struct PartFiles {
  std::uint32_t part = 0;
  const CheckpointPart& of;
  std::vector<const CheckpointShard*> shards;
  std::vector<std::uint32_t> tensors;  // of the output
};

// Numbers `count` files, and names the index where there is more than one.
void Name(const PartFiles& files, std::size_t count, Sharding& sharding) {
  // Files that are not numbered have nothing in common that could be their name.
  const std::string& directory = files.of.directory;
  const std::string first = files.shards.front()->written_name.substr(directory.size());
  std::string base = BaseOfShard(first);
  if (files.shards.size() > 1 && ShardName(base, 1, 1) == first) base = "model";
  for (std::size_t i = 0; i < count; ++i) {
    sharding.shards.push_back(directory + ShardName(base, i + 1, count));
  }
  if (count > 1) {
    const std::string old = files.of.WrittenIndexPath();
    sharding.indexes.push_back({old.empty() ? directory + IndexName(base) : old, files.part});
  }
}

// Cuts as huggingface_hub's split_state_dict_into_shards_factory does: a tensor larger than a file
// may be has one of its own, and the one that was begun goes on behind it. Files are numbered as
// they are full.
void Reshard(const PartFiles& files, const formats::FileContents& contents,
             std::uint64_t max_shard_bytes, Sharding& sharding) {
  const auto before = static_cast<std::uint32_t>(sharding.shards.size());
  std::vector<std::uint32_t> number;  // of each file in the order in which they are begun
  std::uint32_t shards = 0;
  std::optional<std::uint32_t> begun;  // the file that is being filled
  std::uint64_t bytes = 0;             // in it
  for (const std::uint32_t tensor : files.tensors) {
    const formats::TensorInfo& info = contents.tensors[tensor];
    const auto next = static_cast<std::uint32_t>(number.size());
    if (info.bytes > max_shard_bytes) {
      sharding.shard_of[tensor] = next;
      number.push_back(shards++);
      continue;
    }
    if (!begun || info.bytes > max_shard_bytes - bytes) {
      if (begun) number[*begun] = shards++;
      begun = next;
      number.push_back(0);
      bytes = 0;
    }
    sharding.shard_of[tensor] = *begun;
    bytes += info.bytes;
  }
  if (begun) number[*begun] = shards++;
  for (const std::uint32_t tensor : files.tensors) {
    sharding.shard_of[tensor] = before + number[sharding.shard_of[tensor]];
  }
  shards = std::max(shards, std::uint32_t{1});
  Name(files, shards, sharding);
  sharding.metadata.resize(before + shards, contents.metadata);
}

// The metadata of a file of the input in the output.
std::map<std::string, std::string> MetadataOf(const CheckpointShard& shard,
                                              const CheckpointReader& reader,
                                              const formats::FileContents& contents) {
  std::map<std::string, std::string> metadata = shard.metadata;
  // What is not true of the output has been left out of its contents.
  std::erase_if(metadata,
                [&](const auto& entry) { return !contents.metadata.contains(entry.first); });
  // What the output says otherwise is true of all its files.
  const std::map<std::string, std::string>& before = reader.contents().metadata;
  for (const auto& [key, value] : contents.metadata) {
    const auto old = before.find(key);
    if (old == before.end() || old->second != value) metadata[key] = value;
  }
  return metadata;
}

void KeepShards(const CheckpointReader& reader, const PartFiles& files,
                const formats::FileContents& contents, Sharding& sharding) {
  const auto before = static_cast<std::uint32_t>(sharding.shards.size());
  std::map<const CheckpointShard*, bool> is_used;
  // What was empty may stay so.
  for (const CheckpointShard* const shard : files.shards) is_used[shard] = shard->tensors == 0;
  for (const std::uint32_t tensor : files.tensors) {
    is_used[&reader.shards()[contents.tensors[tensor].shard]] = true;
  }
  std::map<const CheckpointShard*, std::uint32_t> number;
  for (const CheckpointShard* const shard : files.shards) {
    if (!is_used[shard]) continue;
    number[shard] = before + static_cast<std::uint32_t>(number.size());
    sharding.metadata.push_back(MetadataOf(*shard, reader, contents));
  }
  if (number.size() == files.shards.size()) {
    for (const CheckpointShard* const shard : files.shards) {
      sharding.shards.push_back(shard->written_name);
    }
    if (const std::string index = files.of.WrittenIndexPath(); !index.empty()) {
      sharding.indexes.push_back({index, files.part});
    }
  } else {
    const std::size_t count = std::max(number.size(), std::size_t{1});
    sharding.metadata.resize(before + count);
    Name(files, count, sharding);
  }
  for (const std::uint32_t tensor : files.tensors) {
    sharding.shard_of[tensor] = number[&reader.shards()[contents.tensors[tensor].shard]];
  }
}

}  // namespace

Sharding ShardsOf(const CheckpointReader& reader, const formats::FileContents& contents,
                  std::uint64_t max_shard_bytes) {
  std::vector<PartFiles> parts;
  for (std::uint32_t i = 0; i < reader.parts().size(); ++i) {
    parts.push_back({i, reader.parts()[i], {}, {}});
  }
  for (const CheckpointShard& shard : reader.shards()) parts[shard.part].shards.push_back(&shard);
  for (std::uint32_t i = 0; i < contents.tensors.size(); ++i) {
    parts[reader.shards()[contents.tensors[i].shard].part].tensors.push_back(i);
  }
  Sharding sharding;
  sharding.shard_of.resize(contents.tensors.size());
  for (const PartFiles& part : parts) {
    // Of a component that nothing is written of there is no file.
    const bool had_any = std::ranges::any_of(
        part.shards, [](const CheckpointShard* shard) { return shard->tensors != 0; });
    if (reader.IsPipeline() && part.tensors.empty() && had_any) continue;
    if (max_shard_bytes != 0) {
      Reshard(part, contents, max_shard_bytes, sharding);
    } else {
      KeepShards(reader, part, contents, sharding);
    }
  }
  RefuseMany(reader, sharding.shards.size());
  return sharding;
}

std::string NameInShard(const std::string& shard, const std::string& tensor) {
  const std::string_view directory = DirectoryOfShard(shard);
  if (tensor.starts_with(directory)) return tensor.substr(directory.size());
  throw Error(ErrorKind::kArguments,
              words::PathText(shard) + ": " + words::EscapeName(tensor) +
                  " would be written to this file of a pipeline, so its name has to begin with " +
                  words::Quoted(directory),
              tensor);
}

}  // namespace tensorcast::checkpoint
