// One job for all plain types of a tensor, one for each of its scaled formats.
//
// SPDX-License-Identifier: Apache-2.0
#include "commands/comparison.h"

#include <utility>

namespace tensorcast::tool {
namespace {

// The n-th type of a set.
std::size_t NthOf(const TypeSet& types, std::size_t n) {
  std::size_t type = 0;
  while (!types[type] || n-- > 0) ++type;
  return type;
}

void AddTo(std::unique_ptr<LossMeter>& total, LossMeter& meter, const formats::TensorInfo& info) {
  if (total == nullptr) {
    total = std::make_unique<LossMeter>(std::move(meter));
  } else {
    convert::CheckStatus(total->Merge(meter), info);
  }
}

void Keep(std::size_t type, std::size_t tensor, const LossReport& loss,
          const convert::ExponentCounts* exponents, ComparedTensors& kept) {
  report::PackedReports& reports = kept.reports[type];
  reports.Add(loss);
  kept.places[type][tensor] = static_cast<std::uint32_t>(reports.size());
  if (exponents != nullptr) kept.exponents[tensor] = *exponents;
}

}  // namespace

std::uint64_t BytesOf(const convert::Goal& goal, const formats::TensorInfo& info) {
  if (!goal.scaled) return StorageBytes(goal.type, info.elements).value_or(0);
  std::uint64_t bytes = 0;
  for (const scale::WrittenTensor& made :
       scale::TensorsOf(goal.scaled, info.name, info.shape, info.type)) {
    bytes += made.bytes;
  }
  return bytes;
}

void MeasurePass(const formats::TensorReader& reader, Comparison& comparison, const TypeSet& types,
                 convert::JobOptions options, const KeepReport& keep) {
  const std::vector<formats::TensorInfo>& tensors = reader.contents().tensors;
  std::vector<convert::TensorJob> jobs;
  std::vector<TypeSet> types_of;  // of each job
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TypeSet wanted = comparison.cast_to[i] & types;
    // All plain types together; scaled formats are jobs of their own.
    std::vector<DataType> plain;
    TypeSet plain_types;
    for (std::size_t t = 0; t < comparison.candidates.size(); ++t) {
      if (!wanted[t] || comparison.candidates[t].to.scaled) continue;
      plain.push_back(comparison.candidates[t].to.type);
      plain_types.set(t);
    }
    const auto add = [&](std::vector<DataType> to, TypeSet set) -> convert::TensorJob& {
      types_of.push_back(set);
      convert::TensorJob& job = jobs.emplace_back();
      job.tensor = i;
      job.to = std::move(to);
      return job;
    };
    if (plain_types.any()) add(std::move(plain), plain_types);
    for (std::size_t t = 0; t < comparison.candidates.size(); ++t) {
      if (!wanted[t] || !comparison.candidates[t].to.scaled) continue;
      const convert::Goal goal = comparison.GoalFor(comparison.candidates[t].to, i);
      add({goal.type}, TypeSet().set(t)).scaled = goal.scaled;
    }
  }
  options.measured = [&](std::size_t j, std::size_t type, const convert::JobMeasure& measure) {
    const std::size_t i = jobs[j].tensor;
    const LossReport loss = measure.loss.Report();
    const std::size_t t = NthOf(types_of[j], type);
    Candidate& candidate = comparison.candidates[t];
    candidate.sum.Add(tensors[i].name, loss);
    if (candidate.to.scaled) AddTo(candidate.meter, measure.loss, tensors[i]);
    if (comparison.kept != nullptr) Keep(t, i, loss, measure.exponents, *comparison.kept);
    keep(t, i, loss);
  };
  const convert::JobTotals result = convert::RunJobs(reader, jobs, nullptr, options);
  for (const LossReport& total : result.totals) {
    for (Candidate& candidate : comparison.candidates) {
      if (!candidate.to.scaled && candidate.to.type == total.to) candidate.total = total;
    }
  }
  for (Candidate& candidate : comparison.candidates) {
    if (candidate.meter == nullptr) continue;
    candidate.total = candidate.meter->Report();
    candidate.meter.reset();
  }
}

std::optional<report::KeepAdvice> AdviceFor(
    const std::vector<formats::TensorInfo>& tensors, const Comparison& comparison, std::size_t type,
    const std::function<double(std::size_t k, std::uint32_t i)>& decibel) {
  const Candidate& candidate = comparison.candidates[type];
  std::vector<std::uint32_t> cast;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if (comparison.cast_to[i][type]) cast.push_back(i);
  }
  const auto at = [&](std::size_t k) -> report::CastFigures {
    const formats::TensorInfo& info = tensors[cast[k]];
    return {&info, BytesOf(candidate.to, info), decibel(k, cast[k]), info.stored_as.empty()};
  };
  return report::AdviseKeeping(cast.size(), at, candidate.bytes);
}

}  // namespace tensorcast::tool
