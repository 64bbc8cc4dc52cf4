// tensorcast diff: two files or directories compared by what their tensors mean.
//
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arguments/shared_flags.h"
#include "arguments/tensor_files.h"
#include "commands/commands.h"
#include "diff/diff.h"
#include "display/diff_report.h"
#include "display/progress_display.h"
#include "display/report_file.h"
#include "files/error.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/piped_files.h"
#include "shell/process.h"
#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

struct DiffFlags {
  CastFlags shared;  // those that are added
  std::string a, b;
  std::string root_of_b;
  std::vector<std::string> renames;
  bool replaces_report = false;
};

constexpr const char* kDiffDescription =
    R"(Compare two files or checkpoints by the values of their tensors.

Examples:
  tensorcast diff model.safetensors copy.npz
  tensorcast diff DeepSeek-V3 DeepSeek-V3-bf16 --fail-on snr=54
  tensorcast diff a.safetensors b.safetensors --rename 'model.*=*' \
      --tensor '*.weight'
  tensorcast diff a b --rename 're:layers\.(\d+)\.(.*)=blk.\1.\2' --json

Tensors are found by their names, and may have any types and layouts: scales are applied, integers
are compared as integers, other numbers exactly as well, and A is what the figures of B are
measured against. NaN is the same as NaN, -0 as +0.

Exit codes: 0 the two are equal; 1 a name, a shape or a value differs, or with --fail-on a limit was
crossed; 2 wrong arguments; 3 bad contents of an input; 4 an error of the system; 5 legal but not
supported; 130 interrupted.
)";

int CompareInputs(const DiffFlags& flags) {
  const CastFlags& shared = flags.shared;
  const std::vector<LossLimit> limits = ParseFailLimits(shared.fail_on);
  DiffRequest request;
  request.a = flags.a;
  request.b = flags.b;
  for (const std::string& text : flags.renames) request.renames.push_back(ParseRename(text));
  request.only = shared.only;
  request.excluded = shared.excluded;
  request.ignore_scales = shared.raw_scaled;
  request.assume_type = ParseAssumedType(shared.assume_type);
  request.root = shared.root;
  request.root_of_b = flags.root_of_b;
  request.allow_hard_links = shared.allow_hard_links;
  convert::RunSettings settings;
  settings.target = ParseTargetFlag(shared.target);
  const std::unique_ptr<Executor> executor = ParseThreads(shared.threads);
  settings.executor = executor.get();
  settings.interrupted = CatchInterrupts();
  ProgressDisplay progress(shared.progress, shared.quiet);
  settings.progress = [&](const convert::Progress& now) { progress.Show(now); };

  const ReportFile report(shared.report, flags.replaces_report, {flags.a, flags.b}, "");
  DiffSummary summary;
  summary.request = &request;
  summary.report = diff::Compare(request, settings, ToolOpenOptions().spool);
  summary.crossed = CrossedLimits(limits, summary.report.sum);
  ExitOnInterrupts(Leaves::kNothing);
  progress.Clear();
  if (!shared.quiet) {
    for (const std::string& note : summary.report.notes) SayNote(note);
  }
  if (shared.json) {
    PrintDiffJson(summary, Print);
  } else {
    PrintDiffTable(summary, shared.verbose);
  }
  if (report.IsAsked()) report.Write(ReportOf(summary), shared.quiet);
  const bool fails = limits.empty() ? !summary.report.equal() : !summary.crossed.empty();
  return fails ? kExitDiffers : kExitDone;
}

}  // namespace

void AddDiffCommand(CommandLine& line) {
  auto flags = std::make_shared<DiffFlags>();
  Command command = line.AddCommand("diff", kDiffDescription);
  AddInput(command, "A", flags->a);
  AddInput(command, "B", flags->b);
  command
      .AddOption(
          "--rename FROM=TO", flags->renames,
          "Look for tensors of A that match FROM under the name TO in B. In TO, * is what a * "
          "matched, and \\1 a group of 're:...'; repeatable, the first that matches wins")
      .OneValue();
  AddPatternFlags(command, flags->shared);
  AddReadingFlags(command, flags->shared);
  AddRootFlag(command, flags->shared.root);
  command.AddOption("--root-of-b NAME", flags->root_of_b, "The same for B, if it is not that of A");
  command.AddFlag("--raw-scaled", flags->shared.raw_scaled,
                  "Compare codes and scales as they are stored, not the values they make");
  AddRunningFlags(command, flags->shared);
  AddFailFlag(command, flags->shared);
  AddReportFlags(command, flags->shared, flags->replaces_report);
  command.Runs([flags] {
    if (flags->a == kPiped && flags->b == kPiped) {
      throw files::Error(core::ErrorKind::kArguments, "only one of A and B can be stdin");
    }
    flags->a = PathOfInput(flags->a);
    flags->b = PathOfInput(flags->b);
    return CompareInputs(*flags);
  });
}

}  // namespace tensorcast::tool
