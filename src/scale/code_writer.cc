// Each order is the reverse of the one in code_lines.cc; where a matrix stands transposed, what is
// gathered for a write is a stretch of a row of words.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/code_writer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <vector>

#include "scale/reordered_cells.h"

namespace tensorcast::scale {
namespace {

using Word = CodeWord;

constexpr std::uint64_t kTurned = 16;  // words of a line that are turned at once
constexpr std::byte kLowHalf{0x0F};

std::uint64_t BytesOfLine(std::uint64_t codes, int bits) {
  return codes * static_cast<std::uint64_t>(bits) / 8;
}

Word WordAt(const std::byte* line, std::uint64_t index) {
  Word word;
  std::memcpy(&word, line + index * sizeof word, sizeof word);
  return word;
}

std::uint32_t CodeOf(const std::byte* line, int bits, std::uint64_t i) {
  std::uint8_t code;
  UnpackCodes(line, bits, i, std::span(&code, 1));
  return code;
}

// Of a word of AWQ's, the nibble that each of eight rows has.
constexpr std::uint32_t kNibbleOfRow[8] = {0, 4, 1, 5, 2, 6, 3, 7};

// What one write works on: rows of a matrix, from a row of its words on.
struct Store {
  formats::TensorWriter& writer;
  const CodeMatrix& matrix;
  std::uint64_t begin;  // of the matrix, in words
  std::uint64_t first, count;
  const CodeLines& lines;

  void Write(std::uint64_t row, std::uint64_t column, std::span<const Word> words) const {
    writer.Write(matrix.tensor, (begin + row * matrix.word_columns + column) * sizeof(Word),
                 std::as_bytes(words));
  }
};

void StoreRows(const Store& store) {
  const std::uint64_t width = store.matrix.word_columns;
  std::vector<Word> words(static_cast<std::size_t>(store.count * width));
  for (std::uint64_t r = 0; r < store.count; ++r) {
    std::memcpy(words.data() + r * width, store.lines.Row(static_cast<std::size_t>(r)),
                store.lines.stride);
  }
  store.Write(store.first, 0, words);
}

void StoreWordRows(const Store& store) {
  const auto count = static_cast<std::size_t>(store.count);
  std::vector<Word> band(kTurned * count);
  for (std::uint64_t j = 0; j < store.matrix.word_rows; j += kTurned) {
    const auto some = static_cast<std::size_t>(std::min(kTurned, store.matrix.word_rows - j));
    for (std::size_t r = 0; r < count; ++r) {
      std::array<Word, kTurned> words;
      std::memcpy(words.data(), store.lines.Row(r) + j * sizeof(Word), some * sizeof(Word));
      for (std::size_t k = 0; k < some; ++k) band[k * count + r] = words[k];
    }
    for (std::size_t k = 0; k < some; ++k) {
      store.Write(j + k, store.first, std::span(band).subspan(k * count, count));
    }
  }
}

// A line for each column: words of codes that lie beneath each other. `is_beneath`: so do these.
void StoreColumns(const Store& store, bool is_beneath) {
  const int bits = store.matrix.bits;
  const auto b = static_cast<std::uint64_t>(bits);
  const std::uint64_t from = store.first * b / kWordBits;
  const auto height = static_cast<std::size_t>((store.count * b + kWordBits - 1) / kWordBits);
  const auto columns = static_cast<std::size_t>(store.matrix.columns);
  std::vector<Word> words(is_beneath ? height * columns : height);
  for (std::size_t c = 0; c < columns; ++c) {
    if (!is_beneath) std::ranges::fill(words, 0);
    for (std::uint64_t r = 0; r < store.count; ++r) {
      const std::uint64_t at = r * b / kWordBits, shift = r * b % kWordBits;
      const std::uint64_t held =
          std::uint64_t{CodeOf(store.lines.Row(static_cast<std::size_t>(r)), bits, c)} << shift;
      const auto put = [&](std::uint64_t word, std::uint64_t part) {
        words[static_cast<std::size_t>(is_beneath ? word * columns + c : word)] |=
            static_cast<Word>(part);
      };
      put(at, held);
      if (shift + b > kWordBits) put(at + 1, held >> kWordBits);
    }
    if (!is_beneath) store.Write(c, from, words);
  }
  if (is_beneath) store.Write(from, 0, words);
}

void StoreShuffledColumns(const Store& store) {
  const auto width = static_cast<std::size_t>((store.count + 7) / 8);
  std::vector<Word> words(kTurned * width);
  for (std::uint64_t k = 0; k < store.matrix.columns; k += kTurned) {
    const std::uint64_t some = std::min(kTurned, store.matrix.columns - k);
    std::ranges::fill(words, 0);
    for (std::size_t r = 0; r < store.count; ++r) {
      const std::byte* const line = store.lines.Row(r);
      const std::uint32_t shift = 4 * kNibbleOfRow[r % 8];
      for (std::uint64_t half = 0; half < some; half += 8) {
        const Word codes = WordAt(line, (k + half) / 8);
        Word* const to = words.data() + half * width + r / 8;
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(8, some - half); ++i) {
          to[i * width] |= (codes >> (4 * i) & 15) << shift;
        }
      }
    }
    for (std::uint64_t i = 0; i < some; ++i) {
      store.Write(k + i, store.first / 8,
                  std::span(words).subspan(static_cast<std::size_t>(i) * width, width));
    }
  }
}

}  // namespace

