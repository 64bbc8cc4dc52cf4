// The record of a conversion: what was asked, and the digests of every tensor that was read and
// written, in a file beside the output. docs/command_line.md tells of it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_RECORD_H_
#define TENSORCAST_SRC_CONVERT_RECORD_H_

#include <optional>
#include <string>

#include "convert/conversion_plan.h"
#include "convert/verification.h"

namespace tensorcast::convert {

// Where the record of an output is: in a directory, or beside a file.
std::string RecordPath(const std::string& output);

// Throws files::Error where the record of an output that is yet to be made could not be written.
void CheckRecord(const PlanState& state, bool overwrite);

// Reads the plan's input and its output, which is of one file and stands complete, and writes the
// record; `losses`: what was measured. Throws files::Error.
void WriteRecord(const PlanState& state, bool overwrite, const RunSettings& settings,
                 const RecordedLosses& losses);

struct Recorded {
  Request request;
  RecordedLosses losses;  // empty: none was measured
};

// What an output's record says, for `input`; nothing: it has none. Throws files::Error.
std::optional<Recorded> RecordedConversion(const std::string& input, const std::string& output);

// Reads an output and holds it against its record. Throws files::Error.
Verification VerifyByRecord(const std::string& output, const RunSettings& settings,
                            const files::SpoolOptions& spool);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_RECORD_H_
