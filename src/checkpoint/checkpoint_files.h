// The files of a checkpoint's directory: which of them hold its tensors, what they are called, and
// which hold weights at all.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_FILES_H_
#define TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_FILES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "files/system.h"

namespace tensorcast::checkpoint {

inline constexpr std::string_view kSafetensorsEnding = ".safetensors";
inline constexpr std::string_view kTorchEnding = ".bin";
inline constexpr std::string_view kUsualFile = "model.safetensors";

struct CheckpointFiles {
  std::vector<std::string> shards;  // in the directory, by name: .safetensors files, or torch's
  std::string index;                // the file that names them; empty: none does
  bool is_torch = false;
  bool is_gguf = false;            // then of several parts the first
  std::vector<std::string> notes;  // how they were chosen, where that is a question
};

// The files that hold the tensors of a directory, as transformers chooses them: those that
// model.safetensors.index.json names (or the one other index), else model.safetensors, else all
// .safetensors files; where there are none, those that pytorch_model.bin.index.json names, else
// pytorch_model.bin, else a numbered set of torch files, else the one GGUF model. Throws Error:
// contents where one is missing or there is more than one checkpoint; unsupported if there is no
// checkpoint.
CheckpointFiles FindCheckpointFiles(const std::string& directory,
                                    const files::Enclosure& enclosure);

// What files of a checkpoint are called: "model-00002-of-00003.safetensors" has the base "model".
// A variant's base is "model.fp16"; its index is model.safetensors.index.fp16.json.
std::string BaseOfShard(std::string_view name);
std::string ShardName(std::string_view base, std::size_t number, std::size_t count);
std::string IndexName(std::string_view base);
// What a torch file, or torch's index, is called where it is written as safetensors:
// "model-00002-of-00003.safetensors" of "pytorch_model-00002-of-00003.bin".
std::string WrittenName(std::string_view torch_name);
bool IsIndexName(std::string_view name);

// Whether a file holds weights, of this or another format, by its name.
bool IsWeightsName(std::string_view name);

}  // namespace tensorcast::checkpoint

#endif  // TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_FILES_H_
