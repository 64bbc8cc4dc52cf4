// The commands. Each function adds one.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_COMMANDS_COMMANDS_H_
#define TENSORCAST_PROGRAMS_COMMANDS_COMMANDS_H_

namespace tensorcast::tool {

class CommandLine;  // command_line.h

void AddConvertCommand(CommandLine& line);
void AddLossCommand(CommandLine& line);
void AddDiffCommand(CommandLine& line);
void AddVerifyCommand(CommandLine& line);
void AddInspectCommand(CommandLine& line);
void AddRunCommand(CommandLine& line);
void AddOptimizeCommand(CommandLine& line);
void AddOnnxTestCommand(CommandLine& line);
void AddExplainCommand(CommandLine& line);
void AddTypesCommand(CommandLine& line);
void AddBenchCommand(CommandLine& line);
// completion and man.
void AddShellCommands(CommandLine& line);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_COMMANDS_COMMANDS_H_