CodeLines MakeLines(std::uint64_t rows, std::uint64_t columns, int bits) {
  CodeLines lines;
  lines.bits = bits;
  lines.stride =
      static_cast<std::size_t>(WordsOf(CodeOrder::kRows, 1, columns, bits).columns) * sizeof(Word);
  lines.bytes.resize(static_cast<std::size_t>(rows) * lines.stride + kLinePadding);
  return lines;
}

void PackCodes(std::span<const std::uint8_t> codes, int bits, std::byte* line) {
  if (bits == 8) {
    std::memcpy(line, codes.data(), codes.size());
    return;
  }
  std::size_t i = 0;
  if (bits == 4) {
    for (; i + 2 <= codes.size(); i += 2) {
      line[i / 2] = static_cast<std::byte>(codes[i] | codes[i + 1] << 4);
    }
  }
  for (std::size_t bit = i * static_cast<std::size_t>(bits); i < codes.size();
       ++i, bit += static_cast<std::size_t>(bits)) {
    const unsigned held = static_cast<unsigned>(codes[i]) << bit % 8;
    line[bit / 8] |= static_cast<std::byte>(held);
    if (held > 0xFF) line[bit / 8 + 1] |= static_cast<std::byte>(held >> 8);
  }
}

std::uint64_t CodeWriter::RowGrain() const {
  constexpr std::uint64_t kOfWords = 32;  // rows of 1 to 8 bits that begin at a whole word
  if (places_.scales && places_.scales->order == NumberPlaces::Order::kTiles) {
    return ScaleTiles::kRows;
  }
  const bool is_of_bytes =
      places_.blocks || (places_.codes && places_.codes->in != CodePlaces::In::kWords);
  return is_of_bytes && !places_.zeros ? 1 : kOfWords;
}

void CodeWriter::Write(const CodeRows& rows) const {
  if (rows.count == 0) return;
  if (places_.blocks) return WriteBlocks(*places_.blocks, rows);
  if (places_.codes) WriteCodes(*places_.codes, rows);
  if (places_.scales) WriteNumbers(*places_.scales, rows, rows.scales);
  if (places_.biases) WriteNumbers(*places_.biases, rows, rows.biases);
  if (places_.zeros) WriteWords(*places_.zeros, rows, *rows.zeros);
}

void CodeWriter::WriteCodes(const CodePlaces& places, const CodeRows& rows) const {
  if (places.in == CodePlaces::In::kWords) {
    return WriteWords(places.matrix, rows, *rows.codes);
  }
  const std::uint64_t width = BytesOfLine(places_.columns, places_.bits);
  std::vector<std::byte> bytes(static_cast<std::size_t>(rows.count * width));
  for (std::uint64_t r = 0; r < rows.count; ++r) {
    std::memcpy(bytes.data() + r * width, rows.codes->Row(static_cast<std::size_t>(r)),
                static_cast<std::size_t>(width));
  }
  if (places.in == CodePlaces::In::kHighFirstBytes) {
    for (std::byte& two : bytes) two = two << 4 | two >> 4;
  } else if (places.is_int8) {
    for (std::byte& code : bytes) code ^= std::byte{0x80};
  }
  writer_.Write(places.matrix.tensor, (rows.batch * places_.rows + rows.first) * width, bytes);
}

