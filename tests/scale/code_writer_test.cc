// Rows of codes put where layouts have them: published words, and everything that is read back by
// code_lines.h, which grouped_integers_test.cc holds against the bits of each code.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/code_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "memory_tensors.h"

namespace tensorcast::scale {
namespace {

// Keeps what is written, and that no byte is written twice.
class MemoryOutput final : public formats::TensorWriter {
 public:
  explicit MemoryOutput(const std::vector<std::size_t>& sizes) {
    for (const std::size_t size : sizes) {
      bytes_.emplace_back(size);
      times_.emplace_back(size);
    }
  }
  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    ASSERT_LE(offset + data.size(), bytes_[tensor].size());
    std::memcpy(bytes_[tensor].data() + offset, data.data(), data.size());
    for (std::size_t i = 0; i < data.size(); ++i) ++times_[tensor][offset + i];
  }
  std::uint64_t file_bytes() const override { return 0; }

  template <class Number> std::vector<Number> Numbers(std::size_t tensor) const {
    for (const int times : times_[tensor]) EXPECT_EQ(times, 1);
    std::vector<Number> numbers(bytes_[tensor].size() / sizeof(Number));
    std::memcpy(numbers.data(), bytes_[tensor].data(), bytes_[tensor].size());
    return numbers;
  }

 private:
  void DoSync() override {}
  void DoCommit() override {}

  std::vector<std::vector<std::byte>> bytes_;
  std::vector<std::vector<int>> times_;
};

using CodeBytes = std::vector<std::uint8_t>;

CodeBytes RandomCodes(std::uint64_t n, int bits, std::uint32_t seed) {
  std::mt19937 random(seed);
  CodeBytes codes(n);
  for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(random() & ((1u << bits) - 1));
  return codes;
}

CodeLines LinesOf(const CodeBytes& codes, std::uint64_t first, std::uint64_t rows,
                  std::uint64_t columns, int bits) {
  CodeLines lines = MakeLines(rows, columns, bits);
  for (std::uint64_t r = 0; r < rows; ++r) {
    PackCodes(std::span(codes).subspan((first + r) * columns, columns), bits,
              lines.bytes.data() + r * lines.stride);
  }
  return lines;
}

CodeMatrix MatrixInOrder(CodeOrder order, std::uint64_t rows, std::uint64_t columns, int bits) {
  const WordShape words = WordsOf(order, rows, columns, bits);
  return {0, order, rows, columns, bits, words.rows, words.columns};
}

// The words of one matrix.
std::vector<std::uint32_t> WordsWritten(const CodeBytes& codes, const CodeMatrix& matrix) {
  MemoryOutput output({matrix.word_rows * matrix.word_columns * 4});
  WrittenPlaces places{.rows = matrix.rows, .columns = matrix.columns, .bits = matrix.bits};
  places.codes = CodePlaces{CodePlaces::In::kWords, matrix};
  const CodeWriter writer(output, places);
  const CodeLines lines = LinesOf(codes, 0, matrix.rows, matrix.columns, matrix.bits);
  writer.Write({.count = matrix.rows, .codes = &lines});
  return output.Numbers<std::uint32_t>(0);
}

TEST(CodeWriter, WritesPublishedWords) {
  using Words = std::vector<std::uint32_t>;
  CodeBytes codes = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(WordsWritten(codes, MatrixInOrder(CodeOrder::kRows, 1, 8, 4)), Words{0x87654321});
  EXPECT_EQ(WordsWritten(codes, MatrixInOrder(CodeOrder::kWordRows, 1, 8, 4)), Words{0x87654321});
  EXPECT_EQ(WordsWritten(codes, MatrixInOrder(CodeOrder::kColumns, 8, 1, 4)), Words{0x87654321});
  EXPECT_EQ(WordsWritten(codes, MatrixInOrder(CodeOrder::kWordColumns, 8, 1, 4)),
            Words{0x87654321});
  EXPECT_EQ(WordsWritten(codes, MatrixInOrder(CodeOrder::kShuffledColumns, 8, 1, 4)),
            Words{0x86427531});
  codes.clear();
  for (int i = 0; i < 32; ++i) codes.push_back(static_cast<std::uint8_t>(i % 8));
  EXPECT_EQ(WordsWritten(codes, MatrixInOrder(CodeOrder::kRows, 1, 32, 3)),
            (Words{0x88FAC688, 0xC688FAC6, 0xFAC688FA}));
}

TEST(CodeWriter, WritesWhatIsReadBack) {
  struct Case {
    CodeOrder order;
    std::vector<int> bits;
  };
  const std::vector<Case> cases = {{CodeOrder::kRows, {1, 2, 3, 4, 5, 6, 7, 8}},
                                   {CodeOrder::kWordRows, {2, 3, 4, 8}},
                                   {CodeOrder::kColumns, {2, 3, 4, 8}},
                                   {CodeOrder::kWordColumns, {2, 3, 4, 8}},
                                   {CodeOrder::kShuffledColumns, {4}}};
  struct Size {
    std::uint64_t rows, columns;
  };
  for (const Case& one : cases) {
    for (const int bits : one.bits) {
      for (const Size size : {Size{1, 1}, {8, 33}, {40, 7}, {96, 130}, {67, 513}}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(one.order)) + " " + std::to_string(bits) +
                     " " + std::to_string(size.rows) + " " + std::to_string(size.columns));
        const CodeMatrix matrix = MatrixInOrder(one.order, size.rows, size.columns, bits);
        constexpr std::uint64_t kBatches = 3;
        MemoryOutput output({kBatches * matrix.word_rows * matrix.word_columns * 4});
        WrittenPlaces places{.rows = size.rows, .columns = size.columns, .bits = bits};
        places.codes = CodePlaces{CodePlaces::In::kWords, matrix};
        const CodeWriter writer(output, places);
        ASSERT_EQ(writer.RowGrain(), 32u);
        const CodeBytes codes = RandomCodes(kBatches * size.rows * size.columns, bits, 7);
        for (std::uint64_t batch = kBatches; batch-- > 0;) {
          for (std::uint64_t first = 0; first < size.rows; first += 32) {
            const std::uint64_t count = std::min<std::uint64_t>(32, size.rows - first);
            const CodeLines lines =
                LinesOf(codes, batch * size.rows + first, count, size.columns, bits);
            writer.Write({batch, first, count, &lines});
          }
        }
        MemoryTensors tensors;
        tensors.Add(output.Numbers<std::uint32_t>(0));
        for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
          const CodeLines lines = LoadLines(tensors, matrix, batch, 0, size.rows);
          for (std::uint64_t r = 0; r < size.rows; ++r) {
            CodeBytes row(size.columns);
            UnpackCodes(lines.Row(r), bits, 0, row);
            const auto from =
                codes.begin() + static_cast<std::ptrdiff_t>((batch * size.rows + r) * size.columns);
            ASSERT_TRUE(std::equal(row.begin(), row.end(), from)) << batch << " " << r;
          }
        }
      }
    }
  }
}

