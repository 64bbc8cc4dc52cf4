// A plan cut into what is done, and recorded as done, at once: by a run that may be interrupted, or
// by one of many processes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_WORK_UNITS_H_
#define TENSORCAST_SRC_CONVERT_WORK_UNITS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "convert/conversion_plan.h"
#include "convert/run_conversion.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

struct WorkUnit {
  std::vector<JobRange> ranges;
  std::vector<std::size_t> tensors;  // of the output, which they write
  std::uint64_t bytes = 0;           // that are read
};

// Large enough that a sync is cheap beside one, and small enough that little is lost with one.
inline constexpr std::uint64_t kUnitBytes = std::uint64_t{256} << 20;

// The plan's, which is of one file: of about so many bytes each, and of one file of the output. The
// same for the same plan. `writer`: of its output.
std::vector<WorkUnit> CutIntoUnits(const PlanState& state, const formats::TensorWriter& writer,
                                   std::uint64_t unit_bytes);

// Those that part `part` of `parts`, counted from 1, has to do, each in exactly one part: about as
// many bytes in each, and where there are many files all of a file in one.
std::vector<std::size_t> UnitsOfPart(std::span<const WorkUnit> units,
                                     const formats::TensorWriter& writer, std::size_t part,
                                     std::size_t parts);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_WORK_UNITS_H_
