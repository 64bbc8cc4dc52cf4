// tensorcast loss: several target types compared side by side; nothing is written.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arguments/argument_values.h"
#include "arguments/rules_file.h"
#include "arguments/shared_flags.h"
#include "arguments/tensor_files.h"
#include "commands/commands.h"
#include "commands/comparison.h"
#include "convert/decide.h"
#include "convert/scaled_tensors.h"
#include "convert/selection.h"
#include "convert/shared_globals.h"
#include "convert/survey.h"
#include "display/progress_display.h"
#include "display/refusals.h"
#include "display/report_file.h"
#include "formats/tensor_file.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/piped_files.h"
#include "shell/process.h"
#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

using core::ErrorKind;
using files::Error;

struct LossFlags {
  CastFlags cast;
  std::string input;
  std::vector<std::string> to;
  std::vector<std::string> scale;  // of scaled formats
  bool replaces_report = false;
};

constexpr const char* kLossDescription =
    R"(Compare what several types would lose. Nothing is written.

Examples:
  tensorcast loss model.safetensors --to e4m3fn --to e5m2 --to bfloat16
  tensorcast loss model.safetensors --to fp16,bf16 --tensor '*.weight' --json
  tensorcast loss model.safetensors --to fp8-block,mxfp4,nvfp4,bf16
  tensorcast loss model.safetensors --to nvfp4 --scale plain,mse,four-over-six
  tensorcast loss weights.npy --to float4e2m1 --fail-on to_zero=1%

The file is read once for all plain types (with --json several times, if it holds very many tensors),
and each scaled format reads its tensors once more. A scaled format takes the weights of linear
layers, unless --tensor names others.

Exit codes: 0 done; 1 done, but a --fail-on limit was crossed under one of the types; 2 wrong
arguments; 3 bad contents of the input; 4 an error of the system; 5 legal but not supported; 130 interrupted.
)";

// `request`: with what a file of rules gives.
std::vector<convert::Goal> ParseGoals(const LossFlags& flags, const convert::Request& request) {
  const std::optional<convert::Destination>& by_file = request.to;
  // "plain" is the usual rule of each format.
  std::vector<std::optional<convert::ScaleRule>> rules;
  for (const std::string& name : flags.scale) {
    rules.push_back(name == "plain" ? std::nullopt
                                    : std::optional(ParseScaleRuleArgument("--scale", name)));
  }
  if (rules.empty()) rules.push_back(request.scale_rule);
  std::vector<convert::Goal> goals;
  bool has_scaled = false;
  const auto add = [&](const convert::Destination& to) {
    for (const std::optional<convert::ScaleRule>& rule : rules) {
      const convert::Goal goal = convert::GoalOf(to, {.rule = rule}, true);
      has_scaled = has_scaled || goal.scaled;
      if (std::find(goals.begin(), goals.end(), goal) == goals.end()) goals.push_back(goal);
    }
  };
  for (const std::string& name : flags.to) {
    const convert::Destination to = ParseDestination("--to", name);
    if (to.type == DataType::kString) {
      ParseNumberTypeArgument("--to", name,
                              "the loss of texts is not measured; convert prints numbers as texts");
    }
    add(to);
  }
  if (goals.empty() && by_file) {
    if (by_file->type == DataType::kString) {
      throw Error(ErrorKind::kArguments,
                  "the file of --rules has string as `to`; the loss of texts is not measured");
    }
    add(*by_file);
  }
  if (goals.empty()) {
    throw Error(ErrorKind::kArguments,
                "loss needs --to TYPE[,TYPE...], or a file of --rules that has `to`");
  }
  if (!flags.scale.empty() && !has_scaled) {
    throw Error(ErrorKind::kArguments, "--scale is for scaled formats, and --to names none");
  }
  return goals;
}

bool IsText(const formats::TensorInfo& info) { return info.type == DataType::kString; }

// Strings that were asked for are named; where there is nothing else they are refused.
void SayTexts(const LossFlags& flags, const std::vector<formats::TensorInfo>& tensors,
              const std::vector<convert::Decision>& decisions, bool nothing_else) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!IsText(tensors[i]) || decisions[i].to == DataType::kUndefined) continue;
    const std::string text = fmt::format(
        "{}: tensor {} holds strings; the loss of texts is not "
        "measured",
        words::Escape(flags.input), words::EscapeName(tensors[i].name));
    if (nothing_else) throw Error(ErrorKind::kUnsupported, text);
    if (!flags.cast.quiet) SayNote(text);
  }
}

bool HasScaledDestination(const convert::Request& request) {
  const auto is_scaled = [](const convert::Destination& to) {
    return to.format != convert::ScaledFormat::kNone;
  };
  return (request.to && is_scaled(*request.to)) ||
         std::ranges::any_of(
             request.rules, [&](const convert::RequestedRule& rule) { return is_scaled(rule.to); });
}

