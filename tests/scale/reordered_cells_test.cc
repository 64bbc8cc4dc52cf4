// Codes and scales in orders of their own, of several parts, read in pieces by several threads; and
// what of the file is read for them. Values are checked against code and scale of each element,
// each taken from its place by the formula of the layout.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/reordered_cells.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/source_codes.h"
#include "memory_tensors.h"

namespace tensorcast::scale {
namespace {

constexpr float kE2M1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};

std::vector<std::uint8_t> RandomBytes(std::uint64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(n);
  for (std::uint8_t& one : bytes) one = static_cast<std::uint8_t>(random());
  return bytes;
}

// Of a scale at (r, c) of a grid with so many columns.
std::uint64_t TiledPlace(std::uint64_t r, std::uint64_t c, std::uint64_t columns) {
  return ((r / 128) * ((columns + 3) / 4) + c / 4) * 512 + (r % 32) * 16 + ((r % 128) / 32) * 4 +
         c % 4;
}

// The published example: a grid of 256 x 8 whose scale (r, c) is r * 8 + c.
TEST(ScaleTiles, AreInThePublishedOrder) {
  const ScaleTiles tiles = ScaleTiles::Of(8);
  std::vector<std::uint64_t> stored(256 * 8);
  for (std::uint64_t r = 0; r < 256; ++r) {
    for (std::uint64_t c = 0; c < 8; ++c) stored[tiles.PlaceOf(r, c)] = r * 8 + c;
  }
  const std::vector<std::uint64_t> begin = {0,   1,   2,   3,   256, 257, 258, 259, 512, 513,
                                            514, 515, 768, 769, 770, 771, 8,   9,   10,  11};
  EXPECT_TRUE(std::ranges::equal(std::span(stored).first(begin.size()), begin));
}

// Of nvfp4: e4m3 scales between 0.25 and 1.875, so that every product is a float32.
struct StoredMatrix {
  std::uint64_t rows, columns, stored_rows, stored_columns;
};
class Nvfp4Weight {
 public:
  explicit Nvfp4Weight(const StoredMatrix& shape) : shape_(shape) {
    codes_ = RandomBytes(shape.stored_rows * shape.stored_columns / 2, 3);
    grid_columns_ = shape.stored_columns / 16;
    const std::uint64_t tiles = (shape.stored_rows + 127) / 128 * ((grid_columns_ + 3) / 4);
    scales_ = RandomBytes(tiles * 512, 4);
    for (std::uint8_t& one : scales_) one = static_cast<std::uint8_t>(0x28 + one % 24);
  }

  std::shared_ptr<const PackedWeight> Make(MemoryTensors& tensors) const {
    ReorderedCells made;
    made.scaling = {.element = DataType::kFloat4E2M1,
                    .scale = DataType::kFloat8E4M3FN,
                    .global_use = Factor::kMultiplies};
    const std::uint64_t dimensions[] = {shape_.rows, shape_.columns};
    made.partition = Partition::OfBlocks(dimensions, 1, 16);
    made.codes = tensors.Add(codes_);
    made.stored_columns = shape_.stored_columns;
    made.is_high_first = true;
    made.scales = tensors.Add(scales_);
    made.tiles = ScaleTiles::Of(grid_columns_);
    made.global = tensors.Add(std::vector<float>{0.5f});
    return MakeReorderedCells(std::move(made));
  }

  float Value(std::uint64_t row, std::uint64_t column) const {
    const std::uint64_t place = row * shape_.stored_columns + column;
    const unsigned code = place % 2 == 0 ? codes_[place / 2] >> 4u : codes_[place / 2] & 15u;
    const unsigned scale = scales_[TiledPlace(row, column / 16, grid_columns_)];
    const float factor =
        std::ldexp(static_cast<float>(8 + scale % 8), static_cast<int>(scale / 8) - 10);
    return kE2M1[code] * factor * 0.5f;
  }

 private:
  StoredMatrix shape_;
  std::uint64_t grid_columns_ = 0;
  std::vector<std::uint8_t> codes_, scales_;
};

class SeveralPartsOfNvfp4 : public ::testing::TestWithParam<StoredMatrix> {};

TEST_P(SeveralPartsOfNvfp4, GiveEveryValueAndReadTheFileOnce) {
  const StoredMatrix& shape = GetParam();
  const Nvfp4Weight model(shape);
  MemoryTensors tensors;
  const auto weight = model.Make(tensors);
  const HeldParts parts(tensors);
  const std::uint64_t elements = shape.rows * shape.columns;
  const std::vector<float> values = ReadByThreads(parts, *weight, elements);
  EXPECT_LE(tensors.bytes_read(), 2 * tensors.all_bytes());
  EXPECT_GT(weight->PlaceOf(elements - 1).part, 0u) << "one part is no test";
  for (std::uint64_t i = 0; i < elements; i += i % (testing::Sampled() ? 131 : 13) + 1) {
    const float value = model.Value(i / shape.columns, i % shape.columns);
    ASSERT_EQ(values[i], value) << "element " << i;
    ASSERT_EQ(std::signbit(values[i]), std::signbit(value)) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(ReorderedCells, SeveralPartsOfNvfp4,
                         ::testing::Values(StoredMatrix{1300, 4096, 1300, 4096},
                                           StoredMatrix{1291, 4083, 1296, 4096},
                                           StoredMatrix{40, 160'000, 40, 160'000},
                                           StoredMatrix{2, 5'000'192, 2, 5'000'192}),
                         [](const auto& one) {
                           return std::to_string(one.param.rows) + "x" +
                                  std::to_string(one.param.columns);
                         });

TEST(ReorderedCells, CountTheScalesOfCellsAlone) {
  // 2 x 3 cells of a tile of 128 x 4: what is behind them is NaN and does not count.
  std::vector<std::uint8_t> scales(512, 0x7F);
  for (std::uint64_t r = 0; r < 2; ++r) {
    for (std::uint64_t c = 0; c < 3; ++c) scales[TiledPlace(r, c, 3)] = 0x38;
  }
  scales[TiledPlace(0, 1, 3)] = 0;  // of a block of zeros
  scales[TiledPlace(1, 2, 3)] = 0xFF;
  scales[TiledPlace(1, 0, 3)] = 0xB8;
  MemoryTensors tensors;
  ReorderedCells made;
  made.scaling = {.element = DataType::kFloat4E2M1,
                  .scale = DataType::kFloat8E4M3FN,
                  .global_use = Factor::kMultiplies};
  const std::uint64_t shape[] = {2, 48};
  made.partition = Partition::OfBlocks(shape, 1, 16);
  made.codes = tensors.Add(std::vector<std::uint8_t>(48));
  made.stored_columns = 48;
  made.scales = tensors.Add(scales);
  made.tiles = ScaleTiles::Of(3);
  made.global = tensors.Add(std::vector<float>{1});
  const auto weight = MakeReorderedCells(std::move(made));
  EXPECT_TRUE(weight->Load(tensors, 0)->HasOddScales());
  const std::optional<ScaleFindings> found = weight->CountScales(tensors);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->not_positive, 1u);
  EXPECT_EQ(found->nan, 1u);
  EXPECT_EQ(found->infinite, 0u);
  EXPECT_EQ(found->first, 16u);
}

}  // namespace
}  // namespace tensorcast::scale
