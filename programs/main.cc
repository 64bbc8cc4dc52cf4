// The command-line tool: chooses a command, and turns errors into one line and an exit code.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "build_info.h"
#include "commands.h"
#include "io/tensor_file.h"
#include "process.h"
#include "refusals.h"
#include "streams.h"
#include "suggestions.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {
namespace {

constexpr const char* kDescription =
    R"(tensorcast: exact casts of tensor files, and what each cast loses.

Examples:
  tensorcast convert model.safetensors -o small.safetensors --to float8e4m3fn
  tensorcast loss model.safetensors --to float8e4m3fn --to float8e5m2 --to bfloat16
  tensorcast inspect model.safetensors
  tensorcast run casts.onnx --input x=x.npy --output-dir out
  tensorcast explain 0.1
  tensorcast types

'tensorcast COMMAND --help' explains a command.
)";

// Lists a command by the first line of its description; the rest is for its own --help.
class ShortListFormatter : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* sub) const override {
    const std::string description = sub->get_description();
    return fmt::format("  {:<12}{}\n", sub->get_name(),
                       description.substr(0, description.find('\n')));
  }
};

std::string VersionText() {
  std::string formats;
  for (const std::string_view ending : io::FormatEndings()) {
    formats.append(formats.empty() ? "" : ", ").append(ending.substr(1));
  }
  std::string targets;
  for (const Target target : Targets()) {
    targets.append(targets.empty() ? "" : ", ").append(TargetName(target));
  }
  return fmt::format(
      "tensorcast {}\n"
      "commit:   {}\n"
      "compiler: {}\n"
      "targets:  {} (built in and run by this machine)\n"
      "threads:  {}\n"
      "formats:  {}; models of MDF",
      TENSORCAST_VERSION, CommitName(), CompilerName(), targets,
      MakeTbbExecutor(1) != nullptr ? "oneTBB" : "one (built without oneTBB)", formats);
}

constexpr std::size_t kLongestWord = 64;  // of an argument in a message

int Fail(int code, std::string_view what) {
  SayLine(what);
  return code;
}

// What a parse error has to say, in one line, and where to read on.
int FailToParse(const CLI::App& app, const CLI::ParseError& error, std::string_view first) {
  std::string what = error.what();
  const std::vector<CLI::App*> commands = app.get_subcommands();
  if (commands.empty() && !first.empty() && first.front() != '-') {
    const std::string nearest = NearestCommand(app, first);
    what = fmt::format("'{}' is not a command; {}there are", first.substr(0, kLongestWord),
                       nearest.empty() ? "" : "did you mean " + nearest + "? ");
    for (const CLI::App* sub : app.get_subcommands({})) {
      if (!sub->get_group().empty()) what += " " + sub->get_name();
    }
  } else if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const CLI::App& command = commands.empty() ? app : *commands.front();
    const std::vector<std::string> left = app.remaining(true);
    const auto option = std::find_if(
        left.begin(), left.end(), [](const std::string& word) { return word.starts_with("--"); });
    if (option != left.end()) {
      const std::string nearest = NearestOption(command, *option);
      what =
          fmt::format("{} is not an option of {}{}", option->substr(0, kLongestWord),
                      command.get_name(), nearest.empty() ? "" : "; did you mean " + nearest + "?");
    }
  }
  for (char& c : what) {
    if (c == '\n') c = ' ';
  }
  std::string command = "tensorcast";
  for (const CLI::App* sub : app.get_subcommands()) command += " " + sub->get_name();
  return Fail(kExitArguments, fmt::format("{} (see '{} --help')", io::Escape(what), command));
}

// CLI11 takes -1.5 for a number, but -inf, -nan and -.5 for options: a blank in front, which the
// reading of numbers passes over, tells it otherwise.
std::string Argument(std::string text) {
  if (text.size() < 2 || text[0] != '-') return text;
  std::uint64_t code = 0;
  const bool is_number = ParseValue(text, DataType::kFloat64, &code).ok();
  return is_number && (text[1] < '0' || text[1] > '9') ? " " + text : text;
}

int Parse(CLI::App& app, const std::vector<std::string>& arguments, bool* is_done) {
  *is_done = true;
  std::vector<std::string> reversed;  // as CLI11 wants them
  for (const std::string& argument : arguments) reversed.push_back(Argument(argument));
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    Print(app.help());
    return kExitDone;
  } catch (const CLI::CallForVersion&) {
    Print(VersionText() + '\n');
    return kExitDone;
  } catch (const CLI::ParseError& error) {
    return FailToParse(app, error, arguments.empty() ? "" : arguments.front());
  }
  *is_done = false;
  return kExitDone;
}

int Run(const std::vector<std::string>& arguments) {
  try {
    CLI::App app(kDescription, "tensorcast");
    CommandRun run;
    app.require_subcommand(1);
    app.set_version_flag("--version", "");
    const auto formatter = std::make_shared<ShortListFormatter>();
    formatter->column_width(34);
    app.formatter(formatter);
    AddConvertCommand(app, run);
    AddLossCommand(app, run);
    AddInspectCommand(app, run);
    AddRunCommand(app, run);
    AddOptimizeCommand(app, run);
    AddOnnxTestCommand(app, run);
    AddExplainCommand(app, run);
    AddTypesCommand(app, run);
    AddBenchCommand(app, run);
    AddShellCommands(app, run);
    bool is_done = false;
    int code = Parse(app, arguments, &is_done);
    if (!is_done) code = run();
    // What could not be printed was not said: a full disk behind stdout is an error.
    return FinishPrinting() == Printed::kWhole ? code : kExitSystem;
  } catch (const io::Error& error) {
    return Fail(ExitCodeOf(error.kind()), RefusalText(error));
  } catch (const io::Interrupted&) {
    return Fail(kExitInterrupted, "interrupted; nothing was written");
  } catch (const std::bad_alloc&) {
    return Fail(kExitSystem, "out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return Fail(kExitSystem, io::Escape(error.what()));
  } catch (const std::exception& error) {
    return Fail(kExitSystem, fmt::format("internal error: {}", io::Escape(error.what())));
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
