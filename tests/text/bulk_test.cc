// Columns of texts: where they begin and end, packed destinations and the bits beside them,
// executors, sizes, copies.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "core/guarded_buffer.h"
#include "core/option_sets.h"
#include "core/source_codes.h"
#include "core/thread_executor.h"
#include "oracle/packing.h"
#include "text/text_batch.h"

namespace tensorcast::testing {
namespace {

// Texts that every type reads, and their codes of a type.
std::vector<std::string> SmallNumbers(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> texts(n);
  for (std::string& text : texts) {
    text = std::to_string(static_cast<int>(random() % 400) - 200);
    if (random() % 2 == 0) text += "." + std::to_string(random() % 100000);
    if (random() % 8 == 0) text.insert(0, random() % 30, ' ');
  }
  return texts;
}

std::vector<std::uint64_t> CodesOf(std::span<const std::string> texts, const TypeInfo& to) {
  std::vector<std::uint64_t> codes;
  for (const std::string& text : texts) {
    codes.push_back(oracle::ParseText(text, oracle::RowOf(static_cast<int>(to.type)), {}).code);
  }
  return codes;
}

class Bulk : public ::testing::TestWithParam<DataType> {};

// Any n elements from any index to any index: those, and not one bit beside them.
TEST_P(Bulk, ParseWritesItsElementsOnly) {
  const TypeInfo& to = *FindType(GetParam());
  const std::vector<std::string> texts = SmallNumbers(150, 1);
  const std::vector<std::uint64_t> codes = CodesOf(texts, to);
  CastPlan plan;
  ASSERT_TRUE(CastPlan::Bind(DataType::kString, to.type, {}, &plan).ok());
  const TextBatch batch(texts, 13);
  const GuardedBuffer buffer(8192);
  for (const std::byte fill : {std::byte{0x00}, std::byte{0xFF}, std::byte{0xA5}}) {
    for (const std::uint64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 130}) {
      for (std::uint64_t first = 0; first < 10; ++first) {
        const std::uint64_t source_first = (first * 3 + n) % 17;
        const std::size_t size = *StorageBytes(to.type, first + n);
        const std::span<std::byte> destination = buffer.AtEnd(size);
        std::vector<std::byte> expected(size, fill);
        for (std::uint64_t i = 0; i < n; ++i) {
          oracle::PutCode(expected, to.bits, first + i, codes[source_first + i]);
        }
        std::memset(buffer.all().data(), std::to_integer<int>(fill), buffer.all().size());
        ASSERT_TRUE(plan.Parse(batch.view(), source_first, destination, first, n).ok());
        ASSERT_TRUE(std::ranges::equal(destination, expected))
            << to.name << " n " << n << " from " << source_first << " to " << first;
        for (std::size_t i = 0; i + size < buffer.all().size(); ++i) {
          ASSERT_EQ(buffer.all()[i], fill) << "before the destination";
        }
      }
    }
  }
}

TEST_P(Bulk, PrintAnyRange) {
  const TypeInfo& from = *FindType(GetParam());
  const oracle::Row& row = oracle::RowOf(static_cast<int>(from.type));
  const std::vector<std::uint64_t> codes = MixedCodes(from, from, 160, 3);
  const std::vector<std::byte> source = oracle::Pack(codes, from.bits);
  CastPlan plan;
  ASSERT_TRUE(CastPlan::Bind(from.type, DataType::kString, {}, &plan).ok());
  for (const std::uint64_t n : {0, 1, 2, 3, 5, 8, 31, 130}) {
    for (std::uint64_t first = 0; first < 9; ++first) {
      std::string expected;
      std::vector<std::uint64_t> expected_offsets = {0};
      for (std::uint64_t i = first; i < first + n; ++i) {
        expected += oracle::PrintText(row, oracle::TextStyle::kNumpy, codes[i]);
        expected_offsets.push_back(expected.size());
      }
      std::uint64_t size = 0;
      ASSERT_TRUE(plan.PrintedBytes(source, first, n, &size).ok());
      ASSERT_EQ(size, expected.size());
      // What lies behind the texts and the offsets stays.
      std::string bytes(size + 9, '#');
      std::vector<std::uint64_t> offsets(n + 3, 77);
      ASSERT_TRUE(plan.Print(source, first, n, offsets, bytes).ok());
      EXPECT_EQ(bytes, expected + "#########");
      expected_offsets.insert(expected_offsets.end(), 2, 77);
      EXPECT_EQ(offsets, expected_offsets);
      if (size == 0) continue;
      std::string guarded(size, '#');
      EXPECT_EQ(plan.Print(source, first, n, offsets, std::span(guarded).first(size - 1)).code(),
                StatusCode::kBufferTooSmall);
      EXPECT_EQ(guarded.back(), '#');
    }
  }
}

// The same bytes for any executor; the work is shared out where there is enough of it.
TEST_P(Bulk, AnyExecutor) {
  const TypeInfo& type = *FindType(GetParam());
  const std::size_t n = Scaled(60000) + 7;
  const std::vector<std::string> texts = SmallNumbers(n, 2);
  const std::vector<std::uint64_t> codes = CodesOf(texts, type);
  const std::vector<std::byte> expected = oracle::Pack(codes, type.bits);
  const TextBatch batch(texts);
  const std::vector<std::string> printed = Printed(type.type, expected, n, {});
  BackwardsExecutor backwards;
  ThreadExecutor two(2);
  ThreadExecutor seven(7);
  for (Executor* executor : {static_cast<Executor*>(&backwards), static_cast<Executor*>(&two),
                             static_cast<Executor*>(&seven)}) {
    RunOptions run;
    run.executor = executor;
    std::vector<std::byte> destination(expected.size(), std::byte{0xFF});
    ASSERT_TRUE(ParseStrings(batch.view(), type.type, destination, {}, run).ok());
    EXPECT_EQ(destination, expected) << type.name;
    EXPECT_EQ(Printed(type.type, expected, n, {}, run), printed) << type.name;
    std::string bytes(
        std::accumulate(printed.begin(), printed.end(), std::size_t{0},
                        [](std::size_t sum, const std::string& text) { return sum + text.size(); }),
        '#');
    std::vector<std::uint64_t> offsets(n + 1);
    const std::span<char> short_one = std::span(bytes).first(bytes.size() - 1);
    EXPECT_EQ(PrintStrings(type.type, expected, n, offsets, short_one, {}, run).code(),
              StatusCode::kBufferTooSmall);
    EXPECT_EQ(bytes.back(), '#') << "behind the buffer";

    // Into a packed destination that begins inside a byte: slices must not share one.
    CastPlan plan;
    ASSERT_TRUE(CastPlan::Bind(DataType::kString, type.type, {}, &plan).ok());
    for (std::uint64_t first = 1; first < (type.is_packed() ? 8 : 2); ++first) {
      std::vector<std::byte> odd(expected.size(), std::byte{0});
      ASSERT_TRUE(plan.Parse(batch.view(), first, odd, first, n - first, run).ok());
      std::vector<std::uint64_t> but_the_first = codes;
      std::fill_n(but_the_first.begin(), first, 0);
      EXPECT_EQ(odd, oracle::Pack(but_the_first, type.bits)) << type.name << " from " << first;
    }
  }
  EXPECT_GT(seven.tasks_run(), 1u);
}

// A whole tensor's pad bits are zero.
TEST_P(Bulk, PadBitsAreZero) {
  const TypeInfo& to = *FindType(GetParam());
  for (std::size_t n = 0; n < 10; ++n) {
    const std::vector<std::string> texts = SmallNumbers(n, n);
    std::vector<std::byte> destination(*StorageBytes(to.type, n) + 1, std::byte{0xFF});
    ASSERT_TRUE(ParseStrings(TextBatch(texts).view(), to.type, destination).ok());
    std::vector<std::byte> expected = oracle::Pack(CodesOf(texts, to), to.bits);
    expected.push_back(std::byte{0xFF});
    EXPECT_EQ(destination, expected) << to.name << " n " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Bulk, ::testing::ValuesIn(FixedWidthDataTypes()),
                         TypeParameterName);

TEST(Copy, KeepsTheBytes) {
  // Any bytes at all: a copy reads nothing.
  const std::vector<std::string> texts = {"", "a",   std::string("\0x", 2),    "\xFF\xFE",
                                          "", "1e5", std::string(100000, 'z'), ""};
  std::string all;
  std::vector<std::uint64_t> expected = {0};
  for (const std::string& text : texts) {
    all += text;
    expected.push_back(all.size());
  }
  for (const std::size_t before : {0u, 1u, 4099u}) {
    const TextBatch batch(texts, before);
    std::vector<std::uint64_t> offsets(texts.size() + 1);
    std::string bytes(all.size(), '#');
    ASSERT_TRUE(CopyStrings(batch.view(), offsets, bytes).ok());
    EXPECT_EQ(bytes, all);
    EXPECT_EQ(offsets, expected);
  }
}

// Gaps cannot be: string i ends where string i + 1 begins. But what lies before the first and
// behind the last is nobody's.
TEST(Copy, BytesBeforeAndBehindAreNobodys) {
  const std::vector<std::uint64_t> offsets = {3, 5, 5, 6};
  const std::string bytes =
      "xyz12"
      "7"
      "tail";
  std::vector<std::byte> codes(3);
  ParseFailure failure;
  EXPECT_EQ(ParseStrings({offsets, bytes}, DataType::kInt8, codes, {}, {}, &failure).code(),
            StatusCode::kNotANumber);
  EXPECT_EQ(failure.index, 1u);
  EXPECT_STREQ(failure.text, "");
  std::vector<std::uint64_t> copied(4);
  std::string copy(3, '#');
  ASSERT_TRUE(CopyStrings({offsets, bytes}, copied, copy).ok());
  EXPECT_EQ(copy, "127");
  EXPECT_EQ(copied, (std::vector<std::uint64_t>{0, 2, 2, 3}));
}

TEST(Empty, NothingIsFine) {
  const std::vector<std::uint64_t> one_offset = {0};
  for (const Strings& none : {Strings{}, Strings{one_offset, {}}}) {
    EXPECT_EQ(none.size(), 0u);
    EXPECT_TRUE(ParseStrings(none, DataType::kFloat32, {}).ok());
    std::vector<std::uint64_t> offsets(1, 9);
    EXPECT_TRUE(CopyStrings(none, offsets, {}).ok());
    EXPECT_EQ(offsets[0], 0u);
  }
  std::uint64_t size = 9;
  EXPECT_TRUE(PrintedStringBytes(DataType::kFloat32, {}, 0, &size).ok());
  EXPECT_EQ(size, 0u);
  std::vector<std::uint64_t> offsets(1, 9);
  EXPECT_TRUE(PrintStrings(DataType::kFloat32, {}, 0, offsets, {}).ok());
  EXPECT_EQ(offsets[0], 0u);
}

}  // namespace
}  // namespace tensorcast::testing
