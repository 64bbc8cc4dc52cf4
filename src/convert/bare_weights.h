// Weights of narrow codes that no known scale serves, though something says that they need one.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_BARE_WEIGHTS_H_
#define TENSORCAST_SRC_CONVERT_BARE_WEIGHTS_H_

#include <string>
#include <vector>

#include "formats/tensor_info.h"

namespace tensorcast::convert {

struct InputScales;  // convert/survey.h

// Adds them to `scales.weights.unread`, but where scales are ignored, and takes them out of
// `scales.companions.unscaled`. What says so, in this order:
// - a tensor beside the weight that sounds like its scale and has as many values as one would;
//   both are among the companions from then on;
// - the configuration, which covers the weight;
// - a weight that has a scale, and whose name differs in numbers alone;
// - where `is_directory`, the method "fp8" of a checkpoint in which no float8 tensor has a scale.
// What is beside a file is asked of the index of its checkpoint too, by names alone. Float8 without
// any of these is legal: a cast makes it. Throws files::Error (contents) where a pattern of the
// configuration cannot be followed, or the index is none.
void FindBareWeights(const std::vector<formats::TensorInfo>& tensors, const std::string& path,
                     bool is_directory, InputScales& scales);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_BARE_WEIGHTS_H_
