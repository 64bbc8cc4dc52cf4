// Looks at each file of tensors, then for each part of the checkpoint at its index.
//
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_faults.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "files/named_file.h"
#include "files/system_directory.h"
#include "json/json_text.h"

namespace tensorcast::checkpoint {
namespace {

using files::FaultyFile;
using files::FileFault;

bool HasMetadata(const CheckpointShard& shard, const formats::FileContents& made,
                 const Sharding& sharding) {
  if (shard.metadata == made.metadata) return true;
  const auto same = std::ranges::find(sharding.shards, shard.name);
  return same != sharding.shards.end() &&
         shard.metadata ==
             sharding.metadata[static_cast<std::size_t>(same - sharding.shards.begin())];
}

// Whether an index says how many bytes its tensors have, or nothing of it.
bool HasTotal(const files::ByteSource& index, std::uint64_t bytes) {
  const json::JsonText text(index.path(), ReadText(index, kMostIndexBytes));
  const std::optional<std::string> metadata = text.Find("metadata");
  if (!metadata || !metadata->starts_with('{')) return true;
  const std::optional<std::string> total =
      json::JsonText(index.path(), *metadata).Find("total_size");
  return !total || *total == std::to_string(bytes);
}

}  // namespace

std::vector<FaultyFile> FaultsBesideTensors(const CheckpointReader& found,
                                            const formats::FileContents& made,
                                            const Sharding& sharding) {
  std::vector<FaultyFile> faulty;
  std::vector<std::size_t> shards(found.parts().size());
  for (const CheckpointShard& shard : found.shards()) {
    ++shards[shard.part];
    const CheckpointFiles& files = found.parts()[shard.part].files;
    if (files.is_torch || files.is_gguf || HasMetadata(shard, made, sharding)) continue;
    faulty.push_back({shard.name, FileFault::kMetadata});
  }
  const std::vector<std::uint64_t> bytes = found.BytesOfParts();
  for (std::size_t p = 0; p < shards.size(); ++p) {
    const CheckpointPart& part = found.parts()[p];
    const auto is_beside = [&](std::string_view path) {
      return DirectoryOfShard(path) == part.directory;
    };
    if (const std::string path = part.IndexPath(); !path.empty()) {
      const auto index =
          files::OpenNamedFile(files::Joined(found.directory(), path), found.enclosure(), 0);
      if (part.unnamed != 0 || !HasTotal(*index, bytes[p])) {
        faulty.push_back({path, FileFault::kContents});
      }
    } else if (shards[p] > 1) {
      const auto index = std::ranges::find_if(sharding.indexes, is_beside, &WrittenIndex::path);
      if (index != sharding.indexes.end()) {
        faulty.push_back({index->path, FileFault::kMissing});
      } else if (std::ranges::count_if(sharding.shards, is_beside) == 1) {
        faulty.push_back({part.directory + IndexName("model"), FileFault::kMissing});
      }
    }
  }
  return faulty;
}

}  // namespace tensorcast::checkpoint
