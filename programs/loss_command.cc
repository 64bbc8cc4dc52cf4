// tensorcast loss: several target types compared side by side; nothing is written.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cast_flags.h"
#include "command_line.h"
#include "commands.h"
#include "comparison.h"
#include "convert/fused_weights.h"
#include "convert/input.h"
#include "convert/model_scales.h"
#include "convert/scaled_tensors.h"
#include "convert/selection.h"
#include "convert/shared_globals.h"
#include "exit_codes.h"
#include "fail_limits.h"
#include "io/tensor_file.h"
#include "open_options.h"
#include "process.h"
#include "progress_display.h"
#include "streams.h"
#include "type_argument.h"

namespace tensorcast::tool {
namespace {

using io::Error;
using io::ErrorKind;

struct LossFlags {
  CastFlags cast;
  std::string input;
  std::vector<std::string> to;
  std::string scale;  // of scaled formats
  std::vector<std::string> fail_on;
};

constexpr const char* kLossDescription =
    R"(Compare what several types would lose. Nothing is written.

Examples:
  tensorcast loss model.safetensors --to e4m3fn --to e5m2 --to bfloat16
  tensorcast loss model.safetensors --to fp16,bf16 --tensor '*.weight' --json
  tensorcast loss model.safetensors --to fp8-block,mxfp4,nvfp4,bf16
  tensorcast loss weights.npy --to float4e2m1 --fail-on to_zero=1%

All plain types are measured in one reading of the file (with --json in several, where it holds very
many tensors); each scaled format reads its tensors once more. A scaled format takes the weights of
linear layers, unless --tensor names others.

Exit codes: 0 done; 1 done, but a --fail-on limit was crossed under one of the types; 2 the arguments;
3 the contents of the input; 4 the system; 5 legal but not supported; 130 interrupted.
)";

// `request`: with what a file of rules gives.
std::vector<convert::Goal> ParseGoals(const LossFlags& flags, const convert::Request& request) {
  const std::optional<convert::Destination>& by_file = request.to;
  const std::optional<convert::ScaleRule>& rule = request.scale_rule;
  std::vector<convert::Goal> goals;
  bool has_scaled = false;
  const auto add = [&](const convert::Destination& to) {
    const convert::Goal goal = convert::GoalOf(to, std::nullopt, rule, true);
    has_scaled = has_scaled || goal.scaled;
    if (std::find(goals.begin(), goals.end(), goal) == goals.end()) goals.push_back(goal);
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

bool IsText(const io::TensorInfo& info) { return info.type == DataType::kString; }

// Strings that were asked for are named; where there is nothing else they are refused.
void SayTexts(const LossFlags& flags, const std::vector<io::TensorInfo>& tensors,
              const std::vector<convert::Decision>& decisions, bool nothing_else) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!IsText(tensors[i]) || decisions[i].to == DataType::kUndefined) continue;
    const std::string text = fmt::format(
        "{}: tensor {} holds strings; the loss of texts is not "
        "measured",
        io::Escape(flags.input), io::EscapeName(tensors[i].name));
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

int MeasureLoss(const LossFlags& flags) {
  const std::vector<LossLimit> limits = ParseFailLimits(flags.fail_on);
  convert::Request request = ParseRequest(flags.cast);
  if (!flags.scale.empty()) request.scale_rule = ParseScaleRuleArgument("--scale", flags.scale);
  AddRulesFile(flags.cast, request);
  const std::vector<convert::Goal> types = ParseGoals(flags, request);
  request.layout.reset();                                          // no figure depends on it
  if (!HasScaledDestination(request)) request.scale_rule.reset();  // it is that of --to
  convert::SelectionRequest selection = convert::SelectionOf(request);
  CompareOptions options{flags.input, flags.cast.verbose, limits, {}};
  options.jobs.cast = request.cast;
  options.jobs.target = ParseTargetFlag(flags.cast.target);
  const std::unique_ptr<Executor> executor = ParseThreads(flags.cast.threads);
  options.jobs.executor = executor.get();
  ProgressDisplay progress(flags.cast.progress, flags.cast.quiet);
  const convert::Opening opening = {convert::InputOptionsOf(request), ToolOpenOptions().spool,
                                    std::make_shared<io::CurrentInterrupt>(InterruptFlag())};
  std::unique_ptr<io::TensorReader> reader =
      convert::OpenInput(flags.input, opening.inputs, opening.spool, opening.interrupted);
  const convert::InputScales scales =
      convert::FindScales(*reader, flags.input, request.ignore_scales);
  const std::vector<io::TensorInfo>& stored = reader->contents().tensors;
  convert::Selectable all[] = {{&stored, &scales}};
  convert::RequireMatches(all, selection);
  std::vector<convert::Decision> decisions;
  std::string unscaled;
  Comparison plan;
  convert::FusedWeights fused;
  std::vector<std::uint32_t> with_globals;
  plan.candidates.resize(types.size());
  plan.cast_to.resize(stored.size());
  for (const io::TensorInfo& info : stored) plan.data_bytes += info.bytes;
  for (std::size_t t = 0; t < types.size(); ++t) {
    selection.to = types[t];
    plan.candidates[t].to = types[t];
    // What is written into models is measured as it would be.
    const io::OnnxTensorReader* const model = reader->onnx_model();
    if (model != nullptr && types[t].scaled &&
        scale::ModelLayoutOf(*types[t].scaled.format) == nullptr) {
      throw Error(ErrorKind::kUnsupported,
                  io::Escape(flags.input) + ": " + scale::NotInModelsText(*types[t].scaled.format));
    }
    all[0].has_graph = model != nullptr && types[t].scaled;
    if (all[0].has_graph && plan.model == nullptr) {
      plan.model = std::make_unique<convert::ModelScales>(*model);
    }
    decisions = convert::Select(all[0], selection);
    if (all[0].has_graph) plan.model->Restrict(decisions);
    convert::RefusePacked(stored, flags.input, scales, decisions);
    if (types[t].scaled.HasGlobal()) {
      fused = convert::FindFused(*reader, flags.input, scales, selection, opening, decisions);
      for (std::uint32_t i = 0; i < stored.size(); ++i) {
        if (decisions[i].scaled.HasGlobal()) with_globals.push_back(i);
      }
    }
    if (!request.ignore_scales) convert::RefuseScaled(stored, flags.input, scales, decisions);
    if (unscaled.empty()) unscaled = convert::UnscaledText(stored, scales, &decisions);
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const bool is_cast = decisions[i].to != DataType::kUndefined && !IsText(stored[i]);
      if (is_cast && decisions[i].reason == convert::Reason::kRule) {
        plan.ruled.emplace(i, convert::Goal{decisions[i].to, decisions[i].scaled});
      } else if (is_cast) {
        plan.cast_to[i].set(t);
      }
    }
  }
  std::vector<std::size_t> kept;
  const scale::ScaledReader* const scaled = convert::ApplyScales(
      reader, scales,
      [&](std::size_t codes) {
        return plan.cast_to[codes].any() || plan.ruled.contains(codes)
                   ? std::optional(scale::Rounding::kOdd)
                   : std::nullopt;
      },
      &kept);
  convert::SharedGlobals globals = convert::GlobalsOf(*reader, with_globals, fused.files);
  options.jobs.globals = &globals;
  const std::vector<io::TensorInfo>& tensors = reader->contents().tensors;
  // A weight whose scales are applied for one candidate keeps its codes and all that serves them
  // where another leaves it alone.
  const auto bytes_kept = [&](std::size_t tensor) {
    const scale::AppliedWeight* const applied =
        scaled != nullptr ? scaled->applied(tensor) : nullptr;
    if (applied == nullptr) return tensors[tensor].bytes;
    std::uint64_t bytes = scaled->stored()[tensor].bytes;
    for (const std::size_t each : applied->weight.companions) bytes += scaled->stored()[each].bytes;
    return bytes;
  };
  for (std::size_t k = 0; k < (kept.empty() ? tensors.size() : kept.size()); ++k) {
    const std::size_t i = kept.empty() ? k : kept[k];
    const auto rule = plan.ruled.find(i);
    for (std::size_t t = 0; t < types.size(); ++t) {
      const bool is_cast = plan.cast_to[i][t];
      const convert::Goal* const goal = is_cast                    ? &types[t]
                                        : rule != plan.ruled.end() ? &rule->second
                                                                   : nullptr;
      const std::uint64_t bytes =
          goal != nullptr ? BytesOf(plan.GoalFor(*goal, i), tensors[i]) : bytes_kept(i);
      plan.candidates[t].bytes += bytes;
      if (is_cast) plan.candidates[t].cast_bytes += bytes;
    }
  }
  const bool none =
      std::ranges::all_of(plan.cast_to, [](const TypeSet& set) { return set.none(); });
  const std::vector<std::string> applied =
      scaled != nullptr ? convert::AppliedText(scales, decisions) : std::vector<std::string>();
  SayTexts(flags, tensors, decisions, none);
  decisions = {};
  if (!flags.cast.quiet) {
    for (const std::string& note : reader->notes()) {
      SayNote(note);
    }
    if (!plan.ruled.empty()) {
      SayNote(
          fmt::format("{}: the types that rules give to {} tensors count in the bytes; what these "
                      "lose is not compared",
                      io::Escape(flags.input), plan.ruled.size()));
    }
    for (const std::string& note : fused.notes) SayNote(note);
    if (!unscaled.empty()) SayNote(io::Escape(flags.input) + ": " + unscaled);
    for (const std::string& text : applied) {
      SayNote(io::Escape(flags.input) + ": " + text);
    }
    if (const std::string text = convert::CompanionsText(tensors, scales.companions.companions);
        !text.empty() && scaled == nullptr) {
      SayNote(io::Escape(flags.input) + ": left alone unless named: " + text);
    }
  }
  options.jobs.interrupted = CatchInterrupts();
  options.jobs.progress = [&](const convert::Progress& now) { progress.Show(now); };
  if (flags.cast.json) {
    CompareForPrograms(*reader, plan, options);
  } else {
    CompareForPeople(*reader, plan, options);
  }
  if (scaled != nullptr && !flags.cast.quiet) {
    for (const std::string& finding : scaled->Findings()) {
      SayWarning(io::Escape(flags.input) + ": " + finding);
    }
  }
  return std::any_of(plan.candidates.begin(), plan.candidates.end(),
                     [&](const Candidate& one) { return !CrossedLimits(limits, one.sum).empty(); })
             ? kExitLimitCrossed
             : kExitDone;
}

}  // namespace

void AddLossCommand(CommandLine& line) {
  auto flags = std::make_shared<LossFlags>();
  Command command = line.AddCommand("loss", kLossDescription);
  command
      .AddOption("IN", flags->input,
                 "A " + io::JoinedEndings("or") + " file, or a checkpoint's directory")
      .Required();
  command
      .AddOption("--to", flags->to,
                 "A type or scaled format to measure; repeatable, or joined by commas")
      .Value("TYPE")
      .Delimiter(',')
      .OneValue();
  AddScaleFlag(command, flags->scale);
  AddCastFlags(command, flags->cast);
  AddFailOnFlag(command, flags->fail_on);
  command.Runs([flags] { return MeasureLoss(*flags); });
}

}  // namespace tensorcast::tool
