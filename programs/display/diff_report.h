// What a comparison of two inputs found, for people and for programs.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_DIFF_REPORT_H_
#define TENSORCAST_PROGRAMS_DISPLAY_DIFF_REPORT_H_

#include <string_view>
#include <vector>

#include "display/tool_json.h"
#include "formats/tensor_info.h"
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
void PrintDiffJson(const DiffSummary& summary, const TakeText& print);

// "other values".
std::string_view DiffKindText(DiffKind kind);
formats::TensorInfo InfoOfSide(const DiffSide& side);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_DIFF_REPORT_H_
