// In Fortran order what the rows wanted have at one place within a row stands together.
//
// SPDX-License-Identifier: Apache-2.0
#include "diff/row_major.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tensorcast::diff {
namespace {

// Where the element at `place` of a row stands among those places in Fortran order.
std::uint64_t ColumnMajorPlace(std::span<const std::uint64_t> row, std::uint64_t place) {
  std::uint64_t after = 1;
  for (const std::uint64_t n : row) after *= n;
  std::uint64_t result = 0, before = 1;
  for (const std::uint64_t n : row) {
    after /= n;
    result += place / after * before;
    place %= after;
    before *= n;
  }
  return result;
}

}  // namespace

bool IsColumnMajor(const formats::TensorInfo& info) {
  return info.fortran_order && info.shape.size() > 1;
}

RowMajorReader::RowMajorReader(std::shared_ptr<const formats::TensorReader> base)
    : base_(std::move(base)), contents_(base_->contents()) {
  for (formats::TensorInfo& info : contents_.tensors) info.fortran_order = false;
}

void RowMajorReader::Read(std::size_t tensor, std::uint64_t offset,
                          std::span<std::byte> out) const {
  const formats::TensorInfo& info = base_->contents().tensors[tensor];
  const std::uint64_t width = info.elements != 0 ? info.bytes / info.elements : 0;
  if (!IsColumnMajor(info) || width == 0 || out.empty()) {
    base_->Read(tensor, offset, out);
    return;
  }
  const std::span<const std::uint64_t> row = std::span(info.shape).subspan(1);
  const std::uint64_t rows = info.shape.front(), length = info.elements / rows;
  const std::uint64_t first = offset / width, end = first + out.size() / width;
  const std::uint64_t first_row = first / length, last_row = (end - 1) / length;
  const std::uint64_t wanted = last_row - first_row + 1;
  std::vector<std::byte> run(static_cast<std::size_t>(wanted * width));
  const bool is_one_row = wanted == 1;
  const std::uint64_t begin = is_one_row ? first % length : 0;
  const std::uint64_t stop = is_one_row ? (end - 1) % length + 1 : length;
  for (std::uint64_t place = begin; place < stop; ++place) {
    base_->Read(tensor, (ColumnMajorPlace(row, place) * rows + first_row) * width, run);
    for (std::uint64_t i = 0; i < wanted; ++i) {
      const std::uint64_t element = (first_row + i) * length + place;
      if (element < first || element >= end) continue;
      std::memcpy(out.data() + (element - first) * width, run.data() + i * width, width);
    }
  }
}

}  // namespace tensorcast::diff
