// The lists of a configuration that name layers, edited as its readers match them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_LAYER_LISTS_H_
#define TENSORCAST_SRC_SCALE_LAYER_LISTS_H_

#include <span>
#include <string>
#include <vector>

#include "json/ordered_json_fwd.h"
#include "scale/dialects/dialect.h"
#include "scale/quantised_modules.h"

namespace tensorcast::scale {

// The plain layers, and every name of a head (naming::HeadNames) that no scaled layer would answer
// to: a head that shares the embedding's weight has no tensor here, and is a linear layer all the
// same.
std::vector<std::string> IgnoredModules(LayerNames names, const QuantisedModules& modules);

// Adds names that a list has not; what is no list becomes one.
void AddNames(json::OrderedJson& list, std::span<const std::string> names);
// Takes away what an object says of layers.
void Forget(json::OrderedJson& layers, std::span<const std::string> names);

// Where transformers' own methods list layers that stay plain.
inline constexpr const char* kNotConverted = "modules_to_not_convert";
inline constexpr const char* kNotConvertedLists[] = {kNotConverted};

// A configuration of transformers with the layers that became plain in "modules_to_not_convert".
WrittenConfig AddNotConverted(const QuantisedModules& modules, const QuantizationConfig& config);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_LAYER_LISTS_H_
