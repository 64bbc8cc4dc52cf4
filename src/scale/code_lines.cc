// Matrices that stand transposed are read a band of rows at a time and turned in small squares, so
// that neither what is read nor what is written skips about.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/code_lines.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/little_endian.h"

namespace tensorcast::scale {
namespace {

using Word = CodeWord;

std::uint64_t DivideUp(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

// The words of a line of so many codes.
std::uint64_t LineWords(std::uint64_t codes, int bits) {
  const auto b = static_cast<std::uint64_t>(bits);
  return codes / kWordBits * b + DivideUp(codes % kWordBits * b, kWordBits);
}

// Reads words of one row of words of a matrix.
class WordReader {
 public:
  WordReader(const formats::TensorReader& reader, const CodeMatrix& matrix, std::uint64_t batch)
      : reader_(reader), matrix_(matrix), begin_(batch * matrix.word_rows * matrix.word_columns) {}

  void Read(std::uint64_t row, std::uint64_t column, std::span<Word> words) const {
    const std::uint64_t first = begin_ + row * matrix_.word_columns + column;
    reader_.Read(matrix_.tensor, first * sizeof(Word), std::as_writable_bytes(words));
  }

 private:
  const formats::TensorReader& reader_;
  const CodeMatrix& matrix_;
  const std::uint64_t begin_;
};

// Writes codes one after the other, from the lowest bit on.
class LineWriter {
 public:
  LineWriter(std::byte* line, int bits) : line_(line), bits_(bits) {}
  void Put(std::uint32_t code) {
    held_ |= std::uint64_t{code} << count_;
    count_ += bits_;
    while (count_ >= 8) {
      *line_++ = static_cast<std::byte>(held_);
      held_ >>= 8;
      count_ -= 8;
    }
  }
  void Finish() {
    if (count_ > 0) *line_ = static_cast<std::byte>(held_);
  }

 private:
  std::byte* line_;
  int bits_;
  std::uint64_t held_ = 0;
  int count_ = 0;
};

// What one load works on: rows [first, first + count) of one matrix, as lines.
struct Load {
  const WordReader words;
  const CodeMatrix& matrix;
  std::uint64_t first, count;
  CodeLines& lines;

  std::byte* Row(std::uint64_t row) const { return lines.bytes.data() + row * lines.stride; }
};

void LoadRows(const Load& load) {
  const std::uint64_t width = load.matrix.word_columns;
  std::vector<Word> words(static_cast<std::size_t>(load.count * width));
  load.words.Read(load.first, 0, words);
  for (std::uint64_t r = 0; r < load.count; ++r) {
    std::memcpy(load.Row(r), words.data() + r * width, load.lines.stride);
  }
}

void LoadPaddedRows(const Load& load) {
  const auto bits = static_cast<std::uint32_t>(load.matrix.bits);
  const std::uint32_t of_word = kWordBits / bits, mask = (1u << bits) - 1;
  const std::uint64_t width = load.matrix.word_columns;
  std::vector<Word> words(static_cast<std::size_t>(load.count * width));
  load.words.Read(load.first, 0, words);
  for (std::uint64_t r = 0; r < load.count; ++r) {
    LineWriter line(load.Row(r), load.matrix.bits);
    for (std::uint64_t c = 0; c < load.matrix.columns; ++c) {
      line.Put(words[r * width + c / of_word] >> (c % of_word * bits) & mask);
    }
    line.Finish();
  }
}

void LoadWordRows(const Load& load) {
  constexpr std::uint64_t kBand = 16;  // a line of the cache of each row
  const auto count = static_cast<std::size_t>(load.count);
  std::vector<Word> band(kBand * count);
  for (std::uint64_t j = 0; j < load.matrix.word_rows; j += kBand) {
    const std::uint64_t some = std::min(kBand, load.matrix.word_rows - j);
    for (std::uint64_t k = 0; k < some; ++k) {
      load.words.Read(j + k, load.first, std::span(band).subspan(k * count, count));
    }
    for (std::size_t r = 0; r < count; ++r) {
      std::array<Word, kBand> turned;
      for (std::size_t k = 0; k < some; ++k) turned[k] = band[k * count + r];
      std::memcpy(load.Row(r) + j * sizeof(Word), turned.data(), some * sizeof(Word));
    }
  }
}

// The nibbles of 8 words as a square, turned.
void TurnNibbles(std::array<Word, 8>& words) {
  const auto swap = [&](std::size_t a, std::size_t b, unsigned shift, Word mask) {
    const Word moved = (words[a] >> shift ^ words[b]) & mask;
    words[a] ^= moved << shift;
    words[b] ^= moved;
  };
  for (std::size_t i = 0; i < 4; ++i) swap(i, i + 4, 16, 0x0000FFFF);
  for (const std::size_t i : {0, 1, 4, 5}) swap(i, i + 2, 8, 0x00FF00FF);
  for (const std::size_t i : {0, 2, 4, 6}) swap(i, i + 1, 4, 0x0F0F0F0F);
}

// Of a word, its nibble that a row has.
constexpr std::size_t kShuffledRow[8] = {0, 2, 4, 6, 1, 3, 5, 7};

void LoadShuffledColumns(const Load& load) {
  constexpr std::uint64_t kBand = 128;  // columns: a line of the cache of each row
  const std::uint64_t width = DivideUp(load.count, 8);
  const auto words_of_row = static_cast<std::size_t>(width);
  std::vector<Word> band(kBand * words_of_row);
  for (std::uint64_t k = 0; k < load.matrix.columns; k += kBand) {
    const std::uint64_t some = std::min(kBand, load.matrix.columns - k);
    std::fill(band.begin(), band.end(), 0);
    for (std::uint64_t i = 0; i < some; ++i) {
      load.words.Read(k + i, load.first / 8,
                      std::span(band).subspan(i * words_of_row, words_of_row));
    }
    for (std::size_t c = 0; c < words_of_row; ++c) {
      std::array<std::array<Word, kBand / 8>, 8> turned;
      for (std::size_t i = 0; i < kBand; i += 8) {
        std::array<Word, 8> square;
        for (std::size_t j = 0; j < 8; ++j) square[j] = band[(i + j) * words_of_row + c];
        TurnNibbles(square);
        for (std::size_t j = 0; j < 8; ++j) turned[kShuffledRow[j]][i / 8] = square[j];
      }
      const auto bytes = static_cast<std::size_t>(LineWords(some, 4)) * sizeof(Word);
      for (std::size_t j = 0; j < 8 && c * 8 + j < load.count; ++j) {
        std::memcpy(load.Row(c * 8 + j) + k / 2, turned[j].data(), bytes);
      }
    }
  }
}

// The code of a line whose words `word` gives.
template <class WordAt> std::uint32_t CodeAt(const WordAt& word, int bits, std::uint64_t i) {
  const std::uint64_t bit = i * static_cast<std::uint64_t>(bits), at = bit / kWordBits;
  const auto shift = static_cast<unsigned>(bit % kWordBits);
  std::uint64_t held = word(at);
  if (shift + static_cast<unsigned>(bits) > kWordBits) {
    held |= std::uint64_t{word(at + 1)} << kWordBits;
  }
  return static_cast<std::uint32_t>(held >> shift) & ((1u << bits) - 1);
}

// Lines of columns, of few columns: zero points.
void LoadColumns(const Load& load, bool is_beneath) {
  const int bits = load.matrix.bits;
  const auto b = static_cast<std::uint64_t>(bits);
  const std::uint64_t from = load.first * b / kWordBits, height = LineWords(load.count, bits);
  const std::uint64_t columns = load.matrix.columns;
  std::vector<LineWriter> lines;
  for (std::uint64_t r = 0; r < load.count; ++r) lines.emplace_back(load.Row(r), bits);
  std::vector<Word> words(static_cast<std::size_t>(is_beneath ? height * columns : height));
  if (is_beneath) load.words.Read(from, 0, words);
  for (std::uint64_t c = 0; c < columns; ++c) {
    if (!is_beneath) load.words.Read(c, from, words);
    const auto word = [&](std::uint64_t i) {
      return words[static_cast<std::size_t>(is_beneath ? i * columns + c : i)];
    };
    for (std::uint64_t r = 0; r < load.count; ++r) lines[r].Put(CodeAt(word, bits, r));
  }
  for (LineWriter& line : lines) line.Finish();
}

// The same where no code is of two words, and those of a column are beneath each other.
void LoadPaddedColumns(const Load& load) {
  const auto bits = static_cast<std::uint32_t>(load.matrix.bits);
  const std::uint32_t of_word = kWordBits / bits, mask = (1u << bits) - 1;
  const std::uint64_t columns = load.matrix.columns, from = load.first / of_word;
  const std::uint64_t height = DivideUp(load.first + load.count, of_word) - from;
  std::vector<Word> words(static_cast<std::size_t>(height * columns));
  load.words.Read(from, 0, words);
  for (std::uint64_t r = 0; r < load.count; ++r) {
    const std::uint64_t row = load.first + r;
    const Word* const of_row = words.data() + (row / of_word - from) * columns;
    LineWriter line(load.Row(r), load.matrix.bits);
    for (std::uint64_t c = 0; c < columns; ++c) {
      line.Put(of_row[c] >> (row % of_word * bits) & mask);
    }
    line.Finish();
  }
}

template <unsigned kBits>
void UnpackEights(const std::byte* line, std::uint8_t* codes, std::size_t eights) {
  for (std::size_t i = 0; i < eights; ++i, line += kBits, codes += 8) {
    std::uint64_t held;
    std::memcpy(&held, line, sizeof held);
    for (unsigned j = 0; j < 8; ++j) {
      codes[j] = static_cast<std::uint8_t>(held >> (j * kBits) & ((1u << kBits) - 1));
    }
  }
}

}  // namespace

WordShape WordsOf(CodeOrder order, std::uint64_t rows, std::uint64_t columns, int bits) {
  switch (order) {
    case CodeOrder::kRows: return {rows, LineWords(columns, bits)};
    case CodeOrder::kPaddedRows:
      return {rows, DivideUp(columns, kWordBits / static_cast<unsigned>(bits))};
    case CodeOrder::kWordRows: return {LineWords(columns, bits), rows};
    case CodeOrder::kColumns:
    case CodeOrder::kShuffledColumns: return {columns, LineWords(rows, bits)};
    case CodeOrder::kPaddedWordColumns:
      return {DivideUp(rows, kWordBits / static_cast<unsigned>(bits)), columns};
    case CodeOrder::kWordColumns: break;
  }
  return {LineWords(rows, bits), columns};
}

CodeLines LoadLines(const formats::TensorReader& reader, const CodeMatrix& matrix,
                    std::uint64_t batch, std::uint64_t first, std::uint64_t count) {
  CodeLines lines;
  lines.bits = matrix.bits;
  lines.stride = static_cast<std::size_t>(LineWords(matrix.columns, matrix.bits)) * sizeof(Word);
  lines.bytes.resize(static_cast<std::size_t>(count) * lines.stride + kLinePadding);
  const Load load = {{reader, matrix, batch}, matrix, first, count, lines};
  switch (matrix.order) {
    case CodeOrder::kRows: LoadRows(load); break;
    case CodeOrder::kPaddedRows: LoadPaddedRows(load); break;
    case CodeOrder::kWordRows: LoadWordRows(load); break;
    case CodeOrder::kShuffledColumns: LoadShuffledColumns(load); break;
    case CodeOrder::kColumns: LoadColumns(load, false); break;
    case CodeOrder::kWordColumns: LoadColumns(load, true); break;
    case CodeOrder::kPaddedWordColumns: LoadPaddedColumns(load); break;
  }
  return lines;
}

void UnpackCodes(const std::byte* line, int bits, std::uint64_t first,
                 std::span<std::uint8_t> codes) {
  const auto b = static_cast<std::size_t>(bits);
  const auto one = [&](std::uint64_t i) {
    const std::uint64_t bit = i * b;
    std::uint16_t held;
    std::memcpy(&held, line + bit / 8, sizeof held);
    return static_cast<std::uint8_t>(held >> bit % 8 & ((1u << bits) - 1));
  };
  std::size_t done = 0;
  while (done < codes.size() && (first + done) % 8 != 0) codes[done] = one(first + done), ++done;
  const std::size_t eights = (codes.size() - done) / 8;
  const std::byte* const at = line + (first + done) / 8 * b;
  std::uint8_t* const out = codes.data() + done;
  switch (bits) {
    case 1: UnpackEights<1>(at, out, eights); break;
    case 2: UnpackEights<2>(at, out, eights); break;
    case 3: UnpackEights<3>(at, out, eights); break;
    case 4:  // what most weights have, as bytes, which compilers take in vectors
      for (std::size_t i = 0; i < eights * 4; ++i) {
        const auto both = std::to_integer<std::uint8_t>(at[i]);
        out[2 * i] = both & 15;
        out[2 * i + 1] = static_cast<std::uint8_t>(both >> 4);
      }
      break;
    case 5: UnpackEights<5>(at, out, eights); break;
    case 6: UnpackEights<6>(at, out, eights); break;
    case 7: UnpackEights<7>(at, out, eights); break;
    default: std::memcpy(out, at, eights * 8); break;
  }
  for (done += eights * 8; done < codes.size(); ++done) codes[done] = one(first + done);
}

}  // namespace tensorcast::scale
