// A plan cut into what is done, and recorded as done, at once: by a run that may be interrupted, or
// by one of several processes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_WORK_UNITS_H_
#define TENSORCAST_SRC_CONVERT_WORK_UNITS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "convert/conversion_plan.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

// Large enough that a sync is cheap beside one, and small enough that little is lost with one.
inline constexpr std::uint64_t kUnitBytes = std::uint64_t{256} << 20;

// CutIntoUnits for those who want what is thrown.
std::vector<WorkUnit> UnitsOfPlan(const PlanState& state, std::uint64_t most_bytes);

// Those that part `part` of `parts`, counted from 1, has to do, each in exactly one part: about as
// many bytes in each, and where there are many files all of a file in one.
std::vector<std::size_t> UnitsOfPart(std::span<const WorkUnit> units, std::size_t part,
                                     std::size_t parts);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_WORK_UNITS_H_
