// tensorcast loss: several target types compared side by side; nothing is written.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include "cast_flags.h"
#include "command_line.h"
#include "commands.h"
#include "conversion_summary.h"
#include "convert/input.h"
#include "convert/model_scales.h"
#include "convert/runner.h"
#include "convert/scaled_tensors.h"
#include "exit_codes.h"
#include "fail_limits.h"
#include "figure_table.h"
#include "io/ordered_json.h"
#include "io/tensor_file.h"
#include "json_printer.h"
#include "loss_json.h"
#include "open_options.h"
#include "process.h"
#include "progress_display.h"
#include "quantities.h"
#include "report/keep_advice.h"
#include "report/packed_reports.h"
#include "streams.h"
#include "terminal.h"
#include "text_table.h"
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
  tensorcast loss model.safetensors --to float8e4m3fn --to float8e5m2 --to bfloat16
  tensorcast loss model.safetensors --to fp16,bf16 --tensor '*.weight' --json
  tensorcast loss model.safetensors --to fp8-block,mxfp4,nvfp4,bf16
  tensorcast loss weights.npy --to float4e2m1 --fail-on to_zero=1%

All types are measured in one pass over the file (with --json in several where it holds very many
tensors); each scaled format in one more. A scaled format takes the weights of linear layers, unless
--tensor names others. Exit code 1: a --fail-on limit was crossed under one of the types.
)";

// What one destination type does to the file.
struct Candidate {
  convert::Goal to;
  std::uint64_t bytes = 0;           // of all the file's tensors
  std::uint64_t cast_bytes = 0;      // of those that are cast, scales included
  LossReport total;                  // over all cast
  std::unique_ptr<LossMeter> meter;  // the same of a scaled format, as it is gathered
  LossSum sum;
};

// One bit for each type, in the order of --to.
using TypeSet = std::uint32_t;
constexpr TypeSet Bit(std::size_t type) { return TypeSet{1} << type; }

// What is cast to which of the types.
struct Plan {
  std::vector<Candidate> candidates;
  std::vector<TypeSet> cast_to;  // of each tensor
  // The tensors that rules take, and their types: the same whatever the others are cast to, so that
  // they count in the bytes and are not compared.
  std::map<std::size_t, convert::Goal> ruled;
  std::uint64_t data_bytes = 0;                 // of the tensors as they are stored
  std::unique_ptr<convert::ModelScales> model;  // where scaled formats are measured of a model

  // What one of the types is to a tensor: in a model scales stand along the axis of its channels.
  convert::Goal GoalFor(const convert::Goal& to, std::size_t tensor) const {
    if (!to.scaled || model == nullptr) return to;
    return {to.type, model->FormOf(tensor, to.scaled)};
  }
};

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

// The bytes of a tensor that is cast.
std::uint64_t BytesOf(const convert::Goal& goal, const io::TensorInfo& info) {
  if (!goal.scaled) return StorageBytes(goal.type, info.elements).value_or(0);
  std::uint64_t bytes = 0;
  for (const scale::WrittenTensor& made : scale::TensorsOf(goal.scaled, info.name, info.shape)) {
    bytes += made.bytes;
  }
  return bytes;
}

// "4.25": of a cast value, with its share of the scales.
std::string BitsText(const Candidate& candidate) {
  return fmt::format("{:.4g}", 8.0 * static_cast<double>(candidate.cast_bytes) /
                                   static_cast<double>(candidate.total.elements));
}

