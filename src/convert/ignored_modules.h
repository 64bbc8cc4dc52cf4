// Which layers a configuration names as left alone, each layout's readers being told in their own
// way.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_IGNORED_MODULES_H_
#define TENSORCAST_SRC_CONVERT_IGNORED_MODULES_H_

#include <string>
#include <vector>

#include "convert/quantised_modules.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

// The plain layers, and every name of a head (naming::HeadNames) that no scaled layer would answer
// to: a head that shares the embedding's weight has no tensor here, and is a linear layer all the
// same.
std::vector<std::string> IgnoredModules(ScaledLayout layout, const QuantisedModules& modules);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_IGNORED_MODULES_H_
