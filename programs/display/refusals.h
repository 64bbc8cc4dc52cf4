// What the library refuses, as the tool says it: its flags, and which exit code.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_REFUSALS_H_
#define TENSORCAST_PROGRAMS_DISPLAY_REFUSALS_H_

#include <string>
#include <string_view>
#include <vector>

#include "files/error.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {
struct Decision;  // convert/selection.h
}

namespace tensorcast::tool {

int ExitCodeOf(core::ErrorKind kind);

// The error's text, and the flag that lifts what it refuses, where one does.
std::string RefusalText(const files::Error& error);

// "--rule PATTERN=T".
std::string RuleFlag(const convert::RequestedRule& rule);
// "--rule PATTERN=T takes no tensor: rules before it do".
std::string IdleText(const convert::RequestedRule& rule, std::string_view why);

// Puts the flags that took a tensor, or would take it, in the place of the library's words.
void NameFlags(const convert::Request& request, std::vector<convert::Decision>& decisions);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_REFUSALS_H_
