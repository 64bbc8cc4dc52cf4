// Makes plans of requests, and lets them be looked at.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/conversion_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/open_tensor_file.h"
#include "convert/component_loaders.h"
#include "convert/quantise_jobs.h"
#include "convert/scaled_tensors.h"
#include "convert/text_jobs.h"
#include "convert/written_tensors.h"
#include "core/enum_names.h"
#include "core/failure.h"
#include "core/given.h"
#include "files/error.h"
#include "scale/scale_search.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;

// Says which tensors have a scale of values that are all over them; empty if none has.
std::string ReadTwiceText(const FilePlan& plan) {
  const std::vector<formats::TensorInfo>& tensors = plan.reader->contents().tensors;
  const auto count = std::ranges::count_if(plan.jobs, [&](const TensorJob& job) {
    return ReadingsOf(job, tensors[job.tensor].shape) > 1;
  });
  if (count == 0) return {};
  return words::CountText(static_cast<std::uint64_t>(count), "tensor") +
         (count == 1 ? " is" : " are") + " read twice: a scale needs the largest of all values";
}

// Where nothing can be renamed.
void CheckRenamed(const Request& request, const PlannedFile& file) {
  std::string why;
  if (file.sink->has_graph()) why = "the tensors of a model are named by its graph";
  if (formats::HasEnding(file.output, ".npy")) why = "an .npy holds one tensor, which has no name";
  if (!request.repack.empty()) {
    why = "weights are put into another layout under their own names; rename before that, or after";
  }
  if (why.empty()) return;
  throw Error(ErrorKind::kArguments, words::PathText(file.output) + ": " + why, file.output);
}

// What the request asks of an output that this one has not.
void CheckRequest(const Request& request, const PlannedFile& file, const Survey& survey) {
  if (!request.layout.empty() && request.layout != scale::kModelLayout && file.sink->has_graph()) {
    throw Error(ErrorKind::kArguments,
                words::PathText(file.output) +
                    ": a model's scaled weights have the layout onnx, not " + request.layout,
                file.output);
  }
  if (!request.layout.empty() && request.layout != "gguf" && file.sink->holds_blocks()) {
    throw Error(ErrorKind::kArguments,
                words::PathText(file.output) +
                    ": a .gguf has scaled weights in the layout gguf, not in " + request.layout,
                file.output);
  }
  if (request.scale_rule && scale::IsSearch(*request.scale_rule) && file.sink->has_graph()) {
    throw Error(ErrorKind::kArguments,
                words::PathText(file.output) + ": a model's scales do not follow the rule " +
                    std::string(ScaleRuleName(*request.scale_rule)) + "; it is for tensor files",
                file.output);
  }
  if (!request.renames.empty()) CheckRenamed(request, file);
  const bool is_directory =
      survey.opened.checkpoint != nullptr && checkpoint::IsDirectoryName(file.output);
  if (survey.IsPipeline() && !request.repack.empty()) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(file.input) +
                    ": is a pipeline; weights are put into another layout one component at a time",
                file.input);
  }
  if (survey.IsPipeline() && !is_directory && HasScaledGoal(SelectionOf(request))) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(file.output) +
                    ": a pipeline's scaled weights are written to a directory, where each "
                    "component has its configuration",
                file.output);
  }
  if (request.max_shard_bytes != 0 && !is_directory) {
    throw Error(ErrorKind::kArguments,
                words::PathText(file.output) +
                    ": this is written as one file; a size of files is for a directory, which is "
                    "written from a directory",
                file.output);
  }
}

// Of each input which of its tensors are written; empty: all.
std::vector<std::vector<bool>> WrittenOf(const PlanState& state, std::span<const Survey> surveys,
                                         const SelectionRequest& selection) {
  std::vector<std::vector<bool>> written(surveys.size());
  if (selection.select.empty()) return written;
  std::vector<bool> matches(selection.select.size());
  for (std::size_t i = 0; i < surveys.size(); ++i) {
    if (state.files[i].sink->has_graph()) {
      throw Error(ErrorKind::kArguments,
                  words::PathText(state.files[i].output) +
                      ": the tensors of a model are parts of its graph; none can be left out",
                  state.files[i].output);
    }
    written[i] = WrittenTensors(surveys[i], selection.select, matches);
  }
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (!matches[i]) {
      RefuseIdle({}, selection.select[i].text(), surveys, Remedy::kMatchSelected);
    }
  }
  return written;
}

