// GGUF's blocks made of weights. That the bytes are gguf-py's is tests/peers/check_gguf.py's; here
// is what holds of every type, and what no program says.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/gguf_quantiser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "core/failure.h"
#include "kinds_of_blocks.h"

namespace tensorcast::scale {
namespace {

constexpr std::string_view kTypes[] = {"Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "MXFP4", "NVFP4"};
constexpr std::uint64_t kGgufElements = 5 * 1024 + 64;

std::vector<std::byte> BlocksOf(std::string_view type, const std::vector<float>& x,
                                LossMeter* loss = nullptr) {
  const GgufQuantiser quantiser(DataType::kFloat32, type);
  const GgufBlocks& blocks = *FindGgufBlocks(type);
  std::vector<std::byte> made(x.size() / blocks.values * blocks.bytes);
  EXPECT_EQ(quantiser.Encode(std::as_bytes(std::span(x)), 0, 0, x.size(), made, loss),
            std::nullopt);
  return made;
}

std::vector<double> ValuesOf(std::string_view type, const std::vector<std::byte>& made) {
  const GgufBlocks& blocks = *FindGgufBlocks(type);
  std::vector<double> values(made.size() / blocks.bytes * blocks.values);
  blocks.to_doubles(made.data(), made.size() / blocks.bytes, values.data());
  return values;
}

std::vector<float> Normal(float width) {
  std::mt19937_64 random(20261126);
  std::normal_distribution<float> normal(0, width);
  std::vector<float> x(kGgufElements);
  for (float& one : x) one = normal(random);
  return x;
}

TEST(GgufQuantiser, WritesWhatItReads) {
  for (const GgufBlocks& blocks : AllGgufBlocks()) {
    EXPECT_EQ(IsGgufWritten(blocks.type), std::ranges::count(kTypes, blocks.type) == 1)
        << blocks.type;
  }
  EXPECT_THROW(GgufQuantiser(DataType::kFloat32, "Q4_K"), core::Failure);
  EXPECT_THROW(GgufQuantiser(DataType::kString, "Q8_0"), core::Failure);
}

// No value is further off than half a step of its block, and a few digits of float16 and float32.
TEST(GgufQuantiser, NearestValues) {
  const std::vector<float> x = Normal(0.05f);
  for (const std::string_view type : {"Q8_0", "Q4_1", "Q5_1"}) {
    const std::vector<double> values = ValuesOf(type, BlocksOf(type, x));
    const double steps = type == "Q8_0" ? 127 : type == "Q4_1" ? 15 : 31;
    for (std::size_t begin = 0; begin < x.size(); begin += 32) {
      double least = x[begin], most = x[begin];
      for (std::size_t i = begin; i < begin + 32; ++i) {
        least = std::min<double>(least, x[i]);
        most = std::max<double>(most, x[i]);
      }
      const double range = type == "Q8_0" ? std::max(-least, most) : most - least;
      const double far = range / steps * 0.5 + (std::max(-least, most) + range) * 0x1p-10;
      for (std::size_t i = begin; i < begin + 32; ++i) {
        EXPECT_LE(std::fabs(values[i] - x[i]), far) << type << ' ' << i;
      }
    }
  }
}

// Pieces and what is measured change no byte; in pieces the figures are the same.
TEST(GgufQuantiser, InPieces) {
  const std::vector<float> x = Normal(2);
  for (const std::string_view type : kTypes) {
    const GgufQuantiser quantiser(DataType::kFloat32, type);
    const GgufBlocks& blocks = *FindGgufBlocks(type);
    LossMeter whole = quantiser.Meter(), all = quantiser.Meter();
    const std::vector<std::byte> made = BlocksOf(type, x, &whole);
    EXPECT_EQ(made, BlocksOf(type, x)) << type;
    std::vector<std::byte> pieces(made.size());
    for (std::uint64_t first = 0; first < kGgufElements; first += 2048) {
      const std::uint64_t n = std::min<std::uint64_t>(2048, kGgufElements - first);
      LossMeter meter = quantiser.Meter();
      quantiser.Encode(std::as_bytes(std::span(x)), first, first, n,
                       std::span(pieces).subspan(first / blocks.values * blocks.bytes), &meter);
      EXPECT_TRUE(all.Merge(meter).ok());
    }
    EXPECT_EQ(pieces, made) << type;
    EXPECT_EQ(all.Report().snr_db, whole.Report().snr_db) << type;
    EXPECT_EQ(whole.Report().elements, kGgufElements);
  }
}

// What lanes make is what the scalar target makes, which check_gguf.py holds against gguf-py.
TEST(GgufQuantiser, EveryTargetGivesTheSameBytes) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x = Normal(1);
  std::mt19937_64 random(7);
  // Blocks whose values are often alike, of both signs, zeros, at ties, subnormal; two not finite.
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t kind = i / 64 % 8;
    const auto few = static_cast<float>(static_cast<int>(random() % 17) - 8);
    if (kind == 1) x[i] = few;
    if (kind == 2) x[i] = few * 0x1p-130f;
    if (kind == 3) x[i] = std::copysign(few == 8 ? 1.0f : 0.0f, few);
    if (kind == 4) x[i] = std::copysign(0.0f, few);
    if (kind == 5) x[i] = (few + 8.5f) * 0.25f;
    if (kind == 6) x[i] *= std::ldexp(1.0f, static_cast<int>(random() % 60) - 45);
  }
  x[200] = kInf;
  x[900] = -std::numeric_limits<float>::quiet_NaN();
  for (const std::string_view type : kTypes) {
    const GgufBlocks& blocks = *FindGgufBlocks(type);
    std::vector<std::byte> expected(x.size() / blocks.values * blocks.bytes);
    GgufQuantiser(DataType::kFloat32, type, Target::kScalar)
        .Encode(std::as_bytes(std::span(x)), 0, 0, x.size(), expected, nullptr);
    for (const Target target : Targets()) {
      std::vector<std::byte> made(expected.size());
      GgufQuantiser(DataType::kFloat32, type, target)
          .Encode(std::as_bytes(std::span(x)), 0, 0, x.size(), made, nullptr);
      EXPECT_EQ(made, expected) << type << ", target " << static_cast<int>(target);
    }
  }
}

// Meters too, of every source whose blocks lanes measure by their codes, and of one that they do
// not; large values have errors beside each other's codes that float32 does not tell apart.
TEST(GgufQuantiser, EveryTargetMeasuresTheSame) {
  const std::uint64_t n = 40 * 1024 + 64;
  unsigned seed = 100;
  for (const std::string_view type : kTypes) {
    const GgufBlocks& blocks = *FindGgufBlocks(type);
    for (const DataType source :
         {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16, DataType::kFloat8E4M3FN}) {
      std::vector<float> values = KindsOfBlocks(n, ++seed);
      std::mt19937_64 random(seed);
      for (std::size_t i = 4 * 1024; i < 8 * 1024; ++i) {
        const auto step = static_cast<float>(static_cast<int>(random() % 65) - 32);
        if (i < 5 * 1024) {
          values[i] = i % 7 == 0 ? step * 1e-3f : step;
        } else if (i < 7 * 1024) {
          // Where NVFP4 has no scale that is large enough, the second time with smaller errors.
          const float much = i < 6 * 1024 ? 1e14f : 1e13f;
          values[i] = (step + 0.5f) * (type != "NVFP4" || i % 64 < 20 ? 10.0f : much);
        } else {
          values[i] = step / 8;  // ties of all types
        }
      }
      std::vector<std::byte> x(*StorageBytes(source, n));
      ASSERT_TRUE(Cast(DataType::kFloat32, std::as_bytes(std::span(values)), source, x, n).ok());
      std::vector<std::byte> expected(n / blocks.values * blocks.bytes), made(expected.size());
      const GgufQuantiser one_by_one(source, type, Target::kScalar);
      LossMeter expected_loss = one_by_one.Meter();
      ASSERT_EQ(one_by_one.Encode(x, 0, 0, n, expected, &expected_loss), std::nullopt);
      EXPECT_GT(expected_loss.Report().count(Loss::kRounded), 0u);
      for (const Target target : Targets()) {
        const GgufQuantiser forced(source, type, target);
        LossMeter loss = forced.Meter();
        ASSERT_EQ(forced.Encode(x, 0, 0, n, made, &loss), std::nullopt);
        EXPECT_EQ(made, expected) << type << ", " << TargetName(target);
        EXPECT_EQ(Saved(loss), Saved(expected_loss))
            << type << " of " << TypeName(source) << ", " << TargetName(target);
      }
    }
  }
}

TEST(GgufQuantiser, InfAndNan) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x(64, 1.0f);
  x[0] = 2;
  x[1] = kInf;
  x[2] = -kInf;
  x[3] = std::numeric_limits<float>::quiet_NaN();
  for (const std::string_view type : kTypes) {
    LossMeter loss = GgufQuantiser(DataType::kFloat32, type).Meter();
    const std::vector<double> values = ValuesOf(type, BlocksOf(type, x, &loss));
    const bool has_least = type == "Q4_1" || type == "Q5_1";
    EXPECT_NEAR(values[1], 2, 0.3) << type;
    EXPECT_NEAR(values[2], has_least ? 1 : -2, 0.3) << type;
    EXPECT_NEAR(values[3], has_least ? 1 : 0, 0.1) << type;
    EXPECT_EQ(loss.Report().count(Loss::kNanLost), 1u) << type;
    EXPECT_EQ(loss.Report().finite, 61u) << type;
  }
}

