// What configurations say of integers in groups: GPTQ's and AWQ's.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_INTEGER_CONFIGS_H_
#define TENSORCAST_SRC_SCALE_INTEGER_CONFIGS_H_

#include <string>
#include <string_view>

#include "scale/dialects/dialect.h"
#include "scale/quantised_modules.h"

namespace tensorcast::scale {

// Of modules whose forms are integers: the form of most, and the others by name where they differ.
WrittenConfig WriteGptqIntegers(const QuantisedModules& modules);
// Of one form alone.
WrittenConfig WriteAwqIntegers(const QuantisedModules& modules);

// A module as GPTQ's readers match it, with "+:" or "-:" in front: "-:^a\.b$".
std::string GptqPattern(std::string_view mark, std::string_view module);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_INTEGER_CONFIGS_H_
