// Single elements and bulk packing against the oracle's bit streams: every type, on every target,
// from any element on, between pages that may not be touched.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/guarded_buffer.h"
#include "oracle/packing.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {
namespace {

constexpr std::uint64_t kMost = 4200;  // elements: several blocks, and not a whole number of them

std::vector<std::byte> Noise(std::size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class Packing : public ::testing::TestWithParam<TypeInfo> {
 protected:
  DataType type() const { return GetParam().type; }
  int bits() const { return GetParam().bits; }
  std::size_t width() const { return static_cast<std::size_t>(std::max(bits(), 8)) / 8; }
};

TEST_P(Packing, OneElement) {
  std::vector<std::byte> bytes = Noise(8 * 40, 1);
  std::mt19937_64 random(2);
  for (std::uint64_t i = 0; i < 40; ++i) {
    ASSERT_EQ(LoadCode(type(), bytes.data(), i), oracle::GetCode(bytes, bits(), i)) << i;
    const std::uint64_t code = random();  // bits above the width are ignored
    std::vector<std::byte> expected = bytes;
    const std::uint64_t mask = bits() == 64 ? ~std::uint64_t{0} : (1ull << bits()) - 1;
    oracle::PutCode(expected, bits(), i, code & mask);
    StoreCode(type(), bytes.data(), i, code);
    ASSERT_EQ(bytes, expected) << i;
  }
}

// Buffers exactly as long as the call allows, at the end of memory and at its beginning.
TEST_P(Packing, InBulk) {
  const GuardedBuffer packed_memory(kMost * 8 + 64), codes_memory(kMost * 8);
  for (const Target target : Targets()) {
    for (const std::uint64_t n :
         {0, 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 130, 1023, 1025, 4190}) {
      for (const std::uint64_t first : {0, 1, 2, 3, 4, 7}) {
        SCOPED_TRACE(::testing::Message()
                     << TargetName(target) << " n " << n << " first " << first);
        const std::size_t packed_size = *StorageBytes(type(), first + n);
        const bool at_end = (n + first) % 2 == 0;
        const auto packed =
            at_end ? packed_memory.AtEnd(packed_size) : packed_memory.AtBegin(packed_size);
        const auto codes =
            at_end ? codes_memory.AtEnd(n * width()) : codes_memory.AtBegin(n * width());
        const std::vector<std::byte> stream = Noise(packed_size, 3);
        std::copy(stream.begin(), stream.end(), packed.begin());
        ASSERT_EQ(Unpack(type(), packed, first, codes, n, target), Status());
        for (std::uint64_t i = 0; i < n; ++i) {
          ASSERT_EQ(oracle::GetCode(codes, static_cast<int>(8 * width()), i),
                    oracle::GetCode(stream, bits(), first + i))
              << i;
        }
        // Back over other bits: noise above the codes changes nothing, nor does anything beside.
        std::vector<std::byte> expected = Noise(packed_size, 4);
        std::copy(expected.begin(), expected.end(), packed.begin());
        for (std::uint64_t i = 0; i < n; ++i) {
          oracle::PutCode(expected, bits(), first + i, oracle::GetCode(stream, bits(), first + i));
        }
        if (bits() < 8) {
          for (std::byte& code : codes) code |= static_cast<std::byte>(0xFF << bits());
        }
        ASSERT_EQ(Pack(type(), codes, packed, first, n, target), Status());
        ASSERT_TRUE(std::equal(packed.begin(), packed.end(), expected.begin()));
      }
    }
  }
}

TEST_P(Packing, RefusesAndWritesNothing) {
  std::vector<std::byte> packed = Noise(200, 5), codes = Noise(2000, 6);
  const std::vector<std::byte> packed_before = packed, codes_before = codes;
  const std::uint64_t n = 100 / width();
  const std::size_t packed_size = *StorageBytes(type(), n);
  const std::span<std::byte> p(packed), c(codes);
  const auto both = [&](StatusCode expected, std::span<std::byte> packed_part, std::uint64_t first,
                        std::span<std::byte> codes_part, std::uint64_t count) {
    EXPECT_EQ(Unpack(type(), packed_part, first, codes_part, count).code(), expected);
    EXPECT_EQ(Pack(type(), codes_part, packed_part, first, count).code(), expected);
  };
  both(StatusCode::kBufferTooSmall, p.first(packed_size - 1), 0, c, n);
  both(StatusCode::kBufferTooSmall, p, 0, c.first(n * width() - 1), n);
  both(StatusCode::kBufferTooSmall, p.first(packed_size), 8, c, n);
  both(StatusCode::kSizeOverflow, p, UINT64_MAX, c, 2);
  both(StatusCode::kNullPointer, {}, 0, c, n);
  both(StatusCode::kNullPointer, p, 0, {}, n);
  both(StatusCode::kOverlap, c.first(packed_size), 0, c.subspan(packed_size - 1), n);
  both(StatusCode::kOverlap, c.subspan(n * width() - 1, packed_size), 0, c.first(n * width()), n);
  both(StatusCode::kOk, {}, 0, {}, 0);
  EXPECT_EQ(packed, packed_before);
  EXPECT_EQ(codes, codes_before);
}

TEST(PackingOfNoType, IsRefused) {
  std::vector<std::byte> bytes(8), codes(8);
  for (const auto& [type, code] :
       {std::pair{DataType::kString, StatusCode::kWrongCall},
        std::pair{DataType::kUndefined, StatusCode::kInvalidType},
        std::pair{static_cast<DataType>(14), StatusCode::kInvalidType}}) {
    EXPECT_EQ(Unpack(type, bytes, 0, codes, 1).code(), code);
    EXPECT_EQ(Pack(type, codes, bytes, 0, 1).code(), code);
  }
  EXPECT_EQ(Unpack(DataType::kInt4, bytes, 0, codes, 1, static_cast<Target>(99)).code(),
            StatusCode::kTargetUnavailable);
}

std::vector<TypeInfo> FixedWidth() {
  std::vector<TypeInfo> rows;
  for (const TypeInfo& row : Types()) {
    if (row.bits != 0) rows.push_back(row);
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Type, Packing, ::testing::ValuesIn(FixedWidth()),
                         [](const auto& row) { return std::string(row.param.name); });

// At compile time too.
constexpr std::uint64_t StoredAndLoaded() {
  std::byte bytes[3] = {};
  StoreCode(DataType::kFloat6E2M3, bytes, 2, 0x3F);
  StoreCode(DataType::kFloat6E2M3, bytes, 1, 0x15);
  return LoadCode(DataType::kFloat6E2M3, bytes, 1) << 8 |
         LoadCode(DataType::kFloat6E2M3, bytes, 2) << 16 | std::to_integer<std::uint64_t>(bytes[2]);
}
static_assert(StoredAndLoaded() == (0x3Fu << 16 | 0x15u << 8 | 0x03u));

}  // namespace
}  // namespace tensorcast::testing
