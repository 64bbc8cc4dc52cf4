// Writes into the directory of a checkpoint that another process builds: into the shards alone,
// each opened when its first tensor comes. That process has made all else, and gives the directory
// its name.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_writer.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "files/system_output_directory.h"
#include "formats/formats.h"

namespace tensorcast::checkpoint {
namespace {

class SharedCheckpoint final : public formats::TensorWriter {
 public:
  SharedCheckpoint(std::string path, std::string begun, formats::FileContents contents,
                   Sharding sharding)
      : path_(std::move(path)),
        begun_(std::move(begun)),
        contents_(std::move(contents)),
        sharding_(std::move(sharding)),
        shards_(sharding_.shards.size()) {
    std::vector<std::uint32_t> count(sharding_.shards.size());
    places_.reserve(sharding_.shard_of.size());
    for (const std::uint32_t shard : sharding_.shard_of) places_.push_back(count[shard]++);
  }

  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    Opened(sharding_.shard_of.at(tensor)).Write(places_[tensor], offset, data);
  }
  std::string temporary() const override { return begun_; }
  void SyncPart() override {
    for (const auto& shard : shards_) {
      if (shard != nullptr) shard->SyncPart();
    }
  }
  std::uint64_t file_bytes() const override {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      bytes +=
          formats::MeasureSafetensors(files::Joined(path_, sharding_.shards[i]), ContentsOf(i));
    }
    return bytes;
  }

 private:
  formats::FileContents ContentsOf(std::size_t shard) const {
    formats::FileContents part;
    part.metadata = sharding_.metadata[shard];
    for (std::size_t i = 0; i < sharding_.shard_of.size(); ++i) {
      if (sharding_.shard_of[i] != shard) continue;
      part.tensors.push_back(contents_.tensors[i]);
      part.tensors.back().name = NameInShard(sharding_.shards[shard], part.tensors.back().name);
    }
    return part;
  }

  formats::TensorWriter& Opened(std::size_t shard) {
    const std::lock_guard lock(opening_);
    if (shards_[shard] == nullptr) {
      files::CreateOptions options;
      options.begun = files::Joined(begun_, sharding_.shards[shard]);
      options.staging.directory = options.begun.substr(0, options.begun.rfind('/'));
      options.staging.holds_parts = true;
      options.staging.closes_files = opened_ >= most_open_;
      shards_[shard] = formats::CreateSafetensors(files::Joined(path_, sharding_.shards[shard]),
                                                  ContentsOf(shard), options);
      ++opened_;
    }
    return *shards_[shard];
  }

  void DoSync() override { SyncPart(); }
  void DoCommit() override {}  // which is for the other process

  const std::string path_;
  const std::string begun_;
  const formats::FileContents contents_;
  const Sharding sharding_;
  const std::size_t most_open_ = files::MostOpenFiles();
  std::mutex opening_;
  std::vector<std::unique_ptr<formats::TensorWriter>> shards_;  // null: not opened yet
  std::vector<std::uint32_t> places_;                           // each tensor's in its shard
  std::size_t opened_ = 0;
};

}  // namespace

std::unique_ptr<formats::TensorWriter> JoinCheckpoint(const std::string& path,
                                                      const files::CreateOptions& options,
                                                      formats::FileContents contents,
                                                      Sharding sharding) {
  files::CheckBegunDirectory(path, options);
  return std::make_unique<SharedCheckpoint>(path, options.begun, std::move(contents),
                                            std::move(sharding));
}

}  // namespace tensorcast::checkpoint