// What becomes of a tensor that is made a scaled weight.
void AddMade(const scale::WrittenForm& form, std::vector<scale::WrittenTensor> tensors,
             PlannedJob& planned) {
  if (form.format != nullptr) planned.format = scale::FormatOf(*form.format);
  if (form.dialect != nullptr) planned.layout = form.dialect->layout;
  planned.rotation = form.rotation;
  planned.bytes_after = 0;
  for (scale::WrittenTensor& one : tensors) {
    *planned.bytes_after += one.bytes;
    planned.made.push_back({std::move(one.name), std::move(one.shape), one.type});
  }
}

}  // namespace

std::unique_ptr<PlanState> MakePlan(const Request& request, const RunSettings& settings,
                                    const files::SpoolOptions& spool) {
  auto state = std::make_unique<PlanState>();
  state->request = request;
  state->spool = spool;
  state->interrupt->Set(settings.interrupted);
  const SelectionRequest selection = SelectionOf(request);
  const Opening opening = OpeningOf(*state);
  naming::Renames renames = RenamesOf(request.renames);
  std::vector<Survey> surveys;
  std::vector<NewNames> new_names;
  std::vector<Matching> matchings;
  for (const RequestedFile& names : request.files) {
    PlannedFile& file = state->files.emplace_back();
    const Survey& survey = surveys.emplace_back(OpenSurvey(names.input, opening));
    file.input = names.input;
    file.output = names.output;
    const NewNames& written_as = new_names.emplace_back(survey, renames);
    file.sink = OpenSink(names.output, survey.opened, written_as, request.like, request.scale_rule,
                         opening);
    CheckRequest(request, file, survey);
    file.input_bytes = survey.reader().file_bytes();
    file.input_tensors = survey.tensors().size();
  }
  for (const Survey& survey : surveys) matchings.emplace_back(survey, selection);
  RequireMatches(matchings, selection);
  RequireRenamed(request.renames, renames, surveys);
  std::vector<std::vector<bool>> written = WrittenOf(*state, surveys, selection);
  for (std::size_t i = 0; i < surveys.size(); ++i) {
    PlannedFile& file = state->files[i];
    if (selection.repack != nullptr) CheckRepackSink(*file.sink, *selection.repack, file.output);
    Decided decided = Decide(surveys[i], matchings[i], selection, *file.sink, opening,
                             OptionsOf(*state, file, settings), std::move(written[i]));
    RefuseUnloadable(surveys[i], decided.decisions);
    for (std::string& note : NotesOn(surveys[i], *file.sink, decided)) {
      state->notes.push_back(std::move(note));
    }
    if (!decided.is_written.empty()) {
      const auto count = std::ranges::count(decided.is_written, true);
      state->notes.push_back(words::PathText(file.input) + ": " + std::to_string(count) + " of " +
                             words::CountText(file.input_tensors, "tensor") +
                             (count == 1 ? " is" : " are") +
                             " selected; the others are not written");
    }
    if (const std::string text = new_names[i].Text(surveys[i], decided.is_written); !text.empty()) {
      state->notes.push_back(words::PathText(file.input) + ": " + text);
    }
    file.plan = PlanFile(surveys[i], std::move(decided), *file.sink, file.output, new_names[i]);
    if (!file.plan.config.note.empty()) {
      state->notes.push_back(words::PathText(file.output) + ": " + file.plan.config.note);
    }
    if (const std::string text = ReadTwiceText(file.plan); !text.empty()) {
      state->notes.push_back(words::PathText(file.input) + ": " + text);
    }
    file.first_job = state->jobs;
    state->jobs += file.plan.jobs.size();
  }
  state->idle_rules = IdleRules(matchings, selection);
  for (const IdleRule& idle : state->idle_rules) {
    state->notes.push_back(selection.rules[idle.rule].text +
                           " takes no tensor: " + std::string(idle.why));
  }
  return state;
}

void MeasureTexts(PlanState& state, bool overwrite, const RunSettings& settings) {
  const files::CreateOptions create = OutputOptions(state, overwrite);
  for (PlannedFile& file : state.files) {
    MeasureTexts(*file.plan.reader, *file.sink, create, OptionsOf(state, file, settings),
                 file.plan);
  }
}

