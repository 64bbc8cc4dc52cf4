// What a word that is no command or no option probably meant.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SUGGESTIONS_H_
#define TENSORCAST_PROGRAMS_SUGGESTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace tensorcast::tool {

// The name of a command of `app`, by meaning ("info") or by spelling ("convrt"); empty where none
// is near.
std::string NearestCommand(const CLI::App& app, std::string_view word);

// The nearest of `names` by spelling: those at the least distance, which is at most a third of the
// word; none where none is near.
std::vector<std::string> NearestNames(const std::vector<std::string>& names, std::string_view word);

// The same of an option of a command, with its dashes; a value behind "=" is not looked at.
std::string NearestOption(const CLI::App& command, std::string_view word);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SUGGESTIONS_H_
