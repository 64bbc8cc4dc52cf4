// Casting on one named target, with the proof that its code is what ran, and the comparison with
// what the oracle expects.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_CORE_FORCED_PLAN_H_
#define TENSORCAST_TESTS_CORE_FORCED_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/option_sets.h"
#include "oracle/cast.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {

class ForcedPlan {
 public:
  ForcedPlan(DataType from, DataType to, const CastOptions& options, Target target);

  // Runs, and fails the test where Run refuses or other code than the target's has run.
  void Run(std::span<const std::byte> source, std::uint64_t source_first,
           std::span<std::byte> destination, std::uint64_t destination_first, std::uint64_t n,
           RunOptions run = {}) const;
  const CastPlan& plan() const { return plan_; }
  // "float32 -> int8, avx2, integer_overflow=saturate".
  std::string Name() const;

 private:
  CastPlan plan_;
  Target target_;
};

// A tensor of codes, packed as the library takes it.
struct Tensor {
  DataType type;
  std::vector<std::uint64_t> codes;
  std::vector<std::byte> bytes;
};
Tensor MakeTensor(DataType type, std::vector<std::uint64_t> codes);

// Casts a tensor on every target under one set of options, whole and in runs of an element or four,
// and holds every bit against the oracle.
void ExpectCastOnEveryTarget(const Tensor& source, DataType to, const CastOptions& options);

// Fails with the first few elements that differ; true where all are equal.
bool ExpectSameCodes(const Tensor& source, DataType to, std::span<const std::byte> expected,
                     std::span<const std::byte> actual, const std::string& name);

// Codes given to the tests of this process and compared, for their last line.
std::uint64_t ComparedCodes();

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_CORE_FORCED_PLAN_H_
