// What a fuzzer demands of the code under test: said once, and the process ends.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_FUZZ_DEMAND_H_
#define TENSORCAST_FUZZ_DEMAND_H_

#include <cstdio>
#include <cstdlib>

inline void Demand(bool holds, const char* otherwise) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", otherwise);
  std::abort();
}

#endif  // TENSORCAST_FUZZ_DEMAND_H_
