// What this executable was built from and with.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_BUILD_INFO_H_
#define TENSORCAST_PROGRAMS_SHELL_BUILD_INFO_H_

#include <string>

namespace tensorcast::tool {

std::string CommitName();    // as `git describe` names it, or "unknown"
std::string CommitDate();    // 2026-11-21; where there is no commit, the day it was configured
std::string CompilerName();  // "g++ 12.2.0, optimised"

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_BUILD_INFO_H_
