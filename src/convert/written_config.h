// What a model's configuration has to say of the scaled weights that a conversion makes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_
#define TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_

#include <map>
#include <string>

#include "io/tensor_file.h"

namespace tensorcast::convert {

struct FilePlan;  // convert/file_plan.h

// JSON texts; empty: nothing is to be said.
struct WrittenConfig {
  std::string quantization_config;  // the member of config.json of that name
  std::string hf_quant_config;      // the file hf_quant_config.json beside it (ModelOpt's)
  std::map<std::string, std::string> metadata;  // of the .safetensors file (ComfyUI's)
};

// Of a plan's output, `path`. Throws io::Error (unsupported) where one configuration cannot say all
// that the plan makes.
WrittenConfig ConfigOf(const io::TensorReader& reader, const std::string& path,
                       const FilePlan& plan);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_
