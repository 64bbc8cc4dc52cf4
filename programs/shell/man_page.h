// The tool's manual page.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_MAN_PAGE_H_
#define TENSORCAST_PROGRAMS_SHELL_MAN_PAGE_H_

#include <string>

#include "shell/command_tree.h"

namespace tensorcast::tool {

// tensorcast(1) in roff, with the man macros.
std::string ManPage(const CommandEntry& tool);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_MAN_PAGE_H_
