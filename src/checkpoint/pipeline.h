// A diffusers pipeline: a directory whose model_index.json names components, each a directory of
// its own that may hold a model.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CHECKPOINT_PIPELINE_H_
#define TENSORCAST_SRC_CHECKPOINT_PIPELINE_H_

#include <string>
#include <vector>

#include "files/system.h"

namespace tensorcast::checkpoint {

inline constexpr const char* kPipelineFile = "model_index.json";

// A component and who loads it: "text_encoder", "transformers", "CLIPTextModel".
struct Component {
  std::string name;
  std::string library;
  std::string class_name;
};

// The components that hold weights, by name; none: it is no pipeline. Throws Error where the system
// refuses.
std::vector<Component> FindComponents(const std::string& directory,
                                      const files::Enclosure& enclosure);

// Whether a file says what a pipeline is made of.
bool NamesPipeline(const std::string& path);

}  // namespace tensorcast::checkpoint

#endif  // TENSORCAST_SRC_CHECKPOINT_PIPELINE_H_
