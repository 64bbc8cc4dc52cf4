// --fail-on KIND=LIMIT: what makes a run that ended well exit with 1.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_FAIL_LIMITS_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_FAIL_LIMITS_H_

#include <string>
#include <vector>

#include "tensorcast/report.hpp"

namespace tensorcast::tool {

class Command;  // command_line.h

// Registers --fail-on; `texts` outlives the CommandLine.
void AddFailOnFlag(Command command, std::vector<std::string>& texts);

// Each as ParseLossLimit takes it. Throws io::Error (arguments).
std::vector<LossLimit> ParseFailLimits(const std::vector<std::string>& texts);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_FAIL_LIMITS_H_
