// Runs plans: whole, or ranges of their jobs into outputs that were begun once.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/run_conversion.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "convert/quantise_jobs.h"
#include "convert/repack_jobs.h"
#include "convert/text_jobs.h"
#include "core/failure.h"
#include "files/error.h"
#include "files/system.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;

constexpr const char* kNotCreated = "the outputs have not been created";
constexpr const char* kNoJob = "the plan has no job";

// The ranges as jobs of their file. Throws files::Error (arguments).
TensorJob JobOf(const PlannedFile& file, const JobRange& range) {
  const std::size_t place = range.job - file.first_job;
  const formats::TensorInfo& tensor = file.TensorOf(place);
  TensorJob job = file.plan.jobs[place];
  const std::uint64_t all = UnitsOf(tensor);
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kArguments, "job " + std::to_string(range.job) + ", " +
                                           words::Quoted(tensor.name) + ": " + why);
  };
  if (range.first > all || (range.elements != UINT64_MAX && range.elements > all - range.first)) {
    fail("has " + words::CountText(all, "element"));
  }
  const std::uint64_t elements = std::min(range.elements, all - range.first);
  const std::uint64_t end = range.first + elements;
  if (IsTextJob(*file.plan.reader, job) && elements != all) fail("strings are converted whole");
  if (IsScaledJob(job) && elements != all) fail("a scaled weight is made whole");
  if (range.first % kRangeGrain != 0 || (end % kRangeGrain != 0 && end != all)) {
    fail("a range begins and ends at multiples of " + std::to_string(kRangeGrain) +
         " elements, or at the job's end");
  }
  job.first = range.first;
  job.count = elements;
  return job;
}

// Runs jobs of one file, of which job j has the index index_of[j] for `measured`.
std::uint64_t RunFile(const PlanState& state, std::size_t index, std::span<const TensorJob> jobs,
                      const std::function<std::size_t(std::size_t)>& index_of,
                      const RunSettings& settings, OutputsState* outputs, const Measured& measured,
                      bool count_exponents = false) {
  const PlannedFile& file = state.files[index];
  JobOptions options = OptionsOf(state, file, settings);
  options.count_exponents = count_exponents;
  options.measure = measured != nullptr;
  options.measured = [&](std::size_t j, std::size_t, const JobMeasure& measure) {
    measured(index_of(j), measure);
  };
  formats::TensorWriter* const writer =
      outputs != nullptr ? outputs->files[index].second.get() : nullptr;
  const JobTotals totals = RunJobs(*file.plan.reader, jobs, writer, options);
  for (const FusedFile& one : file.plan.fused) one.reader->CheckUnchanged();
  return totals.bytes_read + totals.bytes_written;
}

bool HasLoss(const PlannedFile& file, const TensorJob& job) {
  return !job.to.empty() && !IsTextJob(*file.plan.reader, job);
}

void CheckShared(const std::string& path, const formats::TensorWriter& writer) {
  if (!writer.temporary().empty()) return;
  throw Error(ErrorKind::kUnsupported,
              words::PathText(path) +
                  ": can only be written by one process; .safetensors, .npy, .pb, .gguf and "
                  "directories can "
                  "be shared",
              path);
}

// Two inputs must not become one file.
void CheckDistinct(const PlanState& state) {
  std::set<std::string> names;
  for (const PlannedFile& file : state.files) {
    if (names.insert(std::filesystem::path(file.output).lexically_normal().string()).second) {
      continue;
    }
    throw Error(ErrorKind::kArguments,
                words::PathText(file.output) + ": is the output of two inputs; give each its own",
                file.output);
  }
}

