// The file that --rules names: what the command line says with --to, --rule, --tensor, --exclude
// and --keep, as TOML. docs/command_line.md has its keys.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_RULES_FILE_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_RULES_FILE_H_

#include <string>

#include "tensorcast/convert.hpp"

namespace tensorcast::tool {

// Adds what the file at `path` says behind what `request` has; its `to` counts only where the
// request has none. Throws files::Error that names file, line and column: arguments for what is not
// such a file, system where it cannot be read.
void ReadRulesFile(const std::string& path, convert::Request& request);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_RULES_FILE_H_