TEST(GgufQuantiser, NamesTheBlockThatFloat16DoesNotHold) {
  std::vector<float> x(128, 1.0f);
  x[70] = 65504.0f * 127.1f;
  const GgufQuantiser quantiser(DataType::kFloat32, "Q8_0");
  std::vector<std::byte> made(4 * 34);
  EXPECT_EQ(quantiser.Encode(std::as_bytes(std::span(x)), 0, 0, 128, made, nullptr), 2u);
  x[70] = 65504.0f * 127.0f;
  EXPECT_EQ(quantiser.Encode(std::as_bytes(std::span(x)), 0, 0, 128, made, nullptr), std::nullopt);
  EXPECT_THROW(quantiser.Encode(std::as_bytes(std::span(x)), 0, 0, 100, made, nullptr),
               core::Failure);
  EXPECT_THROW(
      quantiser.Encode(std::as_bytes(std::span(x)), 0, 0, 128, std::span(made).first(135), nullptr),
      core::Failure);
}

// From 256 on ggml has no scale but 448.
TEST(GgufQuantiser, ScalesOfNvfp4) {
  std::vector<float> x(64, 0.0f);
  for (const float scale : {256.0f, 288.0f, 416.0f, 448.0f, 1000.0f}) {
    x[5] = 6 * scale;
    const std::vector<double> values = ValuesOf("NVFP4", BlocksOf("NVFP4", x));
    EXPECT_EQ(values[5], 6 * std::min(scale, 448.0f));
  }
}

}  // namespace
}  // namespace tensorcast::scale