// An estimate from above: the buffers, and what is held of every tensor: by its reader, by its
// writer, by the plan, and of its report.
std::uint64_t MemoryOf(const PlanState& state, const RunSettings& settings) {
  constexpr std::uint64_t kProgram = std::uint64_t{32} << 20;
  constexpr std::uint64_t kTexts = std::uint64_t{32} << 20;
  // The largest, of a weight with a scale that is applied or made, and of a model's.
  constexpr std::uint64_t kTensor = 2048, kModelTensor = 4096;
  std::uint64_t bytes = kProgram;
  bool has_texts = false;
  for (const PlannedFile& file : state.files) {
    const JobOptions options = OptionsOf(state, file, settings);
    std::uint64_t cells = 0;
    for (const TensorJob& job : file.plan.jobs) {
      cells = std::max(
          cells, CellBytesOf(job, file.plan.reader->contents().tensors[job.tensor].shape, options));
      if (job.repacked != nullptr) cells = std::max(cells, RepackBytesOf(job, options));
    }
    bytes = std::max(bytes, kProgram + BufferBytes(options) + cells);
  }
  for (const PlannedFile& file : state.files) {
    for (const formats::TensorInfo& tensor : file.plan.reader->contents().tensors) {
      bytes += (file.sink->has_graph() ? kModelTensor : kTensor) + 4 * tensor.name.size();
    }
    for (const TensorJob& job : file.plan.jobs) {
      has_texts = has_texts || IsTextJob(*file.plan.reader, job);
    }
  }
  return bytes + (has_texts ? kTexts : 0);
}

}  // namespace

Needs CheckOutputs(PlanState& state, bool overwrite, const RunSettings& settings) {
  state.interrupt->Set(settings.interrupted);
  CheckDistinct(state);
  const files::CreateOptions create = OutputOptions(state, overwrite);
  Needs needs;
  for (const PlannedFile& file : state.files) {
    needs.disk_bytes += file.sink->Check(ContentsOf(*file.plan.reader, file.plan), create);
  }
  needs.memory_bytes = MemoryOf(state, settings);
  return needs;
}

std::unique_ptr<OutputsState> BeginOutputs(PlanState& state, bool overwrite,
                                           const RunSettings& settings) {
  state.interrupt->Set(settings.interrupted);
  CheckDistinct(state);
  auto made = std::make_unique<OutputsState>();
  made->plan = &state;
  files::CreateOptions create = OutputOptions(state, overwrite);
  for (const PlannedFile& file : state.files) {
    if (state.files.size() > 1) {  // it is made of its own input alone
      create.permissions =
          files::PermissionsOfOutput(file.output, InputPaths(*file.plan.reader, file.input));
    }
    made->files.emplace_back(
        file.output,
        file.sink->Create(ContentsOf(*file.plan.reader, file.plan), create, settings.interrupted));
  }
  return made;
}

std::string ShareOutputs(const OutputsState& outputs) {
  std::vector<std::string> temporaries;
  for (const auto& [path, writer] : outputs.files) {
    CheckShared(path, *writer);
    writer->SyncPart();  // other machines find what stands in it already
    temporaries.push_back(writer->temporary());
  }
  const PlanState nothing;
  return HandleToJson(outputs.plan != nullptr ? *outputs.plan : nothing, temporaries);
}

std::unique_ptr<OutputsState> JoinOutputs(PlanState& state, std::string_view handle,
                                          const RunSettings& settings) {
  state.interrupt->Set(settings.interrupted);
  const std::vector<std::string> temporaries = HandleFromJson(state, handle);
  auto made = std::make_unique<OutputsState>();
  made->plan = &state;
  made->is_joined = true;
  made->syncs_parts = true;
  for (std::size_t i = 0; i < state.files.size(); ++i) {
    const PlannedFile& file = state.files[i];
    files::CreateOptions begun{true, {}, temporaries[i]};
    begun.max_shard_bytes = state.request.max_shard_bytes;
    made->files.emplace_back(
        file.output,
        file.sink->Create(ContentsOf(*file.plan.reader, file.plan), begun, settings.interrupted));
    CheckShared(file.output, *made->files.back().second);
  }
  return made;
}

