// A directory of safetensors, torch or GGUF files, as Hugging Face's libraries lay a checkpoint
// out, as one file of tensors.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_READER_H_
#define TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/pipeline.h"
#include "files/byte_source.h"
#include "files/system.h"
#include "formats/name_order.h"
#include "formats/tensor_file.h"
#include "formats/tensor_reader.h"

namespace tensorcast::checkpoint {

struct CheckpointShard {
  std::string name;                             // its path in the directory
  std::string written_name;                     // in a directory that is made of it
  std::uint32_t part = 0;                       // of the checkpoint's
  std::map<std::string, std::string> metadata;  // its __metadata__
  std::uint64_t bytes = 0;                      // of the file
  std::size_t tensors = 0;                      // in the contents, shard by shard
};

// What has files of weights, an index and a configuration of its own: a checkpoint is one, a
// pipeline has several.
struct CheckpointPart {
  std::string directory;  // below the checkpoint's: "unet/"; that of the checkpoint is empty
  // Of a component who loads it, as model_index.json says: "diffusers", "UNet2DConditionModel".
  std::string library, class_name;
  CheckpointFiles files;
  std::optional<files::FileStatus> index;  // its status when it was opened
  std::size_t unnamed = 0;                 // tensors of its files that the index does not name

  // The path of its index; empty if it has none.
  std::string IndexPath() const { return files.index.empty() ? "" : directory + files.index; }
  // The same in a directory that is made of it.
  std::string WrittenIndexPath() const {
    if (files.index.empty()) return {};
    return directory + (files.is_torch ? WrittenName(files.index) : files.index);
  }
};

// A pipeline's tensors have their component's name before their own: "unet/conv_in.weight".
// The contents have the tensors of all files, file by file in the order of their names, each file's
// in the order of its data; TensorInfo::shard is an index into shards(). Their metadata is that of
// all files, of a key with several values the first.
class CheckpointReader final : public formats::TensorReader {
 public:
  // `directory`: its path. Opening reads the headers of all files and the index, and holds the two
  // against each other. Throws Error.
  CheckpointReader(const std::string& directory, const formats::OpenOptions& options);

  const formats::FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override;
  std::shared_ptr<std::byte> Map(std::size_t tensor) const override;
  std::uint64_t file_bytes() const override;
  void CheckUnchanged() const override;
  std::vector<std::string> external_paths() const override;
  std::vector<std::string> notes() const override;

  const std::string& directory() const { return directory_; }
  // All that is read of the directory must lie in it.
  const files::Enclosure& enclosure() const { return enclosure_; }
  std::span<const CheckpointShard> shards() const { return shards_; }
  std::span<const CheckpointPart> parts() const { return parts_; }
  // Of the tensors of each part.
  std::vector<std::uint64_t> BytesOfParts() const;
  bool IsPipeline() const { return !parts_.front().directory.empty(); }

 private:
  void Open(CheckpointPart part, const formats::OpenOptions& options);
  void AddShard(const CheckpointPart& part, const std::string& name);
  void AddOpenedShard(const CheckpointPart& part, const std::string& name,
                      const formats::OpenOptions& options);
  [[noreturn]] void RefuseTwice(std::uint32_t one, std::uint32_t other) const;
  void HoldAgainstIndex(const formats::NameOrder<formats::TensorInfo>& by_name, std::uint32_t part);

  std::string directory_;
  files::Enclosure enclosure_;
  // The files that say how tensors are meant, whether they are there or not.
  std::vector<std::string> Configurations() const;
  std::vector<std::optional<files::FileStatus>> StatusOfConfigurations() const;

  std::vector<Component> components_;  // of a pipeline
  // Their status when the checkpoint was opened, before anything was read.
  std::vector<std::optional<files::FileStatus>> configurations_;
  std::vector<CheckpointPart> parts_;
  std::vector<std::string> notes_;
  formats::FileContents contents_;
  std::vector<CheckpointShard> shards_;
  // Of each shard: its bytes, and where in them each tensor's data begins ...
  std::vector<std::unique_ptr<files::ByteSource>> sources_;
  std::vector<std::uint64_t> offsets_;
  // ... or of torch's and GGUF's its reader, and the index of its first tensor in the contents.
  std::vector<std::shared_ptr<const formats::TensorReader>> readers_;
  std::vector<std::size_t> firsts_;
};

}  // namespace tensorcast::checkpoint

#endif  // TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_READER_H_
