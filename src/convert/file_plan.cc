// From what is decided to what is run.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/file_plan.h"

#include <algorithm>
#include <utility>

#include "convert/quantise_jobs.h"
#include "convert/scaled_tensors.h"
#include "convert/text_jobs.h"
#include "files/error.h"

namespace tensorcast::convert {

using io::Error;
using io::ErrorKind;

void CheckScaled(const Sink& sink, const std::string& path, std::span<const TensorJob> jobs) {
  for (const TensorJob& job : jobs) {
    if (!IsQuantiseJob(job)) continue;
    if (!sink.holds_scaled_weights()) {
      throw Error(ErrorKind::kUnsupported,
                  io::PathText(path) +
                      ": scaled weights are written to .safetensors files, directories and models");
    }
    if (job.scaled.IsOfModel() && !sink.has_graph()) {
      throw Error(ErrorKind::kArguments,
                  io::PathText(path) + ": the layout onnx is that of .onnx models");
    }
  }
}

FilePlan PlanFile(const Survey& survey, Decided decided, const Sink& sink,
                  const std::string& output) {
  FilePlan plan;
  plan.decisions = std::move(decided.decisions);
  plan.fused = std::move(decided.fused.files);
  ValuesReader values = ApplyScales(survey, WantedBy(plan.decisions));
  std::vector<std::size_t>& left = values.left;
  if (!left.empty()) plan.left_out = survey.tensors().size() - left.size();
  if (decided.only) left = {*decided.only};
  plan.reader = std::move(values.reader);
  plan.scaled = values.scaled;
  LayOut(*plan.reader, survey.path, left.empty() ? nullptr : &left, plan);
  CheckScaled(sink, output, plan.jobs);
  plan.globals = std::make_unique<SharedGlobals>(
      GlobalsOf(*plan.reader, WithGlobals(plan.decisions), plan.fused));
  if (sink.holds_scaled_weights()) {
    plan.config = ConfigOf(*plan.reader, survey.scales, output, plan);
  }
  return plan;
}

void MeasureTexts(const io::TensorReader& reader, const Sink& sink, const io::CreateOptions& create,
                  const JobOptions& options, FilePlan& plan) {
  const std::vector<io::TensorInfo>& tensors = reader.contents().tensors;
  const auto makes_text = [&](const TensorJob& job) {
    return (job.to.empty() ? tensors[job.tensor].type : job.to.front()) == DataType::kString;
  };
  if (!sink.measures_texts() || std::none_of(plan.jobs.begin(), plan.jobs.end(), makes_text)) {
    return;
  }
  sink.Check(ContentsOf(reader, plan), create);  // refuse before reading a long file
  for (const TensorJob& job : plan.jobs) {
    if (makes_text(job)) plan.texts[job.output] = MeasureTexts(reader, job, options);
  }
}

}  // namespace tensorcast::convert