void CodeWriter::WriteWords(const CodeMatrix& matrix, const CodeRows& rows,
                            const CodeLines& lines) const {
  const Store store = {writer_,    matrix,     rows.batch * matrix.word_rows * matrix.word_columns,
                       rows.first, rows.count, lines};
  switch (matrix.order) {
    case CodeOrder::kRows: return StoreRows(store);
    case CodeOrder::kWordRows: return StoreWordRows(store);
    case CodeOrder::kColumns: return StoreColumns(store, false);
    case CodeOrder::kWordColumns: return StoreColumns(store, true);
    case CodeOrder::kShuffledColumns: return StoreShuffledColumns(store);
    // Old files have them, no layout that is written.
    case CodeOrder::kPaddedRows:
    case CodeOrder::kPaddedWordColumns: assert(false); break;
  }
}

void CodeWriter::WriteNumbers(const NumberPlaces& places, const CodeRows& rows,
                              std::span<const std::byte> numbers) const {
  const std::uint64_t groups = places_.groups, size = places.bytes;
  switch (places.order) {
    case NumberPlaces::Order::kRows:
      writer_.Write(places.tensor, (rows.batch * places_.rows + rows.first) * groups * size,
                    numbers);
      return;
    case NumberPlaces::Order::kColumns: {
      std::vector<std::byte> column(static_cast<std::size_t>(rows.count * size));
      for (std::uint64_t g = 0; g < groups; ++g) {
        for (std::uint64_t r = 0; r < rows.count; ++r) {
          std::memcpy(column.data() + r * size, numbers.data() + (r * groups + g) * size, size);
        }
        writer_.Write(places.tensor, ((rows.batch * groups + g) * places_.rows + rows.first) * size,
                      column);
      }
      return;
    }
    case NumberPlaces::Order::kTiles: break;
  }
  const ScaleTiles tiles = ScaleTiles::Of(groups);
  const std::uint64_t bands = (rows.count + ScaleTiles::kRows - 1) / ScaleTiles::kRows;
  const std::uint64_t of_matrix = (places_.rows + ScaleTiles::kRows - 1) / ScaleTiles::kRows;
  std::vector<std::byte> placed(
      static_cast<std::size_t>(bands * tiles.columns * ScaleTiles::kBytes));
  for (std::uint64_t r = 0; r < rows.count; ++r) {
    for (std::uint64_t g = 0; g < groups; ++g) {
      placed[static_cast<std::size_t>(tiles.PlaceOf(r, g))] = numbers[r * groups + g];
    }
  }
  const std::uint64_t band = rows.batch * of_matrix + rows.first / ScaleTiles::kRows;
  writer_.Write(places.tensor, band * tiles.columns * ScaleTiles::kBytes, placed);
}

void CodeWriter::WriteBlocks(const BlockPlaces& places, const CodeRows& rows) const {
  const std::uint64_t blocks = places_.columns / places.values;  // of a row
  const auto codes = static_cast<std::size_t>(BytesOfLine(places.values, places_.bits));
  const std::size_t size = places.scale_bytes + places.bias_bytes + codes;
  std::vector<std::byte> made(static_cast<std::size_t>(rows.count * blocks) * size);
  std::byte* to = made.data();
  for (std::uint64_t block = 0; block < rows.count * blocks; ++block) {
    const std::byte* from =
        rows.codes->Row(static_cast<std::size_t>(block / blocks)) + block % blocks * codes;
    std::memcpy(to, rows.scales.data() + block * places.scale_bytes, places.scale_bytes);
    to += places.scale_bytes;
    if (places.bias_bytes != 0) {
      std::memcpy(to, rows.biases.data() + block * places.bias_bytes, places.bias_bytes);
      to += places.bias_bytes;
    }
    if (places_.bits == 8) {
      for (std::size_t i = 0; i < codes; ++i) to[i] = from[i] ^ std::byte{0x80};
    } else {
      // Of a run of 2n codes, codes 2i and 2i + 1 are a byte of its line.
      const auto half = static_cast<std::size_t>(places.run / 2);
      for (std::size_t run = 0; run < codes; run += half) {
        for (std::size_t i = 0; i < half; ++i) {
          const std::byte low = from[run + i / 2], high = from[run + half / 2 + i / 2];
          to[run + i] = i % 2 == 0 ? (low & kLowHalf) | high << 4 : low >> 4 | (high & ~kLowHalf);
        }
      }
    }
    to += codes;
  }
  writer_.Write(places.tensor, (rows.batch * places_.rows + rows.first) * blocks * size, made);
}

}  // namespace tensorcast::scale
