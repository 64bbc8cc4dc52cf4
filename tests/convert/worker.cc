// One of several processes that run a plan into outputs that another one has begun:
//
//   worker PLAN.json HANDLE.json RANK COUNT LOSSES
//
// Every job is cut into ranges of 2,048 elements, but for scaled weights, which are made whole;
// this process takes those whose number is RANK modulo COUNT. Of each meter it appends the job, as
// 8 bytes, and the saved bytes to LOSSES. Ends with 1, and the error, where the library refuses.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tensorcast/convert.hpp"

namespace convert = tensorcast::convert;

namespace {

std::string Contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void CheckDone(tensorcast::Status status, const std::string& error) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", error.c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  std::string error;
  convert::ConversionPlan plan;
  CheckDone(convert::ConversionPlan::FromJson(Contents(argv[1]), {}, &plan, &error), error);
  convert::ConversionOutputs outputs;
  CheckDone(convert::ConversionOutputs::Join(plan, Contents(argv[2]), {}, &outputs, &error), error);

  constexpr std::uint64_t kMostElements = 2048;
  const unsigned long rank = std::strtoul(argv[3], nullptr, 10);
  const unsigned long count = std::strtoul(argv[4], nullptr, 10);
  std::vector<convert::JobRange> ranges;
  unsigned long number = 0;
  for (std::size_t j = 0; j < plan.jobs(); ++j) {
    const convert::PlannedJob job = plan.job(j);
    const std::uint64_t all = job.sources.front().elements;
    const std::uint64_t piece = job.action == convert::Action::kQuantise ? all : kMostElements;
    for (std::uint64_t at = 0; at < all; at += piece) {
      if (number++ % count != rank) continue;
      ranges.push_back({j, at, all - at < piece ? all - at : piece});
    }
  }
  std::vector<convert::JobLoss> losses;
  CheckDone(convert::RunConversion(plan, ranges, {}, &outputs, &losses, &error), error);
  if (outputs.Commit().code() != tensorcast::StatusCode::kBadInput) return 3;

  std::ofstream file(argv[5], std::ios::binary);
  std::vector<std::byte> bytes(tensorcast::LossMeter::SavedBytes());
  for (const convert::JobLoss& loss : losses) {
    const std::uint64_t job = loss.job;
    file.write(reinterpret_cast<const char*>(&job), sizeof job);
    CheckDone(loss.loss.Save(bytes), "no meter");
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  return file.flush() ? 0 : 4;
}
