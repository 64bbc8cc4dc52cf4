// What bench knows of a pair of types: its class of difficulty with its goals, and input values.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_BENCH_BENCH_PAIR_H_
#define TENSORCAST_PROGRAMS_BENCH_BENCH_PAIR_H_

#include <cstddef>
#include <span>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// The classes of docs/performance.md.
enum class PairClass : char {
  kMoveLike = 'A',
  kLight = 'B',
  kRoundTo8 = 'C',
  kWideToNarrow = 'D',
  kRare = 'E',
};

PairClass ClassOf(const TypeInfo& from, const TypeInfo& to);

// The goal of a pair as a share of the copy's speed, in a core's cache (0 where none is set for
// the target) and in memory.
double CacheGoal(const TypeInfo& from, const TypeInfo& to, Target target);
double MemoryGoal(const TypeInfo& from, const TypeInfo& to);

// Fills `bytes` with codes of `from` to be cast to `to`: integers and bool uniformly; floats of
// random mantissa and exponent, normal in both types (to an integer: from 1/8 up to its limit,
// without a sign where it has none). So the common path is timed, not the exceptions. The same for
// every run.
void FillWithValues(const TypeInfo& from, const TypeInfo& to, std::span<std::byte> bytes);

// Fills `bytes` with what weights are like: a normal distribution whose deviation is 0.02, rounded
// to `from`, a floating type of whole bytes. The same for every run.
void FillWithWeights(const TypeInfo& from, std::span<std::byte> bytes);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_BENCH_BENCH_PAIR_H_
