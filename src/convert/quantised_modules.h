// Which layers of a model a plan makes scaled, leaves scaled, or makes plain.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_QUANTISED_MODULES_H_
#define TENSORCAST_SRC_CONVERT_QUANTISED_MODULES_H_

#include "formats/tensor_reader.h"
#include "scale/quantised_modules.h"

namespace tensorcast::convert {

struct FilePlan;     // convert/file_plan.h
struct InputScales;  // convert/survey.h

// `scales` are the input's as they were found; the plan refers to them no more. `by_new_names`: the
// modules of the output, else of the input.
scale::QuantisedModules ModulesOf(const formats::TensorReader& reader, const InputScales& scales,
                                  const FilePlan& plan, bool by_new_names);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_QUANTISED_MODULES_H_