// What is decided under the types together.
struct Decisions {
  std::vector<convert::Decision> any;  // for each tensor the first that casts it
  std::vector<std::string> notes;
  std::vector<std::uint32_t> globals;     // tensors that get a global scale
  std::vector<convert::FusedFile> fused;  // what is read beside them for it
  std::vector<convert::IdleRule> idle;    // rules that match tensors and take none
};

// Decides once for each type over one survey, and notes in the comparison what is cast.
Decisions DecideAll(const convert::Survey& survey, convert::SelectionRequest selection,
                    const convert::Opening& opening, const convert::JobOptions& jobs,
                    Comparison& comparison) {
  const convert::Matching matching(survey, selection);
  convert::RequireMatches({&matching, 1}, selection);
  convert::Decided all;
  std::set<std::uint32_t> globals;
  for (std::size_t t = 0; t < comparison.candidates.size(); ++t) {
    selection.to = comparison.candidates[t].to;
    convert::Decided one =
        convert::Decide(survey, matching, selection, *comparison.sink, opening, jobs);
    for (std::size_t i = 0; i < one.decisions.size(); ++i) {
      const convert::Decision& decision = one.decisions[i];
      const bool is_cast = decision.to != DataType::kUndefined && !IsText(survey.tensors()[i]);
      if (is_cast && decision.reason == convert::Reason::kRule) {
        comparison.ruled.emplace(i, convert::Goal{decision.to, decision.scaled});
      } else if (is_cast) {
        comparison.cast_to[i].set(t);
      }
      if (decision.scaled.HasGlobal()) globals.insert(static_cast<std::uint32_t>(i));
    }
    if (t == 0) {
      all = std::move(one);
      continue;
    }
    for (std::size_t i = 0; i < one.decisions.size(); ++i) {
      if (all.decisions[i].to == DataType::kUndefined) {
        all.decisions[i] = std::move(one.decisions[i]);
      }
    }
    for (std::string& line : one.unkept_rules) {
      if (std::ranges::count(all.unkept_rules, line) == 0) {
        all.unkept_rules.push_back(std::move(line));
      }
    }
    if (all.fused.files.empty() && all.fused.notes.empty()) all.fused = std::move(one.fused);
  }
  std::vector<std::string> notes = convert::NotesOn(survey, *comparison.sink, all);
  return {std::move(all.decisions),
          std::move(notes),
          {globals.begin(), globals.end()},
          std::move(all.fused.files),
          convert::IdleRules({&matching, 1}, selection)};
}

// What the file's tensors take under each of the types.
void CountBytes(const std::vector<formats::TensorInfo>& tensors,
                const convert::ValuesReader& values, Comparison& comparison) {
  const scale::ScaledReader* const scaled = values.scaled;
  const std::optional<std::vector<std::size_t>>& left = values.left;
  // A weight whose scales are applied for one candidate keeps its codes and all that serves them
  // where another leaves it alone.
  const auto bytes_kept = [&](std::size_t tensor) {
    const bool is_applied = scaled != nullptr && scaled->applied(tensor) != nullptr;
    return is_applied ? tensors[tensor].stored_bytes : tensors[tensor].bytes;
  };
  for (std::size_t k = 0; k < (left ? left->size() : tensors.size()); ++k) {
    const std::size_t i = left ? (*left)[k] : k;
    const auto rule = comparison.ruled.find(i);
    for (std::size_t t = 0; t < comparison.candidates.size(); ++t) {
      Candidate& candidate = comparison.candidates[t];
      const bool is_cast = comparison.cast_to[i][t];
      const convert::Goal* const goal = is_cast                          ? &candidate.to
                                        : rule != comparison.ruled.end() ? &rule->second
                                                                         : nullptr;
      const std::uint64_t bytes =
          goal != nullptr ? BytesOf(comparison.GoalFor(*goal, i), tensors[i]) : bytes_kept(i);
      candidate.bytes += bytes;
      if (is_cast) candidate.cast_bytes += bytes;
    }
  }
}

// What the user should know before the figures.
std::vector<Notice> NoticesOf(const convert::Request& request, const convert::Survey& survey,
                              const Decisions& decided, const Comparison& comparison,
                              bool applies_scales) {
  std::vector<Notice> notices;
  const std::string input = words::Escape(survey.path);
  for (const convert::IdleRule& idle : decided.idle) {
    notices.push_back({IdleText(request.rules[idle.rule], idle.why), true});
  }
  for (const std::string& note : decided.notes) notices.push_back({note});
  if (!comparison.ruled.empty()) {
    notices.push_back(
        {fmt::format("{}: the types that rules give to {} tensors count in the bytes; what these "
                     "lose is not compared",
                     input, comparison.ruled.size())});
  }
  if (const std::string text = convert::CompanionsText(survey); !text.empty() && !applies_scales) {
    notices.push_back({input + ": left alone unless named: " + text});
  }
  return notices;
}

