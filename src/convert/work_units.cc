// Cuts plans into units that processes take one at a time.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/work_units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "convert/quantise_jobs.h"
#include "convert/text_jobs.h"
#include "core/failure.h"
#include "files/system_directory.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {
namespace {

// What each of them lost is held until the unit is done, and recorded as one.
constexpr std::size_t kMostRanges = 4096;

// With fewer files for each part, parts that have one more than others take too much longer.
constexpr std::size_t kFilesOfPart = 4;

// Elements of whole rows that begin and end where ranges may, of about `most`.
std::uint64_t PieceOf(const formats::TensorInfo& tensor, std::uint64_t most) {
  std::uint64_t piece = kRangeGrain;
  if (!tensor.shape.empty() && tensor.shape.front() != 0) {
    const std::uint64_t row = UnitsOf(tensor) / tensor.shape.front();
    const std::uint64_t common = std::gcd(row, kRangeGrain);
    if (row / common <= most / kRangeGrain) piece = row / common * kRangeGrain;
  }
  return std::max(piece, most / piece * piece);
}

// Cuts the jobs of one file of an output, given by their places in the plan's file.
class FileCutter {
 public:
  FileCutter(std::size_t output, std::string path, std::uint64_t most_bytes,
             std::vector<WorkUnit>& units)
      : output_(output),
        path_(std::move(path)),
        most_bytes_(std::max<std::uint64_t>(most_bytes, 1)),
        units_(units),
        first_(units.size()) {}

  void AddWhole(std::size_t job, std::uint64_t bytes, const formats::TensorInfo& tensor,
                bool is_for_creator) {
    Take(bytes, is_for_creator).ranges.push_back({job, 0, UnitsOf(tensor)});
  }

  void AddInRows(std::size_t job, std::uint64_t bytes, const formats::TensorInfo& tensor) {
    const std::uint64_t all = UnitsOf(tensor);
    const double share = static_cast<double>(most_bytes_) / static_cast<double>(bytes);
    const std::uint64_t piece =
        PieceOf(tensor, static_cast<std::uint64_t>(share * static_cast<double>(all)));
    const auto bytes_to = [&](std::uint64_t end) {
      const double part = static_cast<double>(end) / static_cast<double>(all);
      return end == all ? bytes : static_cast<std::uint64_t>(part * static_cast<double>(bytes));
    };
    for (std::uint64_t first = 0; first < all;) {
      const std::uint64_t elements = std::min(piece, all - first);
      Take(bytes_to(first + elements) - bytes_to(first), false)
          .ranges.push_back({job, first, elements});
      first += elements;
    }
  }

  void Number() {
    for (std::size_t i = first_; i < units_.size(); ++i) {
      units_[i].part = i - first_;
      units_[i].parts = units_.size() - first_;
    }
  }

 private:
  // The unit that takes so many bytes more.
  WorkUnit& Take(std::uint64_t bytes, bool is_for_creator) {
    const bool is_open = units_.size() > first_ && units_.back().is_for_creator == is_for_creator &&
                         bytes <= most_bytes_ && units_.back().bytes <= most_bytes_ - bytes &&
                         units_.back().ranges.size() < kMostRanges;
    if (!is_open) {
      WorkUnit& unit = units_.emplace_back();
      unit.output = output_;
      unit.file = path_;
      unit.is_for_creator = is_for_creator;
    }
    units_.back().bytes += bytes;
    return units_.back();
  }

  const std::size_t output_;
  const std::string path_;
  const std::uint64_t most_bytes_;
  std::vector<WorkUnit>& units_;
  const std::size_t first_;
};

}  // namespace

std::vector<WorkUnit> UnitsOfPlan(const PlanState& state, std::uint64_t most_bytes) {
  std::vector<WorkUnit> units;
  const files::CreateOptions options = OutputOptions(state, true);
  for (std::size_t output = 0; output < state.files.size(); ++output) {
    const PlannedFile& file = state.files[output];
    std::vector<std::uint32_t> file_of;
    const std::vector<std::string> names =
        file.sink->FilesOf(ContentsOf(*file.plan.reader, file.plan), options, file_of);
    std::vector<std::vector<std::size_t>> places(std::max<std::size_t>(names.size(), 1));
    for (std::size_t j = 0; j < file.plan.jobs.size(); ++j) {
      places[names.empty() ? 0 : file_of.at(file.plan.jobs[j].output)].push_back(j);
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      FileCutter cutter(output, names.empty() ? file.output : files::Joined(file.output, names[i]),
                        most_bytes, units);
      for (const std::size_t j : places[i]) {
        const TensorJob& job = file.plan.jobs[j];
        const std::size_t index = file.first_job + j;
        const std::uint64_t bytes = BytesRead(file, j);
        const bool is_text = IsTextJob(*file.plan.reader, job);
        if (is_text || IsScaledJob(job) || bytes <= most_bytes) {
          cutter.AddWhole(index, bytes, file.TensorOf(j), is_text);
        } else {
          cutter.AddInRows(index, bytes, file.TensorOf(j));
        }
      }
      cutter.Number();
    }
  }
  return units;
}

std::vector<std::size_t> UnitsOfPart(std::span<const WorkUnit> units, std::size_t part,
                                     std::size_t parts) {
  const auto files =
      static_cast<std::size_t>(std::ranges::count(units, std::size_t{0}, &WorkUnit::part));
  const bool by_file = files >= kFilesOfPart * parts;
  // Each group, a file's units or one, goes to the part in which the middle of its bytes lies.
  std::uint64_t total = 0;
  for (const WorkUnit& unit : units) total += unit.bytes;
  std::vector<std::size_t> of_part;
  std::uint64_t before = 0;
  for (std::size_t begin = 0; begin < units.size();) {
    std::size_t end = begin + 1;
    while (by_file && end < units.size() && units[end].part != 0) ++end;
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

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

Status CutIntoUnits(const ConversionPlan& plan, std::uint64_t most_bytes,
                    std::vector<WorkUnit>* units, std::string* error) {
  return core::Guarded(error, [&] {
    *units = PlanAccess::StateOf(plan) != nullptr
                 ? UnitsOfPlan(*PlanAccess::StateOf(plan), most_bytes)
                 : std::vector<WorkUnit>();
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert
