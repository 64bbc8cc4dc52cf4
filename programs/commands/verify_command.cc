// tensorcast verify: a conversion done again, and its output held against what is made.
//
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "arguments/conversion_flags.h"
#include "arguments/tensor_files.h"
#include "commands/commands.h"
#include "convert/verification.h"
#include "display/conversion_summary.h"
#include "display/progress_display.h"
#include "display/refusals.h"
#include "display/verification_report.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

constexpr const char* kVerifyDescription =
    R"(Convert again without writing, and compare the output that stands bit by bit.

Examples:
  tensorcast verify Qwen3-8B Qwen3-8B-f16
  tensorcast verify Qwen3-8B Qwen3-8B-nvfp4 --to nvfp4 --layout modelopt
  tensorcast verify model.safetensors small.safetensors --to fp8_e5m2 --rule '*.norm.*=bfloat16' --json

The flags are those of the conversion. Without --to, --rule and --repack the types of OUT's tensors tell
what was asked, where it has no scaled weights; the first line says so. Every tensor is made of IN again,
with all that the flags say, and compared with OUT's; of directories the other files are, too. Nothing is
written. It takes as long as converting without a report, and as little memory.

Exit codes: 0 OUT is what the conversion makes; 1 tensors or files differ, are missing or are too many;
2 the arguments; 3 the contents of an input; 4 the system; 5 legal but not supported; 130 interrupted.
)";

int VerifyOutput(const ConversionFlags& flags) {
  convert::RunSettings settings;
  settings.target = ParseTargetFlag(flags.cast.target);
  const std::unique_ptr<Executor> executor = ParseThreads(flags.cast.threads);
  settings.executor = executor.get();
  ProgressDisplay progress(flags.cast.progress, flags.cast.quiet);
  settings.progress = [&](const convert::Progress& now) { progress.Show(now); };
  const files::SpoolOptions spool = ToolOpenOptions().spool;

  convert::Request request = RequestOf(flags);
  VerificationSummary summary;
  summary.is_told_by_output = !AsksForSomething(request);
  if (summary.is_told_by_output) convert::AskAsOutputTells(request, spool);
  const std::unique_ptr<convert::PlanState> plan = convert::MakePlan(request, settings, spool);
  progress.Clear();
  if (!flags.cast.quiet) SayBefore(*plan);
  NameFlags(plan->request, plan->files.front().plan.decisions);
  summary.plan = plan.get();
  summary.found = convert::Verify(*plan, settings);
  progress.Clear();
  if (flags.cast.json) {
    PrintVerificationJson(summary);
  } else {
    PrintVerificationTable(summary, flags.cast.verbose);
  }
  return summary.found.IsRight() ? kExitDone : kExitDiffers;
}

}  // namespace

void AddVerifyCommand(CommandLine& line) {
  auto flags = std::make_shared<ConversionFlags>();
  Command command = line.AddCommand("verify", kVerifyDescription);
  AddInput(command, "IN", flags->input);
  AddInput(command, "OUT", flags->output);
  AddConversionFlags(command, *flags);
  command.Runs([flags, command] {
    flags->given = command.Given();
    return VerifyOutput(*flags);
  });
}

}  // namespace tensorcast::tool
