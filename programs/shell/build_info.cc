// The one file that is compiled anew for every commit.
//
// SPDX-License-Identifier: Apache-2.0
#include "shell/build_info.h"

namespace tensorcast::tool {

std::string CommitName() { return TENSORCAST_TOOL_COMMIT; }

std::string CommitDate() { return TENSORCAST_TOOL_DATE; }

std::string CompilerName() {
#if defined(__clang__)
  std::string name = "clang++ " __clang_version__;
#elif defined(__GNUC__)
  std::string name = "g++ " __VERSION__;
#else
  std::string name = "unknown";
#endif
#if defined(__OPTIMIZE__)
  return name + ", optimised";
#else
  return name + ", not optimised";
#endif
}

}  // namespace tensorcast::tool
