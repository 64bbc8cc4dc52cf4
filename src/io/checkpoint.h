// What stands beside a file of tensors and speaks of them: a checkpoint's index, its configuration.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_CHECKPOINT_H_
#define TENSORCAST_SRC_IO_CHECKPOINT_H_

#include <functional>
#include <string>
#include <string_view>

namespace tensorcast::io {

// The files of a checkpoint's index are names and no more: none of them is opened.
//
// Calls `take` with the name of each tensor and of the file that "weight_map" gives it, in the
// order of the index: NAME.safetensors.index.json beside NAME-00001-of-00002.safetensors, or
// model.safetensors.index.json beside any .safetensors file. Where there is none nothing happens;
// one that is no such JSON is an error (contents).
void ForEachInIndex(
    const std::string& path,
    const std::function<void(std::string_view tensor, std::string_view file)>& take);

// Whether config.json beside the file at `path` has a "quantization_config" (or one of its kin), or
// hf_quant_config.json stands there. A configuration that cannot be read is taken to have one.
bool ConfigSaysQuantised(const std::string& path);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_CHECKPOINT_H_
