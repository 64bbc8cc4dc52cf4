// Which layers of a model a conversion makes scaled, leaves scaled, or makes plain: what a
// configuration has to say.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_QUANTISED_MODULES_H_
#define TENSORCAST_SRC_CONVERT_QUANTISED_MODULES_H_

#include <string>
#include <vector>

#include "io/tensor_file.h"
#include "scale/scaled_weights.h"
#include "scale/written_form.h"

namespace tensorcast::convert {

struct FilePlan;     // convert/file_plan.h
struct InputScales;  // convert/survey.h

// Weights made in one form.
struct WrittenGroup {
  scale::WrittenForm form;
  std::vector<std::string> modules;
};

// A weight that stays as the input has it, codes and scales.
struct KeptWeight {
  std::string module;
  const scale::ScaledWeight* weight = nullptr;  // null: of a layout that is not read here
};

// Each in the order of the output.
struct QuantisedModules {
  std::vector<WrittenGroup> written;
  std::vector<KeptWeight> kept;
  std::vector<std::string> freed;  // scaled in the input, plain in the output
  std::vector<std::string> plain;  // linear layers that are not scaled; the freed ones too
};

// `scales` are the input's as they were found; the plan refers to them no more.
QuantisedModules ModulesOf(const io::TensorReader& reader, const InputScales& scales,
                           const FilePlan& plan);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_QUANTISED_MODULES_H_
