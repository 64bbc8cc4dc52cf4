// Weights of GGUF's blocks read in any stretches, with and without scales of matrices: what one
// reading of all gives, and the formulas.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/gguf_weight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "formats/tensor_reader.h"
#include "gguf_formulas.h"
#include "scale/held_parts.h"

namespace tensorcast::scale {
namespace {

// Tensors in memory.
class Memory final : public formats::TensorReader {
 public:
  explicit Memory(std::vector<std::vector<std::byte>> tensors) : tensors_(std::move(tensors)) {}
  const formats::FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    ASSERT_LE(offset + out.size(), tensors_[tensor].size());
    std::copy_n(tensors_[tensor].begin() + static_cast<std::ptrdiff_t>(offset), out.size(),
                out.begin());
  }
  std::uint64_t file_bytes() const override { return 0; }
  void CheckUnchanged() const override {}

 private:
  std::vector<std::vector<std::byte>> tensors_;
  formats::FileContents contents_;
};

// Bytes that make no Inf and no NaN of a float16 at any place.
std::vector<std::byte> Blocks(const GgufBlocks& blocks, std::uint64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(n * blocks.bytes));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xBB);
  return bytes;
}

// Values of a few blocks as every stretch of them.
TEST(GgufWeight, AnyStretchIsAsAll) {
  constexpr std::uint64_t kCount = (1 << 16) + 4096;  // a part, and the beginning of another
  std::mt19937_64 random(5);
  for (const GgufBlocks& blocks : AllGgufBlocks()) {
    SCOPED_TRACE(blocks.type);
    const std::vector<std::byte> bytes = Blocks(blocks, kCount / blocks.values, 3);
    const Memory memory({bytes});
    const auto weight = MakeGgufWeight(blocks, {0, kCount});
    const HeldParts parts(memory);
    std::vector<double> all(kCount);
    EXPECT_FALSE(parts.Read(*weight, 0, Rounding::kOdd, all));
    for (std::size_t i = 0; i < all.size(); i += 7) {
      const auto* const block =
          reinterpret_cast<const std::uint8_t*>(bytes.data()) + i / blocks.values * blocks.bytes;
      ASSERT_EQ(all[i], testing::GgufValue(blocks.type, block, i % blocks.values)) << i;
    }
    CastPlan plan;
    ASSERT_TRUE(CastPlan::Bind(DataType::kFloat64, DataType::kFloat32, {}, &plan).ok());
    for (int times = 0; times < 200; ++times) {
      const std::uint64_t first = random() % kCount;
      const std::size_t n = static_cast<std::size_t>(
          std::min<std::uint64_t>(kCount - first, 1 + random() % (times % 2 == 0 ? 70 : 5000)));
      std::vector<double> some(n);
      parts.Read(*weight, first, Rounding::kNearest, some);
      ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin() + static_cast<int>(first)))
          << first << " + " << n;
      std::vector<float> floats(n);
      parts.Cast(*weight, plan, first, std::as_writable_bytes(std::span(floats)));
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(floats[i], static_cast<float>(some[i])) << first << " + " << i;
      }
    }
  }
}

// Casts to 16 and 32 bits by every target are those of the exact values, of blocks whose scales are
// about as large, as quantisers write them, and of any scales.
TEST(GgufWeight, CastsOfEveryTargetAreOfTheExactValues) {
  constexpr std::uint64_t kCount = 12 * 1024;
  constexpr DataType kCastTo[] = {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16};
  std::mt19937_64 random(6);
  for (const GgufBlocks& blocks : AllGgufBlocks()) {
    for (const bool are_alike : {true, false}) {
      std::vector<std::byte> bytes = Blocks(blocks, kCount / blocks.values, 7);
      // Upper bytes of scales: those that make a block odd.
      for (std::size_t at = 0; at < blocks.bytes; ++at) {
        std::vector<std::byte> one(blocks.bytes);
        one[at] = std::byte{0x7C};
        if (!are_alike || blocks.odd_scale(one.data()) == OddScale::kNone) continue;
        for (std::size_t i = at; i < bytes.size(); i += blocks.bytes) {
          bytes[i] = static_cast<std::byte>(0x20 + random() % 4 + 0x80 * (random() % 2));
        }
      }
      const Memory memory({bytes});
      const auto weight = MakeGgufWeight(blocks, {0, kCount});
      const HeldParts parts(memory);
      std::vector<double> exact(kCount);
      parts.Read(*weight, 0, Rounding::kOdd, exact);
      for (const Target target : Targets()) {
        for (const DataType to : kCastTo) {
          SCOPED_TRACE(std::string(blocks.type) + " to " + std::string(TypeName(to)) + ", " +
                       std::string(TargetName(target)) + (are_alike ? ", alike" : ""));
          CastPlan plan, scalar;
          ASSERT_TRUE(CastPlan::Bind(DataType::kFloat64, to, {}, &plan, target).ok());
          ASSERT_TRUE(CastPlan::Bind(DataType::kFloat64, to, {}, &scalar, Target::kScalar).ok());
          const std::size_t size = *StorageBytes(to, 1);
          std::vector<std::byte> expected(kCount * size);
          ASSERT_TRUE(scalar.Run(std::as_bytes(std::span(exact)), 0, expected, 0, kCount).ok());
          for (const auto& [first, n] : {std::pair<std::uint64_t, std::uint64_t>{0, kCount},
                                         {1, 5000},
                                         {4099, 31},
                                         {2047, 2},
                                         {777, kCount - 777}}) {
            std::vector<std::byte> out(static_cast<std::size_t>(n) * size);
            parts.Cast(*weight, plan, first, out);
            ASSERT_TRUE(std::equal(out.begin(), out.end(),
                                   expected.begin() + static_cast<std::ptrdiff_t>(first * size)))
                << first << " + " << n;
          }
        }
      }
    }
  }
}