int MeasureLoss(const LossFlags& flags) {
  const std::vector<LossLimit> limits = ParseFailLimits(flags.cast.fail_on);
  convert::Request request = ParseRequest(flags.cast);
  if (!flags.cast.rules_file.empty()) ReadRulesFile(flags.cast.rules_file, request);
  const std::vector<convert::Goal> types = ParseGoals(flags, request);
  request.rotate = false;                                          // is a layout's own
  request.layout.clear();                                          // no figure depends on it
  if (!HasScaledDestination(request)) request.scale_rule.reset();  // it is that of --to
  const convert::SelectionRequest selection = convert::SelectionOf(request);
  CompareOptions options{flags.input, flags.cast.verbose, limits, {}};
  options.jobs.cast = request.cast;
  options.jobs.target = ParseTargetFlag(flags.cast.target);
  const std::unique_ptr<Executor> executor = ParseThreads(flags.cast.threads);
  options.jobs.executor = executor.get();
  ProgressDisplay progress(flags.cast.progress, flags.cast.quiet);
  const convert::Opening opening = {convert::InputOptionsOf(request), ToolOpenOptions().spool,
                                    std::make_shared<files::CurrentInterrupt>(InterruptFlag())};
  const convert::Survey survey = convert::OpenSurvey(flags.input, opening);

  Comparison comparison;
  comparison.sink = convert::OpenMeasure(survey.opened.model);
  comparison.cast_to.resize(survey.tensors().size());
  for (const formats::TensorInfo& info : survey.tensors()) comparison.data_bytes += info.bytes;
  for (const convert::Goal& type : types) comparison.candidates.emplace_back().to = type;
  Decisions decided = DecideAll(survey, selection, opening, options.jobs, comparison);
  convert::ValuesReader values = convert::ApplyScales(survey, [&](std::size_t codes) {
    return comparison.cast_to[codes].any() || comparison.ruled.contains(codes)
               ? std::optional(scale::Rounding::kOdd)
               : std::nullopt;
  });
  convert::LeaveOutUnread(survey, values.left);
  const std::vector<formats::TensorInfo>& tensors = values.reader->contents().tensors;
  convert::SharedGlobals globals =
      convert::GlobalsOf(*values.reader, decided.globals, decided.fused);
  options.jobs.globals = &globals;
  CountBytes(tensors, values, comparison);
  SayTexts(flags, tensors, decided.any,
           std::ranges::all_of(comparison.cast_to, [](const TypeSet& set) { return set.none(); }));
  decided.any = {};  // large where there are many tensors, and measuring does not need it
  comparison.notices = NoticesOf(request, survey, decided, comparison, values.scaled != nullptr);
  if (!flags.cast.quiet) Say(comparison.notices);
  std::vector<std::string> inputs = convert::InputPaths(*values.reader, flags.input);
  inputs.push_back(flags.input);
  const ReportFile report(flags.cast.report, flags.replaces_report, std::move(inputs), "");
  if (report.IsAsked()) {
    comparison.kept = std::make_unique<ComparedTensors>(types.size(), tensors.size());
    options.jobs.count_exponents = report.HasExponents();
  }
  options.jobs.interrupted = CatchInterrupts();
  options.jobs.progress = [&](const convert::Progress& now) { progress.Show(now); };
  if (flags.cast.json) {
    CompareForPrograms(*values.reader, comparison, options);
  } else {
    CompareForPeople(*values.reader, comparison, options);
  }
  if (report.IsAsked())
    report.Write(ReportOf(*values.reader, comparison, options), flags.cast.quiet);
  if (values.scaled != nullptr && !flags.cast.quiet) {
    for (const std::string& finding : values.scaled->Findings()) {
      SayWarning(words::Escape(flags.input) + ": " + finding);
    }
  }
  return std::any_of(comparison.candidates.begin(), comparison.candidates.end(),
                     [&](const Candidate& one) { return !CrossedLimits(limits, one.sum).empty(); })
             ? kExitLimitCrossed
             : kExitDone;
}

}  // namespace

void AddLossCommand(CommandLine& line) {
  auto flags = std::make_shared<LossFlags>();
  Command command = line.AddCommand("loss", kLossDescription);
  AddInput(command, "IN", flags->input);
  command
      .AddOption("--to TYPE", flags->to,
                 "A type or scaled format to measure; repeatable, or joined by commas")
      .Delimiter(',')
      .OneValue();
  command
      .AddOption("--scale RULE", flags->scale,
                 "How scaled formats choose scales: plain (the default), amax or pow2 (fp8-*, "
                 "int8-row), round, up or ocp (mx*), mse, mse-fine (int*), four-over-six "
                 "(nvfp4); repeatable, or joined by commas")
      .Delimiter(',')
      .OneValue();
  AddCastFlags(command, flags->cast);
  AddFailFlag(command, flags->cast);
  AddReportFlags(command, flags->cast, flags->replaces_report);
  command.Runs([flags] {
    flags->input = PathOfInput(flags->input);
    return MeasureLoss(*flags);
  });
}

}  // namespace tensorcast::tool