TEST(CodeWriter, WritesBytes) {
  const CodeBytes codes = {0, 1, 15, 8, 7, 3};
  const CodeLines lines = LinesOf(codes, 0, 3, 2, 4);
  MemoryOutput output({3, 3, 6});
  WrittenPlaces places{.rows = 3, .columns = 2};
  places.codes = CodePlaces{CodePlaces::In::kBytes, {.tensor = 0}};
  const CodeWriter low(output, places);
  EXPECT_EQ(low.RowGrain(), 1u);
  low.Write({.count = 3, .codes = &lines});
  places.codes = CodePlaces{CodePlaces::In::kHighFirstBytes, {.tensor = 1}};
  CodeWriter(output, places).Write({.count = 3, .codes = &lines});
  EXPECT_EQ(output.Numbers<std::uint8_t>(0), (CodeBytes{0x10, 0x8F, 0x37}));
  EXPECT_EQ(output.Numbers<std::uint8_t>(1), (CodeBytes{0x01, 0xF8, 0x73}));
  const CodeLines bytes = LinesOf({0, 1, 127, 128, 129, 255}, 0, 3, 2, 8);
  places.bits = 8;
  places.codes = CodePlaces{CodePlaces::In::kBytes, {.tensor = 2}, true};
  CodeWriter(output, places).Write({.count = 3, .codes = &bytes});
  EXPECT_EQ(output.Numbers<std::int8_t>(2), (std::vector<std::int8_t>{-128, -127, -1, 0, 1, 127}));
}

TEST(CodeWriter, TurnsNumbers) {
  const std::vector<std::uint16_t> numbers = {1, 2, 3, 4, 5, 6};
  MemoryOutput output({24});
  WrittenPlaces places{.rows = 3, .columns = 64, .groups = 2};
  places.scales = NumberPlaces{0, 2, NumberPlaces::Order::kColumns};
  const CodeWriter writer(output, places);
  for (const std::uint64_t batch : {1, 0}) {
    writer.Write({.batch = batch, .count = 3, .scales = std::as_bytes(std::span(numbers))});
  }
  EXPECT_EQ(output.Numbers<std::uint16_t>(0),
            (std::vector<std::uint16_t>{1, 3, 5, 2, 4, 6, 1, 3, 5, 2, 4, 6}));
}

