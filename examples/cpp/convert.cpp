// Casts a file of tensors in two halves, as two workers would share it: makes the plan, prints it,
// runs each half, and joins what they measured.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tensorcast/convert.hpp"

namespace convert = tensorcast::convert;
using tensorcast::DataType;

namespace {

void Print(const convert::ConversionPlan& plan) {
  for (std::size_t i = 0; i < plan.jobs(); ++i) {
    const convert::PlannedJob job = plan.job(i);
    std::printf("%zu: %s %s to %s, %s\n", i, std::string(ActionName(job.action)).c_str(),
                std::string(TypeName(job.from)).c_str(), std::string(TypeName(job.to)).c_str(),
                std::string(job.text).c_str());
  }
}

// The lower or the upper half of every tensor; strings are converted whole.
std::vector<convert::JobRange> Half(const convert::ConversionPlan& plan, bool upper) {
  std::vector<convert::JobRange> ranges;
  for (std::size_t i = 0; i < plan.jobs(); ++i) {
    const convert::PlannedJob job = plan.job(i);
    const bool is_text = job.from == DataType::kString || job.to == DataType::kString;
    const std::uint64_t elements = job.sources.front().elements;
    const std::uint64_t half = is_text ? 0 : elements / 2 / 1024 * 1024;  // of whole blocks
    if (upper) {
      ranges.push_back({i, half});
    } else if (half != 0) {
      ranges.push_back({i, 0, half});
    }
  }
  return ranges;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: convert IN OUT\n");
    return 2;
  }
  convert::Request request;
  request.files = {{argv[1], argv[2]}};
  request.to = DataType::kFloat8E4M3FN;
  request.rules = {{"*.norm.*", DataType::kBfloat16}};

  std::string error;
  const auto failed = [&](tensorcast::Status status) {
    if (!status.ok()) std::fprintf(stderr, "%s\n", error.c_str());
    return !status.ok();
  };
  convert::ConversionPlan plan;
  if (failed(convert::ConversionPlan::Make(request, {}, &plan, &error))) return 1;
  Print(plan);

  convert::ConversionOutputs outputs;  // under temporary names until they are committed
  if (failed(convert::ConversionOutputs::Create(plan, false, {}, &outputs, &error))) return 1;
  std::vector<convert::JobLoss> losses;
  for (const bool upper : {true, false}) {  // in any order
    if (failed(RunConversion(plan, Half(plan, upper), {}, &outputs, &losses, &error))) return 1;
  }
  if (failed(outputs.Commit(&error)) || failed(MergeLosses(&losses))) return 1;

  for (const convert::JobLoss& one : losses) {
    const tensorcast::LossReport report = one.loss.Report();
    std::printf("%zu: %llu values, SNR %.1f dB\n", one.job,
                static_cast<unsigned long long>(report.elements), report.snr_db);
  }
}
