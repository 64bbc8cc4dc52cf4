// The subcommands. Each function registers one; chosen on the command line it fills `run`.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_COMMANDS_H_
#define TENSORCAST_PROGRAMS_COMMANDS_H_

#include <functional>

#include <CLI/CLI.hpp>

namespace tensorcast::tool {

// Runs the chosen command and returns the exit code. Throws io::Error.
using CommandRun = std::function<int()>;

inline constexpr int kExitDone = 0;
inline constexpr int kExitLimitCrossed = 1;  // done, but a --fail-on limit was crossed
inline constexpr int kExitInterrupted = 130;

void AddConvertCommand(CLI::App& app, CommandRun& run);
void AddLossCommand(CLI::App& app, CommandRun& run);
void AddInspectCommand(CLI::App& app, CommandRun& run);
void AddRunCommand(CLI::App& app, CommandRun& run);
void AddOptimizeCommand(CLI::App& app, CommandRun& run);
void AddOnnxTestCommand(CLI::App& app, CommandRun& run);
void AddExplainCommand(CLI::App& app, CommandRun& run);
void AddTypesCommand(CLI::App& app, CommandRun& run);
void AddBenchCommand(CLI::App& app, CommandRun& run);
// completion and man.
void AddShellCommands(CLI::App& app, CommandRun& run);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_COMMANDS_H_
