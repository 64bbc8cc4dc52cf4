// tensorcast convert: one tensor file into another, and what was lost on the way.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "arguments/argument_values.h"
#include "arguments/command_again.h"
#include "arguments/conversion_flags.h"
#include "arguments/shared_flags.h"
#include "arguments/tensor_files.h"
#include "checkpoint/checkpoint.h"
#include "commands/commands.h"
#include "commands/mdf_model.h"
#include "commands/resumable_conversion.h"
#include "convert/conversion_plan.h"
#include "convert/record.h"
#include "convert/run_conversion.h"
#include "display/conversion_summary.h"
#include "display/progress_display.h"
#include "display/quantities.h"
#include "display/refusals.h"
#include "display/report_file.h"
#include "files/system.h"
#include "formats/tensor_file.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/piped_files.h"
#include "shell/process.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

using convert::PlanState;
using core::ErrorKind;
using files::Error;

struct ConvertFlags : ConversionFlags {
  std::string plan;     // to do
  std::string plan_to;  // where to write it
  bool dry_run = false;
  bool no_report = false;
  bool force = false;
  bool record = false;
  std::string output_format;  // of stdout
  bool is_piped = false;      // the output is a file that is sent there
  ResumeFlags work;
  std::vector<std::string> arguments;  // the whole command line
};

constexpr const char* kConvertDescription =
    R"(Cast the tensors of a file or directory to another type, and report what was lost.

Examples:
  tensorcast convert model.safetensors -o small.safetensors --to float8e4m3fn
  tensorcast convert model.safetensors -o small.safetensors --to fp8_e5m2 \
      --rule '*.norm.*=bfloat16' --exclude 'lm_head.*' \
      --fail-on to_limit=0 --fail-on snr=20
  tensorcast convert model.safetensors -o out.safetensors --to e4m3 --keep small
  tensorcast convert model.safetensors -o half.safetensors --to bf16 --dry-run
  tensorcast convert model.safetensors -o wte.npy --tensor wte.weight --to f16
  tensorcast convert Qwen3-8B -o Qwen3-8B-f16 --to float16 --max-shard-size 5GB
  tensorcast convert Qwen3-8B -o Qwen3-8B-nvfp4 --to nvfp4 --layout modelopt
  tensorcast convert Qwen3-8B -o Qwen3-8B-1GB --to same --max-shard-size 1GB
  tensorcast convert Qwen3-8B-GPTQ -o Qwen3-8B-mlx --repack mlx
  tensorcast convert Qwen3-8B -o Qwen3-8B-w4a16 --to int4-group --group 128
  tensorcast convert texts.npy -o numbers.npy --to float32
  tensorcast convert --plan plan.json
  curl -L URL | tensorcast convert - -o - --to bfloat16 > small.safetensors
  tensorcast convert model.onnx -o small.onnx --to float16
  tensorcast convert model.yaml -o model.onnx

TYPE is an element type, or a scaled format: fp8-tensor, fp8-row, fp8-block, int8-row, mxfp8, mxfp6,
mxfp4, nvfp4, int4-group or int8-group. A scaled format turns the weights of linear
layers into codes and scales. 'tensorcast types' lists both kinds.

Floating tensors are cast. All others are copied byte for byte, and so are those that no rule takes
if there is no --to. Strings are cast if --tensor or --rule names them, or if the file holds nothing
else; a text that is not a number ends the run with exit code 3. --to string prints numbers.

A directory is a checkpoint as Hugging Face's libraries lay it out: every .safetensors file is
converted, config.json and the index are updated to match, and all other files are copied.

In an ONNX model, weights are stored in the other type, and a Cast brings each back to its own, so
that the types of the graph do not change. With int8-row, fp8-row or fp8-tensor, the weights of Conv,
ConvTranspose, Gemm and MatMul become codes and scales, followed by a DequantizeLinear. Unless --rule
or --tensor names them, tensors of at most 1,024 bytes are left alone, and so are those in which a
finite value would become Inf; to find these, tensors are read once more if they may have such
values. Data outside the model goes to OUT.data or, if that name is taken, to a name with a digest.
With --force, the data of the replaced model is removed, and so are the remains of a killed run of
OUT, unless a model of the folder may use them; files that stay are named.

