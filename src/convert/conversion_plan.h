// What a ConversionPlan holds: one FilePlan for each input and output, and the inputs while they
// are open.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_CONVERSION_PLAN_H_
#define TENSORCAST_SRC_CONVERT_CONVERSION_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convert/plan.h"
#include "convert/sink.h"
#include "io/tensor_file.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

struct PlannedFile {
  std::string input;
  std::string output;
  std::uint64_t input_bytes = 0;
  std::uint64_t input_tensors = 0;
  // Both null in a plan that was read, until its files are opened.
  std::unique_ptr<io::TensorReader> reader;
  std::unique_ptr<Sink> sink;
  FilePlan plan;               // until then its decisions are those of the jobs
  std::vector<DataType> from;  // of each job
  std::size_t first_job = 0;   // of the plan's

  const Decision& DecisionOf(std::size_t job) const {
    return plan.decisions[reader != nullptr ? plan.jobs[job].tensor : job];
  }
};

struct PlanState {
  CastOptions cast;
  std::optional<DataType> assume_type;
  bool allow_hard_links = false;
  std::vector<PlannedFile> files;
  std::vector<std::string> notes;
  std::size_t jobs = 0;

  // The file that a job belongs to; `job` is one.
  const PlannedFile& FileOf(std::size_t job) const;
};

// For the functions that are no members.
struct PlanAccess {
  static PlanState& StateOf(const ConversionPlan& plan) { return *plan.state_; }
  static void Set(ConversionPlan& plan, std::unique_ptr<PlanState> state) {
    plan.state_ = std::move(state);
  }
  static OutputsState* StateOf(const ConversionOutputs& outputs) { return outputs.state_.get(); }
};

// Opens what of the plan is not open yet, and holds it against the plan. Throws io::Error.
void OpenFiles(PlanState& state, const RunSettings& settings);

// The runner's options of a call.
JobOptions OptionsOf(const PlanState& state, const PlannedFile& file, const RunSettings& settings);

std::string PlanToJson(const PlanState& state);
// Throws io::Error (contents).
std::unique_ptr<PlanState> PlanFromJson(std::string_view json);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_CONVERSION_PLAN_H_
