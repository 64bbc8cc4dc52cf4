// The exit codes, as docs/command_line.md has them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_EXIT_CODES_H_
#define TENSORCAST_PROGRAMS_SHELL_EXIT_CODES_H_

namespace tensorcast::tool {

inline constexpr int kExitDone = 0;
inline constexpr int kExitLimitCrossed = 1;  // done, but a --fail-on limit was crossed
inline constexpr int kExitDiffers = 1;       // diff, verify: the two are not equal
inline constexpr int kExitArguments = 2;
inline constexpr int kExitContents = 3;     // of an input file
inline constexpr int kExitSystem = 4;       // it refused: missing, no permission, full
inline constexpr int kExitUnsupported = 5;  // legal, but not supported
inline constexpr int kExitInterrupted = 130;

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_EXIT_CODES_H_