void CommitOutputs(const OutputsState& outputs, const std::atomic<bool>* interrupted) {
  if (outputs.plan == nullptr) return;
  if (outputs.is_joined) {
    throw Error(ErrorKind::kArguments,
                "outputs that were joined are committed by the process that created them");
  }
  for (const PlannedFile& file : outputs.plan->files) {
    file.plan.reader->CheckUnchanged();
    for (const FusedFile& one : file.plan.fused) one.reader->CheckUnchanged();
  }
  formats::CommitAll(outputs.files, interrupted);
}

std::uint64_t RunPlan(PlanState& state, const RunSettings& settings, OutputsState* outputs,
                      const Measured& measured, bool count_exponents) {
  state.interrupt->Set(settings.interrupted);
  std::uint64_t bytes = 0;
  for (std::size_t f = 0; f < state.files.size(); ++f) {
    const PlannedFile& file = state.files[f];
    std::vector<TensorJob> with_loss;
    std::vector<std::size_t> places;  // of these
    for (std::size_t j = 0; outputs == nullptr && j < file.plan.jobs.size(); ++j) {
      if (!HasLoss(file, file.plan.jobs[j])) continue;
      with_loss.push_back(file.plan.jobs[j]);
      places.push_back(j);
    }
    std::span<const TensorJob> jobs = file.plan.jobs;
    if (outputs == nullptr) jobs = with_loss;
    bytes += RunFile(
        state, f, jobs,
        [&](std::size_t j) { return file.first_job + (outputs == nullptr ? places[j] : j); },
        settings, outputs, measured, count_exponents);
  }
  return bytes;
}

std::uint64_t RunRanges(PlanState& state, std::span<const JobRange> ranges,
                        const RunSettings& settings, OutputsState* outputs,
                        const Measured& measured, bool count_exponents) {
  std::uint64_t bytes = 0;
  std::vector<std::vector<std::size_t>> ranges_of(state.files.size());
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    if (ranges[r].job >= state.jobs) {
      throw Error(ErrorKind::kArguments, "the plan has " + words::CountText(state.jobs, "job") +
                                             ", not one of index " + std::to_string(ranges[r].job));
    }
    ranges_of[state.FileOf(ranges[r].job)].push_back(r);
  }
  state.interrupt->Set(settings.interrupted);
  for (std::size_t f = 0; f < state.files.size(); ++f) {
    const PlannedFile& file = state.files[f];
    std::vector<TensorJob> jobs;
    std::vector<std::size_t> range_of;
    for (const std::size_t r : ranges_of[f]) {
      TensorJob job = JobOf(file, ranges[r]);
      if (outputs == nullptr && !HasLoss(file, job)) continue;
      if (outputs != nullptr && outputs->is_joined && IsTextJob(*file.plan.reader, job)) {
        throw Error(ErrorKind::kArguments,
                    "job " + std::to_string(ranges[r].job) +
                        ": strings are converted by the process that created the outputs");
      }
      jobs.push_back(std::move(job));
      range_of.push_back(r);
    }
    if (jobs.empty()) continue;
    bytes += RunFile(
        state, f, jobs, [&](std::size_t j) { return range_of[j]; }, settings, outputs, measured,
        count_exponents);
    // The process that commits may be another machine's, and cannot sync what this one holds.
    if (outputs != nullptr && outputs->syncs_parts) outputs->files[f].second->SyncPart();
  }
  return bytes;
}

}  // namespace tensorcast::convert

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

Status CheckOutputs(const ConversionPlan& plan, bool overwrite, const RunSettings& settings,
                    Needs* needs, std::string* error) {
  return core::Guarded(error, [&] {
    PlanState* const state = PlanAccess::StateOf(plan);
    *needs = state != nullptr ? CheckOutputs(*state, overwrite, settings) : Needs();
    return Status();
  });
}

ConversionOutputs::ConversionOutputs() = default;
ConversionOutputs::ConversionOutputs(ConversionOutputs&&) noexcept = default;
ConversionOutputs& ConversionOutputs::operator=(ConversionOutputs&&) noexcept = default;
ConversionOutputs::~ConversionOutputs() = default;

