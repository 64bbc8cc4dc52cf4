// Casts with a loss meter, the oracle's figures beside them, and tensors fit for both.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_CORE_MEASURED_CAST_H_
#define TENSORCAST_TESTS_CORE_MEASURED_CAST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/forced_plan.h"
#include "oracle/loss.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {

// Specials of every kind, and codes on the destination's edges.
std::vector<std::uint64_t> SpecialCodes(const TypeInfo& from, const TypeInfo& to, std::size_t n);

// Ordinary weights, whose squares do not overflow; blocks of 1,024 of very different scale, so
// that a sum over blocks that rounds on the way is found out.
std::vector<std::uint64_t> ScaledBlocks(const TypeInfo& from, std::size_t n, std::uint64_t seed);

// What nearly all elements of weights are: small numbers, which no destination's range leaves out;
// blocks without signs, blocks with zeros of both signs, blocks of the least numbers, blocks of few
// digits, which tie, and blocks in which one code is any.
std::vector<std::uint64_t> OrdinaryBlocks(const TypeInfo& from, std::size_t n, std::uint64_t seed);

// The oracle's figures for a tensor, whose results are the oracle's too.
oracle::LossFigures ExpectedLoss(const Tensor& source, DataType to, const CastOptions& options);

// Casts elements [first, first + n) of a tensor in one run with `meter`.
void RunMeasured(const ForcedPlan& plan, const Tensor& source, std::span<std::byte> result,
                 std::uint64_t first, std::uint64_t n, LossMeter* meter,
                 Executor* executor = nullptr);

// Holds a report against the figures, bit by bit; rmse and snr_db, whose last step is not
// prescribed, to a few units in the last place.
void ExpectReport(const oracle::LossFigures& expected, const LossReport& report,
                  const std::string& name);

bool SameBytes(const LossReport& a, const LossReport& b);

// Measures one tensor on every target and compares each report with the oracle's, and all with each
// other.
void ExpectLossOnEveryTarget(const Tensor& source, DataType to, const CastOptions& options);

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_CORE_MEASURED_CAST_H_
