// Stacked matrices read as if their last two dimensions were swapped, in bands of rows that are
// bands of columns in the file: a stretch of each of its rows is read, and each byte once.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_TRANSPOSED_INPUT_H_
#define TENSORCAST_SRC_CONVERT_TRANSPOSED_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/tensor_reader.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::convert {

class TransposedInput {
 public:
  // A tensor of two dimensions or more, [.., inputs, outputs], and of a type of numbers.
  TransposedInput(const formats::TensorReader& reader, std::size_t tensor);

  // Of a row that is read: the inputs.
  std::uint64_t columns() const { return inputs_; }
  // Rows that should be read at once, so that what is read of the file at once is no small thing.
  std::uint64_t RowsAtOnce() const;
  // What so many rows of a tensor of this shape and their codes of four bits take at most.
  static std::uint64_t BytesFor(std::span<const std::uint64_t> shape);

  // Elements of `count` rows from `first` on, counted over all matrices, to the first of `out` on,
  // which has whole bytes for them.
  void Read(std::uint64_t first, std::uint64_t count, std::span<std::byte> out) const;

 private:
  // The same of one matrix; `out_first` the element of `out` where they go.
  void ReadBand(std::uint64_t matrix, std::uint64_t first, std::uint64_t count,
                std::span<std::byte> out, std::uint64_t out_first) const;

  const formats::TensorReader& reader_;
  std::size_t tensor_;
  std::uint64_t bits_, inputs_, outputs_;
};

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_TRANSPOSED_INPUT_H_
