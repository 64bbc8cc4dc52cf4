// Weights whose rows were rotated in groups before they became integers with a scale for each row:
// ConvRot's, by the regular Hadamard matrix, which undoes itself. ComfyUI's.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_ROTATED_ROWS_H_
#define TENSORCAST_SRC_SCALE_ROTATED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

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

// Rotates groups of so many values (one of kRotations), of which there are whole ones, in double:
// digit by digit of the index in base 4, from the lowest on, each output is ((a + b) + c) + d of
// the four in their order, one of them with its sign changed; then all are divided by the root of
// the group, a power of two. To be called in the default floating-point environment.
void RotateValues(std::span<double> values, std::size_t group);
// The values that such a weight has: of whole groups of signed codes of a byte with one scale,
// which is positive and finite. Exact.
void DecodeRotated(std::span<const std::byte> codes, double scale, std::size_t group,
                   std::span<double> values);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_ROTATED_ROWS_H_