files::CreateOptions OutputOptions(const PlanState& state, bool overwrite) {
  files::CreateOptions options{overwrite, InputPaths(state)};
  options.max_shard_bytes = state.request.max_shard_bytes;
  return options;
}

std::vector<std::string> InputPaths(const PlanState& state) {
  std::vector<std::string> all;
  for (const PlannedFile& file : state.files) {
    for (std::string& path : InputPaths(*file.plan.reader, file.input))
      all.push_back(std::move(path));
    for (const FusedFile& one : file.plan.fused) all.push_back(one.path);
  }
  if (!state.request.like.empty()) all.push_back(state.request.like);
  return all;
}

std::uint64_t BytesRead(const PlannedFile& file, std::size_t place) {
  const TensorJob& job = file.plan.jobs[place];
  const formats::TensorInfo& tensor = file.TensorOf(place);
  if (job.repacked == nullptr) return tensor.stored_as.empty() ? tensor.bytes : tensor.stored_bytes;
  std::uint64_t bytes = 0;
  for (const SourceRange& one : SourcesOf(file, 0, place)) {
    bytes += file.plan.reader->contents().tensors[one.tensor].bytes;
  }
  return bytes;
}

std::vector<std::string> FindingsOf(const PlanState& state) {
  std::vector<std::string> all;
  for (const PlannedFile& file : state.files) {
    if (file.plan.scaled == nullptr) continue;
    for (const std::string& one : file.plan.scaled->Findings()) {
      all.push_back(words::PathText(file.input) + ": " + one);
    }
  }
  return all;
}

std::vector<SourceRange> SourcesOf(const PlannedFile& file, std::size_t index, std::size_t job) {
  const std::size_t tensor = file.plan.jobs[job].tensor;
  if (const auto& repacked = file.plan.jobs[job].repacked; repacked != nullptr) {
    std::vector<SourceRange> sources;
    for (const std::size_t i : repacked->sources()) {
      sources.push_back({index, i, 0, UnitsOf(file.plan.reader->contents().tensors[i])});
    }
    return sources;
  }
  const scale::AppliedWeight* const applied =
      file.plan.scaled != nullptr ? file.plan.scaled->applied(tensor) : nullptr;
  if (applied == nullptr) return {{index, tensor, 0, UnitsOf(file.TensorOf(job))}};
  const scale::ScaledWeight& weight = applied->weight;
  const std::vector<formats::TensorInfo>& stored = file.plan.scaled->stored();
  std::vector<SourceRange> sources;
  const auto add = [&](std::optional<std::size_t> i) {
    if (i) sources.push_back({index, *i, 0, UnitsOf(stored[*i])});
  };
  add(weight.codes);
  add(weight.scale);
  add(weight.zero_point);
  add(weight.global);
  return sources;
}

std::size_t PlanState::FileOf(std::size_t job) const {
  const auto after = std::upper_bound(
      files.begin(), files.end(), job,
      [](std::size_t value, const PlannedFile& file) { return value < file.first_job; });
  // Files without a job share their successor's first_job and stand before it.
  return static_cast<std::size_t>(after - files.begin()) - 1;
}

JobOptions OptionsOf(const PlanState& state, const PlannedFile& file, const RunSettings& settings) {
  JobOptions options;
  options.cast = state.request.cast;
  options.target = settings.target;
  options.executor = settings.executor;
  options.buffer_bytes = settings.buffer_bytes;
  options.input = file.input;
  options.interrupted = settings.interrupted;
  options.progress = core::Given(settings.progress);
  options.globals = file.plan.globals.get();
  return options;
}

Opening OpeningOf(const PlanState& state) {
  return {InputOptionsOf(state.request), state.spool, state.interrupt};
}

}  // namespace tensorcast::convert

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

std::string_view ActionName(Action action) {
  constexpr std::string_view kNames[] = {"copy", "cast", "parse", "print", "quantise", "repack"};
  return core::NameOf(kNames, action);
}

std::string_view ReasonName(Reason reason) {
  constexpr std::string_view kNames[] = {
      "asked",      "rule",         "not_named",      "excluded",     "companion",
      "no_rule",    "unknown_type", "text_not_named", "not_floating", "holds_scales",
      "already",    "output",       "not_the_one",    "opaque",       "kept",
      "not_linear", "misfit",       "misread",        "not_quantised"};
  return core::NameOf(kNames, reason);
}

