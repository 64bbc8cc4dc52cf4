// The published vectors on every target, and by the constexpr cast.
//
// SPDX-License-Identifier: Apache-2.0
#include "oracle/published_vectors.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/forced_plan.h"

namespace tensorcast::testing {
namespace {

CastOptions FromOracle(const oracle::Options& options) {
  CastOptions result;
  if (!options.saturate) result.saturate = false;
  if (options.round_mode == oracle::RoundingMode::kDown) result.round_mode = RoundingMode::kDown;
  if (options.round_mode == oracle::RoundingMode::kNearest)
    result.round_mode = RoundingMode::kNearest;
  if (options.integer_saturate) result.integer_overflow = IntegerOverflow::kSaturate;
  if (options.fnuz_infinity_nan) result.fnuz_infinity = FnuzInfinity::kNan;
  if (options.finite_only_max) result.finite_only_nan = FiniteOnlyNan::kMax;
  return result;
}

TEST(PublishedVectors, EveryTarget) {
  for (const oracle::PublishedVector& v : oracle::kPublishedVectors) {
    const auto from = static_cast<DataType>(v.from);
    const auto to = static_cast<DataType>(v.to);
    const CastOptions options = FromOracle(v.options);
    // 65 copies: full vectors and a tail on every target.
    const Tensor source = MakeTensor(from, std::vector<std::uint64_t>(65, v.input));
    const Tensor expected = MakeTensor(to, std::vector<std::uint64_t>(65, v.expected));
    for (const Target target : Targets()) {
      const ForcedPlan plan(from, to, options, target);
      std::vector<std::byte> actual(expected.bytes.size());
      plan.Run(source.bytes, 0, actual, 0, source.codes.size());
      ExpectSameCodes(source, to, expected.bytes, actual, plan.Name());
    }
    EXPECT_EQ(CastBits(from, to, v.input, options), v.expected)
        << std::hex << TypeName(from) << " " << v.input << " -> " << TypeName(to);
  }
}

}  // namespace
}  // namespace tensorcast::testing
