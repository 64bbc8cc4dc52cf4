// GGUF's blocks decoded: published vectors, what ggml's own reference and gguf-py
// give of them, and random blocks against the formulas, element by element. tests/peers has gguf-py
// itself.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/gguf_blocks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "formats/gguf_types.h"
#include "gguf_formulas.h"

namespace tensorcast::scale {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes Hex(std::string_view text) {
  Bytes bytes;
  std::string digits;
  for (const char c : text) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(digits, nullptr, 16)));
    digits.clear();
  }
  return bytes;
}
Bytes Counted(int n, int step, int first) {
  Bytes bytes;
  for (int i = 0; i < n; ++i) bytes.push_back(static_cast<std::uint8_t>(step * i + first));
  return bytes;
}
Bytes operator+(Bytes one, const Bytes& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

std::vector<double> Doubles(const GgufBlocks& row, const Bytes& blocks) {
  const std::size_t n = blocks.size() / row.bytes;
  std::vector<double> values(n * row.values);
  row.to_doubles(std::as_bytes(std::span(blocks)).data(), n, values.data());
  return values;
}
std::vector<float> Floats(const GgufBlocks& row, const Bytes& blocks) {
  const std::size_t n = blocks.size() / row.bytes;
  std::vector<float> values(n * row.values);
  row.to_floats(std::as_bytes(std::span(blocks)).data(), n, values.data());
  return values;
}

// The same number, or the positive quiet NaN; zeros with their signs.
bool IsSame(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

struct Vector {
  std::string type;
  Bytes block;
  std::vector<std::pair<std::size_t, double>> values;
};

const Bytes kOne = {0x00, 0x3C}, kHalf = {0x00, 0x38};
const Bytes kSixBits = Hex("01 42 83 C4 05 46 87 C8 9A BC DE F1");

std::vector<Vector> Vectors() {
  return {
      {"Q8_0",
       Hex("08 24 81 89 91 99 a1 a9 b1 b9 c0 c8 d0 d8 e0 e8 f0 f8 00 08 10 18 20 28 30 38 40 47 4f "
           "57 5f 67 6f 77"),
       {{0, -1.9998779296875},
        {1, -1.8739013671875},
        {15, -0.1259765625},
        {16, 0},
        {31, 1.8739013671875}}},
      {"Q4_0",
       Hex("00 34 80 91 91 a2 a2 b3 b3 c4 c4 d5 d5 e6 e6 f7 f7 f8"),
       {{0, -2}, {1, -1.75}, {15, 0}, {16, 0}, {31, 1.75}}},
      {"Q4_1",
       Hex("22 34 00 c0 80 80 91 91 a2 a2 b3 b3 c4 c4 d5 d5 e6 e6 f7 f7"),
       {{0, -2}, {1, -2}, {15, -0.19189453125}, {16, 0.06640625}, {31, 1.87451171875}}},
      {"Q5_0",
       Hex("00 30 00 00 ff ff 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff"),
       {{0, -2}, {1, -1.875}, {15, -.125}, {16, 0}, {31, 1.875}}},
      {"MXFP4",
       Hex("7e 0e 0e 1d 1d 2d 2d 3c 3c 4c 4b 4b 5a 5a 59 59 60"),
       {{0, -2}, {1, -2}, {15, 0}, {16, 0}, {31, 2}}},
      {"NVFP4",
       Hex("38 40 44 48") + Counted(32, 17, 1),
       {{0, .5}, {1, 1}, {7, -0.0}, {8, 0}, {15, 6}, {16, -1}, {63, 2}}},
      {"Q4_K",
       kOne + kHalf + kSixBits + Counted(128, 7, 3),
       {{0, .5},
        {1, 7.5},
        {31, 9.5},
        {32, -3},
        {63, 23},
        {64, 5.5},
        {127, 40},
        {128, 25.5},
        {160, 322.5},
        {192, 115.5},
        {224, 458.5},
        {255, 311.5}}},
      {"Q5_K",
       kOne + kHalf + kSixBits + Counted(32, 5, 1) + Counted(128, 7, 3),
       {{0, 16.5},
        {1, 7.5},
        {31, 9.5},
        {32, -3},
        {63, 23},
        {64, 5.5},
        {127, 104},
        {128, 25.5},
        {160, 322.5},
        {192, 115.5},
        {224, 458.5},
        {255, 1095.5}}},
      {"Q6_K",
       Counted(128, 7, 3) + Counted(64, 5, 1) + Counted(16, 17, -128) + kHalf,
       {{0, 832},
        {1, -640},
        {31, 1110},
        {32, 1363},
        {63, -1078},
        {64, 960},
        {127, -49.5},
        {128, -52},
        {160, -609},
        {192, 456},
        {224, 550},
        {255, -1587.5}}},
      {"Q2_K",
       Counted(16, 17, 1) + Counted(64, 7, 3) + kOne + kHalf,
       {{0, 3},
        {1, 2},
        {31, -.5},
        {32, -1},
        {63, 10.5},
        {64, -2},
        {127, 20.5},
        {128, 23},
        {160, -5},
        {192, 20},
        {224, 38},
        {255, 0}}},
      {"Q3_K",
       Counted(32, 5, 1) + Counted(64, 7, 3) + kSixBits + kOne,
       {{0, 3},
        {1, -2},
        {31, 120},
        {32, -12},
        {63, 12},
        {64, -20},
        {127, -72},
        {128, 16},
        {160, 32},
        {192, -0.0},
        {224, -24},
        {255, 56}}},
      {"IQ4_XS",
       kOne + Hex("E4 1B 21 43 65 87") + Counted(128, 7, 3),
       {{0, 2015},
        {1, -775},
        {31, 682},
        {32, 910},
        {63, -966},
        {64, -195},
        {127, 760},
        {128, -1365},
        {160, -390},
        {192, 585},
        {224, 1560},
        {255, 240}}},
      {"IQ4_NL",
       kHalf + Hex("10 32 54 76 98 BA DC FE 10 32 54 76 98 BA DC FE"),
       {{0, -63.5}, {1, -41.5}, {7, 44.5}, {15, 44.5}, {16, -52}, {17, -32.5}, {31, 56.5}}},
  };
}

TEST(GgufBlocks, PublishedVectors) {
  for (const Vector& vector : Vectors()) {
    const GgufBlocks* const row = FindGgufBlocks(vector.type);
    ASSERT_NE(row, nullptr) << vector.type;
    ASSERT_EQ(vector.block.size(), row->bytes) << vector.type;
    const std::vector<double> values = Doubles(*row, vector.block);
    for (const auto& [at, value] : vector.values) {
      EXPECT_TRUE(IsSame(values[at], value))
          << vector.type << " [" << at << "] " << values[at] << ", expected " << value;
    }
  }
}

TEST(GgufBlocks, HaveTheSizesOfTheirTypes) {
  std::size_t decoded = 0;
  for (const formats::GgufType& type : formats::kGgufTypes) {
    const GgufBlocks* const row = FindGgufBlocks(type.name);
    const bool is_by_table = type.name.starts_with("IQ1") || type.name.starts_with("IQ2") ||
                             type.name.starts_with("IQ3");
    EXPECT_EQ(row != nullptr, type.type == DataType::kUndefined && !is_by_table) << type.name;
    if (row == nullptr) continue;
    ++decoded;
    EXPECT_EQ(row->values, type.values) << type.name;
    EXPECT_EQ(row->bytes, type.bytes) << type.name;
  }
  EXPECT_EQ(decoded, AllGgufBlocks().size());
  EXPECT_EQ(decoded, 18u);
}

// Every byte of a block takes every value, scales among them: Inf, NaN, zeros, subnormal ones.
TEST(GgufBlocks, RandomBlocksByTheFormulas) {
  constexpr std::size_t kBlocks = 512;
  for (const GgufBlocks& row : AllGgufBlocks()) {
    SCOPED_TRACE(row.type);
    std::mt19937_64 random(7);
    Bytes blocks(kBlocks * row.bytes);
    for (std::uint8_t& byte : blocks) byte = static_cast<std::uint8_t>(random());
    const std::vector<double> values = Doubles(row, blocks);
    const std::vector<float> floats =
        row.to_floats != nullptr ? Floats(row, blocks) : std::vector<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint8_t* const block = blocks.data() + i / row.values * row.bytes;
      const double expected = testing::GgufValue(row.type, block, i % row.values);
      const bool is_nan = std::isnan(expected);
      const double value = is_nan ? std::numeric_limits<double>::quiet_NaN() : expected;
      ASSERT_TRUE(IsSame(values[i], value)) << i << ": " << values[i] << ", expected " << value;
      const bool is_odd =
          row.odd_scale(reinterpret_cast<const std::byte*>(block)) != OddScale::kNone;
      ASSERT_TRUE(is_odd || std::isfinite(value)) << i;
      if (floats.empty() || !row.are_floats(reinterpret_cast<const std::byte*>(block), 1)) continue;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]),
                std::bit_cast<std::uint32_t>(static_cast<float>(value)))
          << i;
      ASSERT_TRUE(is_nan || static_cast<double>(floats[i]) == value) << i;
    }
  }
}

TEST(GgufBlocks, TheLargestScalesOfMxfp4AreNoFloats) {
  const GgufBlocks& row = *FindGgufBlocks("MXFP4");
  for (int scale = 0; scale < 256; ++scale) {
    Bytes block = Counted(17, 17, 0);
    block[0] = static_cast<std::uint8_t>(scale);
    const std::vector<double> values = Doubles(row, block);
    bool are_floats = true;
    for (const double value : values) {
      are_floats = are_floats &&
                   (std::isnan(value) || static_cast<double>(static_cast<float>(value)) == value);
    }
    EXPECT_EQ(row.are_floats(std::as_bytes(std::span(block)).data(), 1), are_floats) << scale;
  }
}

}  // namespace
}  // namespace tensorcast::scale