// The flat index of a scale is what cuBLAS's documentation of block scaling factors gives.
TEST(CodeWriter, WritesTiles) {
  constexpr std::uint64_t kRows = 300, kGroups = 6, kBatches = 2;
  std::vector<std::uint8_t> numbers(kRows * kGroups);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::uint8_t>(i % 255 + 1);
  }
  MemoryOutput output({kBatches * 384 * 8});
  WrittenPlaces places{.rows = kRows, .columns = kGroups * 16, .groups = kGroups};
  places.scales = NumberPlaces{0, 1, NumberPlaces::Order::kTiles};
  const CodeWriter writer(output, places);
  ASSERT_EQ(writer.RowGrain(), 128u);
  for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
    for (std::uint64_t first = 0; first < kRows; first += 128) {
      const std::uint64_t count = std::min<std::uint64_t>(128, kRows - first);
      writer.Write({batch, first, count, nullptr,
                    std::as_bytes(std::span(numbers)).subspan(first * kGroups, count * kGroups)});
    }
  }
  const auto written = output.Numbers<std::uint8_t>(0);
  std::vector<std::uint8_t> expected(written.size());
  for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
    for (std::uint64_t r = 0; r < kRows; ++r) {
      for (std::uint64_t c = 0; c < kGroups; ++c) {
        const std::uint64_t at =
            (r / 128 * 2 + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
        expected[batch * 384 * 8 + at] = numbers[r * kGroups + c];
      }
    }
  }
  EXPECT_EQ(written, expected);
}

TEST(CodeWriter, WritesBlocks) {
  // MXFP4: a scale, then code t in the lower and code t + 16 in the higher bits of byte t.
  CodeBytes codes;
  for (int i = 0; i < 64; ++i) codes.push_back(static_cast<std::uint8_t>(i * 7 % 16));
  const CodeLines lines = LinesOf(codes, 0, 1, 64, 4);
  const std::vector<std::uint8_t> scales = {11, 22, 33, 44};
  MemoryOutput output({2 * 17, 36, 2 * 36});
  WrittenPlaces places{.rows = 1, .columns = 64, .groups = 2};
  places.blocks = BlockPlaces{.tensor = 0, .scale_bytes = 1};
  CodeWriter(output, places)
      .Write({.count = 1, .codes = &lines, .scales = std::as_bytes(std::span(scales)).first(2)});
  CodeBytes expected;
  for (std::size_t block = 0; block < 2; ++block) {
    expected.push_back(scales[block]);
    for (std::size_t t = 0; t < 16; ++t) {
      expected.push_back(
          static_cast<std::uint8_t>(codes[block * 32 + t] | codes[block * 32 + 16 + t] << 4));
    }
  }
  EXPECT_EQ(output.Numbers<std::uint8_t>(0), expected);
  // NVFP4: four scales, then in each 16 code t and code t + 8.
  places.groups = 4;
  places.blocks = BlockPlaces{.tensor = 1, .values = 64, .run = 16, .scale_bytes = 4};
  CodeWriter(output, places)
      .Write({.count = 1, .codes = &lines, .scales = std::as_bytes(std::span(scales))});
  expected = scales;
  for (std::size_t i = 0; i < 32; ++i) {
    const std::size_t at = i / 8 * 16 + i % 8;
    expected.push_back(static_cast<std::uint8_t>(codes[at] | codes[at + 8] << 4));
  }
  EXPECT_EQ(output.Numbers<std::uint8_t>(1), expected);
  // A block of 8 bits: its codes have a sign.
  const CodeLines bytes = LinesOf(RandomCodes(64, 8, 3), 0, 1, 64, 8);
  const std::vector<std::uint16_t> numbers = {0x3C00, 0x4000}, biases = {1, 2};
  places.bits = 8;
  places.groups = 2;
  places.blocks = BlockPlaces{.tensor = 2, .bias_bytes = 2};
  CodeWriter(output, places)
      .Write({.count = 1,
              .codes = &bytes,
              .scales = std::as_bytes(std::span(numbers)),
              .biases = std::as_bytes(std::span(biases))});
  const auto written = output.Numbers<std::uint8_t>(2);
  for (std::size_t block = 0; block < 2; ++block) {
    std::uint16_t stored[2];
    std::memcpy(stored, written.data() + block * 36, 4);
    EXPECT_EQ(stored[0], numbers[block]);
    EXPECT_EQ(stored[1], biases[block]);
    for (std::size_t i = 0; i < 32; ++i) {
      EXPECT_EQ(static_cast<int>(static_cast<std::int8_t>(written[block * 36 + 4 + i])),
                static_cast<int>(bytes.Row(0)[block * 32 + i]) - 128);
    }
  }
}

}  // namespace
}  // namespace tensorcast::scale
