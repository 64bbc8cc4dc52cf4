// What a plan would do, for people and for programs.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_DRY_RUN_H_
#define TENSORCAST_PROGRAMS_DISPLAY_DRY_RUN_H_

#include <vector>

#include "tensorcast/convert.hpp"
#include "tensorcast/report.hpp"

namespace tensorcast::tool {

// Of a plan of one file, whose input is open; with the limits that its loss would cross.
void PrintDryRunTable(const convert::ConversionPlan& plan, const convert::Needs& needs,
                      const std::vector<CrossedLimit>& crossed);
void PrintDryRunJson(const convert::ConversionPlan& plan, const convert::Needs& needs,
                     const std::vector<CrossedLimit>& crossed);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_DRY_RUN_H_