std::string TypeTable(const std::vector<Candidate>& candidates, const report::NamesOfFile& names) {
  // Of plain types the name says it.
  const bool has_bits = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& one) {
    return static_cast<bool>(one.to.scaled);
  });
  std::vector<Column> columns = {{"type"}, {"data", true}};
  if (has_bits) columns.push_back({"bits/value", true});
  for (const Column& column : {Column{"SNR dB", true},
                               {"lost", true},
                               {"→ zero", true},
                               {"subnormal", true, 0, 2},
                               {"max abs error", true, 0, 1},
                               {"worst dB", true},
                               {"in tensor", false, 16, 0, names}}) {
    columns.push_back(column);
  }
  TextTable table(std::move(columns));
  for (const Candidate& candidate : candidates) {
    std::vector<std::string> cells = {std::string(candidate.to.Name()), BytesText(candidate.bytes)};
    if (has_bits) {
      cells.push_back(candidate.sum.worst ? BitsText(candidate) : "–");
    }
    if (candidate.sum.worst) {
      const LossReport& loss = candidate.total;
      const std::uint64_t lost = LostValues(loss);
      cells.push_back(SnrText(loss));
      cells.push_back(lost == 0 ? "·" : CountText(lost));
      cells.push_back(ShareText(loss.count(Loss::kToZero), loss.elements));
      cells.push_back(ShareText(loss.count(Loss::kToSubnormal), loss.elements));
      cells.push_back(loss.max_abs_error > 0 ? MagnitudeText(loss.max_abs_error) : "·");
      cells.push_back(SnrText(candidate.sum.worst_loss));
      cells.push_back(io::Escape(*candidate.sum.worst));
    }
    table.Add(std::move(cells));
  }
  return table.Render(Columns(stdout), false);
}

// SNR of each tensor under each type, the tensor that fares worst under any of them first.
void PrintTensorTable(const std::vector<io::TensorInfo>& tensors, const Plan& plan,
                      const FigureTable& figures, bool verbose) {
  constexpr std::size_t kRowsShown = 12;
  std::vector<Column> columns = {{"SNR dB by tensor", false, 24, 0, report::EscapedNames(tensors)},
                                 {"shape", false, 8}};
  for (const Candidate& candidate : plan.candidates) {
    columns.push_back({std::string(candidate.to.Name()), true});
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if (figures.IsCast(i)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return figures.Worst(a) < figures.Worst(b);
  });
  const std::size_t shown = verbose || order.size() <= kRowsShown + 1 ? order.size() : kRowsShown;
  const auto row = [&](std::size_t place) -> TableRow {
    const std::uint32_t i = order[place];
    TableRow made{{io::Escape(tensors[i].name), ShapeText(tensors[i].shape)}};
    for (std::size_t t = 0; t < plan.candidates.size(); ++t) {
      made.cells.push_back(figures.Text(i, t));
    }
    return made;
  };
  Print("\n");
  PrintTable(columns, {shown, row}, Columns(stdout), false);
  if (shown < order.size()) {
    Print(fmt::format("   … {} more (--verbose shows all)\n", order.size() - shown));
  }
}

void AddTo(std::unique_ptr<LossMeter>& total, LossMeter& meter, const io::TensorInfo& info) {
  if (total == nullptr) {
    total = std::make_unique<LossMeter>(std::move(meter));
  } else {
    convert::CheckStatus(total->Merge(meter), info);
  }
}