An MDF model (.json, .yaml, .yml, .bson) becomes .onnx, and an ONNX model of casts becomes MDF,
without --to, as nothing is cast.

--repack puts quantised weights into another layout without changing a code or a value, and copies
everything else. A weight whose values would change is refused, unless --exclude leaves it alone.

As IN, "-" is stdin; as OUT it is stdout, and the report then goes to stderr. Both use temporary
files.

Otherwise the report goes to stdout, all else to stderr. It marks tensors:

  ✗  values became NaN, Inf or a limit, or wrapped around; or NaN was lost
  !  the SNR is below 20 dB, or more than 5 % of the values became zero

Exit codes: 0 done; 1 done, but a --fail-on limit was crossed; 2 wrong arguments; 3 bad contents of
an input; 4 an error of the system; 5 legal but not supported; 130 interrupted.
)";

// Throws files::Error (arguments).
convert::Request RequestToConvert(const ConvertFlags& flags) {
  convert::Request request = RequestOf(flags);
  if (!SaysWhatBecomes(flags, request)) {
    throw Error(ErrorKind::kArguments,
                "convert needs --to TYPE, --rule 'PATTERN=TYPE', a file of "
                "--rules that has one of them, or --repack LAYOUT; --to same casts nothing");
  }
  if (std::filesystem::path(flags.plan_to).lexically_normal() ==
      std::filesystem::path(flags.output).lexically_normal()) {
    throw Error(ErrorKind::kArguments, "--write-plan names the output; give the plan its own file");
  }
  return request;
}

// A model from one format into another, in which nothing is cast.
int ConvertModel(const ConvertFlags& flags, const ModelPaths& paths) {
  RequireTaken(flags,
               {"IN", "--output", "--force", "--quiet", "--assume-type", "--allow-hard-links"},
               "a model that is MDF, or becomes it, is converted as it is; make it .onnx first, "
               "then convert that");
  const ModelConversion with{ParseAssumedType(flags.cast.assume_type), flags.cast.allow_hard_links,
                             flags.force};
  const std::uint64_t bytes = WriteGraph(ReadGraph(paths, with), paths, with);
  if (!flags.cast.quiet) {
    Say(fmt::format(" wrote {}, {}\n", words::Escape(flags.output), BytesText(bytes)));
  }
  return kExitDone;
}

// Decides what the flags ask for, or what the plan says that they name.
std::unique_ptr<PlanState> Decide(const ConvertFlags& flags, const convert::RunSettings& settings) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  const files::SpoolOptions spool = ToolOpenOptions().spool;
  if (flags.plan.empty()) return convert::MakePlan(RequestToConvert(flags), settings, spool);
  RequireTaken(flags,
               {"--plan", "--force", "--dry-run", "--no-report", "--fail-on", "--json", "--threads",
                "--target", "--quiet", "--verbose", "--progress", "--record", "--resume", "--part",
                "--join", "--report"},
               "the plan says what is done; make another plan with --write-plan");
  std::unique_ptr<PlanState> state =
      convert::PlanFromJson(checkpoint::ReadText(files::InputFile(flags.plan), kMostBytes),
                            words::PathText(flags.plan), settings, spool);
  if (state->files.size() == 1) return state;
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("{}: has {} inputs; the tool converts one, but the library runs this plan",
                  words::PathText(flags.plan), state->files.size()));
}

// What the tensors would lose, for limits that a dry run is asked to hold them against.
std::vector<CrossedLimit> MeasureLimits(PlanState& state, const convert::RunSettings& settings,
                                        const std::vector<LossLimit>& limits) {
  if (limits.empty()) return {};
  LossSum sum;
  convert::RunPlan(state, settings, nullptr,
                   [&](std::size_t job, const convert::JobMeasure& measure) {
                     sum.Add(state.files.front().TensorOf(job).name, measure.loss.Report());
                   });
  return CrossedLimits(limits, sum);
}

int ShowDryRun(const ConvertFlags& flags, const convert::ConversionPlan& plan,
               const convert::RunSettings& settings, const std::vector<LossLimit>& limits,
               ProgressDisplay& progress) {
  PlanState& state = *convert::PlanAccess::StateOf(plan);
  const convert::Needs needs = convert::CheckOutputs(state, flags.force, settings);
  const std::vector<CrossedLimit> crossed = MeasureLimits(state, settings, limits);
  progress.Clear();
  (flags.cast.json ? PrintDryRunJson : PrintDryRunTable)(plan, needs, crossed);
  return crossed.empty() ? kExitDone : kExitLimitCrossed;
}

