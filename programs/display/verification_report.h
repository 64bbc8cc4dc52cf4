// What verify found, for people and for programs.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_VERIFICATION_REPORT_H_
#define TENSORCAST_PROGRAMS_DISPLAY_VERIFICATION_REPORT_H_

#include "convert/verification.h"

namespace tensorcast::tool {

struct VerificationSummary {
  const convert::PlanState* plan = nullptr;
  bool is_told_by_output = false;  // the request
  convert::Verification found;
};

// A row for each tensor that is not right, or the first of many; fitted to the terminal.
void PrintVerificationTable(const VerificationSummary& summary, bool verbose);
// All of them. The same bytes for the same input and arguments.
void PrintVerificationJson(const VerificationSummary& summary);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_VERIFICATION_REPORT_H_