// Measures the tensors that are cast to one of `types`, in one pass over the file; `keep` gets
// each report, in the order of the file.
void MeasurePass(
    const io::TensorReader& reader, Plan& plan, TypeSet types, convert::JobOptions options,
    const std::function<void(std::size_t type, std::size_t tensor, const LossReport& loss)>& keep) {
  const std::vector<io::TensorInfo>& tensors = reader.contents().tensors;
  std::vector<convert::TensorJob> jobs;
  std::vector<TypeSet> types_of;  // of each job
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // All plain types together; scaled formats are jobs of their own.
    std::vector<DataType> plain;
    TypeSet plain_types = 0;
    for (std::size_t t = 0; t < plan.candidates.size(); ++t) {
      if ((plan.cast_to[i] & types & Bit(t)) == 0 || plan.candidates[t].to.scaled) continue;
      plain.push_back(plan.candidates[t].to.type);
      plain_types |= Bit(t);
    }
    const auto add = [&](std::vector<DataType> to, TypeSet set) -> convert::TensorJob& {
      types_of.push_back(set);
      convert::TensorJob& job = jobs.emplace_back();
      job.tensor = i;
      job.to = std::move(to);
      return job;
    };
    if (plain_types != 0) add(std::move(plain), plain_types);
    for (std::size_t t = 0; t < plan.candidates.size(); ++t) {
      if ((plan.cast_to[i] & types & Bit(t)) == 0 || !plan.candidates[t].to.scaled) continue;
      const convert::Goal goal = plan.GoalFor(plan.candidates[t].to, i);
      add({goal.type}, Bit(t)).scaled = goal.scaled;
    }
  }
  options.measured = [&](std::size_t j, std::size_t type, LossMeter& meter) {
    const std::size_t i = jobs[j].tensor;
    const LossReport loss = meter.Report();
    TypeSet set = types_of[j];
    for (; type > 0; --type) set &= set - 1;
    const auto t = static_cast<std::size_t>(std::countr_zero(set));
    Candidate& candidate = plan.candidates[t];
    candidate.sum.Add(tensors[i].name, loss);
    if (candidate.to.scaled) AddTo(candidate.meter, meter, tensors[i]);
    keep(t, i, loss);
  };
  const convert::JobTotals result = convert::RunJobs(reader, jobs, nullptr, options);
  for (const LossReport& total : result.totals) {
    for (Candidate& candidate : plan.candidates) {
      if (!candidate.to.scaled && candidate.to.type == total.to) candidate.total = total;
    }
  }
  for (Candidate& candidate : plan.candidates) {
    if (candidate.meter == nullptr) continue;
    candidate.total = candidate.meter->Report();
    candidate.meter.reset();
  }
}

// The lines of the limits that a type crossed.
void PrintCrossed(const Plan& plan, const std::vector<LossLimit>& limits,
                  const report::NamesOfFile& names) {
  for (const Candidate& candidate : plan.candidates) {
    for (const CrossedLimit& crossed : CrossedLimits(limits, candidate.sum)) {
      Print(fmt::format(" limit crossed: {}: {}\n", candidate.to.Name(),
                        CrossedText(crossed, names)));
    }
  }
}

// Where keeping all tensors of a kind would pay, under one type; `decibel` is asked for the k-th of
// the tensors that are cast, which is tensor i.
std::optional<report::KeepAdvice> AdviceFor(
    const std::vector<io::TensorInfo>& tensors, const Plan& plan, std::size_t type,
    const std::function<double(std::size_t k, std::uint32_t i)>& decibel) {
  const Candidate& candidate = plan.candidates[type];
  std::vector<std::uint32_t> cast;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if ((plan.cast_to[i] & Bit(type)) != 0) cast.push_back(i);
  }
  const auto at = [&](std::size_t k) -> report::CastFigures {
    const io::TensorInfo& info = tensors[cast[k]];
    return {&info, BytesOf(candidate.to, info), decibel(k, cast[k]), info.layout.empty()};
  };
  return report::AdviseKeeping(cast.size(), at, candidate.bytes);
}

void PrintAdvice(const std::vector<io::TensorInfo>& tensors, const Plan& plan,
                 const FigureTable& figures) {
  for (std::size_t t = 0; t < plan.candidates.size(); ++t) {
    const auto advice = AdviceFor(
        tensors, plan, t, [&](std::size_t, std::uint32_t i) { return figures.Decibel(i, t); });
    if (advice) {
      Print(fmt::format(" advice: {}: {}\n", plan.candidates[t].to.Name(), KeepText(*advice)));
    }
  }
}

// The same for programs; null: none.
Json AdviceJson(const std::optional<report::KeepAdvice>& advice) {
  if (!advice) return nullptr;
  Json json = Json::object();
  json["keep"] = Json::array();
  for (const convert::Keep keep : advice->keep) json["keep"].push_back(convert::KeepName(keep));
  json["tensors"] = advice->tensors;
  json["more_bytes"] = advice->more_bytes;
  json["worst_snr_db"] = advice->worst_after;
  return json;
}

