// Rotated rows of several parts, read in pieces by several threads; values are checked against the
// sums over the entries of the matrix.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/rotated_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "memory_tensors.h"

namespace tensorcast::scale {
namespace {

// -1 for each base-4 digit where row and column add up to 3.
int SignOf(std::uint64_t row, std::uint64_t column, std::uint64_t size) {
  int sign = 1;
  for (; size > 1; size /= 4, row /= 4, column /= 4) {
    if (row % 4 + column % 4 == 3) sign = -sign;
  }
  return sign;
}

struct Rotation {
  int bits;
  std::uint64_t rows, columns, group;
};

class RotatedModel {
 public:
  explicit RotatedModel(const Rotation& rotation) : rotation_(rotation) {
    std::mt19937 random(11);
    bytes_.resize(rotation.rows * rotation.columns * static_cast<std::uint64_t>(rotation.bits) / 8);
    for (std::uint8_t& one : bytes_) one = static_cast<std::uint8_t>(random());
    for (std::uint64_t r = 0; r < rotation.rows; ++r) {
      scales_.push_back(0.01f + static_cast<float>(r % 977) * 0.37f);
    }
  }

  std::shared_ptr<const PackedWeight> Make(MemoryTensors& tensors) const {
    RotatedRows made;
    made.form.bits = rotation_.bits;
    made.codes = tensors.Add(bytes_);
    made.rows = rotation_.rows;
    made.columns = rotation_.columns;
    made.group = rotation_.group;
    made.scales = tensors.Add(scales_);
    return MakeRotatedRows(std::move(made));
  }

  int CodeOf(std::uint64_t element) const {
    if (rotation_.bits == 8) return static_cast<std::int8_t>(bytes_[element]);
    const int nibble = bytes_[element / 2] >> (element % 2 * 4) & 15;
    return nibble < 8 ? nibble : nibble - 16;
  }

  // An exact double, rounded once.
  float Value(std::uint64_t element) const {
    const std::uint64_t within = element % rotation_.group, first = element - within;
    int sum = 0;
    for (std::uint64_t i = 0; i < rotation_.group; ++i) {
      sum += SignOf(within, i, rotation_.group) * CodeOf(first + i);
    }
    return static_cast<float>(sum * double{scales_[element / rotation_.columns]} /
                              std::sqrt(static_cast<double>(rotation_.group)));
  }

 private:
  Rotation rotation_;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> scales_;
};

class SeveralPartsRotated : public ::testing::TestWithParam<Rotation> {};

TEST_P(SeveralPartsRotated, GiveEveryValueAndReadTheFileOnce) {
  const Rotation& rotation = GetParam();
  const RotatedModel model(rotation);
  MemoryTensors tensors;
  const auto weight = model.Make(tensors);
  const HeldParts parts(tensors);
  const std::uint64_t elements = rotation.rows * rotation.columns;
  const std::vector<float> values = ReadByThreads(parts, *weight, elements);
  EXPECT_LE(tensors.bytes_read(), 2 * tensors.all_bytes());
  EXPECT_GT(weight->PlaceOf(elements - 1).part, 0u) << "one part is no test";
  for (std::uint64_t i = 0; i < elements; i += i % 1301 + 1) {
    ASSERT_EQ(values[i], model.Value(i)) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(RotatedRows, SeveralPartsRotated,
                         ::testing::Values(Rotation{8, 1100, 2048, 256}, Rotation{8, 700, 4100, 4},
                                           Rotation{4, 1300, 4096, 64}, Rotation{4, 300, 16400, 16},
                                           Rotation{8, 2, 2'500'096, 256}),
                         [](const auto& one) {
                           return "Bits" + std::to_string(one.param.bits) + "Of" +
                                  std::to_string(one.param.columns);
                         });

TEST(RotatedRows, HaveSumsOfZerosAndInfinitiesAsIeeeHasThem) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  struct SumCase {
    float scale;
    std::vector<std::int8_t> codes;
    std::vector<double> values;
  };
  const double nan = std::nan("");
  const SumCase cases[] = {
      // The signs of the matrix' first row: all terms of its sum agree.
      {kInf, {3, 3, 3, -3}, {kInf, nan, nan, nan}},
      {-kInf, {3, 3, 3, -3}, {-kInf, nan, nan, nan}},
      {kInf, {3, 3, 0, -3}, {nan, nan, nan, nan}},
      {0, {-3, -3, -3, 3}, {-0.0, 0.0, 0.0, 0.0}},
      {-0.0f, {3, 3, 3, -3}, {-0.0, 0.0, 0.0, 0.0}},
      {0, {0, 0, 0, 0}, {0.0, 0.0, 0.0, 0.0}},
      {-1, {0, 0, 0, 0}, {0.0, 0.0, 0.0, 0.0}},
      {-2, {1, 1, 1, 3}, {0.0, -4, -4, -4}},
      {std::nanf(""), {1, 1, 1, 1}, {nan, nan, nan, nan}},
  };
  for (const SumCase& one : cases) {
    MemoryTensors tensors;
    RotatedRows made;
    made.form.bits = 8;
    made.codes = tensors.Add(one.codes);
    made.rows = 1;
    made.columns = made.group = 4;
    made.scales = tensors.Add(std::vector<float>{one.scale});
    const auto part = MakeRotatedRows(std::move(made))->Load(tensors, 0);
    std::vector<double> values(4);
    part->Read(0, Rounding::kOdd, values);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto title = ::testing::Message() << "scale " << one.scale << ", value " << i;
      EXPECT_EQ(std::signbit(values[i]), std::signbit(one.values[i])) << title;
      if (std::isnan(one.values[i])) {
        EXPECT_TRUE(std::isnan(values[i])) << title;
      } else {
        EXPECT_EQ(values[i], one.values[i]) << title;
      }
    }
  }
}

}  // namespace
}  // namespace tensorcast::scale
