// Runs plans, whole or in parts, into outputs that are begun once: RunConversion and
// ConversionOutputs for those who want what is thrown.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_RUN_CONVERSION_H_
#define TENSORCAST_SRC_CONVERT_RUN_CONVERSION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convert/conversion_plan.h"
#include "formats/output_files.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

struct OutputsState {
  const PlanState* plan = nullptr;
  formats::OutputFiles files;  // of each of the plan's
  bool is_joined = false;      // another process commits them
  bool syncs_parts = false;    // ranges that were run are on their disk
};

// Checks that the outputs can be made: their names, their formats, the room on their disks. Throws
// files::Error; opens the inputs of a plan that was read.
Needs CheckOutputs(PlanState& state, bool overwrite, const RunSettings& settings);

// Makes them, each checked. Throws files::Error, files::Interrupted.
std::unique_ptr<OutputsState> BeginOutputs(PlanState& state, bool overwrite,
                                           const RunSettings& settings);

// What a process that takes part is told, and outputs by it. Throw files::Error.
std::string ShareOutputs(const OutputsState& outputs);
std::unique_ptr<OutputsState> JoinOutputs(PlanState& state, std::string_view handle,
                                          const RunSettings& settings);

// Gives the outputs their names, after every job has been run. Throws files::Error, and
// files::Interrupted before the first has its name.
void CommitOutputs(const OutputsState& outputs, const std::atomic<bool>* interrupted);

// What a cast of numbers lost, of a job or of a range, by index: called in their order within a
// file and from the calling thread. The meter may be moved from.
using Measured = std::function<void(std::size_t index, const JobMeasure& measure)>;

// Runs every job; without outputs those whose loss can be measured. Without `measured` no loss is.
// `count_exponents`: what is measured has them. Returns the bytes that were read and written.
// Throws what RunJobs throws.
std::uint64_t RunPlan(PlanState& state, const RunSettings& settings, OutputsState* outputs,
                      const Measured& measured, bool count_exponents = false);
// The same of ranges.
std::uint64_t RunRanges(PlanState& state, std::span<const JobRange> ranges,
                        const RunSettings& settings, OutputsState* outputs,
                        const Measured& measured, bool count_exponents = false);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_RUN_CONVERSION_H_
