// From what is decided to what is run.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/file_plan.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convert/quantise_jobs.h"
#include "convert/scaled_tensors.h"
#include "convert/text_jobs.h"
#include "core/shape.h"
#include "files/error.h"
#include "scale/fused_names.h"
#include "scale/scale_companions.h"

namespace tensorcast::convert {

using core::ErrorKind;
using files::Error;

void AddJobs(const formats::TensorReader& reader, const std::string& path,
             const std::vector<std::size_t>* taken, FilePlan& plan) {
  const std::vector<formats::TensorInfo>& tensors = reader.contents().tensors;
  const std::size_t count = taken != nullptr ? taken->size() : tensors.size();
  plan.jobs.reserve(count);
  std::size_t made = 0;  // tensors of the output
  for (std::size_t k = 0; k < count; ++k) {
    TensorJob& job = plan.jobs.emplace_back();
    job.tensor = taken != nullptr ? (*taken)[k] : k;
    job.output = made++;
    const DataType to = plan.decisions[job.tensor].to;
    job.repacked = plan.decisions[job.tensor].repacked;
    if (job.repacked != nullptr) made += job.repacked->tensors().size() - 1;
    if (to == DataType::kUndefined) continue;
    job.to = {to};
    job.scaled = plan.decisions[job.tensor].scaled;
    const formats::TensorInfo& info = tensors[job.tensor];
    if (job.scaled)
      made += scale::TensorsOf(job.scaled, info.name, info.shape, info.type).size() - 1;
    if (to == DataType::kString || StorageBytes(to, info.elements)) continue;
    throw Error(ErrorKind::kContents,
                words::PathText(path) + ": " + words::EscapeName(info.name) + " has more " +
                    std::string(TypeName(to)) + " elements than 64 bits can count the bytes of",
                path);
  }
}

namespace {

void AddScaled(const formats::TensorInfo& source, std::vector<scale::WrittenTensor> all,
               std::vector<formats::TensorInfo>& tensors) {
  for (scale::WrittenTensor& made : all) {
    formats::TensorInfo& info = tensors.emplace_back(source);
    info.name = std::move(made.name);
    info.type = made.type;
    info.dtype = made.dtype;
    info.stored_as = {};
    info.shape = std::move(made.shape);
    info.elements = *core::CheckedProduct(info.shape);
    info.bytes = made.bytes;
    info.fortran_order = false;
  }
}

}  // namespace

formats::FileContents ContentsOf(const formats::TensorReader& reader, const FilePlan& plan) {
  const formats::FileContents& input = reader.contents();
  formats::FileContents output;
  // A checkpoint's metadata is not of one of its tensors.
  if (plan.jobs.size() + plan.left_out == input.tensors.size()) output.metadata = input.metadata;
  output.gguf_keys = input.gguf_keys;
  if (plan.repacks_all) {
    output.metadata.erase(std::string(scale::kMetadataMark));
    // What a file says that MLX alone writes is said anew where it still is MLX's.
    const auto format = output.metadata.find("format");
    if (format != output.metadata.end() && format->second == "mlx") format->second = "pt";
  }
  output.configurations = plan.config.configurations;
  for (const auto& [key, text] : plan.config.metadata) output.metadata[key] = text;
  output.tensors.reserve(plan.jobs.size());
  for (const TensorJob& job : plan.jobs) {
    if (job.scaled) {
      if (job.scaled.IsOfModel()) {
        output.scaled.push_back({output.tensors.size(), job.scaled.axis});
      }
      const formats::TensorInfo& info = input.tensors[job.tensor];
      AddScaled(info, scale::TensorsOf(job.scaled, plan.NameOf(job.tensor), info.shape, info.type),
                output.tensors);
      continue;
    }
    if (job.repacked != nullptr) {
      AddScaled(input.tensors[job.tensor], job.repacked->tensors(), output.tensors);
      continue;
    }
    formats::TensorInfo& info = output.tensors.emplace_back(input.tensors[job.tensor]);
    if (!plan.names.empty()) info.name = plan.names[job.tensor];
    if (const auto text = plan.texts.find(job.output); text != plan.texts.end()) {
      info.text = text->second;
    }
    if (job.to.empty()) continue;
    info.type = job.to.front();
    info.dtype.clear();  // the format's own word for it
    info.stored_as = {};
    info.bytes = info.type == DataType::kString ? 0 : *StorageBytes(info.type, info.elements);
  }
  return output;
}

void CheckScaled(const Sink& sink, const std::string& path, std::span<const TensorJob> jobs) {
  for (const TensorJob& job : jobs) {
    if (!IsQuantiseJob(job)) continue;
    if (job.scaled.IsOfBlocks() != sink.holds_blocks()) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(path) + ": " +
                      (sink.holds_blocks() ? "a .gguf holds scaled weights in GGUF's blocks, and " +
                                                 std::string(job.scaled.format->name) + " is none"
                                           : std::string(job.scaled.format->name) +
                                                 " in GGUF's blocks is written to .gguf files"),
                  path);
    }
    if (job.scaled.IsOfBlocks()) continue;
    if (!sink.holds_scaled_weights()) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(path) +
                      ": scaled weights are written to .safetensors files, directories and models",
                  path);
    }
    if (job.scaled.IsOfModel() && !sink.has_graph()) {
      throw Error(ErrorKind::kArguments,
                  words::PathText(path) + ": the layout onnx is that of .onnx models", path);
    }
  }
}

namespace {

// The input's tensors under the names and in the shapes that the output's have.
formats::FileContents RenamedAsRepacked(const Survey& survey, std::span<const Decision> decisions) {
  formats::FileContents renamed;
  renamed.tensors = survey.tensors();
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (decisions[i].repacked == nullptr) continue;
    const scale::WrittenTensor& codes = decisions[i].repacked->tensors().front();
    renamed.tensors[i].name = codes.name;
    renamed.tensors[i].shape = codes.shape;
  }
  return renamed;
}

