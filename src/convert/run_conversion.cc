// Runs plans: whole, or ranges of their jobs into outputs that were begun once.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "convert/conversion_plan.h"
#include "convert/text_jobs.h"
#include "core/failure.h"
#include "io/error_text.h"

namespace tensorcast::convert {

using io::Error;
using io::ErrorKind;

struct OutputsState {
  PlanState* plan = nullptr;
  std::vector<std::unique_ptr<io::TensorWriter>> writers;  // of each file
};

namespace {

[[noreturn]] void FailToMatch(const PlannedFile& file, const std::string& what) {
  throw Error(ErrorKind::kContents,
              io::PathText(file.input) + ": is not what was planned: " + what + "; plan again");
}

// Whether the file's tensors are those that the plan was made for.
void HoldAgainst(const PlannedFile& file) {
  const std::vector<io::TensorInfo>& tensors = file.reader->contents().tensors;
  if (file.reader->file_bytes() != file.input_bytes) {
    FailToMatch(file, "it has " + io::CountText(file.reader->file_bytes(), "byte") + ", not " +
                          std::to_string(file.input_bytes));
  }
  if (tensors.size() != file.input_tensors) {
    FailToMatch(file, "it has " + io::CountText(tensors.size(), "tensor") + ", not " +
                          std::to_string(file.input_tensors));
  }
  for (const TensorJob& job : file.plan.jobs) {
    const io::TensorInfo& planned = file.plan.output.tensors[job.output];
    const io::TensorInfo& found = tensors[job.tensor];
    if (found.name == planned.name && found.shape == planned.shape &&
        found.type == file.from[job.output] && (!job.to.empty() || found.bytes == planned.bytes)) {
      continue;
    }
    FailToMatch(file, "tensor " + std::to_string(job.tensor) + " is " + io::Quoted(found.name) +
                          ", " + io::ShapeText(found.shape) + " of " +
                          std::string(TypeName(found.type)));
  }
}

// Lays the output out again, now that all is known of the tensors that are copied.
void Complete(PlannedFile& file, const JobOptions& options) {
  FilePlan plan;
  plan.decisions.resize(file.reader->contents().tensors.size());
  std::vector<std::size_t> taken;
  for (const TensorJob& job : file.plan.jobs) {
    taken.push_back(job.tensor);
    plan.decisions[job.tensor] = file.plan.decisions[job.output];
    plan.decisions[job.tensor].by_name = true;  // nothing is left out by default now
  }
  file.sink->Restrict(plan.decisions, options);
  for (const TensorJob& job : file.plan.jobs) {
    if (plan.decisions[job.tensor].to == file.plan.decisions[job.output].to) continue;
    throw Error(ErrorKind::kContents, io::PathText(file.output) + ": cannot hold " +
                                          io::Quoted(file.plan.output.tensors[job.output].name) +
                                          " as planned: " + plan.decisions[job.tensor].text);
  }
  bool is_all = taken.size() == plan.decisions.size();
  for (std::size_t i = 0; i < taken.size(); ++i) is_all = is_all && taken[i] == i;
  if (file.sink->gives_types_back() && !is_all) {
    throw Error(
        ErrorKind::kContents,
        io::PathText(file.output) + ": the plan does not have the model's tensors, each once");
  }
  LayOut(*file.reader, file.input, &taken, plan);
  // What a plan says of texts is not believed: a writer relies on it.
  MeasureTexts(*file.reader, *file.sink, {true, InputPaths(*file.reader, file.input)}, options,
               plan);
  file.plan = std::move(plan);
}

// The ranges as jobs of their file. Throws io::Error (arguments).
TensorJob JobOf(const PlannedFile& file, const JobRange& range) {
  const std::size_t place = range.job - file.first_job;
  const io::TensorInfo& made = file.plan.output.tensors[place];
  TensorJob job = file.plan.jobs[place];
  const bool is_text = file.from[place] == DataType::kString || made.type == DataType::kString;
  const std::uint64_t all = UnitsOf(made);  // an unknown type stays
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kArguments,
                "job " + std::to_string(range.job) + ", " + io::Quoted(made.name) + ": " + why);
  };
  if (range.first > all) fail("has " + io::CountText(all, "element"));
  const std::uint64_t elements = std::min(range.elements, all - range.first);
  const std::uint64_t end = range.first + elements;
  if (range.elements != UINT64_MAX && range.elements > all - range.first) {
    fail("has " + io::CountText(all, "element"));
  }
  if (is_text && elements != all) fail("strings are converted whole");
  if (range.first % kRangeGrain != 0 || (end % kRangeGrain != 0 && end != all)) {
    fail("a range begins and ends at multiples of " + std::to_string(kRangeGrain) +
         " elements, or at the job's end");
  }
  job.first = range.first;
  job.count = elements;
  return job;
}

