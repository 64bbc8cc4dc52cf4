// Writes a checkpoint's directory of tensors in other types.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_WRITER_H_
#define TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_WRITER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_others.h"
#include "checkpoint/checkpoint_reader.h"
#include "files/output_options.h"
#include "formats/tensor_writer.h"

namespace tensorcast::checkpoint {

// An index of an output: of the files in its directory.
struct WrittenIndex {
  std::string path;        // in the output
  std::uint32_t part = 0;  // of the input's, whose index it is made of
};

// Which file each tensor of an output goes into.
struct Sharding {
  std::vector<std::string> shards;                           // their paths in the output
  std::vector<std::map<std::string, std::string>> metadata;  // the __metadata__ of each
  std::vector<std::uint32_t> shard_of;                       // each tensor's
  std::vector<WrittenIndex> indexes;                         // of several files
};

// The directory of a path, with a slash; what a pipeline's tensors have before their own names.
inline std::string_view DirectoryOfShard(std::string_view path) {
  return path.substr(0, path.rfind('/') + 1);
}
// A tensor's name in a file of this path. Throws Error (arguments) where it is none of the
// component that the file is of.
std::string NameInShard(const std::string& shard, const std::string& tensor);

// The files of the input, each with its name and its metadata, as long as none of a checkpoint, or
// of a pipeline's component, comes to hold nothing; then its files are numbered anew. With
// `max_shard_bytes` the tensors are put into files in their order, as Hugging Face's libraries do,
// each with all the metadata. Throws Error (arguments) where that would be very many.
Sharding ShardsOf(const CheckpointReader& reader, const formats::FileContents& contents,
                  std::uint64_t max_shard_bytes);

// What the output holds beside its tensors.
struct CheckpointExtras {
  OtherFiles others;  // of the input: copied, but for those that are written anew
  std::map<std::string, std::string> texts;  // files that are written, by their path in OUT
  std::vector<std::string> notes;
};

// Creates OUT/: the shards, the index, the other files. `contents` as the sharding was made for;
// TensorWriter's indices are those of its tensors. Throws Error, and Interrupted where copying
// takes long.
std::unique_ptr<formats::TensorWriter> CreateCheckpoint(
    const std::string& path, const CheckpointReader& reader, formats::FileContents contents,
    Sharding sharding, const CheckpointExtras& extras, const files::CreateOptions& options,
    const std::atomic<bool>* interrupted);

// Opens the output that the options say another process has begun, of the same contents and
// sharding. Throws Error where that is no such directory.
std::unique_ptr<formats::TensorWriter> JoinCheckpoint(const std::string& path,
                                                      const files::CreateOptions& options,
                                                      formats::FileContents contents,
                                                      Sharding sharding);

// The checks of CreateCheckpoint that need no writing; `other_bytes`: of the files that are copied.
// Returns the size of it all.
std::uint64_t CheckCheckpoint(const std::string& path, const CheckpointReader& reader,
                              const formats::FileContents& contents, const Sharding& sharding,
                              std::uint64_t other_bytes, const files::CreateOptions& options);

// Why a directory is none that a checkpoint replaces: it is no checkpoint, or more than one. Empty:
// it may be. Throws Error where it cannot be accessed.
std::string WhyNotReplaced(const std::string& path);

}  // namespace tensorcast::checkpoint

#endif  // TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_WRITER_H_
