// Weights of integers of 1 to 8 bits in words of 32, in groups along the rows that share a scale
// and perhaps a zero point or a bias: (q - z) * s or q * s + b. GPTQ's, AWQ's, compressed-tensors'
// and MLX's, which differ in where the bits stand.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_GROUPED_INTEGERS_H_
#define TENSORCAST_SRC_SCALE_GROUPED_INTEGERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "scale/code_lines.h"
#include "scale/packed_weight.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

// A number of each group of each row: float32, bfloat16 or float16.
struct GroupNumbers {
  std::size_t tensor = 0;
  DataType type = DataType::kFloat16;
  bool is_transposed = false;  // [groups, rows] instead of [rows, groups]
  // The last dimension, which may have more than is used; 0: one number for all.
  std::uint64_t width = 0;
};

struct IntegerGroups {
  std::uint64_t batches = 1;  // stacked matrices
  std::uint64_t group = 1;    // columns that share a scale
  CodeMatrix codes;
  GroupNumbers scales;
  std::optional<GroupNumbers> biases = {};
  // What is subtracted of each code: `zero`, or what a matrix [rows, groups] has and `zero` more.
  int zero = 0;
  std::optional<CodeMatrix> zeros = {};
  // Stored zeros that must not be: of several meanings, and why the weight is refused then.
  std::optional<int> refused_zero = {};
  std::string why_refused = {};
  // The group of each column, int32 [columns], where that is not its place; and whether -1 says
  // that it is.
  std::optional<std::size_t> order = {};
  bool may_be_unordered = false;

  std::uint64_t groups() const { return (codes.columns + group - 1) / group; }
};

// The weight of tensors whose shapes and types are right. `cells`: what the groups are called.
std::shared_ptr<const PackedWeight> MakeGroupedIntegers(IntegerGroups groups);

// "int4-group"; static storage.
std::string_view GroupedFormat(int bits);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_GROUPED_INTEGERS_H_