void MeasureForPeople(const LossFlags& flags, const io::TensorReader& reader, Plan& plan,
                      const std::vector<LossLimit>& limits, const convert::JobOptions& options) {
  constexpr std::size_t kTypesAside = 5;  // more columns than this leave no room for names
  const std::vector<io::TensorInfo>& tensors = reader.contents().tensors;
  const bool aside = plan.candidates.size() <= kTypesAside;
  FigureTable figures(aside ? tensors.size() : 0, plan.candidates.size());
  MeasurePass(reader, plan, ~TypeSet{0}, options,
              [&](std::size_t t, std::size_t i, const LossReport& loss) {
                if (aside) figures.Set(i, t, loss, LostValues(loss) > 0);
              });
  ExitOnInterrupts(Leaves::kNothing);
  const auto cast = std::count_if(plan.cast_to.begin(), plan.cast_to.end(),
                                  [](TypeSet types) { return types != 0; });
  Print(fmt::format("{}   {} of {} tensors   {} of data\n\n", io::EscapeName(flags.input), cast,
                    tensors.size(), BytesText(plan.data_bytes)));
  Print(TypeTable(plan.candidates, report::EscapedNames(tensors)));
  if (cast == 0) {
    Print("\n nothing was selected: no loss to measure\n");
  } else if (aside) {
    PrintTensorTable(tensors, plan, figures, flags.cast.verbose);
    PrintAdvice(tensors, plan, figures);
  }
  PrintCrossed(plan, limits, report::EscapedNames(tensors));
}

