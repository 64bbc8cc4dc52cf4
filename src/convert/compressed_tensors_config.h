// compressed-tensors' QuantizationConfig of scaled weights.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_COMPRESSED_TENSORS_CONFIG_H_
#define TENSORCAST_SRC_CONVERT_COMPRESSED_TENSORS_CONFIG_H_

#include <string>

#include "convert/quantised_modules.h"
#include "io/ordered_json_fwd.h"
#include "scale/quantization_config.h"

namespace tensorcast::convert {

// Of weights that are all made here.
io::OrderedJson CompressedTensorsConfig(const QuantisedModules& modules);

// Of weights made here beside some that stay as `config`, the input's, describes them: each group
// names its layers. Empty where a weight that stays belongs to none of its groups, or to several;
// `unclear` is then its layer.
io::OrderedJson CompressedTensorsConfig(const QuantisedModules& modules,
                                        const scale::QuantizationConfig& config,
                                        std::string* unclear);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_COMPRESSED_TENSORS_CONFIG_H_