void PlanRepacked(const Survey& survey, Repacked repacked, const Sink& sink,
                  const std::string& output, FilePlan& plan) {
  plan.reader = survey.opened.reader;
  plan.repacks = true;
  plan.repacks_all = repacked.is_all;
  std::optional<std::vector<std::size_t>> left = std::move(repacked.left);
  LeaveOutUnread(survey, left);
  plan.left_out = survey.tensors().size() - left->size();
  sink.Arrange(RenamedAsRepacked(survey, plan.decisions), left);
  AddJobs(*plan.reader, survey.path, &*left, plan);
  plan.globals = std::make_unique<SharedGlobals>();
  if (sink.holds_scaled_weights()) {
    plan.config = ConfigOf(survey, output, plan, {}, true);
  }
}

// Of the tensors that are left, or of all.
void SetNames(const Survey& survey, const NewNames& names,
              const std::optional<std::vector<std::size_t>>& left, FilePlan& plan) {
  const std::size_t count = survey.tensors().size();
  plan.names.resize(count);
  for (std::size_t k = 0; k < (left ? left->size() : count); ++k) {
    const std::size_t i = left ? (*left)[k] : k;
    const bool is_applied = plan.scaled != nullptr && plan.scaled->applied(i) != nullptr;
    plan.names[i] = is_applied ? names.Plain(i) : names.Stored(survey, i);
  }
}

// Refuses names that two tensors of the output would have, and those by which a scaled weight
// would be another than the one it was taken for.
void CheckNames(const std::string& path, const FilePlan& plan) {
  if (plan.names.empty()) return;
  const std::vector<formats::TensorInfo>& tensors = plan.reader->contents().tensors;
  std::vector<std::pair<std::string, std::size_t>> made;  // with the tensor of the input
  for (const TensorJob& job : plan.jobs) {
    const formats::TensorInfo& info = tensors[job.tensor];
    const std::string& name = plan.NameOf(job.tensor);
    if (!job.scaled) {
      made.emplace_back(name, job.tensor);
      continue;
    }
    std::string why = scale::WhyNot(job.scaled, name, info.shape);
    if (why.empty() && job.scaled.HasGlobal()) {
      const auto was = scale::FusedPartOf(info.name), is = scale::FusedPartOf(name);
      if (was.has_value() != is.has_value() || (was && was->module != is->module)) {
        why =
            "runtimes tell by names which weights share a scale; rename in a conversion --to same "
            "before this one";
      }
    }
    if (!why.empty()) {
      throw Error(ErrorKind::kArguments,
                  words::PathText(path) + ": " + words::EscapeName(info.name) +
                      " cannot be written as " + words::EscapeName(name) + ": " + why,
                  info.name);
    }
    for (scale::WrittenTensor& one : scale::TensorsOf(job.scaled, name, info.shape, info.type)) {
      made.emplace_back(std::move(one.name), job.tensor);
    }
  }
  std::ranges::sort(made);
  const auto twice = std::ranges::adjacent_find(
      made, {}, [](const auto& one) -> const std::string& { return one.first; });
  if (twice == made.end()) return;
  throw Error(ErrorKind::kArguments,
              words::PathText(path) + ": " + words::EscapeName(tensors[twice->second].name) +
                  " and " + words::EscapeName(tensors[std::next(twice)->second].name) +
                  " would both be written as " + words::EscapeName(twice->first),
              tensors[twice->second].name);
}

}  // namespace

FilePlan PlanFile(const Survey& survey, Decided decided, const Sink& sink,
                  const std::string& output, const NewNames& names) {
  FilePlan plan;
  plan.decisions = std::move(decided.decisions);
  plan.fused = std::move(decided.fused.files);
  if (decided.repacked) {
    PlanRepacked(survey, *std::move(decided.repacked), sink, output, plan);
    return plan;
  }
  ValuesReader values = ApplyScales(survey, WantedBy(plan.decisions), decided.is_written);
  std::optional<std::vector<std::size_t>>& left = values.left;
  LeaveOutUnread(survey, left);
  if (!decided.is_written.empty()) {
    if (!left) {
      left.emplace(survey.tensors().size());
      std::iota(left->begin(), left->end(), std::size_t{0});
    }
    std::erase_if(*left, [&](std::size_t i) { return !decided.is_written[i]; });
  }
  if (left) plan.left_out = survey.tensors().size() - left->size();
  if (decided.only) left = {*decided.only};
  plan.reader = std::move(values.reader);
  plan.scaled = values.scaled;
  if (names.HasAny()) {
    SetNames(survey, names, left, plan);
    sink.Arrange(names.ContentsOf(plan.reader->contents()), left);
  } else {
    sink.Arrange(plan.reader->contents(), left);
  }
  AddJobs(*plan.reader, survey.path, left ? &*left : nullptr, plan);
  CheckScaled(sink, output, plan.jobs);
  CheckNames(survey.path, plan);
  plan.globals = std::make_unique<SharedGlobals>(
      GlobalsOf(*plan.reader, WithGlobals(plan.decisions), plan.fused));
  if (sink.holds_scaled_weights()) {
    plan.config = ConfigOf(survey, output, plan, names, decided.asks_for_type);
  }
  return plan;
}

void MeasureTexts(const formats::TensorReader& reader, const Sink& sink,
                  const files::CreateOptions& create, const JobOptions& options, FilePlan& plan) {
  const std::vector<formats::TensorInfo>& tensors = reader.contents().tensors;
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
