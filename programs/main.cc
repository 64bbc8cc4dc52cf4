// The command-line tool: chooses a command, and turns errors into one line and an exit code.
//
// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "commands/commands.h"
#include "display/refusals.h"
#include "formats/tensor_file.h"
#include "shell/build_info.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/process.h"
#include "shell/streams.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {
namespace {

constexpr const char* kToolDescription =
    R"(tensorcast: exact casts of tensor files, and what each cast loses.

Examples:
  tensorcast convert model.safetensors -o small.safetensors --to float8e4m3fn
  tensorcast loss model.safetensors --to float8e4m3fn,float8e5m2,bfloat16
  tensorcast diff model small.safetensors
  tensorcast verify model.safetensors small.safetensors
  tensorcast inspect model.safetensors
  tensorcast run casts.onnx --input x=x.npy --output-dir out
  tensorcast explain 0.1
  tensorcast types

'tensorcast COMMAND --help' explains a command.
)";

std::string VersionText() {
  std::vector<std::string_view> formats, targets;
  for (const std::string_view ending : formats::FormatEndings())
    formats.push_back(ending.substr(1));
  for (const Target target : Targets()) targets.push_back(TargetName(target));
  return fmt::format(
      "tensorcast {}\n"
      "commit:   {}\n"
      "compiler: {}\n"
      "targets:  {} (built in and run by this machine)\n"
      "threads:  {}\n"
      "formats:  {}; models of MDF",
      TENSORCAST_VERSION, CommitName(), CompilerName(), fmt::join(targets, ", "),
      MakeTbbExecutor(1) != nullptr ? "oneTBB" : "one (built without oneTBB)",
      fmt::join(formats, ", "));
}

int Fail(int code, std::string_view what) {
  SayLine(what);
  return code;
}

int Run(const std::vector<std::string>& arguments) {
  try {
    CommandLine line("tensorcast", kToolDescription, VersionText);
    AddConvertCommand(line);
    AddLossCommand(line);
    AddDiffCommand(line);
    AddVerifyCommand(line);
    AddInspectCommand(line);
    AddRunCommand(line);
    AddOptimizeCommand(line);
    AddOnnxTestCommand(line);
    AddExplainCommand(line);
    AddTypesCommand(line);
    AddBenchCommand(line);
    AddShellCommands(line);
    const int code = line.Run(arguments);
    // What could not be printed was not said: a full disk behind stdout is an error.
    return FinishPrinting() == Printed::kWhole ? code : kExitSystem;
  } catch (const files::Error& error) {
    return Fail(ExitCodeOf(error.kind()), RefusalText(error));
  } catch (const files::Interrupted&) {
    return Fail(kExitInterrupted, "interrupted; nothing was written");
  } catch (const std::bad_alloc&) {
    return Fail(kExitSystem, "out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return Fail(kExitSystem, words::Escape(error.what()));
  } catch (const std::exception& error) {
    return Fail(kExitSystem, fmt::format("internal error: {}", words::Escape(error.what())));
  }
}

}  // namespace
}  // namespace tensorcast::tool

int main(int argc, char** argv) {
  tensorcast::tool::HoldStandardStreams();
  tensorcast::tool::IgnoreSignalsOfWriting();
  tensorcast::tool::ExitOnInterrupts(tensorcast::tool::Leaves::kNothing);
  return tensorcast::tool::Run(tensorcast::tool::Arguments(argc, argv));
}
