// Decides, in this order: the request's rules, the output's, the scales'.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/file_plan.h"

#include <algorithm>
#include <string_view>

#include "convert/quantise_jobs.h"
#include "convert/scaled_tensors.h"
#include "convert/text_jobs.h"
#include "io/error_text.h"

namespace tensorcast::convert {
namespace {

using io::Error;
using io::ErrorKind;

// The one tensor of those kept, or of all, that the request leaves for `file`, which holds no more.
std::size_t OnlyTensor(const std::vector<io::TensorInfo>& tensors,
                       const std::vector<std::size_t>& kept, const std::vector<Decision>& decisions,
                       std::string_view file) {
  constexpr std::size_t kListed = 10;
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < (kept.empty() ? tensors.size() : kept.size()); ++k) {
    const std::size_t i = kept.empty() ? k : kept[k];
    const Reason reason = decisions[i].reason;
    if (reason != Reason::kNotNamed && reason != Reason::kExcluded) chosen.push_back(i);
  }
  if (chosen.size() == 1) return chosen.front();
  const std::string holds = std::string(file) + " holds one tensor";
  if (chosen.empty()) throw Error(ErrorKind::kArguments, holds + ", and none is chosen");
  std::string names;
  for (std::size_t i = 0; i < chosen.size() && i < kListed; ++i) {
    names += (i == 0 ? "" : ", ") + io::EscapeName(tensors[chosen[i]].name);
  }
  if (chosen.size() > kListed) {
    names += " and " + std::to_string(chosen.size() - kListed) + " more";
  }
  throw Error(ErrorKind::kArguments,
              holds + ", not " + std::to_string(chosen.size()) + " (" + names + ")",
              Remedy::kChooseOneTensor);
}

}  // namespace

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

FilePlan PlanFile(std::unique_ptr<io::TensorReader>& reader, const std::string& path,
                  const std::string& output, const Sink& sink, const InputScales& scales,
                  const SelectionRequest& request, const Opening& opening,
                  const JobOptions& options) {
  FilePlan plan;
  plan.decisions = Select({&reader->contents().tensors, &scales, sink.has_graph()}, request);
  if (!sink.gives_types_back()) {
    RefusePacked(reader->contents().tensors, path, scales, plan.decisions);
  }
  sink.Restrict(plan.decisions, options);
  plan.unkept_rules = CheckKept(reader->contents().tensors, request, plan.decisions);
  plan.fused = FindFused(*reader, path, scales, request, opening, plan.decisions);
  std::vector<std::size_t> taken;
  plan.scaled = ApplyScales(reader, scales, WantedBy(plan.decisions), &taken);
  const std::vector<io::TensorInfo>& tensors = reader->contents().tensors;
  if (!taken.empty()) plan.left_out = tensors.size() - taken.size();
  if (const std::string_view file = sink.one_tensor_file(); !file.empty()) {
    taken = {OnlyTensor(tensors, taken, plan.decisions, file)};
    for (std::size_t i = 0; i < plan.decisions.size(); ++i) {
      if (i != taken.front()) plan.decisions[i] = {};
    }
  }
  if (!opening.inputs.ignore_scales && !sink.gives_types_back()) {
    RefuseScaled(tensors, path, scales, plan.decisions);
  }
  LayOut(*reader, path, taken.empty() ? nullptr : &taken, plan);
  CheckScaled(sink, output, plan.jobs);
  plan.globals =
      std::make_unique<SharedGlobals>(GlobalsOf(*reader, WithGlobals(plan.jobs), plan.fused.files));
  if (sink.holds_scaled_weights()) plan.config = ConfigOf(*reader, scales, output, plan);
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
