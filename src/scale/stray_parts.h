// Weights that are understood, and beside which something stands that makes other ones of them:
// a tensor that would be taken for the plain weight's scale, or the description of a layer that is
// not here under that name.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_STRAY_PARTS_H_
#define TENSORCAST_SRC_SCALE_STRAY_PARTS_H_

#include <span>
#include <vector>

#include "formats/tensor_info.h"
#include "json/ordered_json_fwd.h"
#include "scale/scaled_weights.h"

namespace tensorcast::scale {

// Why some of `weights` are not read, each once. `described`: what the file's metadata says of
// layers by their names (DescribedLayers).
std::vector<UnreadWeight> FindStrayParts(const std::vector<formats::TensorInfo>& tensors,
                                         const json::OrderedJson& described,
                                         std::span<const ScaledWeight> weights);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_STRAY_PARTS_H_
