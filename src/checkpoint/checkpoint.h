// What stands beside tensors and speaks of them: a checkpoint's index, its configuration.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_H_
#define TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "files/byte_source.h"

namespace tensorcast::checkpoint {

inline constexpr std::uint64_t kMostIndexBytes = std::uint64_t{100} << 20;
inline constexpr std::uint64_t kMostConfigBytes = std::uint64_t{16} << 20;
// What "quantization_config" of config.json would say, where a directory has no config.json: our
// own, which no library reads.
inline constexpr const char* kQuantizationFile = "quantization_config.json";
// The record of the conversion that made a directory; of a file, "FILE." stands before it.
inline constexpr const char* kRecordFile = "tensorcast.json";

// The whole of a text. Throws Error (contents) where it has more than `most` bytes.
std::string ReadText(const files::ByteSource& source, std::uint64_t most);

// Calls `take` with the name of each tensor and of the file that "weight_map" gives it, in the
// order of the index. Throws Error (contents) where it is no such JSON: "PATH: why;
// advice".
void ReadIndex(const files::ByteSource& index, const std::string& advice,
               const std::function<void(std::string_view tensor, std::string_view file)>& take);

// The same of the index that a shard has. The files of a checkpoint's index are names and no more:
// none of them is opened. NAME.safetensors.index.json beside NAME-00001-of-00002.safetensors, or
// model.safetensors.index.json beside any .safetensors file, NAME.bin.index.json beside torch's
// NAME-00001-of-00002.bin. Where there is none nothing happens;
// a directory has none beside it.
void ForEachInIndex(
    const std::string& path,
    const std::function<void(std::string_view tensor, std::string_view file)>& take);

// Whether a member of a configuration of that name says how tensors are quantised.
bool IsQuantisationKey(std::string_view key);

}  // namespace tensorcast::checkpoint

#endif  // TENSORCAST_SRC_CHECKPOINT_CHECKPOINT_H_
