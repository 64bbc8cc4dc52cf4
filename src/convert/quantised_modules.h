// Which layers of a model a plan makes scaled, leaves scaled, or makes plain.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_QUANTISED_MODULES_H_
#define TENSORCAST_SRC_CONVERT_QUANTISED_MODULES_H_

#include <cstdint>

#include "scale/quantised_modules.h"

namespace tensorcast::convert {

struct FilePlan;  // convert/file_plan.h
struct Survey;    // convert/survey.h

// The modules of one part of the input, whose scales are as they were found; the plan refers to
// them no more. `by_new_names`: by their names in the output, else by those in the input.
scale::QuantisedModules ModulesOf(const Survey& survey, const FilePlan& plan, std::uint32_t part,
                                  bool by_new_names);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_QUANTISED_MODULES_H_
