// A matrix cut into parts that are read and held together: some whole rows, or where rows are long
// pieces of one.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_MATRIX_PARTS_H_
#define TENSORCAST_SRC_SCALE_MATRIX_PARTS_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "scale/dequantiser.h"
#include "scale/packed_weight.h"

namespace tensorcast::scale {

class MatrixParts {
 public:
  // Parts of about 2 MiB of codes. Rows come in powers of two up to 128 or in multiples of it,
  // columns in multiples of 256: what belongs together in a matrix unit or under a rotation is not
  // torn more often than it has to be.
  MatrixParts(std::uint64_t rows, std::uint64_t columns, int bits)
      : rows_(rows), columns_(columns), part_columns_(columns) {
    constexpr std::uint64_t kPartBytes = std::uint64_t{2} << 20;
    constexpr std::uint64_t kRows = 128;
    const std::uint64_t codes = kPartBytes * 8 / static_cast<std::uint64_t>(bits);
    if (columns > codes) {
      part_columns_ = codes;
      return;
    }
    const std::uint64_t fit = codes / std::max<std::uint64_t>(columns, 1);
    part_rows_ = fit >= kRows ? fit / kRows * kRows : std::bit_floor(fit);
  }

  PackedWeight::Place PlaceOf(std::uint64_t element) const {
    const std::uint64_t row = element / columns_, column = element % columns_;
    PackedWeight::Place place;
    place.part = row / part_rows_ * pieces() + column / part_columns_;
    const Rectangle part = At(place.part);
    place.begin = part.row * columns_ + part.column;
    place.end = place.begin + part.rows * part.columns;
    return place;
  }

  Rectangle At(std::uint64_t part) const {
    Rectangle place;
    place.row = part / pieces() * part_rows_;
    place.rows = std::min(part_rows_, rows_ - place.row);
    place.column = part % pieces() * part_columns_;
    place.columns = std::min(part_columns_, columns_ - place.column);
    return place;
  }

 private:
  std::uint64_t pieces() const { return (columns_ - 1) / part_columns_ + 1; }  // of a row

  std::uint64_t rows_, columns_;
  std::uint64_t part_rows_ = 1, part_columns_;
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_MATRIX_PARTS_H_
