// A configuration that goes on being true: the input's, edited, where weights that it describes
// stay as they are and others become plain, or are made scaled anew beside them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_KEPT_CONFIG_H_
#define TENSORCAST_SRC_CONVERT_KEPT_CONFIG_H_

#include <string>

#include "convert/quantised_modules.h"
#include "convert/written_config.h"
#include "io/tensor_file.h"
#include "scale/quantization_config.h"

namespace tensorcast::convert {

// Of modules some of which are kept. `written`: the configuration of those that are made scaled, as
// if they were alone. Empty texts: the input's stay as they are. Throws io::Error (unsupported,
// with `path`, the output) where no configuration says both.
WrittenConfig KeptConfig(const std::string& path, const QuantisedModules& modules,
                         const scale::QuantizationConfig& config, WrittenConfig written);

// ComfyUI's description of layers in the metadata of a file, without those that are plain now and
// with those that `written` adds; empty where that changes nothing.
std::string KeptDescriptions(const io::FileContents& contents, const QuantisedModules& modules,
                             const WrittenConfig& written);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_KEPT_CONFIG_H_
