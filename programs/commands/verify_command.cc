// tensorcast verify: a conversion done again, and its output held against what is made.
//
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments/conversion_flags.h"
#include "arguments/tensor_files.h"
#include "commands/commands.h"
#include "convert/record.h"
#include "convert/verification.h"
#include "display/progress_display.h"
#include "display/refusals.h"
#include "display/report_file.h"
#include "display/verification_report.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/piped_files.h"
#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

constexpr const char* kVerifyDescription =
    R"(Convert again without writing, and compare the existing output bit by bit.

Examples:
  tensorcast verify Qwen3-8B Qwen3-8B-f16
  tensorcast verify Qwen3-8B-f16
  tensorcast verify Qwen3-8B Qwen3-8B-nvfp4 --to nvfp4 --layout modelopt
  tensorcast verify model.safetensors small.safetensors --to fp8_e5m2 \
      --rule '*.norm.*=bfloat16' --json

The flags are those of the conversion. Without --to, --rule and --repack, the request is taken from
the record that convert --record wrote, or from the types of OUT's tensors; the first line says which.
Every tensor is made from IN again, as the flags say, and compared with OUT's; so are the other files
of a directory. Nothing is written. This takes as long as converting without a report, and as little
memory.

Without OUT, IN is checked against its own record, digest by digest. This finds what a copy or a disk
has damaged. The digest is XXH3-128, which is not a signature.

Exit codes: 0 OUT is what the conversion makes; 1 tensors or files differ, are missing or were added;
2 wrong arguments; 3 bad contents of an input; 4 an error of the system; 5 legal but not supported; 130 interrupted.
)";

struct VerifyFlags : ConversionFlags {
  bool replaces_report = false;
};

int Show(const VerifyFlags& flags, const VerificationSummary& summary, const ReportFile& report) {
  if (flags.cast.json) {
    PrintVerificationJson(summary, Print);
  } else {
    PrintVerificationTable(summary, flags.cast.verbose);
  }
  if (report.IsAsked()) report.Write(ReportOf(summary), flags.cast.quiet);
  return summary.found.IsRight() ? kExitDone : kExitDiffers;
}

int VerifyOutput(const VerifyFlags& flags) {
  convert::RunSettings settings;
  settings.target = ParseTargetFlag(flags.cast.target);
  const std::unique_ptr<Executor> executor = ParseThreads(flags.cast.threads);
  settings.executor = executor.get();
  ProgressDisplay progress(flags.cast.progress, flags.cast.quiet);
  settings.progress = [&](const convert::Progress& now) { progress.Show(now); };
  const files::SpoolOptions spool = ToolOpenOptions().spool;

  // Where the record says what was asked.
  const auto refuse_requests = [&](std::string_view why) {
    RequireTaken(flags,
                 {"IN", "OUT", "--json", "--threads", "--target", "--quiet", "--verbose",
                  "--progress", "--report", "--force"},
                 why);
  };
  std::vector<std::string> inputs = {flags.input};
  if (!flags.output.empty()) inputs.push_back(flags.output);
  const ReportFile report(flags.cast.report, flags.replaces_report, std::move(inputs), "");
  VerificationSummary summary;
  if (flags.output.empty()) {
    refuse_requests("belongs to a conversion; name the input and the output");
    summary.output = flags.input;
    summary.told_by = ToldBy::kRecord;
    summary.found = convert::VerifyByRecord(flags.input, settings, spool);
    progress.Clear();
    return Show(flags, summary, report);
  }
  convert::Request request = RequestOf(flags);
  summary.output = flags.output;
  convert::RecordedLosses losses;
  if (!SaysWhatBecomes(flags, request)) {
    if (std::optional<convert::Recorded> recorded =
            convert::RecordedConversion(flags.input, flags.output)) {
      refuse_requests("the record says what was asked; give all of convert's flags, or none");
      request = std::move(recorded->request);
      losses = std::move(recorded->losses);
      summary.told_by = ToldBy::kRecord;
    } else {
      convert::AskAsOutputTells(request, spool);
      summary.told_by = ToldBy::kOutput;
    }
  }
  const std::unique_ptr<convert::PlanState> plan = convert::MakePlan(request, settings, spool);
  progress.Clear();
  NameFlags(plan->request, plan->files.front().plan.decisions);
  summary.plan = plan.get();
  summary.found = convert::Verify(*plan, settings, losses);
  progress.Clear();
  return Show(flags, summary, report);
}

}  // namespace

void AddVerifyCommand(CommandLine& line) {
  auto flags = std::make_shared<VerifyFlags>();
  Command command = line.AddCommand("verify", kVerifyDescription);
  AddInput(command, "IN", flags->input);
  command.AddOption("OUT", flags->output,
                    "The output to compare; without it, IN is checked against its record");
  AddConversionFlags(command, *flags);
  AddReportFlags(command, flags->cast, flags->replaces_report);
  command.Runs([flags, command] {
    flags->given = command.Given();
    if (flags->output == kPiped) {
      throw files::Error(core::ErrorKind::kArguments,
                         "OUT is read from a file, and only IN may be - (stdin); name a file");
    }
    flags->input = PathOfInput(flags->input);
    return VerifyOutput(*flags);
  });
}

}  // namespace tensorcast::tool
