// Highway's word for each of our targets, best first.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_HIGHWAY_TARGETS_H_
#define TENSORCAST_SRC_CORE_HIGHWAY_TARGETS_H_

#include <cstdint>

#include "hwy/detect_targets.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

struct HighwayTarget {
  Target target;
  std::int64_t highway;  // a bit of HWY_TARGETS
};

inline constexpr HighwayTarget kHighwayTargets[] = {
    {Target::kAvx3Dl, HWY_AVX3_DL}, {Target::kAvx3, HWY_AVX3}, {Target::kAvx2, HWY_AVX2},
    {Target::kSse4, HWY_SSE4},      {Target::kNeon, HWY_NEON},
};

// kBest where it has none: give it a row, or disable it in src/core/CMakeLists.txt.
constexpr Target TargetOf(std::int64_t highway) {
  for (const HighwayTarget& row : kHighwayTargets) {
    if (row.highway == highway) return row.target;
  }
  return Target::kBest;
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_HIGHWAY_TARGETS_H_
