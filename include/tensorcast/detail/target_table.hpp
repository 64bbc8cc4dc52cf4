// The instruction sets a cast can be compiled to: one row each, named as Highway's targets in lower
// case.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_DETAIL_TARGET_TABLE_HPP_
#define TENSORCAST_DETAIL_TARGET_TABLE_HPP_

#include <string_view>

#include "tensorcast/types.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

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
}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_DETAIL_TARGET_TABLE_HPP_
