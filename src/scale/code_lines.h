// Codes of 1 to 8 bits that stand in words of 32 bits, brought into lines: one little-endian stream
// of bits for each row of a weight.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_CODE_LINES_H_
#define TENSORCAST_SRC_SCALE_CODE_LINES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/tensor_reader.h"

namespace tensorcast::scale {

using CodeWord = std::uint32_t;
inline constexpr std::uint64_t kWordBits = 32;

// Where a matrix of codes [rows, columns] stands in words. A *line* is one little-endian stream of
// bits: its element i of b bits has bits i * b and on, of one word or of two.
enum class CodeOrder : std::uint8_t {
  kRows,               // a line for each row: words [rows, ceil(columns * b / 32)]
  kPaddedRows,         // the same, but floor(32 / b) codes in a word: none is of two
  kWordRows,           // a line for each row, its words beneath each other
  kColumns,            // a line for each column: words [columns, ceil(rows * b / 32)]
  kWordColumns,        // a line for each column, its words beneath each other
  kPaddedWordColumns,  // the same, but floor(32 / b) codes in a word
  // As kColumns, of 4 bits, but that a word has its rows in the order 0 2 4 6 1 3 5 7.
  kShuffledColumns,
};

// A tensor of such matrices, one after the other. The order's words are there, or more columns of
// them than it needs.
struct CodeMatrix {
  std::size_t tensor = 0;
  CodeOrder order = CodeOrder::kRows;
  std::uint64_t rows = 0, columns = 0;  // of a matrix, as codes
  int bits = 4;
  std::uint64_t word_rows = 0, word_columns = 0;  // of a matrix, as words; 4-byte integers
};

// Whether a type is that of words.
constexpr bool IsWord(DataType type) {
  return type == DataType::kInt32 || type == DataType::kUint32;
}

// The words of a matrix of this order; nothing where they are more than 64 bits count.
struct WordShape {
  std::uint64_t rows = 0, columns = 0;
};
WordShape WordsOf(CodeOrder order, std::uint64_t rows, std::uint64_t columns, int bits);

// Lines of rows, each of which begins `stride` bytes after the one before, a multiple of 4, with
// kLinePadding bytes behind the last: code i of a row is of its bits [i * b, (i + 1) * b).
inline constexpr std::size_t kLinePadding = 8;
struct CodeLines {
  std::vector<std::byte> bytes;
  std::size_t stride = 0;
  int bits = 4;

  const std::byte* Row(std::size_t row) const { return bytes.data() + row * stride; }
};

// Rows [first, first + count) of a matrix, `first` being a multiple of 32.
CodeLines LoadLines(const formats::TensorReader& reader, const CodeMatrix& matrix,
                    std::uint64_t batch, std::uint64_t first, std::uint64_t count);

// Codes [first, first + codes.size()) of a line.
void UnpackCodes(const std::byte* line, int bits, std::uint64_t first,
                 std::span<std::uint8_t> codes);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_CODE_LINES_H_
