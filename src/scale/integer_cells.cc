// What needs no lanes of its own.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/integer_cells.h"

#include "scale/cell_lanes.h"
#include "scale/float_sums-inl.h"

namespace tensorcast::scale {

bool AreFloatSums(const float* factors, const float* offsets, std::size_t n, float most) {
  return HWY_NAMESPACE::FloatSums(factors, offsets, n, most);
}

const CellLanes* LanesOfIntegers(const CastPlan& plan) {
  const DataType to = plan.to();
  if (to != DataType::kFloat32 && to != DataType::kBfloat16 && to != DataType::kFloat16) {
    return nullptr;
  }
  const CellLanes* const lanes = FindCellLanes(plan.target());
  return lanes != nullptr && lanes->scale_integers != nullptr ? lanes : nullptr;
}

}  // namespace tensorcast::scale
