// Whether memory is dense, in whatever order of its dimensions, is found here.
//
// SPDX-License-Identifier: Apache-2.0
#include "operands.h"

#include <algorithm>

namespace tensorcast::python {

bool SetOrder(Operand* operand) {
  const std::int64_t* const shape = operand->shape;
  const std::int64_t* const strides = operand->strides;
  const std::size_t dimensions = operand->dimensions;
  std::int64_t next = operand->stride_unit;
  bool is_in_c_order = true;
  for (std::size_t i = dimensions; i-- > 0;) {
    if (shape[i] != 1 && strides[i] != next) is_in_c_order = false;
    next *= shape[i];
  }
  operand->n = static_cast<std::uint64_t>(next / operand->stride_unit);
  operand->is_in_c_order = is_in_c_order || next == 0;
  if (operand->is_in_c_order) return true;
  // The dimensions by their strides: each begins where the ones before end.
  std::array<std::size_t, kMostDimensions> by_stride;  // NOLINT: filled to `used`
  std::size_t used = 0;
  for (std::size_t i = dimensions; i-- > 0;) {
    if (shape[i] != 1) by_stride[used++] = i;
  }
  std::sort(by_stride.begin(), by_stride.begin() + used,
            [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  next = operand->stride_unit;
  for (std::size_t i = 0; i < used; ++i) {
    if (strides[by_stride[i]] != next) return false;
    next *= shape[by_stride[i]];
  }
  return true;
}

}  // namespace tensorcast::python
