// What verify found, for people and for programs.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_VERIFICATION_REPORT_H_
#define TENSORCAST_PROGRAMS_DISPLAY_VERIFICATION_REPORT_H_

#include <string>

#include "convert/conversion_plan.h"
#include "convert/verification.h"
#include "display/tool_json.h"

namespace tensorcast::tool {

// Who said what was asked.
enum class ToldBy { kFlags, kOutput, kRecord };

struct VerificationSummary {
  const convert::PlanState* plan = nullptr;  // null: the output was held against its record alone
  std::string output;
  ToldBy told_by = ToldBy::kFlags;
  convert::Verification found;
};

// A row for each tensor that is not right, or the first of many; fitted to the terminal.
void PrintVerificationTable(const VerificationSummary& summary, bool verbose);
// All of them. The same bytes for the same input and arguments.
void PrintVerificationJson(const VerificationSummary& summary, const TakeText& print);

// In words: what is wrong with a tensor beyond its kind, with a file, and what all of it comes to.
std::string FaultText(const convert::FaultyTensor& tensor);
std::string FaultyFileText(const convert::FaultyFile& file);
std::string VerdictText(const VerificationSummary& summary);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_VERIFICATION_REPORT_H_
