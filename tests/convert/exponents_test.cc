// Exponents counted while a tensor is read: of all values or of a sample, whatever the pieces.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/exponents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::convert {
namespace {

// One tensor in memory.
class Memory final : public formats::TensorReader {
 public:
  Memory(DataType type, std::uint64_t elements, std::vector<std::byte> bytes)
      : bytes_(std::move(bytes)) {
    formats::TensorInfo& info = contents_.tensors.emplace_back();
    info.type = type;
    info.shape = {elements};
    info.elements = elements;
    info.bytes = bytes_.size();
  }
  const formats::FileContents& contents() const override { return contents_; }
  void Read(std::size_t, std::uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }
  std::uint64_t file_bytes() const override { return bytes_.size(); }
  void CheckUnchanged() const override {}

 private:
  formats::FileContents contents_;
  std::vector<std::byte> bytes_;
};

Memory RandomFloats(std::uint64_t elements) {
  std::mt19937_64 random(elements);
  std::normal_distribution<float> normal;
  std::vector<std::byte> bytes(elements * sizeof(float));
  for (std::uint64_t i = 0; i < elements; ++i) {
    const float value = normal(random);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return {DataType::kFloat32, elements, std::move(bytes)};
}

void ReadPiece(const CountingReader& reader, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::byte> piece(end - begin);
  reader.Read(0, begin, piece);
}

ExponentCounts CountWhole(const Memory& memory) {
  CountingReader reader(memory);
  reader.Want(0);
  ReadPiece(reader, 0, memory.file_bytes());
  return reader.Take(0);
}

void ExpectSame(const ExponentCounts& a, const ExponentCounts& b) {
  EXPECT_EQ(a.sampled, b.sampled);
  EXPECT_EQ(a.zeros, b.zeros);
  EXPECT_EQ(a.not_finite, b.not_finite);
  EXPECT_EQ(a.first, b.first);
  EXPECT_EQ(a.counts, b.counts);
}

TEST(Exponents, AreThoseOfFrexp) {
  using Limits = std::numeric_limits<double>;
  const std::vector<double> values = {0.0,
                                      -0.0,
                                      1.0,
                                      -1.0,
                                      1.999,
                                      2.0,
                                      0x1p-1074,
                                      0x1.8p-1070,
                                      -3e-310,
                                      1e308,
                                      Limits::infinity(),
                                      Limits::quiet_NaN()};
  std::vector<std::byte> bytes(values.size() * sizeof(double));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const ExponentCounts counts = CountWhole({DataType::kFloat64, values.size(), bytes});
  std::map<int, std::uint64_t> expected;
  for (const double value : values) {
    int exponent = 0;
    if (value == 0 || !std::isfinite(value)) continue;
    std::frexp(value, &exponent);
    ++expected[exponent - 1];
  }
  EXPECT_EQ(counts.sampled, values.size());
  EXPECT_EQ(counts.zeros, 2u);
  EXPECT_EQ(counts.not_finite, 2u);
  std::map<int, std::uint64_t> found;
  for (std::size_t i = 0; i < counts.counts.size(); ++i) {
    if (counts.counts[i] != 0) found[counts.first + static_cast<int>(i)] = counts.counts[i];
  }
  EXPECT_EQ(found, expected);
}

TEST(Exponents, OfPackedIntegersAreOfTheirMagnitudes) {
  // -8, 7, 0, 1, -1, 3 as int4, two to a byte.
  const std::vector<std::byte> bytes = {std::byte{0x78}, std::byte{0x10}, std::byte{0x3F}};
  const ExponentCounts counts = CountWhole({DataType::kInt4, 6, bytes});
  EXPECT_EQ(counts.zeros, 1u);
  EXPECT_EQ(counts.first, 0);
  EXPECT_EQ(counts.counts, (std::vector<std::uint64_t>{2, 1, 1, 1}));
}

// However the tensor is read, in whatever pieces, by one thread or more, once or twice.
TEST(Exponents, DoNotDependOnThePieces) {
  for (const std::uint64_t elements : {1u, 1000u, 1025u, 5000u, 40'000u, 600'000u, 5'000'000u}) {
    SCOPED_TRACE(elements);
    const Memory memory = RandomFloats(elements);
    const ExponentCounts whole = CountWhole(memory);
    EXPECT_GE(whole.sampled, std::min<std::uint64_t>(elements, 1024));
    std::mt19937_64 random(7);
    CountingReader reader(memory);
    reader.Want(0);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&reader, elements, seed = random()] {
        std::mt19937_64 own(seed);
        for (std::uint64_t begin = 0; begin < elements;) {
          const std::uint64_t end = std::min(elements, begin + 1 + own() % (elements / 9 + 77));
          ReadPiece(reader, begin * sizeof(float), end * sizeof(float));
          begin = end;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ExpectSame(reader.Take(0), whole);
  }
}

// Counted whole, without a sample: of every number of stretches and a last one that is not full.
TEST(Exponents, OfAllValuesAreThoseOfASmallTensor) {
  std::mt19937_64 random(11);
  for (const TypeInfo& type : Types()) {
    if (type.type == DataType::kString) continue;
    SCOPED_TRACE(type.name);
    for (const std::uint64_t elements : {0u, 1u, 31u, 32u, 33u, 1000u, 1024u}) {
      std::vector<std::byte> bytes(*StorageBytes(type.type, elements));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      if (type.type == DataType::kBool) std::ranges::fill(bytes, std::byte{1});
      ExponentCounts all;
      CountExponents(type, bytes, elements, all);
      if (elements == 0) {
        EXPECT_EQ(all.sampled, 0u);
      } else {
        ExpectSame(all, CountWhole({type.type, elements, bytes}));
      }
    }
  }
}

// Piece by piece, to a sum: frexp says what each value has.
TEST(Exponents, OfAllValuesAddUp) {
  constexpr std::uint64_t kElements = 100'003, kPiece = 4096;
  const Memory memory = RandomFloats(kElements);
  std::vector<std::byte> bytes(memory.file_bytes());
  memory.Read(0, 0, bytes);
  ExponentCounts all;
  std::map<int, std::uint64_t> expected;
  for (std::uint64_t first = 0; first < kElements; first += kPiece) {
    const std::uint64_t values = std::min(kPiece, kElements - first);
    CountExponents(*FindType(DataType::kFloat32),
                   std::span(bytes).subspan(first * sizeof(float), values * sizeof(float)), values,
                   all);
  }
  for (std::uint64_t i = 0; i < kElements; ++i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    int exponent = 0;
    std::frexp(value, &exponent);
    if (value != 0) ++expected[exponent - 1];
  }
  EXPECT_EQ(all.sampled, kElements);
  std::map<int, std::uint64_t> found;
  for (std::size_t i = 0; i < all.counts.size(); ++i) {
    if (all.counts[i] != 0) found[all.first + static_cast<int>(i)] = all.counts[i];
  }
  EXPECT_EQ(found, expected);
}

TEST(Exponents, AreCountedOfWhatIsWantedAlone) {
  const Memory memory = RandomFloats(3000);
  CountingReader reader(memory);
  ReadPiece(reader, 0, memory.file_bytes());
  EXPECT_EQ(reader.Take(0).sampled, 0u);
  reader.Want(0);
  ReadPiece(reader, 0, memory.file_bytes());
  EXPECT_NE(reader.Take(0).sampled, 0u);
  ReadPiece(reader, 0, memory.file_bytes());
  EXPECT_EQ(reader.Take(0).sampled, 0u);
}

}  // namespace
}  // namespace tensorcast::convert
