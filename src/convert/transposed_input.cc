// Some rows of the file at a time are put across; elements of less than a byte are put bit by bit.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/transposed_input.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tensorcast::convert {
namespace {

constexpr std::uint64_t kRowsOfFile = 16;     // that are turned at once
constexpr std::uint64_t kBytesAtOnce = 1024;  // of a row of the file

// to[column * to_stride + row] = from[row * from_stride + column], in elements.
template <class Element>
void Turn(const std::byte* from, std::uint64_t from_stride, std::uint64_t rows,
          std::uint64_t columns, std::byte* to, std::uint64_t to_stride) {
  for (std::uint64_t c = 0; c < columns; ++c) {
    for (std::uint64_t r = 0; r < rows; ++r) {
      std::memcpy(to + (c * to_stride + r) * sizeof(Element),
                  from + (r * from_stride + c) * sizeof(Element), sizeof(Element));
    }
  }
}

unsigned BitAt(std::span<const std::byte> bytes, std::uint64_t bit) {
  return static_cast<unsigned>(bytes[bit / 8] >> (bit % 8)) & 1;
}

}  // namespace

TransposedInput::TransposedInput(const formats::TensorReader& reader, std::size_t tensor)
    : reader_(reader), tensor_(tensor) {
  const formats::TensorInfo& info = reader.contents().tensors.at(tensor);
  bits_ = static_cast<std::uint64_t>(FindType(info.type)->bits);
  inputs_ = info.shape.end()[-2];
  outputs_ = info.shape.end()[-1];
}

std::uint64_t TransposedInput::RowsAtOnce() const {
  return std::min(outputs_, kBytesAtOnce * 8 / bits_);
}

std::uint64_t TransposedInput::BytesFor(std::span<const std::uint64_t> shape) {
  // As many bytes again at most for codes, and for what is read and scales.
  return 4 * kBytesAtOnce * std::min(shape.end()[-2], UINT64_MAX / (4 * kBytesAtOnce));
}

void TransposedInput::Read(std::uint64_t first, std::uint64_t count,
                           std::span<std::byte> out) const {
  if (bits_ < 8) std::ranges::fill(out, std::byte{0});
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t row = (first + done) % outputs_;
    const std::uint64_t some = std::min(count - done, outputs_ - row);
    ReadBand((first + done) / outputs_, row, some, out, done * inputs_);
    done += some;
  }
}

void TransposedInput::ReadBand(std::uint64_t matrix, std::uint64_t first, std::uint64_t count,
                               std::span<std::byte> out, std::uint64_t out_first) const {
  // Of a row, which may begin inside a byte.
  const std::uint64_t room = count * bits_ / 8 + (bits_ < 8 ? 2 : 0);
  std::vector<std::byte> rows(static_cast<std::size_t>(room * kRowsOfFile));
  for (std::uint64_t input = 0; input < inputs_; input += kRowsOfFile) {
    const std::uint64_t some = std::min(inputs_ - input, kRowsOfFile);
    for (std::uint64_t r = 0; r < some; ++r) {
      const std::uint64_t begin = ((matrix * inputs_ + input + r) * outputs_ + first) * bits_;
      const std::uint64_t end = begin + count * bits_;
      const std::span<std::byte> row = std::span(rows).subspan(
          static_cast<std::size_t>(r * room), static_cast<std::size_t>((end + 7) / 8 - begin / 8));
      reader_.Read(tensor_, begin / 8, row);
      if (bits_ >= 8) continue;
      for (std::uint64_t c = 0; c < count; ++c) {
        for (std::uint64_t bit = 0; bit < bits_; ++bit) {
          const std::uint64_t to = (out_first + c * inputs_ + input + r) * bits_ + bit;
          out[to / 8] |=
              static_cast<std::byte>(BitAt(row, begin % 8 + c * bits_ + bit) << (to % 8));
        }
      }
    }
    if (bits_ < 8) continue;
    std::byte* const to = out.data() + (out_first + input) * bits_ / 8;
    switch (bits_) {
      case 8: Turn<std::uint8_t>(rows.data(), count, some, count, to, inputs_); break;
      case 16: Turn<std::uint16_t>(rows.data(), count, some, count, to, inputs_); break;
      case 32: Turn<std::uint32_t>(rows.data(), count, some, count, to, inputs_); break;
      default: Turn<std::uint64_t>(rows.data(), count, some, count, to, inputs_); break;
    }
  }
}

}  // namespace tensorcast::convert
