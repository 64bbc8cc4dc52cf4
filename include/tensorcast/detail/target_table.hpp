// The instruction sets a cast can be compiled to: one row each. What Highway calls them stands in
// src/core/highway_targets.h, what C calls them in tensorcast.h.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_DETAIL_TARGET_TABLE_HPP_
#define TENSORCAST_DETAIL_TARGET_TABLE_HPP_

#include <cstdint>
#include <string_view>

#include "tensorcast/version.h"

namespace tensorcast::inline TENSORCAST_ABI {

// An instruction set. kScalar is the scalar codec itself: slow, and everywhere.
enum class Target : std::int32_t {
  kBest = 0,  // the best this machine runs
  kScalar = 1,
  kSse4 = 2,
  kAvx2 = 3,
  kAvx3 = 4,  // AVX-512 F, BW, CD, DQ, VL
  kNeon = 5,
  kAvx3Dl = 6,  // kAvx3 and VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ, VAES, VPCLMULQDQ (Ice Lake on)
};

namespace detail {

struct TargetRow {
  Target target;
  std::string_view name;
};

inline constexpr TargetRow kTargetTable[] = {
    {Target::kBest, "best"},      {Target::kScalar, "scalar"}, {Target::kSse4, "sse4"},
    {Target::kAvx2, "avx2"},      {Target::kAvx3, "avx3"},     {Target::kNeon, "neon"},
    {Target::kAvx3Dl, "avx3_dl"},
};

}  // namespace detail
}  // namespace tensorcast::inline TENSORCAST_ABI

#endif  // TENSORCAST_DETAIL_TARGET_TABLE_HPP_
