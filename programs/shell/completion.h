// Scripts that complete the tool's command line, for bash and for zsh.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_COMPLETION_H_
#define TENSORCAST_PROGRAMS_SHELL_COMPLETION_H_

#include <string>

#include "shell/command_tree.h"

namespace tensorcast::tool {

std::string BashCompletion(const CommandEntry& tool);
std::string ZshCompletion(const CommandEntry& tool);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_COMPLETION_H_
