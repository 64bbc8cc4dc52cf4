// Units and parts depend on nothing but the plan, so that every process finds the same.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/work_units.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "convert/quantise_jobs.h"
#include "convert/text_jobs.h"

namespace tensorcast::convert {
namespace {

// With fewer files for each part, parts that have one more than others take too much longer.
constexpr std::size_t kFilesOfPart = 4;

// To weigh parts by.
std::uint64_t BytesOfRange(std::uint64_t bytes, std::uint64_t elements, std::uint64_t of) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(elements) /
                                    static_cast<double>(of));
}

// The parts of a job that can be done by themselves, with the bytes that each reads.
std::vector<std::pair<JobRange, std::uint64_t>> RangesOf(const PlannedFile& file, std::size_t place,
                                                         std::uint64_t unit_bytes) {
  const TensorJob& job = file.plan.jobs[place];
  const formats::TensorInfo& tensor = file.TensorOf(place);
  const std::uint64_t units = UnitsOf(tensor);
  if (IsScaledJob(job) || tensor.bytes <= unit_bytes || IsTextJob(*file.plan.reader, job)) {
    return {{{file.first_job + place, 0, UINT64_MAX}, tensor.bytes}};
  }
  const std::uint64_t count = tensor.bytes / unit_bytes + 1;
  const std::uint64_t step = (units / count / kRangeGrain + 1) * kRangeGrain;
  std::vector<std::pair<JobRange, std::uint64_t>> ranges;
  for (std::uint64_t first = 0; first < units; first += step) {
    const std::uint64_t elements = std::min(step, units - first);
    ranges.push_back(
        {{file.first_job + place, first, elements}, BytesOfRange(tensor.bytes, elements, units)});
  }
  return ranges;
}

// The tensors of the output that a job writes: from its own on as many as a scaled weight has.
std::size_t TensorsMade(const TensorJob& job, const formats::TensorInfo& tensor) {
  if (job.repacked != nullptr) return job.repacked->tensors().size();
  if (!job.scaled) return 1;
  return scale::TensorsOf(job.scaled, tensor.name, tensor.shape, tensor.type).size();
}

}  // namespace

std::vector<WorkUnit> CutIntoUnits(const PlanState& state, const formats::TensorWriter& writer,
                                   std::uint64_t unit_bytes) {
  const PlannedFile& file = state.files.front();
  std::map<std::size_t, std::vector<std::size_t>> places_of;  // of jobs, by the output's file
  for (std::size_t place = 0; place < file.plan.jobs.size(); ++place) {
    places_of[writer.FileOf(file.plan.jobs[place].output)].push_back(place);
  }
  std::vector<WorkUnit> units;
  for (const auto& [index, places] : places_of) {
    bool begins = true;
    for (const std::size_t place : places) {
      const TensorJob& job = file.plan.jobs[place];
      const std::size_t made = TensorsMade(job, file.TensorOf(place));
      for (const auto& [range, bytes] : RangesOf(file, place, unit_bytes)) {
        if (begins || units.back().bytes + bytes > unit_bytes) units.emplace_back();
        begins = false;
        WorkUnit& unit = units.back();
        unit.ranges.push_back(range);
        for (std::size_t i = 0; i < made; ++i) unit.tensors.push_back(job.output + i);
        unit.bytes += bytes;
      }
    }
  }
  return units;
}

std::vector<std::size_t> UnitsOfPart(std::span<const WorkUnit> units,
                                     const formats::TensorWriter& writer, std::size_t part,
                                     std::size_t parts) {
  std::vector<std::size_t> file_of;
  for (const WorkUnit& unit : units) {
    file_of.push_back(unit.tensors.empty() ? 0 : writer.FileOf(unit.tensors.front()));
  }
  const std::size_t files =
      units.empty() ? 0 : static_cast<std::size_t>(std::ranges::max(file_of)) + 1;
  const bool by_file = files >= kFilesOfPart * parts;
  // Each group, a file's units or one, goes to the part in which the middle of its bytes lies.
  std::uint64_t total = 0;
  for (const WorkUnit& unit : units) total += unit.bytes;
  std::vector<std::size_t> of_part;
  std::uint64_t before = 0;
  for (std::size_t begin = 0; begin < units.size();) {
    std::size_t end = begin + 1;
    while (by_file && end < units.size() && file_of[end] == file_of[begin]) ++end;
    std::uint64_t bytes = 0;
    for (std::size_t i = begin; i < end; ++i) bytes += units[i].bytes;
    const double middle = static_cast<double>(before) + static_cast<double>(bytes) / 2;
    const double share = total == 0 ? 0 : middle / static_cast<double>(total);
    const auto owner =
        std::min(parts - 1, static_cast<std::size_t>(share * static_cast<double>(parts)));
    for (std::size_t i = begin; i < end && owner + 1 == part; ++i) of_part.push_back(i);
    before += bytes;
    begin = end;
  }
  return of_part;
}

}  // namespace tensorcast::convert
