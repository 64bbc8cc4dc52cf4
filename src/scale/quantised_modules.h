// Which layers of a model are made scaled, stay scaled, or become plain: what a configuration has
// to say.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_QUANTISED_MODULES_H_
#define TENSORCAST_SRC_SCALE_QUANTISED_MODULES_H_

#include <string>
#include <vector>

#include "scale/scaled_weights.h"
#include "scale/written_form.h"

namespace tensorcast::scale {

// Weights made in one form.
struct WrittenGroup {
  WrittenForm form;
  std::vector<std::string> modules;
};

// A weight that stays as the input has it, codes and scales.
struct KeptWeight {
  std::string module;
  const ScaledWeight* weight = nullptr;  // null: of a layout that is not read here
};

// Each in the order of the output.
struct QuantisedModules {
  std::vector<WrittenGroup> written;
  std::vector<KeptWeight> kept;
  std::vector<std::string> freed;   // scaled in the input, plain in the output
  std::vector<std::string> halved;  // modules some of whose weights are made and others not
  std::vector<std::string> plain;   // linear layers that are not scaled; the freed ones too
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_QUANTISED_MODULES_H_