Status RunRanges(const ConversionPlan& plan, std::span<const JobRange> ranges,
                 const RunSettings& settings, OutputsState* outputs, std::vector<JobLoss>* losses) {
  if (plan.jobs() == 0) {
    if (ranges.empty()) return Status();
    throw Error(ErrorKind::kArguments, "the plan has no job");
  }
  PlanState& state = PlanAccess::StateOf(plan);
  if (outputs != nullptr && outputs->plan != &state) {
    throw Error(ErrorKind::kArguments, "the outputs are another plan's");
  }
  OpenFiles(state, settings);
  // In the order of the ranges, however the files are run.
  std::map<std::size_t, LossMeter> gathered;
  for (std::size_t f = 0; f < state.files.size(); ++f) {
    const PlannedFile& file = state.files[f];
    std::vector<TensorJob> jobs;
    std::vector<std::size_t> range_of;
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      if (ranges[r].job >= state.jobs) {
        throw Error(ErrorKind::kArguments, "the plan has " + io::CountText(state.jobs, "job") +
                                               ", none of index " + std::to_string(ranges[r].job));
      }
      if (&state.FileOf(ranges[r].job) != &file) continue;
      TensorJob job = JobOf(file, ranges[r]);
      if (outputs == nullptr && (job.to.empty() || IsTextJob(*file.reader, job))) continue;
      jobs.push_back(std::move(job));
      range_of.push_back(r);
    }
    if (jobs.empty()) continue;
    JobOptions options = OptionsOf(state, file, settings);
    options.measure = losses != nullptr;
    options.measured = [&](std::size_t j, std::size_t, LossMeter& meter) {
      gathered.emplace(range_of[j], std::move(meter));
    };
    RunJobs(*file.reader, jobs, outputs != nullptr ? outputs->writers[f].get() : nullptr, options);
  }
  if (losses != nullptr) {
    for (auto& [range, meter] : gathered) {
      losses->push_back({ranges[range].job, std::move(meter)});
    }
  }
  return Status();
}

}  // namespace

void OpenFiles(PlanState& state, const RunSettings& settings) {
  for (PlannedFile& file : state.files) {
    if (file.reader != nullptr) continue;
    file.reader = io::OpenTensorFile(
        file.input, {state.assume_type, settings.interrupted, state.allow_hard_links});
    try {
      HoldAgainst(file);
      file.sink = OpenSink(file.output, *file.reader);
      Complete(file, OptionsOf(state, file, settings));
    } catch (...) {
      file.sink.reset();
      file.reader.reset();
      throw;
    }
  }
}

}  // namespace tensorcast::convert

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

ConversionOutputs::ConversionOutputs() = default;
ConversionOutputs::ConversionOutputs(ConversionOutputs&&) noexcept = default;
ConversionOutputs& ConversionOutputs::operator=(ConversionOutputs&&) noexcept = default;
ConversionOutputs::~ConversionOutputs() = default;

Status ConversionOutputs::Create(const ConversionPlan& plan, bool overwrite,
                                 const RunSettings& settings, ConversionOutputs* outputs,
                                 std::string* error) {
  return core::Guarded(error, [&] {
    auto made = std::make_unique<OutputsState>();
    if (plan.jobs() != 0 || plan.outputs() != 0) {
      PlanState& state = PlanAccess::StateOf(plan);
      OpenFiles(state, settings);
      made->plan = &state;
      std::vector<std::string> inputs;
      for (const PlannedFile& file : state.files) {
        for (std::string& path : InputPaths(*file.reader, file.input)) {
          inputs.push_back(std::move(path));
        }
      }
      for (const PlannedFile& file : state.files) {
        file.sink->Check(file.plan.output, {overwrite, inputs});
      }
      for (const PlannedFile& file : state.files) {
        made->writers.push_back(
            file.sink->Create(file.plan.output, {overwrite, inputs}, settings.interrupted));
      }
    }
    outputs->state_ = std::move(made);
    return Status();
  });
}

Status ConversionOutputs::Commit(std::string* error) {
  return core::Guarded(error, [&] {
    if (state_ == nullptr) return Status();
    if (state_->plan != nullptr) {
      for (const PlannedFile& file : state_->plan->files) file.reader->CheckUnchanged();
    }
    for (const auto& writer : state_->writers) writer->Sync();
    for (const auto& writer : state_->writers) writer->Commit();
    return Status();
  });
}

std::uint64_t ConversionOutputs::bytes() const {
  std::uint64_t bytes = 0;
  if (state_ == nullptr) return bytes;
  for (const auto& writer : state_->writers) bytes += writer->file_bytes();
  return bytes;
}

Status RunConversion(const ConversionPlan& plan, std::span<const JobRange> ranges,
                     const RunSettings& settings, ConversionOutputs* outputs,
                     std::vector<JobLoss>* losses, std::string* error) {
  return core::Guarded(error, [&] {
    if (outputs != nullptr && PlanAccess::StateOf(*outputs) == nullptr) {
      throw Error(ErrorKind::kArguments, "the outputs have not been created");
    }
    return RunRanges(plan, ranges, settings,
                     outputs != nullptr ? PlanAccess::StateOf(*outputs) : nullptr, losses);
  });
}

Status RunConversion(const ConversionPlan& plan, const RunSettings& settings, bool overwrite,
                     std::vector<JobLoss>* losses, std::string* error) {
  ConversionOutputs outputs;
  if (const Status status = ConversionOutputs::Create(plan, overwrite, settings, &outputs, error);
      !status.ok()) {
    return status;
  }
  std::vector<JobRange> all(plan.jobs());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].job = i;
  if (const Status status = RunConversion(plan, all, settings, &outputs, losses, error);
      !status.ok()) {
    return status;
  }
  return outputs.Commit(error);
}

Status MergeLosses(std::vector<JobLoss>* losses) {
  return core::Guarded(nullptr, [&] {
    std::stable_sort(losses->begin(), losses->end(),
                     [](const JobLoss& a, const JobLoss& b) { return a.job < b.job; });
    std::vector<JobLoss> merged;
    for (JobLoss& part : *losses) {
      if (merged.empty() || merged.back().job != part.job) {
        merged.push_back(std::move(part));
      } else if (const Status status = merged.back().loss.Merge(part.loss); !status.ok()) {
        return status;
      }
    }
    *losses = std::move(merged);
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert
