// What a model's configuration has to say of the scaled weights that a conversion makes, and of
// those that it leaves.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_
#define TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_

#include <map>
#include <string>

#include "io/ordered_json_fwd.h"
#include "io/tensor_file.h"

namespace tensorcast::convert {

struct FilePlan;     // convert/file_plan.h
struct InputScales;  // convert/survey.h

// JSON texts; empty: nothing is to be said.
struct WrittenConfig {
  std::string quantization_config;  // the member of config.json of that name
  std::string hf_quant_config;      // the file hf_quant_config.json beside it (ModelOpt's)
  std::map<std::string, std::string> metadata;  // of the .safetensors file (ComfyUI's)
  // What the model is built in; kUndefined: nothing that the plan makes or leaves says it.
  DataType model_type = DataType::kUndefined;
};

// Of a plan's output, `path`; `scales` are the input's as they were found. Throws io::Error
// (unsupported) where one configuration cannot say all that the plan makes.
WrittenConfig ConfigOf(const io::TensorReader& reader, const InputScales& scales,
                       const std::string& path, const FilePlan& plan);

// A configuration's text, whatever bytes its names have.
std::string ConfigText(const io::OrderedJson& json, int indent = 2);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_
