// What a word that is no command or no option probably meant.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_SUGGESTIONS_H_
#define TENSORCAST_PROGRAMS_SHELL_SUGGESTIONS_H_

#include <string>
#include <string_view>
#include <vector>

namespace tensorcast::tool {

// A command, by meaning ("info") or, of `names`, by spelling ("convrt"); empty where none is near.
std::string NearestCommand(const std::vector<std::string>& names, std::string_view word);

// The nearest of a command's options, which have their dashes; a value behind "=" is not looked at.
std::string NearestOption(const std::vector<std::string>& names, std::string_view word);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_SUGGESTIONS_H_
