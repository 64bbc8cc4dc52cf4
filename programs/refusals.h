// What the library refuses, as the tool says it: its flags, its exit codes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_REFUSALS_H_
#define TENSORCAST_PROGRAMS_REFUSALS_H_

#include <string>
#include <vector>

#include "convert/selection.h"
#include "io/tensor_file.h"

namespace tensorcast::tool {

inline constexpr int kExitArguments = 2;
inline constexpr int kExitContents = 3;
inline constexpr int kExitSystem = 4;
inline constexpr int kExitUnsupported = 5;

int ExitCodeOf(io::ErrorKind kind);

// The error's text, and the flag that lifts what it refuses, where one does.
std::string RefusalText(const io::Error& error);

// "--rule PATTERN=T".
std::string RuleFlag(const convert::RequestedRule& rule);

// Puts the flags that took a tensor, or would take it, in the place of the library's words.
void NameFlags(const convert::Request& request, std::vector<convert::Decision>& decisions);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_REFUSALS_H_
