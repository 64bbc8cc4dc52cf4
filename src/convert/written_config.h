// What a model's configuration has to say of the scaled weights that a conversion makes, and of
// those that it leaves.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_
#define TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_

#include <map>
#include <string>

#include "checkpoint/checkpoint_reader.h"
#include "formats/tensor_reader.h"
#include "scale/dialects/dialect.h"

namespace tensorcast::convert {

struct FilePlan;     // convert/file_plan.h
struct InputScales;  // convert/survey.h
class NewNames;      // convert/new_names.h

// What a configuration beside a plan's output has to say.
struct OutputConfig {
  scale::WrittenConfig texts;
  // What the model is built in; kUndefined: nothing that the plan makes or leaves says it.
  DataType model_type = DataType::kUndefined;
  std::string note = {};  // what it does not say, for the user
  // The same of a pipeline's components, by their directories ("unet/"): of those in which
  // something is cast.
  std::map<std::string, DataType> component_types = {};
};

// The configuration of a plan's output, `path`; `scales` are the input's as they were found. It is
// the input's own, edited, if weights that this describes stay as they are. Throws files::Error
// (unsupported) if one configuration cannot say all that the plan makes and leaves.
OutputConfig ConfigOf(const formats::TensorReader& reader, const InputScales& scales,
                      const std::string& path, const FilePlan& plan, const NewNames& names);

// OutputConfig::component_types of a plan whose input is `pipeline`.
std::map<std::string, DataType> ComponentTypes(const checkpoint::CheckpointReader& pipeline,
                                               const InputScales& scales, const FilePlan& plan);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_
