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

// Numbers the files, and names the index where there is more than one.
void Name(const CheckpointReader& reader, std::size_t shards, Sharding& sharding) {
  // Files that are not numbered have nothing in common that could be their name.
  const std::string first = reader.shards().front().written_name;
  std::string base = BaseOfShard(first);
  if (reader.shards().size() > 1 && ShardName(base, 1, 1) == first) base = "model";
  for (std::size_t i = 0; i < shards; ++i) {
    sharding.shards.push_back(ShardName(base, i + 1, shards));
  }
  if (shards > 1) {
    sharding.index = reader.index().empty() ? IndexName(base) : reader.written_index();
  }
}

// Cuts as huggingface_hub's split_state_dict_into_shards_factory does: a tensor larger than a file
// may be has one of its own, and the one that was begun goes on behind it. Files are numbered as
// they are full.
Sharding Reshard(const CheckpointReader& reader, const formats::FileContents& contents,
                 std::uint64_t max_shard_bytes) {
  Sharding sharding;
  sharding.shard_of.reserve(contents.tensors.size());
  std::vector<std::uint32_t> number;  // of each file in the order in which they are begun
  std::uint32_t shards = 0;
  std::optional<std::uint32_t> begun;  // the file that is being filled
  std::uint64_t bytes = 0;             // in it
  for (const formats::TensorInfo& info : contents.tensors) {
    const auto next = static_cast<std::uint32_t>(number.size());
    if (info.bytes > max_shard_bytes) {
      sharding.shard_of.push_back(next);
      number.push_back(shards++);
      continue;
    }
    if (!begun || info.bytes > max_shard_bytes - bytes) {
      if (begun) number[*begun] = shards++;
      begun = next;
      number.push_back(0);
      bytes = 0;
    }
    sharding.shard_of.push_back(*begun);
    bytes += info.bytes;
  }
  if (begun) number[*begun] = shards++;
  for (std::uint32_t& shard : sharding.shard_of) shard = number[shard];
  shards = std::max(shards, std::uint32_t{1});
  RefuseMany(reader, shards);
  Name(reader, shards, sharding);
  sharding.metadata.assign(shards, contents.metadata);
  return sharding;
}

}  // namespace

Sharding ShardsOf(const CheckpointReader& reader, const formats::FileContents& contents,
                  std::uint64_t max_shard_bytes) {
  if (max_shard_bytes != 0) return Reshard(reader, contents, max_shard_bytes);
  const std::span<const CheckpointShard> inputs = reader.shards();
  std::vector<bool> is_used(inputs.size());
  for (const formats::TensorInfo& info : contents.tensors) is_used[info.shard] = true;
  // What was empty may stay so.
  for (std::size_t i = 0; i < inputs.size(); ++i) is_used[i] = is_used[i] || inputs[i].tensors == 0;
  std::vector<std::uint32_t> number(inputs.size());
  Sharding sharding;
  std::uint32_t shards = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    number[i] = shards;
    if (!is_used[i]) continue;
    ++shards;
    std::map<std::string, std::string>& metadata =
        sharding.metadata.emplace_back(inputs[i].metadata);
    // What is not true of the output has been left out of its contents.
    std::erase_if(metadata,
                  [&](const auto& entry) { return !contents.metadata.contains(entry.first); });
    // What the output says otherwise is true of all its files.
    const std::map<std::string, std::string>& before = reader.contents().metadata;
    for (const auto& [key, value] : contents.metadata) {
      const auto old = before.find(key);
      if (old == before.end() || old->second != value) metadata[key] = value;
    }
  }
  RefuseMany(reader, shards);
  if (shards == inputs.size()) {
    for (const CheckpointShard& shard : inputs) {
      sharding.shards.push_back(shard.written_name);
    }
    sharding.index = reader.written_index();
  } else {
    shards = std::max(shards, std::uint32_t{1});
    sharding.metadata.resize(shards);
    Name(reader, shards, sharding);
  }
  sharding.shard_of.reserve(contents.tensors.size());
  for (const formats::TensorInfo& info : contents.tensors)
    sharding.shard_of.push_back(number[info.shard]);
  return sharding;
}

}  // namespace tensorcast::checkpoint