// Expects every target's casts of all values to be those of the exact ones.
void ExpectRoundedOnce(const GgufBlocks& blocks, const std::vector<std::byte>& bytes, DataType to) {
  const std::uint64_t count = bytes.size() / blocks.bytes * blocks.values;
  const Memory memory({bytes});
  const auto weight = MakeGgufWeight(blocks, {0, count});
  const HeldParts parts(memory);
  std::vector<double> exact(static_cast<std::size_t>(count));
  parts.Read(*weight, 0, Rounding::kOdd, exact);
  CastPlan scalar;
  ASSERT_TRUE(CastPlan::Bind(DataType::kFloat64, to, {}, &scalar, Target::kScalar).ok());
  std::vector<std::byte> expected(2 * exact.size()), out(2 * exact.size());
  ASSERT_TRUE(scalar.Run(std::as_bytes(std::span(exact)), 0, expected, 0, exact.size()).ok());
  for (const Target target : Targets()) {
    CastPlan plan;
    ASSERT_TRUE(CastPlan::Bind(DataType::kFloat64, to, {}, &plan, target).ok());
    parts.Cast(*weight, plan, 0, out);
    ASSERT_EQ(out, expected) << blocks.type << " to " << TypeName(to) << ", " << TargetName(target);
  }
}

// A float16: an integer of 11 bits times the last place of an exponent.
void PutHalf(int integer, int exponent, std::vector<std::byte>* bytes) {
  const int half = (integer < 0 ? 1 << 15 : 0) | exponent << 10 | (std::abs(integer) & 1023);
  bytes->push_back(static_cast<std::byte>(half & 0xFF));
  bytes->push_back(static_cast<std::byte>(half >> 8));
}

// Sums of products of two scales whose exponents are any number apart: those that float32 holds,
// and those that it does not.
TEST(GgufWeight, SumsOfScalesFarApartAreRoundedOnce) {
  constexpr std::uint64_t kCount = 2048;
  std::mt19937_64 random(8);
  for (const char* const type : {"Q4_1", "Q4_K", "Q2_K"}) {
    const GgufBlocks& blocks = *FindGgufBlocks(type);
    std::vector<std::size_t> scales;  // their upper bytes
    for (std::size_t at = 0; at < blocks.bytes; ++at) {
      std::vector<std::byte> one(blocks.bytes);
      one[at] = std::byte{0x7C};
      if (blocks.odd_scale(one.data()) != OddScale::kNone) scales.push_back(at);
    }
    ASSERT_EQ(scales.size(), 2U);
    for (int exponent = 0; exponent < 31; ++exponent) {
      for (const int other : {0, 1, 15, 30}) {
        SCOPED_TRACE(std::to_string(exponent) + " and " + std::to_string(other));
        std::vector<std::byte> bytes(static_cast<std::size_t>(kCount / blocks.values) *
                                     blocks.bytes);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        for (std::size_t i = 0; i < bytes.size(); i += blocks.bytes) {
          const auto upper = [&](int bits) {
            return static_cast<std::byte>(bits << 2 | static_cast<int>(random() % 4) |
                                          static_cast<int>(random() % 8 == 0) << 7);
          };
          bytes[i + scales[0]] = upper(exponent);
          bytes[i + scales[1]] = upper(other);
        }
        ExpectRoundedOnce(blocks, bytes, DataType::kBfloat16);
        ExpectRoundedOnce(blocks, bytes, DataType::kFloat16);
      }
    }
  }
}