Status ConversionOutputs::Create(const ConversionPlan& plan, bool overwrite,
                                 const RunSettings& settings, ConversionOutputs* outputs,
                                 std::string* error) {
  return core::Guarded(error, [&] {
    PlanState* const state = PlanAccess::StateOf(plan);
    outputs->state_ = state != nullptr ? BeginOutputs(*state, overwrite, settings)
                                       : std::make_unique<OutputsState>();
    return Status();
  });
}

Status ConversionOutputs::Share(std::string* handle, std::string* error) const {
  return core::Guarded(error, [&] {
    if (state_ == nullptr) throw Error(ErrorKind::kArguments, kNotCreated);
    *handle = ShareOutputs(*state_);
    return Status();
  });
}

Status ConversionOutputs::Join(const ConversionPlan& plan, std::string_view handle,
                               const RunSettings& settings, ConversionOutputs* outputs,
                               std::string* error) {
  return core::Guarded(error, [&] {
    PlanState* const state = PlanAccess::StateOf(plan);
    if (state == nullptr) throw Error(ErrorKind::kArguments, kNoJob);
    outputs->state_ = JoinOutputs(*state, handle, settings);
    return Status();
  });
}

Status ConversionOutputs::Commit(std::string* error) {
  return core::Guarded(error, [&] {
    if (state_ != nullptr) CommitOutputs(*state_, nullptr);
    return Status();
  });
}

std::uint64_t ConversionOutputs::bytes() const {
  std::uint64_t bytes = 0;
  if (state_ == nullptr) return bytes;
  for (const auto& [path, writer] : state_->files) bytes += writer->file_bytes();
  return bytes;
}

Status RunConversion(const ConversionPlan& plan, std::span<const JobRange> ranges,
                     const RunSettings& settings, ConversionOutputs* outputs,
                     std::vector<JobLoss>* losses, std::string* error) {
  return core::Guarded(error, [&] {
    PlanState* const state = PlanAccess::StateOf(plan);
    OutputsState* const made = outputs != nullptr ? PlanAccess::StateOf(*outputs) : nullptr;
    if (outputs != nullptr && made == nullptr) {
      throw Error(ErrorKind::kArguments, kNotCreated);
    }
    if (made != nullptr && made->plan != state) {
      throw Error(ErrorKind::kArguments, "the outputs are another plan's");
    }
    if (state == nullptr) {
      if (ranges.empty()) return Status();
      throw Error(ErrorKind::kArguments, kNoJob);
    }
    if (losses == nullptr) {
      RunRanges(*state, ranges, settings, made, nullptr);
      return Status();
    }
    // In the order of the ranges, however the files are run.
    std::map<std::size_t, JobLoss> gathered;
    RunRanges(*state, ranges, settings, made, [&](std::size_t range, const JobMeasure& measure) {
      gathered.emplace(range, JobLoss{ranges[range].job, std::move(measure.loss), measure.gain_db});
    });
    for (auto& [range, loss] : gathered) losses->push_back(std::move(loss));
    return Status();
  });
}

Status RunConversion(const ConversionPlan& plan, const RunSettings& settings, bool overwrite,
                     std::vector<JobLoss>* losses, std::string* error) {
  return core::Guarded(error, [&] {
    PlanState* const state = PlanAccess::StateOf(plan);
    if (state == nullptr) return Status();
    const std::unique_ptr<OutputsState> outputs = BeginOutputs(*state, overwrite, settings);
    Measured measured;
    if (losses != nullptr) {
      measured = [&](std::size_t job, const JobMeasure& measure) {
        losses->push_back({job, std::move(measure.loss), measure.gain_db});
      };
    }
    RunPlan(*state, settings, outputs.get(), measured);
    CommitOutputs(*outputs, settings.interrupted);
    return Status();
  });
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