ConversionPlan::ConversionPlan() = default;
ConversionPlan::ConversionPlan(ConversionPlan&&) noexcept = default;
ConversionPlan& ConversionPlan::operator=(ConversionPlan&&) noexcept = default;
ConversionPlan::~ConversionPlan() = default;

Status ConversionPlan::Make(const Request& request, const RunSettings& settings,
                            ConversionPlan* plan, std::string* error) {
  return core::Guarded(error, [&] {
    std::unique_ptr<PlanState> made = MakePlan(request, settings);
    MeasureTexts(*made, true, settings);  // whether the names are free is for the run to say
    plan->state_ = std::move(made);
    return Status();
  });
}

std::size_t ConversionPlan::inputs() const { return state_ != nullptr ? state_->files.size() : 0; }
const std::string& ConversionPlan::input(std::size_t i) const { return state_->files[i].input; }
std::size_t ConversionPlan::outputs() const { return inputs(); }
const std::string& ConversionPlan::output(std::size_t i) const { return state_->files[i].output; }
std::size_t ConversionPlan::jobs() const { return state_ != nullptr ? state_->jobs : 0; }

PlannedJob ConversionPlan::job(std::size_t i) const {
  PlannedJob planned;
  planned.output = state_->FileOf(i);
  const PlannedFile& file = state_->files[planned.output];
  const std::size_t place = i - file.first_job;
  const TensorJob& job = file.plan.jobs[place];
  const Decision& decision = file.DecisionOf(place);
  const formats::TensorInfo& tensor = file.TensorOf(place);
  planned.tensor = job.output;
  planned.name = tensor.name;
  planned.written_as = file.plan.NameOf(job.tensor);
  planned.shape = tensor.shape;
  planned.from = tensor.type;
  planned.to = file.TypeMade(place);
  planned.action = job.scaled                          ? Action::kQuantise
                   : job.repacked != nullptr           ? Action::kRepack
                   : !tensor.stored_as.empty()         ? Action::kCast
                   : planned.from == planned.to        ? Action::kCopy
                   : planned.from == DataType::kString ? Action::kParse
                   : planned.to == DataType::kString   ? Action::kPrint
                                                       : Action::kCast;
  planned.sources = SourcesOf(file, planned.output, place);
  planned.bytes_before = BytesRead(file, place);
  if (planned.action == Action::kRepack) {
    AddMade(job.repacked->form(), job.repacked->tensors(), planned);
    planned.change = job.repacked->change();
  } else if (planned.action == Action::kCopy) {
    planned.bytes_after = tensor.bytes;
  } else if (job.scaled) {
    AddMade(job.scaled, scale::TensorsOf(job.scaled, planned.written_as, tensor.shape, tensor.type),
            planned);
  } else if (planned.action != Action::kPrint) {
    planned.bytes_after = StorageBytes(planned.to, tensor.elements);
  } else if (const auto text = file.plan.texts.find(planned.tensor);
             text != file.plan.texts.end()) {
    planned.bytes_after = text->second.total_bytes;
  }
  planned.reason = decision.reason;
  if (decision.reason == Reason::kRule) planned.rule = decision.rule;
  planned.text = decision.text;
  return planned;
}

const CastOptions& ConversionPlan::options() const {
  static constexpr CastOptions kNone;
  return state_ != nullptr ? state_->request.cast : kNone;
}

std::span<const std::string> ConversionPlan::notes() const {
  if (state_ == nullptr) return {};
  return state_->notes;
}

std::vector<std::string> ConversionPlan::findings() const {
  return state_ != nullptr ? FindingsOf(*state_) : std::vector<std::string>();
}

Status ConversionPlan::ToJson(std::string* json) const {
  return core::Guarded(nullptr, [&] {
    const PlanState nothing;
    *json = PlanToJson(state_ != nullptr ? *state_ : nothing);
    return Status();
  });
}

Status ConversionPlan::FromJson(std::string_view json, const RunSettings& settings,
                                ConversionPlan* plan, std::string* error) {
  return core::Guarded(error, [&] {
    std::unique_ptr<PlanState> made = PlanFromJson(json, "the conversion plan", settings);
    MeasureTexts(*made, true, settings);
    plan->state_ = std::move(made);
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert
