// One cast over and over, to have its instructions counted: scripts/neon count runs it.
//
//     repeat_cast FROM TO TARGET ELEMENTS TIMES
//
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
namespace {

int Run(const char* const* arguments) {
  const std::optional<DataType> from = ParseType(arguments[0]);
  const std::optional<DataType> to = ParseType(arguments[1]);
  const std::optional<Target> target = ParseTarget(arguments[2]);
  const std::uint64_t n = std::strtoull(arguments[3], nullptr, 10);
  const std::uint64_t times = std::strtoull(arguments[4], nullptr, 10);
  if (!from || !to || !target) return 2;
  // As the tool's bench has them: finite, in the range of both types, and integers of all sizes.
  std::vector<double> values(n);
  std::uint64_t state = 1;
  for (double& value : values) {
    state = state * 6364136223846793005 + 1442695040888963407;
    value = static_cast<double>(static_cast<std::int64_t>(state) >> 40) / (1 << 23) * 4;
  }
  std::vector<std::byte> source(*StorageBytes(*from, n));
  std::vector<std::byte> destination(*StorageBytes(*to, n));
  if (!Cast(DataType::kFloat64, std::as_bytes(std::span(values)), *from, source, n).ok()) {
    return 1;
  }
  CastPlan plan;
  if (!CastPlan::Bind(*from, *to, {}, &plan, *target).ok()) return 3;
  for (std::uint64_t i = 0; i < times; ++i) {
    if (!plan.Run(source, 0, destination, 0, n).ok()) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tensorcast

int main(int count, char** arguments) { return count == 6 ? tensorcast::Run(arguments + 1) : 2; }
