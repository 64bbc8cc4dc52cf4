// Weights whose rows were rotated in groups before they became integers with a scale for each row:
// ConvRot's, by the regular Hadamard matrix, which undoes itself. ComfyUI's.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_ROTATED_ROWS_H_
#define TENSORCAST_SRC_SCALE_ROTATED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "scale/packed_weight.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

struct RotatedRows {
  PackedWeight::Form form;  // `bits` is 8, or 4: two codes in a byte, the low half first
  std::size_t codes = 0;    // signed integers
  std::uint64_t rows = 0, columns = 0;
  std::uint64_t group = 256;  // columns that were rotated together: 4, 16, 64 or 256
  std::size_t scales = 0;     // one for a row, or one
  DataType scale = DataType::kFloat32;
  bool has_one_scale = false;
};

inline constexpr std::uint64_t kRotations[] = {4, 16, 64, 256};

// The weight of tensors whose sizes and types are right.
std::shared_ptr<const PackedWeight> MakeRotatedRows(RotatedRows rows);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_ROTATED_ROWS_H_
