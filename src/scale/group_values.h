// What belongs to the groups of a weight's rows, brought into another layout's types and groups:
// each number stays the number that it is.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_GROUP_VALUES_H_
#define TENSORCAST_SRC_SCALE_GROUP_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/tensor_reader.h"
#include "scale/stored_codes.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

// How the numbers of a source's groups become those of a target's.
struct RowChange {
  StoredForm from;
  std::uint64_t group = 1;              // of the target: that of the source is a multiple
  DataType scale = DataType::kFloat32;  // its scales
  // Values are q * s + b: of a source without biases b is -z * s.
  DataType bias = DataType::kUndefined;
  // Values are (q - z) * s: of a source with biases z is -b / s.
  bool has_zeros = false;

  std::uint64_t groups() const {
    return group == 0 ? 0 : from.columns / group + (from.columns % group != 0);
  }
};

// Some rows of one of stacked matrices.
struct RowRange {
  std::uint64_t batch = 0, first = 0, count = 0;
};

struct GroupValues {
  std::vector<std::byte> scales, biases;  // [rows, groups] of the target, in its types
  std::vector<std::uint8_t> zeros;
};

// Of numbers that all can be what they become.
GroupValues ValuesOf(const formats::TensorReader& reader, const StoredCodes& codes,
                     const RowChange& change, const RowRange& rows);

// Why some of these numbers cannot, as it goes on from the weight's name ("has scales that are not
// float16 numbers"); empty: all can.
std::string WhyNoValues(const formats::TensorReader& reader, const StoredCodes& codes,
                        const RowChange& change, const RowRange& rows);

// Whether all zero points of these rows are this one, as values are (q - z) * s.
bool AreZeros(const formats::TensorReader& reader, const StoredCodes& codes,
              const RowChange& change, const RowRange& rows, int zero);

// Those of another layout: `is_reciprocal`: 1 / t rounded to float32.
std::vector<float> GlobalsOf(std::vector<float> globals, bool is_reciprocal);

// The group of each column, where these are in their order.
std::vector<std::uint32_t> OrderOf(std::uint64_t columns, std::uint64_t group);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_GROUP_VALUES_H_