// Sums of 25 bits that are rounded another way where they become float32s before, which makes them
// ties. Their scales lie one and two exponents farther apart than sums may have that float32 holds.
TEST(GgufWeight, SumsThatFloat32RoundsToTiesAreRoundedOnce) {
  // Of Q4_1, q d + m: all that are so to bfloat16, of some m.
  const auto upper = [](std::int64_t value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  };
  const auto once = [&](std::int64_t value) {
    // By 24 bits, of which the last one says whether anything was cut off.
    const int cut =
        std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 24);
    const std::int64_t kept = value >> cut;
    return upper((kept | static_cast<int>(kept << cut != value)) << cut);
  };
  const GgufBlocks& blocks = *FindGgufBlocks("Q4_1");
  for (const int apart : {10, 11}) {
    SCOPED_TRACE(apart);
    std::vector<std::byte> bytes;
    for (int q = 1; q <= 15; ++q) {
      for (int d = 1024; d < 2048; ++d) {
        for (const int m : {1024, 1025, 1026, 1535, 1537, 2046, 2047, -1025, -1537, -2047}) {
          const std::int64_t sum = (std::int64_t{q} * d << apart) + m;
          if (once(sum) == upper(sum)) continue;
          PutHalf(d, 1 + apart, &bytes);
          PutHalf(m, 1, &bytes);
          bytes.insert(bytes.end(), 16, static_cast<std::byte>(q | q << 4));
        }
      }
    }
    const std::size_t found = bytes.size() / blocks.bytes;
    ASSERT_GT(found, 50U);
    // As many as are looked up or refused at once, 64 blocks, and more.
    bytes.insert(bytes.end(), bytes.begin(),
                 bytes.begin() + static_cast<std::ptrdiff_t>(14 * blocks.bytes));
    ExpectRoundedOnce(blocks, bytes, DataType::kBfloat16);
  }
  // To float16, eight blocks alike: of Q4_K 15 * 63 * 2046 * 2^4 - 5 * 1133, and of Q2_K
  // 3 * 15 * 2047 * 2^8 - 3 * 1109.
  for (const std::string type : {"Q4_K", "Q2_K"}) {
    std::vector<std::byte> block;
    if (type == "Q4_K") {
      PutHalf(2046, 1 + 4, &block);
      PutHalf(1133, 1, &block);
      for (const int scale : {0xFF, 0x05, 0x5F}) {
        block.insert(block.end(), 4, static_cast<std::byte>(scale));
      }
      block.insert(block.end(), 128, std::byte{0xFF});
    } else {
      block.insert(block.end(), 16, std::byte{0x3F});
      block.insert(block.end(), 64, std::byte{0xFF});
      PutHalf(2047, 1 + 8, &block);
      PutHalf(1109, 1, &block);
    }
    std::vector<std::byte> bytes;
    for (int i = 0; i < 8; ++i) bytes.insert(bytes.end(), block.begin(), block.end());
    ExpectRoundedOnce(*FindGgufBlocks(type), bytes, DataType::kFloat16);
  }
}

TEST(GgufWeight, EachMatrixByItsScale) {
  const GgufBlocks& blocks = *FindGgufBlocks("NVFP4");
  constexpr std::uint64_t kExperts = 5, kOfExpert = 3 * 7 * 64, kCount = kExperts * kOfExpert;
  const std::vector<float> scales = {0.1f, -3, 1e30f, 0x1p-140f, 7};
  std::vector<std::byte> scale_bytes(sizeof(float) * kExperts);
  std::copy_n(std::as_bytes(std::span(scales)).begin(), scale_bytes.size(), scale_bytes.begin());
  const std::vector<std::byte> bytes = Blocks(blocks, kCount / blocks.values, 4);
  const Memory memory({bytes, scale_bytes});
  const auto weight = MakeGgufWeight(blocks, {0, kCount, 1, kExperts});
  const HeldParts parts(memory);
  for (const std::uint64_t first : {0, 1, 1343, 1344, 1345, 4000}) {
    std::vector<double> values(kCount - first);
    EXPECT_FALSE(parts.Read(*weight, first, Rounding::kOdd, values));
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::size_t i = k + static_cast<std::size_t>(first);
      const auto* const block =
          reinterpret_cast<const std::uint8_t*>(bytes.data()) + i / blocks.values * blocks.bytes;
      const double expected = testing::GgufValue("NVFP4", block, i % blocks.values) *
                              static_cast<double>(scales[i / kOfExpert]);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(values[k]), std::bit_cast<std::uint64_t>(expected))
          << i;
    }
  }
}

TEST(GgufWeight, CountsBlocksWhoseScalesAreNone) {
  const GgufBlocks& blocks = *FindGgufBlocks("Q4_1");
  constexpr std::uint64_t kBlocks = 5000;
  std::vector<std::byte> bytes = Blocks(blocks, kBlocks, 5);
  const auto set = [&](std::size_t block, std::size_t at, int high) {
    bytes[block * blocks.bytes + at] = std::byte{0};
    bytes[block * blocks.bytes + at + 1] = static_cast<std::byte>(high);
  };
  set(700, 0, 0xFC);   // -Inf
  set(3000, 2, 0x7E);  // NaN
  set(3000, 0, 0x7C);
  const Memory memory({bytes});
  const auto weight = MakeGgufWeight(blocks, {0, kBlocks * blocks.values});
  const ScaleFindings found = weight->FindOddBlocks(memory);
  EXPECT_EQ(found.infinite, 1u);
  EXPECT_EQ(found.nan, 1u);
  EXPECT_EQ(found.first, 700u);
  EXPECT_EQ(weight->form().blocks, kBlocks);
  const HeldParts parts(memory);
  std::vector<double> values(32);
  EXPECT_TRUE(parts.Read(*weight, 700 * 32, Rounding::kOdd, values));
  EXPECT_EQ(weight->form().name, "q4_1");
}

}  // namespace
}  // namespace tensorcast::scale
