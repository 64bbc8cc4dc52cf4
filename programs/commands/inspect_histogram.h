// tensorcast inspect --histogram: how the magnitudes of single tensors lie.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_COMMANDS_INSPECT_HISTOGRAM_H_
#define TENSORCAST_PROGRAMS_COMMANDS_INSPECT_HISTOGRAM_H_

#include <string>
#include <vector>

#include "convert/survey.h"

namespace tensorcast::tool {

// Reads the tensors of these names, scales applied, and prints each's histogram, or with `json`
// their counts. Throws files::Error: none has the name (arguments), it holds no numbers or its
// values are not to be had (unsupported).
void PrintHistograms(const convert::Survey& survey, const std::vector<std::string>& names,
                     bool json);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_COMMANDS_INSPECT_HISTOGRAM_H_