// Type by type, as the report is ordered: where the reports of all types would take much memory,
// the file is read more than once.
void MeasureForPrograms(const LossFlags& flags, const io::TensorReader& reader, Plan& plan,
                        const std::vector<LossLimit>& limits, convert::JobOptions options) {
  constexpr std::size_t kMostBytes = std::size_t{96} << 20;
  constexpr std::size_t kReportBytes = 384;  // packed, at most
  const std::vector<io::TensorInfo>& tensors = reader.contents().tensors;
  const std::size_t at_once = std::max<std::size_t>(
      1, kMostBytes / kReportBytes / std::max<std::size_t>(1, tensors.size()));
  JsonPrinter json;
  json.Member("schema_version", kJsonSchemaVersion);
  json.Member("command", "loss");
  json.Member("input", flags.input);
  json.Member("options", OptionsJson(options.cast));
  json.BeginArray("types");
  for (std::size_t first = 0; first < plan.candidates.size(); first += at_once) {
    const std::size_t end = std::min(plan.candidates.size(), first + at_once);
    TypeSet types = 0;
    for (std::size_t t = first; t < end; ++t) types |= Bit(t);
    std::vector<report::PackedReports> reports(end - first);
    MeasurePass(
        reader, plan, types, options,
        [&](std::size_t t, std::size_t, const LossReport& loss) { reports[t - first].Add(loss); });
    for (std::size_t t = first; t < end; ++t) {
      const Candidate& candidate = plan.candidates[t];
      const std::optional<std::string>& worst = candidate.sum.worst;
      json.BeginObject();
      json.Member("to", candidate.to.Name());
      if (candidate.to.scaled) {
        json.Member("codes", TypeName(candidate.to.type));
        json.Member("scale_rule",
                    scale::RuleName(*candidate.to.scaled.format, candidate.to.scaled.rule));
      }
      json.Member("cast_bytes", candidate.cast_bytes);
      json.Member("data_bytes", candidate.bytes);
      json.Member("total", worst ? FiguresJson(candidate.total) : Json());
      json.Member("worst_snr_db", SnrJson(candidate.sum.worst_loss));
      json.Member("worst_tensor", worst ? Json(*worst) : Json());
      json.BeginArray("tensors");
      std::size_t next = 0;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if ((plan.cast_to[i] & Bit(t)) == 0) continue;
        Json one = TensorJson(tensors[i]);
        one["loss"] =
            LossOfTensorJson(tensors[i], reports[t - first][next++],
                             candidate.to.scaled ? ResultIs::kCodeOfScale : ResultIs::kValue);
        json.Element(one);
      }
      json.EndArray();
      json.Member("keep_advice",
                  AdviceJson(AdviceFor(tensors, plan, t, [&](std::size_t k, std::uint32_t) {
                    return ComparableDecibel(reports[t - first][k]);
                  })));
      json.BeginArray("limits_crossed");
      for (const CrossedLimit& crossed : CrossedLimits(limits, candidate.sum)) {
        json.Element(CrossedJson(crossed));
      }
      json.EndArray();
      json.EndObject();
      reports[t - first] = {};
    }
  }
  json.EndArray();
  json.End();
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
  convert::JobOptions options;
  options.cast = request.cast;
  options.target = ParseTargetFlag(flags.cast.target);
  const std::unique_ptr<Executor> executor = ParseThreads(flags.cast.threads);
  options.executor = executor.get();
  ProgressDisplay progress(flags.cast.progress, flags.cast.quiet);
  std::unique_ptr<io::TensorReader> reader = convert::OpenInput(
      flags.input, {request.assume_type, request.allow_hard_links, request.ignore_scales},
      ToolOpenOptions().spool, std::make_shared<io::CurrentInterrupt>(InterruptFlag()));
  const convert::InputScales scales =
      convert::FindScales(*reader, flags.input, request.ignore_scales);
  const std::vector<io::TensorInfo>& stored = reader->contents().tensors;
  convert::Selectable all[] = {{&stored, &scales}};
  convert::RequireMatches(all, selection);
  std::vector<convert::Decision> decisions;
  std::string unscaled;
  Plan plan;
  plan.candidates.resize(types.size());
  plan.cast_to.resize(stored.size());
  for (const io::TensorInfo& info : stored) plan.data_bytes += info.bytes;
  for (std::size_t t = 0; t < types.size(); ++t) {
    selection.to = types[t];
    plan.candidates[t].to = types[t];
    // What a model can hold is measured as it would.
    const io::OnnxTensorReader* const model = reader->onnx_model();
    if (model != nullptr && types[t].scaled &&
        scale::ModelLayoutOf(*types[t].scaled.format) == nullptr) {
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("{}: of the scaled formats models hold fp8-tensor, fp8-row and "
                              "int8-row, not {}",
                              io::Escape(flags.input), types[t].Name()));
    }
    all[0].has_graph = model != nullptr && types[t].scaled;
    if (all[0].has_graph && plan.model == nullptr) {
      plan.model = std::make_unique<convert::ModelScales>(*model);
    }
    decisions = convert::Select(all[0], selection);
    if (all[0].has_graph) plan.model->Restrict(decisions);
    if (!request.ignore_scales) convert::RefuseScaled(stored, flags.input, scales, decisions);
    if (unscaled.empty()) unscaled = convert::UnscaledText(stored, scales, &decisions);
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const bool is_cast = decisions[i].to != DataType::kUndefined && !IsText(stored[i]);
      if (is_cast && decisions[i].reason == convert::Reason::kRule) {
        plan.ruled.emplace(i, convert::Goal{decisions[i].to, decisions[i].scaled});
      } else if (is_cast) {
        plan.cast_to[i] |= Bit(t);
      }
    }
  }
  std::vector<std::size_t> kept;
  const scale::ScaledReader* const scaled = convert::ApplyScales(
      reader, scales,
      [&](std::size_t codes) {
        return plan.cast_to[codes] != 0 || plan.ruled.contains(codes)
                   ? std::optional(scale::Rounding::kOdd)
                   : std::nullopt;
      },
      &kept);
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
      const bool is_cast = (plan.cast_to[i] & Bit(t)) != 0;
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
      std::all_of(plan.cast_to.begin(), plan.cast_to.end(), [](TypeSet set) { return set == 0; });
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
    if (!unscaled.empty()) SayNote(io::Escape(flags.input) + ": " + unscaled);
    for (const std::string& text : applied) {
      SayNote(io::Escape(flags.input) + ": " + text);
    }
    if (const std::string text = convert::CompanionsText(tensors, scales.companions.companions);
        !text.empty() && scaled == nullptr) {
      SayNote(io::Escape(flags.input) + ": left alone unless named: " + text);
    }
  }
  options.interrupted = CatchInterrupts();
  options.progress = [&](const convert::Progress& now) { progress.Show(now); };
  if (flags.cast.json) {
    MeasureForPrograms(flags, *reader, plan, limits, options);
  } else {
    MeasureForPeople(flags, *reader, plan, limits, options);
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
