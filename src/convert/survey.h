// What an input is before anything is asked of it: its tensors, and which of them are quantised.
// What inspect shows, and where every plan and every comparison begins.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_SURVEY_H_
#define TENSORCAST_SRC_CONVERT_SURVEY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/open_tensor_file.h"
#include "files/error.h"
#include "files/output_options.h"
#include "formats/tensor_reader.h"
#include "scale/scale_companions.h"
#include "scale/scaled_weights.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

// What an input is taken to mean; a part of the plan.
struct InputOptions {
  std::optional<DataType> assume_type;  // of npy files that do not name theirs
  bool allow_hard_links = false;        // of files that hold a model's data
  bool ignore_scales = false;           // tensors that have scales are their bare codes
  std::string root;                     // of torch files: where the tensors are
};

InputOptions InputOptionsOf(const Request& request);

// How inputs are opened, and the files beside them.
struct Opening {
  InputOptions inputs;
  files::SpoolOptions spool;
  std::shared_ptr<const files::CurrentInterrupt> interrupted;
  std::shared_ptr<formats::PassedOver> passed_over = nullptr;  // formats::OpenOptions has it
};

struct InputScales {
  scale::ScaleCompanions companions;
  scale::ScaledWeights weights;  // empty if scales are ignored, and for models
  bool is_ignored = false;
  // Of a pipeline's components each its own; `weights` has that of anything else.
  std::vector<scale::QuantizationConfig> component_configs = {};

  const scale::QuantizationConfig& ConfigOf(std::uint32_t part) const {
    return component_configs.empty() ? weights.config : component_configs[part];
  }
};

struct Survey {
  std::string path;  // a file, or a directory
  checkpoint::OpenedInput opened;
  InputScales scales;

  const formats::TensorReader& reader() const { return *opened.reader; }
  const std::vector<formats::TensorInfo>& tensors() const { return reader().contents().tensors; }

  // What has files and a configuration of its own: a pipeline has several.
  std::uint32_t parts() const {
    return opened.checkpoint != nullptr
               ? static_cast<std::uint32_t>(opened.checkpoint->parts().size())
               : 1;
  }
  std::uint32_t PartOf(std::size_t tensor) const {
    return opened.checkpoint != nullptr ? opened.checkpoint->shards()[tensors()[tensor].shard].part
                                        : 0;
  }
  bool IsPipeline() const {
    return opened.checkpoint != nullptr && opened.checkpoint->IsPipeline();
  }
  // "unet/" of a pipeline's; empty of all others.
  std::string_view DirectoryOf(std::uint32_t part) const {
    return IsPipeline() ? std::string_view(opened.checkpoint->parts()[part].directory)
                        : std::string_view();
  }
  // A name of a tensor without that of its component, which means nothing to those who load it.
  std::string_view OwnName(std::size_t tensor, std::string_view name) const {
    const std::string_view directory = DirectoryOf(PartOf(tensor));
    return name.starts_with(directory) ? name.substr(directory.size()) : name;
  }
};

formats::OpenOptions OpenOptionsOf(const Opening& opening);

// Throws files::Error, files::Interrupted.
Survey OpenSurvey(const std::string& path, const Opening& opening);
// The same of what was opened at `path`.
Survey SurveyOf(checkpoint::OpenedInput opened, const std::string& path, bool ignore_scales);

// The paths that an output must not be: that of the input and of what it reads beside itself.
std::vector<std::string> InputPaths(const formats::TensorReader& reader, const std::string& path);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_SURVEY_H_
