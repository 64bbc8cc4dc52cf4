// Rows of codes with their scales, put where a layout has them: what code_lines.h reads, written. A
// weight comes in some whole rows at a time, in any order, from any thread.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_CODE_WRITER_H_
#define TENSORCAST_SRC_SCALE_CODE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "formats/tensor_writer.h"
#include "scale/code_lines.h"

namespace tensorcast::scale {

// Lines of so many codes each, all zero.
CodeLines MakeLines(std::uint64_t rows, std::uint64_t columns, int bits);
// Puts codes, one in a byte and each below 2^bits, from the beginning of a line on, whose bits are
// zero.
void PackCodes(std::span<const std::uint8_t> codes, int bits, std::byte* line);

// Some rows of one of stacked matrices.
struct CodeRows {
  std::uint64_t batch = 0;
  std::uint64_t first = 0;  // a multiple of CodeWriter::RowGrain
  std::uint64_t count = 0;  // so is this, unless they are the last
  // A line for each row. An integer has its least value, -2^(bits-1), taken away.
  const CodeLines* codes = nullptr;
  // Numbers of each group of each row, [count, groups], as the file has them.
  std::span<const std::byte> scales = {};
  std::span<const std::byte> biases = {};
  // Zero points, a line for each row, with a code for each group.
  const CodeLines* zeros = nullptr;
};

// Tensors are those of the output. Its matrices are [rows, columns] of codes, one after the other.

struct CodePlaces {
  enum class In : std::uint8_t {
    kWords,           // in the matrix's order
    kBytes,           // a row's codes behind each other, the first in the lowest bits
    kHighFirstBytes,  // of 4 bits, the first in the higher ones
  };
  In in = In::kBytes;
  CodeMatrix matrix = {};  // without words where they stand in bytes
  bool is_int8 = false;    // of 8 bits, with a sign
};

struct NumberPlaces {
  enum class Order : std::uint8_t {
    kRows,     // [rows, groups]
    kColumns,  // [groups, rows]
    kTiles,    // of one byte, as ScaleTiles has them, filled up with zeros
  };
  std::size_t tensor = 0;
  std::size_t bytes = 1;  // of a number
  Order order = Order::kRows;
};

// GGUF's: blocks of a row's codes with the scales of their groups before them, and then the biases.
// Of 4 bits, the first half of each `run` of codes stands in the lower bits of its bytes, the
// second in the higher ones; those of 8 bits have a sign.
struct BlockPlaces {
  std::size_t tensor = 0;
  std::uint64_t values = 32;  // of a block
  std::uint64_t run = 32;
  std::size_t scale_bytes = 2, bias_bytes = 0;  // of a block, that is of one group or of several
};

struct WrittenPlaces {
  std::uint64_t rows = 0, columns = 0, groups = 1;
  int bits = 4;
  // Either blocks or the others, of which those that are there get what CodeRows has.
  std::optional<BlockPlaces> blocks = {};
  std::optional<CodePlaces> codes = {};
  std::optional<NumberPlaces> scales = {}, biases = {};
  std::optional<CodeMatrix> zeros = {};  // [rows, groups]
};

class CodeWriter {
 public:
  CodeWriter(formats::TensorWriter& writer, const WrittenPlaces& places)
      : writer_(writer), places_(places) {}

  // In so many rows at a time, or in a multiple of it.
  std::uint64_t RowGrain() const;
  // Throws files::Error.
  void Write(const CodeRows& rows) const;

 private:
  void WriteCodes(const CodePlaces& places, const CodeRows& rows) const;
  void WriteWords(const CodeMatrix& matrix, const CodeRows& rows, const CodeLines& lines) const;
  void WriteNumbers(const NumberPlaces& places, const CodeRows& rows,
                    std::span<const std::byte> numbers) const;
  void WriteBlocks(const BlockPlaces& places, const CodeRows& rows) const;

  formats::TensorWriter& writer_;
  const WrittenPlaces places_;
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_CODE_WRITER_H_
