// --fail-on KIND=LIMIT: what makes a run that ended well exit with 1.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_FAIL_LIMITS_H_
#define TENSORCAST_PROGRAMS_FAIL_LIMITS_H_

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tensorcast/report.hpp"

namespace tensorcast::tool {

// Registers --fail-on; `texts` outlives the app.
void AddFailOnFlag(CLI::App& app, std::vector<std::string>& texts);

// Each as ParseLossLimit takes it. Throws io::Error (arguments).
std::vector<LossLimit> ParseFailLimits(const std::vector<std::string>& texts);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_FAIL_LIMITS_H_
