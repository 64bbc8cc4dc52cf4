// tensorcast completion and tensorcast man: what is installed beside the tool, printed.
//
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "arguments/argument_values.h"
#include "commands/commands.h"
#include "shell/command_line.h"
#include "shell/command_tree.h"
#include "shell/exit_codes.h"
#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

constexpr const char* kCompletionDescription =
    R"(Print a script that completes this command line.

Examples:
  source <(tensorcast completion bash)
  tensorcast completion zsh > ~/.zfunc/_tensorcast

An installed tensorcast has both scripts where the shells look for them.
)";

constexpr const char* kManDescription =
    R"(Print the manual page.

Examples:
  tensorcast man | man -l -
)";

}  // namespace

void AddShellCommands(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  Command completion = line.AddCommand("completion", kCompletionDescription);
  completion.AddOption("SHELL bash|zsh", *shell, "The shell to use it in").Required();
  completion.Runs([shell, &line] {
    RequireWord("completion", *shell, {"bash", "zsh"});
    const CommandEntry tool = line.Describe();
    Print(*shell == "bash" ? BashCompletion(tool) : ZshCompletion(tool));
    return kExitDone;
  });
  Command man = line.AddCommand("man", kManDescription);
  man.Runs([&line] {
    Print(ManPage(line.Describe()));
    return kExitDone;
  });
}

}  // namespace tensorcast::tool