// What the last line of a report has of how a file is read.
void SetReadingHint(std::string hint, ConversionSummary& summary) {
  summary.reading_hint = std::move(hint);
  if (const std::size_t end = summary.reading_hint.find('\n'); end != std::string::npos) {
    summary.reading_code = summary.reading_hint.substr(end + 1);
    summary.reading_hint.resize(end);
  }
}

// Writes the output whole, or leaves nothing.
void RunAtOnce(const ConvertFlags& flags, PlanState& state, const convert::RunSettings& settings,
               const convert::Measured& measured, bool count_exponents, ProgressDisplay& progress,
               ConversionSummary& summary) {
  const std::unique_ptr<convert::OutputsState> outputs =
      convert::BeginOutputs(state, flags.force, settings);
  const formats::TensorWriter& writer = *outputs->files.front().second;
  std::size_t notes_said = 0;
  const auto say_notes = [&] {
    const std::vector<std::string> notes = writer.notes();
    for (; notes_said < notes.size() && !flags.cast.quiet; ++notes_said) {
      SayNote(notes[notes_said]);
    }
  };
  say_notes();
  progress.BeginAt(0);
  summary.bytes_moved = convert::RunPlan(state, settings, outputs.get(), measured, count_exponents);
  convert::CommitOutputs(*outputs, settings.interrupted);
  // What goes to stdout is yet to be sent, and removed.
  if (!flags.is_piped) ExitOnInterrupts(Leaves::kOutput);
  progress.Clear();
  say_notes();
  summary.output_bytes = writer.file_bytes();
  SetReadingHint(writer.reading_hint(), summary);
}

// Writes the output, and measures the loss where it is shown or held against limits. Nothing:
// others go on with it. `end`: of work that goes on until all is told of it.
std::optional<ConversionSummary> Run(const ConvertFlags& flags, const convert::ConversionPlan& plan,
                                     const convert::RunSettings& settings,
                                     const std::vector<LossLimit>& limits, bool count_exponents,
                                     ProgressDisplay& progress, ResumedEnd& end) {
  PlanState& state = *convert::PlanAccess::StateOf(plan);
  const convert::PlannedFile& file = state.files.front();
  ConversionSummary summary = SummaryOf(state);
  convert::Measured measured;
  if (!flags.no_report || !limits.empty()) {
    measured = [&](std::size_t job, const convert::JobMeasure& measure) {
      const convert::Decision& decision = file.DecisionOf(job);
      const LossReport loss = measure.loss.Report();
      if (flags.record) summary.recorded[file.TensorOf(job).name] = convert::FiguresOf(loss);
      summary.cast.Add(file.TensorOf(job), decision.to, decision.text, decision.is_companion, loss,
                       decision.scaled, measure.gain_db);
      if (!count_exponents) return;
      summary.exponents.push_back(measure.exponents != nullptr ? *measure.exponents
                                                               : convert::ExponentCounts());
    };
  }
  std::vector<std::string> findings;
  if (flags.work.IsGiven()) {
    RecordOfWork record;
    if (flags.record) {
      record.check = [&] { convert::CheckRecord(state, flags.force); };
      record.write = [&](bool overwrite) {
        convert::WriteRecord(state, overwrite, settings, summary.recorded);
      };
    }
    end = RunResumable(state, flags.work, flags.force, flags.cast.quiet, settings, measured, record,
                       progress);
    if (!end.is_complete) return std::nullopt;
    if (end.bytes_moved != 0) summary.bytes_moved = end.bytes_moved;
    summary.output_bytes = end.output_bytes;
    SetReadingHint(std::move(end.reading_hint), summary);
    findings = std::move(end.findings);
  } else {
    RunAtOnce(flags, state, settings, measured, count_exponents, progress, summary);
    findings = plan.findings();
  }
  if (!flags.cast.quiet) {
    for (const std::string& finding : findings) SayWarning(finding);
  }
  const auto& configurations = file.plan.config.configurations;
  if (const auto own = configurations.find("");
      !summary.writes_config && own != configurations.end()) {
    summary.quantization_config = own->second.quantization_config;
  }
  summary.crossed = CrossedLimits(limits, summary.cast.sum());
  return summary;
}

