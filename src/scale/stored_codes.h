// What of a quantised weight stands in its file, brought into one order whatever its layout is:
// rows of codes, with the scales, zero points, biases of their groups as they are stored. Nothing
// is computed of it: from here a weight goes into another layout as it is.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_STORED_CODES_H_
#define TENSORCAST_SRC_SCALE_STORED_CODES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "formats/tensor_reader.h"
#include "scale/code_lines.h"
#include "scale/scaled_tensor.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

struct ScaledWeight;  // scale/scaled_weights.h

// A weight of `batches` stacked matrices [rows, columns]; groups of `group` columns of a row share
// a scale, the last of a row perhaps fewer. A value is (q - z) * s, or q * s + b where there are
// biases, times or by a global scale.
struct StoredForm {
  std::uint64_t batches = 1, rows = 1, columns = 1;
  std::uint64_t group = 1;  // 0: scales are not of rows' groups: of the tensor, or of blocks
  int bits = 4;
  // The float that a code is; kUndefined: an integer without a sign, of which the least value that
  // its layout has is taken away.
  DataType element = DataType::kUndefined;
  DataType scale = DataType::kFloat32;
  int zero = 0;            // z, where groups have none of their own
  bool has_zeros = false;  // they have
  DataType bias = DataType::kUndefined;
  bool has_order = false;  // columns may be of any group
  Factor global_use = Factor::kNone;
  std::uint64_t globals = 0;  // 1, or one of each matrix

  std::uint64_t groups() const { return group == 0 ? 0 : columns / group + (columns % group != 0); }
  bool IsInteger() const { return element == DataType::kUndefined; }
};

// Any number of threads may read at once. All throw files::Error.
class StoredCodes {
 public:
  virtual ~StoredCodes() = default;
  virtual const StoredForm& stored() const = 0;
  // Rows [first, first + count) of a matrix; `first` is a multiple of 128.
  virtual CodeLines ReadCodes(const formats::TensorReader& reader, std::uint64_t batch,
                              std::uint64_t first, std::uint64_t count) const = 0;
  // The scales of these rows, [count, groups], in their type.
  virtual std::vector<std::byte> ReadScales(const formats::TensorReader& reader,
                                            std::uint64_t batch, std::uint64_t first,
                                            std::uint64_t count) const = 0;
  // So the biases, where there are some.
  virtual std::vector<std::byte> ReadBiases(const formats::TensorReader& reader,
                                            std::uint64_t batch, std::uint64_t first,
                                            std::uint64_t count) const;
  // z of each of these groups, where they have their own.
  virtual std::vector<std::int16_t> ReadZeros(const formats::TensorReader& reader,
                                              std::uint64_t batch, std::uint64_t first,
                                              std::uint64_t count) const;
  // The group of each column; empty: they are in order.
  virtual std::vector<std::uint32_t> ReadOrder(const formats::TensorReader& reader) const;
  // As many as `globals`.
  virtual std::vector<float> ReadGlobals(const formats::TensorReader& reader) const;
  // Whether rows stand across the file, so that few reads of many of them cost least.
  virtual bool IsReadInBands() const { return false; }
};

// Codes in bytes or of a type of their own, and scales over cells, of a weight in a layout; null
// where it has zero points, or rows of no whole bytes.
std::shared_ptr<const StoredCodes> MakeStoredCells(const ScaledWeight& weight);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_STORED_CODES_H_
