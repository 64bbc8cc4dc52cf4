// tensorcast completion and tensorcast man: what is installed beside the tool, printed.
//
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <fmt/format.h>

#include "command_tree.h"
#include "commands.h"
#include "completion.h"
#include "io/tensor_file.h"
#include "man_page.h"
#include "streams.h"

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

void AddShellCommands(CLI::App& app, CommandRun& run) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", kCompletionDescription);
  completion->add_option("SHELL", *shell, "Whose script")->type_name("bash|zsh")->required();
  completion->callback([shell, &app, &run] {
    run = [shell, &app] {
      if (*shell != "bash" && *shell != "zsh") {
        throw io::Error(
            io::ErrorKind::kArguments,
            fmt::format("completion: '{}' is not one of bash, zsh", io::Escape(*shell)));
      }
      const CommandEntry tool = DescribeCommand(app);
      Print(*shell == "bash" ? BashCompletion(tool) : ZshCompletion(tool));
      return kExitDone;
    };
  });
  CLI::App* man = app.add_subcommand("man", kManDescription);
  man->callback([&app, &run] {
    run = [&app] {
      Print(ManPage(DescribeCommand(app)));
      return kExitDone;
    };
  });
}

}  // namespace tensorcast::tool
