// What a ConversionPlan holds: for each input and output what is decided of them, and the inputs
// while they are open. The tool makes its plans by these functions, which throw what the public
// ones turn into a status, so that an error keeps its kind and its remedy.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_CONVERSION_PLAN_H_
#define TENSORCAST_SRC_CONVERT_CONVERSION_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/file_plan.h"
#include "convert/matching.h"
#include "convert/sink.h"
#include "convert/survey.h"
#include "files/error.h"
#include "files/output_options.h"
#include "formats/tensor_info.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

struct PlannedFile {
  std::string input;
  std::string output;
  std::uint64_t input_bytes = 0;
  std::uint64_t input_tensors = 0;
  std::unique_ptr<Sink> sink;
  FilePlan plan;
  std::size_t first_job = 0;  // of the plan's

  // What is decided of a job of this file, by its place there.
  const Decision& DecisionOf(std::size_t job) const {
    return plan.decisions[plan.jobs[job].tensor];
  }
  const formats::TensorInfo& TensorOf(std::size_t job) const {
    return plan.reader->contents().tensors[plan.jobs[job].tensor];
  }
  DataType TypeMade(std::size_t job) const {
    const TensorJob& one = plan.jobs[job];
    return one.to.empty() ? TensorOf(job).type : one.to.front();
  }
};

struct PlanState {
  Request request;
  files::SpoolOptions spool;  // of this process, no part of the plan
  // What the readers ask, which outlive the call that opened them: each call sets its own flag.
  std::shared_ptr<files::CurrentInterrupt> interrupt = std::make_shared<files::CurrentInterrupt>();
  std::vector<PlannedFile> files;
  std::vector<std::string> notes;
  // The last of the notes are theirs.
  std::vector<IdleRule> idle_rules;
  std::size_t jobs = 0;
  mutable std::string digest;  // once PlanDigest was asked: every unit of work asks again

  // The index of the file that a job belongs to; `job` is one.
  std::size_t FileOf(std::size_t job) const;
};

// Gives the functions that are no members what a plan holds.
struct PlanAccess {
  // Null if the plan was never made.
  static PlanState* StateOf(const ConversionPlan& plan) { return plan.state_.get(); }
  static void Set(ConversionPlan& plan, std::unique_ptr<PlanState> state) {
    plan.state_ = std::move(state);
  }
  static OutputsState* StateOf(const ConversionOutputs& outputs) { return outputs.state_.get(); }
};

// Opens the inputs and decides; what is left is MeasureTexts. Throws files::Error,
// files::Interrupted.
std::unique_ptr<PlanState> MakePlan(const Request& request, const RunSettings& settings,
                                    const files::SpoolOptions& spool = {});

// Reads the texts, and prints the numbers, whose size an output must know before it is begun; not
// before it is known that the outputs can be made. Throws files::Error, files::Interrupted.
void MeasureTexts(PlanState& state, bool overwrite, const RunSettings& settings);

// What a job of the plan's file of this index is made of: its tensor, or the codes, the scales and
// what else a weight has whose scales are applied.
std::vector<SourceRange> SourcesOf(const PlannedFile& file, std::size_t index, std::size_t job);

// PlannedJob::bytes_before.
std::uint64_t BytesRead(const PlannedFile& file, std::size_t job);

// See ConversionPlan::findings.
std::vector<std::string> FindingsOf(const PlanState& state);

// The runner's options of a call.
JobOptions OptionsOf(const PlanState& state, const PlannedFile& file, const RunSettings& settings);

// How files beside its inputs are opened.
Opening OpeningOf(const PlanState& state);

// How all outputs are made: none may be one of the inputs.
files::CreateOptions OutputOptions(const PlanState& state, bool overwrite);

// The files that no output may be.
std::vector<std::string> InputPaths(const PlanState& state);

// Tells plans apart.
std::string PlanDigest(const PlanState& state);

std::string PlanToJson(const PlanState& state);
// The same into a new file, which may be no input. Throws files::Error.
void SavePlan(const PlanState& state, const std::string& path, bool overwrite);
// Makes it again; what is left is MeasureTexts. Throws files::Error (contents), which says `what`
// the JSON is, where it is no plan, or another is made, and what MakePlan throws.
std::unique_ptr<PlanState> PlanFromJson(std::string_view json, const std::string& what,
                                        const RunSettings& settings,
                                        const files::SpoolOptions& spool = {});

// The temporary files of a plan's outputs, by file, for a process that joins them.
std::string HandleToJson(const PlanState& state, const std::vector<std::string>& temporaries);
// Throws files::Error (contents) where it is of another plan.
std::vector<std::string> HandleFromJson(const PlanState& state, std::string_view json);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_CONVERSION_PLAN_H_
