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

// `scales` are the input's as they were found; the plan refers to them no more.
scale::QuantisedModules ModulesOf(const formats::TensorReader& reader, const InputScales& scales,
                                  const FilePlan& plan);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_QUANTISED_MODULES_H_