void Report(const ConvertFlags& flags, const ConversionSummary& summary) {
  if (!flags.no_report) {
    if (flags.cast.json) {
      PrintLossJson(summary, Print);
    } else {
      std::FILE* const stream = PrintedStream();
      Print(LossTable(summary, flags.cast.verbose, UsesColour(stream), Columns(stream)));
    }
    FlushPrinted();  // before what is said next, where both go to one terminal
  } else if (!flags.cast.quiet) {
    if (!summary.reading_hint.empty()) {
      Say(fmt::format(" read it with: {}\n{}", summary.reading_hint, summary.reading_code));
    }
    const std::size_t columns = Columns(stderr);
    for (const CrossedLimit& limit : summary.crossed) {
      Say(Wrapped(" limit crossed:", CrossedText(limit, summary.names, columns), columns));
    }
  }
}

// Writes the record of an output that stands; false: it was interrupted.
bool Record(const ConvertFlags& flags, const PlanState& state, const convert::RunSettings& settings,
            const ConversionSummary& summary, ProgressDisplay& progress) {
  CatchInterrupts();
  progress.BeginAt(0);
  try {
    convert::WriteRecord(state, flags.force, settings, summary.recorded);
  } catch (const files::Interrupted&) {
    progress.Clear();
    SayLine(fmt::format("interrupted; {} is written, its record is not",
                        words::PathText(state.files.front().output)));
    return false;
  }
  progress.Clear();
  ExitOnInterrupts(Leaves::kOutput);
  return true;
}

// The file that is sent to stdout, where that is the output; else nothing.
std::unique_ptr<PipedOutput> OpenPipes(ConvertFlags& flags) {
  const bool is_piped = flags.output == kPiped;
  if (!flags.output_format.empty() && !is_piped) {
    throw Error(ErrorKind::kArguments,
                "--output-format is for stdout (-o -); a file has the format of its ending");
  }
  if (!flags.output_format.empty()) {
    RequireWord("--output-format", flags.output_format,
                {"safetensors", "npz", "npy", "pb", "gguf"});
  }
  if (is_piped) {
    for (const std::string_view flag :
         {"--record", "--resume", "--part", "--join", "--write-plan"}) {
      if (std::ranges::find(flags.given, flag) == flags.given.end()) continue;
      throw Error(
          ErrorKind::kArguments,
          fmt::format("{}: what goes to stdout has no name to find it by; name a file", flag));
    }
  }
  flags.input = PathOfInput(flags.input);
  if (!is_piped) return nullptr;
  const std::string ending = flags.output_format.empty()
                                 ? std::string(WrittenEndingLike(flags.input))
                                 : "." + flags.output_format;
  auto piped = std::make_unique<PipedOutput>(ending);
  flags.output = piped->path();
  flags.is_piped = true;
  PrintToStderr();
  return piped;
}

