// tensorcast convert: one tensor file into another, and what was lost on the way.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cast_flags.h"
#include "commands.h"
#include "conversion_summary.h"
#include "convert/plan.h"
#include "convert/scaled_tensors.h"
#include "convert/text_jobs.h"
#include "fail_limits.h"
#include "io/tensor_file.h"
#include "json_printer.h"
#include "loss_json.h"
#include "open_options.h"
#include "process.h"
#include "progress_display.h"
#include "quantities.h"
#include "refusals.h"
#include "streams.h"
#include "terminal.h"
#include "text_table.h"
#include "type_argument.h"

namespace tensorcast::tool {
namespace {

using convert::Decision;
using convert::FilePlan;
using io::Error;
using io::ErrorKind;

struct ConvertFlags {
  CastFlags cast;
  std::string input;
  std::string output;
  std::string to;
  std::vector<std::string> rules;
  std::vector<std::string> fail_on;
  bool dry_run = false;
  bool no_report = false;
  bool force = false;
};

constexpr const char* kDescription =
    R"(Cast the tensors of a file to another type, and say what was lost.

Examples:
  tensorcast convert model.safetensors -o small.safetensors --to float8e4m3fn
  tensorcast convert model.safetensors -o small.safetensors --to fp8_e5m2 \
      --rule '*.norm.*=bfloat16' --exclude 'lm_head.*' --fail-on to_limit=0 --fail-on snr=20
  tensorcast convert model.safetensors -o out.safetensors --to bf16 --dry-run
  tensorcast convert model.safetensors -o wte.npy --tensor wte.weight --to float16
  tensorcast convert texts.npy -o numbers.npy --to float32
  tensorcast convert model.onnx -o small.onnx --to float16

Floating tensors are cast; all others, and those that no rule takes, are copied byte for byte.
Strings are cast where they are named, by --tensor or --rule, or are all that the file holds; a
text that is not a number ends the run with exit code 3. Numbers are printed by --to string.
A model's weights are stored in the other type, and a Cast brings each back to its own, so that the
graph's types stay. Unless --rule or --tensor names them, tensors of 1,024 bytes or fewer are left
alone, and those in which a finite value would become Inf (what may is read once more to find out).
Data outside the model goes to OUT.data or, where that name is taken, to a name with a digest; with
--force the data of the model that is replaced is removed.
The report goes to stdout, everything else to stderr. In it
  ✗  values became NaN, Inf or a limit, wrapped around, or a NaN became a number
  !  the SNR is below 20 dB, or more than 5 % of the values became zero
Exit codes: 0 done; 1 done, but a --fail-on limit was crossed; 2 the arguments; 3 the contents of an
input; 4 the system; 5 legal but not supported; 130 interrupted.
)";

void PrintDryRunTable(const io::TensorReader& reader, const FilePlan& plan, std::uint64_t bytes,
                      const std::vector<CrossedLimit>& crossed) {
  const auto row = [&](std::size_t place) -> TableRow {
    const io::TensorInfo& info = reader.contents().tensors[plan.jobs[place].tensor];
    const Decision& decision = plan.decisions[plan.jobs[place].tensor];
    const bool is_cast = decision.to != DataType::kUndefined;
    return {{io::Escape(info.name), ShapeText(info.shape),
             FindType(info.type) ? std::string(TypeName(info.type)) : io::Escape(info.dtype),
             is_cast ? std::string(TypeName(decision.to)) : "·",
             is_cast ? decision.text : "left alone: " + decision.text}};
  };
  const report::NamesOfFile names = report::EscapedNames(reader.contents().tensors);
  PrintTable({{"tensor", false, 20, 0, names},
              {"shape", false, 8},
              {"from"},
              {"to"},
              {"taken by", false, 24}},
             {plan.jobs.size(), row}, Columns(stdout), false);
  const auto cast = std::count_if(plan.jobs.begin(), plan.jobs.end(),
                                  [](const convert::TensorJob& job) { return !job.to.empty(); });
  Print(fmt::format("\n dry run: {} of {} tensors would be cast, {} would be written\n", cast,
                    plan.jobs.size(), BytesText(bytes)));
  for (const CrossedLimit& limit : crossed) {
    Print(" limit crossed: " + CrossedText(limit, names) + "\n");
  }
}

void PrintDryRunJson(const io::TensorReader& reader, const ConvertFlags& flags,
                     const FilePlan& plan, std::uint64_t bytes,
                     const std::vector<CrossedLimit>& crossed) {
  JsonPrinter json;
  json.Member("schema_version", kJsonSchemaVersion);
  json.Member("command", "convert");
  json.Member("dry_run", true);
  json.Member("input", flags.input);
  json.Member("output", flags.output);
  json.Member("output_bytes", bytes);
  json.BeginArray("tensors");
  for (const convert::TensorJob& job : plan.jobs) {
    const Decision& decision = plan.decisions[job.tensor];
    const bool is_cast = decision.to != DataType::kUndefined;
    Json entry = TensorJson(reader.contents().tensors[job.tensor]);
    entry["to"] = is_cast ? Json(TypeName(decision.to)) : Json();
    entry[is_cast ? "taken_by" : "reason"] = decision.text;
    json.Element(entry);
  }
  json.EndArray();
  json.BeginArray("limits_crossed");
  for (const CrossedLimit& limit : crossed) json.Element(CrossedJson(limit));
  json.EndArray();
  json.End();
}

// All but what the run measures and writes.
ConversionSummary Summarise(const io::TensorReader& reader, const ConvertFlags& flags,
                            const convert::Sink& sink, const FilePlan& plan,
                            const CastOptions& options) {
  ConversionSummary summary;
  summary.input = flags.input;
  summary.output = flags.output;
  summary.input_bytes = reader.file_bytes();
  summary.options = options;
  summary.names = report::EscapedNames(reader.contents().tensors);
  const io::TensorInfo* const first = reader.contents().tensors.data();
  summary.can_hold = [&sink, first](const io::TensorInfo& info, DataType to) {
    return sink.CanHold(static_cast<std::size_t>(&info - first), to);
  };
  for (const convert::TensorJob& job : plan.jobs) {
    const io::TensorInfo* info = &reader.contents().tensors[job.tensor];
    const Decision& decision = plan.decisions[job.tensor];
    if (job.to.empty()) {
      summary.left_alone.push_back({info, decision.text, decision.is_companion});
    } else if (convert::IsTextJob(reader, job)) {
      summary.texts.push_back({info, decision.to, decision.text});
    }
  }
  return summary;
}

// What the tensors would lose, for limits that a dry run is asked to hold them against.
std::vector<CrossedLimit> MeasureLimits(const io::TensorReader& reader, const FilePlan& plan,
                                        const std::vector<LossLimit>& limits,
                                        convert::JobOptions options) {
  if (limits.empty()) return {};
  std::vector<convert::TensorJob> jobs;
  for (const convert::TensorJob& job : plan.jobs) {
    if (!job.to.empty() && !convert::IsTextJob(reader, job)) jobs.push_back(job);
  }
  LossSum sum;
  options.measured = [&](std::size_t j, std::size_t, const LossMeter& loss) {
    sum.Add(reader.contents().tensors[jobs[j].tensor].name, loss.Report());
  };
  convert::RunJobs(reader, jobs, nullptr, options);
  return CrossedLimits(limits, sum);
}

// What the user should know before the work begins.
void SayBefore(const io::TensorReader& reader, const ConvertFlags& flags,
               const convert::SelectionRequest& request, const FilePlan& plan) {
  if (flags.cast.quiet) return;
  for (const std::string& note : reader.notes()) {
    SayNote(note);
  }
  const std::vector<io::TensorInfo>& tensors = reader.contents().tensors;
  if (const std::string text = convert::UnscaledText(tensors, plan.scales, &plan.decisions);
      !text.empty()) {
    SayNote(io::Escape(flags.input) + ": " + text);
  }
  for (const std::size_t rule : convert::ShadowedRules(tensors, plan.scales.companions, request)) {
    SayWarning(RuleFlag(request.rules[rule]) + " takes no tensor: rules before it do");
  }
  WarnOfIntegerCasts(tensors, plan.decisions);
}

int Convert(const ConvertFlags& flags) {
  if (flags.to.empty() && flags.rules.empty()) {
    throw Error(ErrorKind::kArguments, "convert needs --to TYPE or --rule 'GLOB=TYPE'");
  }
  convert::SelectionRequest request = ParseSelection(flags.cast);
  if (!flags.to.empty()) request.to = ParseTypeArgument("--to", flags.to);
  for (const std::string& rule : flags.rules) request.rules.push_back(ParseRule(rule));
  const std::vector<LossLimit> limits = ParseFailLimits(flags.fail_on);
  convert::JobOptions options;
  options.cast = ParseCastOptions(flags.cast);
  options.target = ParseTargetFlag(flags.cast.target);
  const std::unique_ptr<Executor> executor = ParseThreads(flags.cast.threads);
  options.executor = executor.get();
  options.measure = !flags.no_report || !limits.empty();
  options.input = flags.input;

  const auto begin = std::chrono::steady_clock::now();
  io::OpenOptions open = ToolOpenOptions();
  open.assume_type = ParseAssumedType(flags.cast);
  open.interrupted = InterruptFlag();
  open.allow_hard_links = flags.cast.allow_hard_links;
  const std::unique_ptr<io::TensorReader> reader = io::OpenTensorFile(flags.input, open);
  ProgressDisplay progress(flags.cast.progress, flags.cast.quiet, reader->contents().tensors);
  options.progress = [&](const convert::Progress& now) { progress.Show(now); };
  const std::unique_ptr<convert::Sink> sink = convert::OpenSink(flags.output, *reader);
  const std::vector<io::TensorInfo>* const tensors[] = {&reader->contents().tensors};
  convert::RequireMatches(tensors, request);
  FilePlan plan =
      convert::PlanFile(*reader, flags.input, *sink, request, flags.cast.raw_scaled, options);
  NameFlags(request, plan.decisions);
  progress.Clear();
  const io::CreateOptions create{flags.force, convert::InputPaths(*reader, flags.input)};
  SayBefore(*reader, flags, request, plan);
  if (!flags.dry_run) options.interrupted = CatchInterrupts();
  convert::MeasureTexts(*reader, *sink, create, options, plan);
  progress.Clear();
  if (flags.dry_run) {
    const std::uint64_t bytes = sink->Check(plan.output, create);
    plan.output = {};  // checked: of many tensors it takes as much as the input's
    const std::vector<CrossedLimit> crossed = MeasureLimits(*reader, plan, limits, options);
    progress.Clear();
    if (flags.cast.json) {
      PrintDryRunJson(*reader, flags, plan, bytes, crossed);
    } else {
      PrintDryRunTable(*reader, plan, bytes, crossed);
    }
    return crossed.empty() ? kExitDone : kExitLimitCrossed;
  }

  const std::unique_ptr<io::TensorWriter> writer =
      sink->Create(std::move(plan.output), create, options.interrupted);
  std::size_t notes_said = 0;
  const auto say_notes = [&] {
    if (flags.cast.quiet) return;
    const std::vector<std::string> notes = writer->notes();
    for (; notes_said < notes.size(); ++notes_said) {
      SayNote(notes[notes_said]);
    }
  };
  say_notes();
  ConversionSummary summary = Summarise(*reader, flags, *sink, plan, options.cast);
  options.measured = [&](std::size_t j, std::size_t, const LossMeter& loss) {
    const std::size_t tensor = plan.jobs[j].tensor;
    const Decision& decision = plan.decisions[tensor];
    summary.cast.Add(reader->contents().tensors[tensor], decision.to, decision.text,
                     decision.is_companion, loss.Report());
  };
  const convert::JobTotals result = convert::RunJobs(*reader, plan.jobs, writer.get(), options);
  writer->Commit();
  ExitOnInterrupts(Leaves::kOutput);
  progress.Clear();
  say_notes();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  summary.output_bytes = writer->file_bytes();
  summary.reading_hint = writer->reading_hint();
  summary.crossed = CrossedLimits(limits, summary.cast.sum());
  if (!flags.no_report) {
    if (flags.cast.json) {
      PrintLossJson(summary);
    } else {
      Print(LossTable(summary, flags.cast.verbose, UsesColour(stdout), Columns(stdout)));
    }
    FlushPrinted();  // before the line below, where both go to one terminal
  }
  if (!flags.cast.quiet) {
    if (flags.no_report) {
      if (!summary.reading_hint.empty()) {
        Say(fmt::format(" read it with: {}\n", summary.reading_hint));
      }
      for (const CrossedLimit& limit : summary.crossed) {
        Say(" limit crossed: " + CrossedText(limit, summary.names) + "\n");
      }
    }
    Say(fmt::format(
        " wrote {}, {} in {}, {}, peak memory {}\n", io::Escape(flags.output),
        BytesText(summary.output_bytes), SecondsText(seconds),
        SpeedText(static_cast<double>(result.bytes_read + result.bytes_written) / seconds),
        BytesText(PeakMemory())));
  }
  return summary.crossed.empty() ? kExitDone : kExitLimitCrossed;
}

}  // namespace

void AddConvertCommand(CLI::App& app, CommandRun& run) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* command = app.add_subcommand("convert", kDescription);
  command->add_option("IN", flags->input, "A " + io::JoinedEndings("or") + " file")->required();
  command->add_option("-o,--output", flags->output, "Where to: " + io::JoinedEndings("or"))
      ->type_name("OUT")
      ->required();
  command->add_option("--to", flags->to, "The type tensors are cast to, unless a rule takes them")
      ->type_name("T");
  command
      ->add_option("--rule", flags->rules,
                   "Tensors of these names become T; the first rule that matches wins")
      ->type_name("'GLOB=T'")
      ->allow_extra_args(false);
  AddCastFlags(*command, flags->cast);
  AddFailOnFlag(*command, flags->fail_on);
  CLI::Option* no_report =
      command->add_flag("--no-report", flags->no_report, "Measure no loss, print no report");
  no_report->excludes(command->get_option("--json"));
  command->add_flag("--dry-run", flags->dry_run, "Say what would be done; write nothing");
  command->add_flag("--force", flags->force, "Replace an existing output");
  command->callback([flags, &run] { run = [flags] { return Convert(*flags); }; });
}

}  // namespace tensorcast::tool
