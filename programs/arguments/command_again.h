// A command line with other flags in it, as a text to be copied into a shell.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_COMMAND_AGAIN_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_COMMAND_AGAIN_H_

#include <string>
#include <string_view>
#include <vector>

namespace tensorcast::tool {

// The text in single quotes, whatever it holds.
std::string ShellQuoted(std::string_view text);

// The command that was given, its name first, with these flags and their values before all others,
// as the first rule that matches wins; a --to takes the place of the one that stands there. It
// replaces what the command has written. Empty where that cannot be: nothing says --to, or a plan
// says what is done, or a word holds what a line cannot show.
std::string CommandAgainText(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& flags);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_COMMAND_AGAIN_H_