int Convert(const ConvertFlags& given) {
  ConvertFlags flags = given;
  const std::unique_ptr<PipedOutput> piped = OpenPipes(flags);
  if (const ModelPaths paths = FormatsOf(flags.input, flags.output); paths.has_mdf()) {
    return ConvertModel(flags, paths);
  }
  const std::vector<LossLimit> limits = ParseFailLimits(flags.cast.fail_on);
  ParseResumeFlags(flags.work);
  if (flags.record && !flags.work.part.empty()) {
    throw Error(ErrorKind::kArguments, "--record: the record is written at the end, with --join");
  }
  if (!flags.cast.report.empty() && !flags.work.part.empty()) {
    throw Error(ErrorKind::kArguments, "--report: the report is written at the end, with --join");
  }
  convert::RunSettings settings;
  settings.target = ParseTargetFlag(flags.cast.target);
  const std::unique_ptr<Executor> executor = ParseThreads(flags.cast.threads);
  settings.executor = executor.get();
  settings.interrupted = InterruptFlag();
  ProgressDisplay progress(flags.cast.progress, flags.cast.quiet);
  settings.progress = [&](const convert::Progress& now) { progress.Show(now); };

  const auto begin = std::chrono::steady_clock::now();
  convert::ConversionPlan plan;
  convert::PlanAccess::Set(plan, Decide(flags, settings));
  PlanState& state = *convert::PlanAccess::StateOf(plan);
  progress.Clear();
  std::vector<Notice> notices = NoticesOf(state);
  if (!flags.cast.quiet) Say(notices);
  if (!flags.dry_run) CatchInterrupts();
  convert::MeasureTexts(state, flags.force, settings);
  progress.Clear();
  if (!flags.plan_to.empty()) convert::SavePlan(state, flags.plan_to, flags.force);
  NameFlags(state.request, state.files.front().plan.decisions);  // the plan has the library's words
  if (flags.dry_run) return ShowDryRun(flags, plan, settings, limits, progress);
  // Where work stands, it may be that only the record is left to do.
  if (flags.record && !(flags.work.IsGiven() && convert::HasWork(state))) {
    convert::CheckRecord(state, flags.force);
  }
  std::vector<std::string> inputs = convert::InputPaths(state);
  inputs.push_back(flags.input);
  const ReportFile report(flags.cast.report, flags.force, std::move(inputs), flags.output);

  ResumedEnd end;
  std::optional<ConversionSummary> run =
      Run(flags, plan, settings, limits, report.HasExponents(), progress, end);
  if (!run) return end.exit_code;
  ConversionSummary& summary = *run;
  summary.notices = std::move(notices);
  if (piped != nullptr) {
    piped->Send();
    summary.output = "stdout";
  }
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool records_now = flags.record && !flags.work.IsGiven();  // work has written its own
  try {
    Report(flags, summary);
    if (!flags.cast.quiet) SayWritten(summary);
    const std::string beside = convert::RecordPath(state.files.front().output);
    if (!flags.record && !flags.cast.quiet && files::IsFile(beside)) {
      SayNote(fmt::format("{} is the record of what stood there before; --record writes a new one",
                          words::PathText(beside)));
    }
    if (records_now && !Record(flags, state, settings, summary, progress)) return kExitInterrupted;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kSystem,
                records_now ? "out of memory; the output is written, its record is not"
                            : "out of memory; the output is written, its report is cut short");
  }
  report.Write(ReportOf(summary,
                        [&](const std::vector<std::string>& more) {
                          return CommandAgainText(flags.arguments, more);
                        }),
               flags.cast.quiet);
  EndResumable(end, flags.cast.quiet);
  return summary.crossed.empty() ? kExitDone : kExitLimitCrossed;
}

}  // namespace

void AddConvertCommand(CommandLine& line) {
  auto flags = std::make_shared<ConvertFlags>();
  Command command = line.AddCommand("convert", kConvertDescription);
  const Option input = AddInput(command, "IN", flags->input);
  const Option output = command
                            .AddOption("-o,--output OUT", flags->output,
                                       "A " + formats::JoinedOutputEndings("or") +
                                           " file, a directory if IN is one, or - (stdout)")
                            .Required();
  command.AddOption("--output-format safetensors|npz|npy|pb|gguf", flags->output_format,
                    "The format on stdout (-o -), if it is not the input's");
  AddConversionFlags(command, *flags);
  AddFailFlag(command, flags->cast);
  command.AddOption("--max-shard-size SIZE", flags->max_shard_size,
                    "For a directory: put the tensors into files of at most this size (5GB)");
  AddReportFlag(command, flags->cast);
  command.AddFlag("--no-report", flags->no_report, "Measure no loss and print no report")
      .Excludes("--json")
      .Excludes("--report");
  command.AddFlag("--dry-run", flags->dry_run, "Print what would be done, and write nothing")
      .Excludes("--report");
  command.AddOption("--write-plan FILE", flags->plan_to,
                    "Also write the plan as JSON, for programs: docs/conversion_plan.md");
  command
      .AddOption("--plan FILE", flags->plan,
                 "Run a plan of --write-plan, in the place of IN and the options that it contains")
      .InPlaceOf({input, output});
  command
      .AddFlag("--record", flags->record,
               "Also write the request and every tensor's digest, for verify")
      .Excludes("--dry-run");
  AddResumeFlags(command, flags->work);
  command.AddFlag("--force", flags->force, "Replace an existing output");
  command.Runs([flags, command] {
    flags->given = command.Given();
    flags->arguments = command.Arguments();
    return Convert(*flags);
  });
}

}  // namespace tensorcast::tool
