// Makes plans of requests, and lets them be looked at.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/conversion_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "convert/scaled_tensors.h"
#include "convert/text_jobs.h"
#include "core/failure.h"
#include "io/error_text.h"

namespace tensorcast::convert {
namespace {

using io::Error;
using io::ErrorKind;

SelectionRequest SelectionOf(const Request& request) {
  SelectionRequest selection;
  const auto check = [](DataType type) {
    if (FindType(type) != nullptr) return type;
    throw Error(ErrorKind::kArguments, "the request names type " +
                                           std::to_string(static_cast<std::int32_t>(type)) +
                                           ", which is not a type; DataType lists them");
  };
  if (request.to) selection.to = check(*request.to);
  for (const RequestedRule& rule : request.rules) {
    selection.rules.push_back({NamePattern(rule.pattern), check(rule.to)});
  }
  for (const std::string& pattern : request.only) selection.only.emplace_back(pattern);
  for (const std::string& pattern : request.excluded) selection.excluded.emplace_back(pattern);
  selection.all_types = request.all_types;
  return selection;
}

void PlanInto(PlannedFile& file, const SelectionRequest& selection, const Request& request,
              const RunSettings& settings, PlanState& state) {
  const std::vector<io::TensorInfo>& tensors = file.reader->contents().tensors;
  const JobOptions options = OptionsOf(state, file, settings);
  file.sink = OpenSink(file.output, *file.reader);
  file.plan =
      PlanFile(*file.reader, file.input, *file.sink, selection, request.ignore_scales, options);
  // Whether the name is free is for the run to say.
  MeasureTexts(*file.reader, *file.sink, {true, InputPaths(*file.reader, file.input)}, options,
               file.plan);
  for (const TensorJob& job : file.plan.jobs) file.from.push_back(tensors[job.tensor].type);
  for (std::string& note : file.reader->notes()) state.notes.push_back(std::move(note));
  if (std::string text = UnscaledText(tensors, file.plan.scales, &file.plan.decisions);
      !text.empty()) {
    state.notes.push_back(io::PathText(file.input) + ": " + std::move(text));
  }
  for (const std::size_t rule : ShadowedRules(tensors, file.plan.scales.companions, selection)) {
    state.notes.push_back(io::PathText(file.input) + ": rule '" + RuleText(selection.rules[rule]) +
                          "' takes no tensor: rules before it do");
  }
  file.plan.scales = {};
}

std::unique_ptr<PlanState> MakePlan(const Request& request, const RunSettings& settings) {
  auto state = std::make_unique<PlanState>();
  state->cast = request.cast;
  state->assume_type = request.assume_type;
  state->allow_hard_links = request.allow_hard_links;
  const SelectionRequest selection = SelectionOf(request);
  std::vector<const std::vector<io::TensorInfo>*> all;
  for (const RequestedFile& names : request.files) {
    PlannedFile& file = state->files.emplace_back();
    file.input = names.input;
    file.output = names.output;
    file.reader = io::OpenTensorFile(
        names.input, {request.assume_type, settings.interrupted, request.allow_hard_links});
    file.input_bytes = file.reader->file_bytes();
    file.input_tensors = file.reader->contents().tensors.size();
  }
  for (const PlannedFile& file : state->files) all.push_back(&file.reader->contents().tensors);
  RequireMatches(all, selection);
  for (PlannedFile& file : state->files) {
    PlanInto(file, selection, request, settings, *state);
    file.first_job = state->jobs;
    state->jobs += file.plan.jobs.size();
  }
  return state;
}

}  // namespace

const PlannedFile& PlanState::FileOf(std::size_t job) const {
  const auto after = std::upper_bound(
      files.begin(), files.end(), job,
      [](std::size_t value, const PlannedFile& file) { return value < file.first_job; });
  // Files without a job share their successor's first_job and stand before it.
  return *std::prev(after);
}

JobOptions OptionsOf(const PlanState& state, const PlannedFile& file, const RunSettings& settings) {
  JobOptions options;
  options.cast = state.cast;
  options.target = settings.target;
  options.executor = settings.executor;
  options.buffer_bytes = settings.buffer_bytes;
  options.input = file.input;
  options.interrupted = settings.interrupted;
  options.progress = settings.progress;
  return options;
}

}  // namespace tensorcast::convert

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

std::string_view ActionName(Action action) {
  constexpr std::string_view kNames[] = {"copy", "cast", "parse", "print"};
  const auto index = static_cast<std::size_t>(action);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

std::string_view ReasonName(Reason reason) {
  constexpr std::string_view kNames[] = {
      "asked",   "rule",         "not_named",      "excluded",     "companion",
      "no_rule", "unknown_type", "text_not_named", "not_floating", "holds_scales",
      "already", "output",       "not_the_one"};
  const auto index = static_cast<std::size_t>(reason);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

ConversionPlan::ConversionPlan() = default;
ConversionPlan::ConversionPlan(ConversionPlan&&) noexcept = default;
ConversionPlan& ConversionPlan::operator=(ConversionPlan&&) noexcept = default;
ConversionPlan::~ConversionPlan() = default;

Status ConversionPlan::Make(const Request& request, const RunSettings& settings,
                            ConversionPlan* plan, std::string* error) {
  return core::Guarded(error, [&] {
    plan->state_ = MakePlan(request, settings);
    return Status();
  });
}

std::size_t ConversionPlan::inputs() const { return state_ != nullptr ? state_->files.size() : 0; }
const std::string& ConversionPlan::input(std::size_t i) const { return state_->files[i].input; }
std::size_t ConversionPlan::outputs() const { return inputs(); }
const std::string& ConversionPlan::output(std::size_t i) const { return state_->files[i].output; }
std::size_t ConversionPlan::jobs() const { return state_ != nullptr ? state_->jobs : 0; }

PlannedJob ConversionPlan::job(std::size_t i) const {
  const PlannedFile& file = state_->FileOf(i);
  const std::size_t place = i - file.first_job;
  const TensorJob& job = file.plan.jobs[place];
  const Decision& decision = file.DecisionOf(place);
  const io::TensorInfo& made = file.plan.output.tensors[place];
  PlannedJob planned;
  planned.output = static_cast<std::size_t>(&file - state_->files.data());
  planned.tensor = place;
  planned.name = made.name;
  planned.shape = made.shape;
  planned.from = file.from[place];
  planned.to = job.to.empty() ? planned.from : job.to.front();
  planned.action = planned.from == planned.to          ? Action::kCopy
                   : planned.from == DataType::kString ? Action::kParse
                   : planned.to == DataType::kString   ? Action::kPrint
                                                       : Action::kCast;
  planned.sources.push_back({planned.output, job.tensor, 0, UnitsOf(made)});
  planned.reason = decision.reason;
  if (decision.reason == Reason::kRule) planned.rule = decision.rule;
  planned.text = decision.text;
  return planned;
}

const CastOptions& ConversionPlan::options() const {
  static constexpr CastOptions kNone;
  return state_ != nullptr ? state_->cast : kNone;
}

std::span<const std::string> ConversionPlan::notes() const {
  if (state_ == nullptr) return {};
  return state_->notes;
}

Status ConversionPlan::ToJson(std::string* json) const {
  return core::Guarded(nullptr, [&] {
    const PlanState nothing;
    *json = PlanToJson(state_ != nullptr ? *state_ : nothing);
    return Status();
  });
}

Status ConversionPlan::FromJson(std::string_view json, ConversionPlan* plan, std::string* error) {
  return core::Guarded(error, [&] {
    plan->state_ = PlanFromJson(json);
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert
