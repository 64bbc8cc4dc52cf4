// What a comparison of two inputs found, for people and for programs.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_DIFF_REPORT_H_
#define TENSORCAST_PROGRAMS_DISPLAY_DIFF_REPORT_H_

#include <vector>

#include "tensorcast/diff.hpp"

namespace tensorcast::tool {

struct DiffSummary {
  const DiffRequest* request = nullptr;
  DiffReport report;
  std::vector<CrossedLimit> crossed;
};

// A row for each tensor that differs, or with `verbose` for each; fitted to the terminal.
void PrintDiffTable(const DiffSummary& summary, bool verbose);
// All figures of every tensor. The same bytes for the same input and arguments.
void PrintDiffJson(const DiffSummary& summary);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_DIFF_REPORT_H_
