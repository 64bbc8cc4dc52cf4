// Integers in groups, of several parts, read in pieces by several threads; and what of the file is
// read for them. The values are checked against the code of each element, taken from the words bit
// by bit.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/grouped_integers.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/source_codes.h"
#include "files/error.h"
#include "memory_tensors.h"
#include "scale/held_parts.h"

namespace tensorcast::scale {
namespace {

std::vector<std::uint32_t> RandomWords(std::uint64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> words(n);
  for (std::uint32_t& word : words) word = random();
  return words;
}

std::vector<float> Scales(std::uint64_t n) {
  std::vector<float> scales(n);
  for (std::uint64_t i = 0; i < n; ++i) scales[i] = 0.01f + static_cast<float>(i % 977) * 0.37f;
  return scales;
}

// The code at a row and a column, bit by bit.
std::uint32_t CodeOf(const std::vector<std::uint32_t>& words, const CodeMatrix& matrix,
                     std::uint64_t row, std::uint64_t column) {
  const auto bits = static_cast<unsigned>(matrix.bits);
  std::uint32_t code = 0;
  for (unsigned bit = 0; bit < bits; ++bit) {
    std::uint64_t word_row = row, word_column = 0, at = 0;
    switch (matrix.order) {
      case CodeOrder::kRows:
        at = column * bits + bit;
        word_column = at / 32;
        break;
      case CodeOrder::kPaddedRows:
        word_column = column / (32 / bits);
        at = column % (32 / bits) * bits + bit;
        break;
      case CodeOrder::kWordRows:
        at = column * bits + bit;
        word_row = at / 32;
        word_column = row;
        break;
      case CodeOrder::kColumns:
        at = row * bits + bit;
        word_row = column;
        word_column = at / 32;
        break;
      case CodeOrder::kWordColumns:
        at = row * bits + bit;
        word_row = at / 32;
        word_column = column;
        break;
      case CodeOrder::kPaddedWordColumns:
        word_row = row / (32 / bits);
        word_column = column;
        at = row % (32 / bits) * bits + bit;
        break;
      case CodeOrder::kShuffledColumns: {
        constexpr unsigned kNibbleOf[8] = {0, 4, 1, 5, 2, 6, 3, 7};
        at = kNibbleOf[row % 8] * 4 + bit;
        word_row = column;
        word_column = row / 8;
        break;
      }
    }
    code |= (words[word_row * matrix.word_columns + word_column] >> at % 32 & 1) << bit;
  }
  return code;
}

CodeMatrix MatrixOf(CodeOrder order, std::uint64_t rows, std::uint64_t columns, int bits) {
  const WordShape words = WordsOf(order, rows, columns, bits);
  return {0, order, rows, columns, bits, words.rows, words.columns};
}

TEST(CodeLines, OfEveryOrderAndNumberOfBits) {
  constexpr CodeOrder kOrders[] = {CodeOrder::kRows,           CodeOrder::kPaddedRows,
                                   CodeOrder::kWordRows,       CodeOrder::kColumns,
                                   CodeOrder::kWordColumns,    CodeOrder::kPaddedWordColumns,
                                   CodeOrder::kShuffledColumns};
  for (const CodeOrder order : kOrders) {
    for (int bits = 1; bits <= 8; ++bits) {
      if (order == CodeOrder::kShuffledColumns && bits != 4) continue;
      for (const std::uint64_t rows : {32, 40, 104}) {
        for (const std::uint64_t columns : {1, 7, 32, 64, 136, 264}) {
          const CodeMatrix matrix = MatrixOf(order, rows, columns, bits);
          const auto words = RandomWords(matrix.word_rows * matrix.word_columns, 5);
          MemoryTensors tensors;
          tensors.Add(words);
          const std::uint64_t first = rows > 32 ? 32 : 0;
          const CodeLines lines = LoadLines(tensors, matrix, 0, first, rows - first);
          std::vector<std::uint8_t> codes(columns);
          for (std::uint64_t row = first; row < rows; ++row) {
            const std::uint64_t begin = row % std::min<std::uint64_t>(columns, 11);
            UnpackCodes(lines.Row(row - first), bits, begin, std::span(codes).subspan(begin));
            for (std::uint64_t column = begin; column < columns; ++column) {
              ASSERT_EQ(codes[column], CodeOf(words, matrix, row, column))
                  << static_cast<int>(order) << ", " << bits << " bits, row " << row << " of "
                  << rows << ", column " << column << " of " << columns;
            }
          }
        }
      }
    }
  }
}

struct Large {
  CodeOrder order;
  int bits;
  std::uint64_t batches, rows, columns, group;
};

class SeveralParts : public ::testing::TestWithParam<Large> {};

TEST_P(SeveralParts, GiveEveryValueAndReadTheFileOnce) {
  const Large& large = GetParam();
  IntegerGroups groups;
  groups.batches = large.batches;
  groups.group = large.group;
  groups.codes = MatrixOf(large.order, large.rows, large.columns, large.bits);
  const std::uint64_t of_matrix = groups.codes.word_rows * groups.codes.word_columns;
  const auto words = RandomWords(large.batches * of_matrix, 7);
  const auto scales = Scales(large.batches * large.rows * groups.groups());
  MemoryTensors tensors;
  groups.codes.tensor = tensors.Add(words);
  groups.scales = {tensors.Add(scales), DataType::kFloat32, true, large.rows};
  groups.zero = 3;
  const std::uint64_t cells = groups.groups();
  const CodeMatrix matrix = groups.codes;
  const auto weight = MakeGroupedIntegers(std::move(groups));

  const HeldParts parts(tensors);
  const std::uint64_t elements = large.batches * large.rows * large.columns;
  const std::vector<float> values = ReadByThreads(parts, *weight, elements);
  EXPECT_LE(tensors.bytes_read(), 2 * tensors.all_bytes());
  EXPECT_GT(weight->PlaceOf(elements - 1).part, large.batches - 1) << "one part is no test";
  std::vector<std::uint32_t> of_batch;
  for (std::uint64_t i = 0; i < elements; i += i % (testing::Sampled() ? 131 : 13) + 1) {
    const std::uint64_t row = i / large.columns, column = i % large.columns;
    const std::uint64_t batch = row / large.rows;
    if (row % large.rows == 0 || of_batch.empty()) {
      of_batch.assign(words.begin() + static_cast<std::ptrdiff_t>(batch * of_matrix),
                      words.begin() + static_cast<std::ptrdiff_t>((batch + 1) * of_matrix));
    }
    const auto code = static_cast<int>(CodeOf(of_batch, matrix, row % large.rows, column));
    const float scale =
        scales[(batch * cells + column / large.group) * large.rows + row % large.rows];
    ASSERT_EQ(values[i], static_cast<float>(code - 3) * scale) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(GroupedIntegers, SeveralParts,
                         ::testing::Values(Large{CodeOrder::kWordRows, 8, 1, 1300, 8192, 128},
                                           Large{CodeOrder::kWordRows, 3, 1, 3104, 8192, 64},
                                           Large{CodeOrder::kShuffledColumns, 4, 1, 2320, 8192,
                                                 128},
                                           Large{CodeOrder::kRows, 4, 3, 700, 4096, 32}),
                         [](const auto& one) {
                           return "Order" + std::to_string(static_cast<int>(one.param.order)) +
                                  "Bits" + std::to_string(one.param.bits);
                         });

struct Cast16 {
  int bits;
  std::uint64_t columns, group;
  bool has_zeros, has_biases, has_any_scales;
};

// Scales of sixteen bits: about as large, with some zero and negative ones among them, or any.
std::vector<std::uint16_t> HalfScales(std::uint64_t n, bool any, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint16_t> scales(n);
  for (std::uint16_t& scale : scales) {
    scale = static_cast<std::uint16_t>(any ? random() & 0xBBFF : 0x2000 + random() % 0x800);
  }
  return scales;
}

// Casts by every target are those of the exact values, which the code of each element gives.
TEST(GroupedIntegers, CastsOfEveryTargetAreOfTheExactValues) {
  constexpr std::uint64_t kRows = 32;
  constexpr DataType kCastTo[] = {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16};
  for (const Cast16& one :
       {Cast16{4, 2560, 128, false, false, false}, Cast16{4, 2560, 128, true, false, false},
        Cast16{4, 96, 32, true, false, false}, Cast16{4, 112, 16, true, false, false},
        Cast16{4, 2100, 2100, true, false, false}, Cast16{4, 320, 64, false, true, false},
        Cast16{4, 320, 64, true, false, true}, Cast16{4, 320, 64, false, true, true},
        Cast16{4, 320, 64, true, true, false}, Cast16{8, 384, 128, true, true, false},
        Cast16{4, 120, 24, true, false, false}, Cast16{8, 384, 128, true, false, false},
        Cast16{8, 384, 128, false, true, false}, Cast16{2, 320, 32, true, false, false},
        Cast16{3, 320, 32, true, false, false}, Cast16{6, 320, 64, false, true, false}}) {
    IntegerGroups groups;
    groups.group = one.group;
    groups.codes = MatrixOf(CodeOrder::kRows, kRows, one.columns, one.bits);
    const std::uint64_t count = groups.groups();
    MemoryTensors tensors;
    const auto words = RandomWords(groups.codes.word_rows * groups.codes.word_columns, 9);
    const auto scales = HalfScales(kRows * count, one.has_any_scales, 10);
    const auto biases = HalfScales(kRows * count, one.has_any_scales, 11);
    groups.codes.tensor = tensors.Add(words);
    groups.scales = {tensors.Add(scales), DataType::kFloat16, false, count};
    const CodeMatrix codes = groups.codes;
    CodeMatrix zeros = MatrixOf(CodeOrder::kRows, kRows, count, one.bits);
    const auto zero_words = RandomWords(zeros.word_rows * zeros.word_columns, 12);
    zeros.tensor = tensors.Add(zero_words);
    if (one.has_zeros) groups.zeros = zeros;
    if (!one.has_biases) groups.zero = 1;
    if (one.has_biases) {
      groups.biases = GroupNumbers{tensors.Add(biases), DataType::kFloat16, false, count};
    }
    const auto weight = MakeGroupedIntegers(std::move(groups));
    const HeldParts parts(tensors);

    const auto half = [](std::uint16_t bits) {
      double value = 0;
      EXPECT_TRUE(Cast(DataType::kFloat16, std::as_bytes(std::span(&bits, 1)), DataType::kFloat64,
                       std::as_writable_bytes(std::span(&value, 1)), 1)
                      .ok());
      return value;
    };
    const std::uint64_t n = kRows * one.columns;
    std::vector<double> exact(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t row = i / one.columns, column = i % one.columns;
      const std::uint64_t group = column / one.group;
      int code = static_cast<int>(CodeOf(words, codes, row, column));
      if (one.has_zeros) code -= static_cast<int>(CodeOf(zero_words, zeros, row, group));
      if (!one.has_biases) code -= 1;
      exact[i] = code * half(scales[row * count + group]);
      if (one.has_biases) exact[i] += half(biases[row * count + group]);
    }
    for (const Target target : Targets()) {
      for (const DataType to : kCastTo) {
        SCOPED_TRACE(std::to_string(one.bits) + " bits, " + std::to_string(one.columns) +
                     " columns in groups of " + std::to_string(one.group) + " to " +
                     std::string(TypeName(to)) + ", " + std::string(TargetName(target)));
        CastPlan plan, scalar;
        ASSERT_TRUE(CastPlan::Bind(DataType::kFloat64, to, {}, &plan, target).ok());
        ASSERT_TRUE(CastPlan::Bind(DataType::kFloat64, to, {}, &scalar, Target::kScalar).ok());
        const std::size_t size = *StorageBytes(to, 1);
        std::vector<std::byte> expected(n * size);
        ASSERT_TRUE(scalar.Run(std::as_bytes(std::span(exact)), 0, expected, 0, n).ok());
        for (const auto& [first, some] : {std::pair<std::uint64_t, std::uint64_t>{0, n},
                                          {1, 1999},
                                          {38, 2000},
                                          {95, 2},
                                          {1024, n - 1024}}) {
          std::vector<std::byte> out(static_cast<std::size_t>(some) * size);
          parts.Cast(*weight, plan, first, out);
          ASSERT_TRUE(std::equal(out.begin(), out.end(),
                                 expected.begin() + static_cast<std::ptrdiff_t>(first * size)))
              << first << " + " << some;
        }
      }
    }
  }
}

TEST(GroupedIntegers, RefuseWhatTheIndexLeavesOutOrExceeds) {
  struct Case {
    std::vector<std::int32_t> order;
    const char* text;
  };
  const Case cases[] = {
      {{0, 0, 1, 2, 1, 0, 0, 1}, "tensor2 names group 2 at index 3, and there are 2 groups"},
      {{0, 0, -1, 1, 1, 0, 0, 1}, "tensor2 names group -1 at index 2, and there are 2 groups"},
      {{1, 1, 1, 1, 1, 1, 1, 1}, "tensor2 leaves out group 0 of 2"},
  };
  for (const Case& one : cases) {
    MemoryTensors tensors;
    IntegerGroups groups;
    groups.group = 4;
    groups.codes = MatrixOf(CodeOrder::kRows, 1, 8, 4);
    groups.codes.tensor = tensors.Add(RandomWords(1, 1));
    groups.scales = {tensors.Add(Scales(2)), DataType::kFloat32, false, 2};
    groups.order = tensors.Add(one.order);
    const auto weight = MakeGroupedIntegers(std::move(groups));
    try {
      weight->Load(tensors, 0);
      ADD_FAILURE() << one.text;
    } catch (const files::Error& error) {
      EXPECT_STREQ(error.what(), one.text);
      EXPECT_EQ(error.kind(), core::ErrorKind::kContents);
    }
  }
}

}  // namespace
}  // namespace tensorcast::scale
