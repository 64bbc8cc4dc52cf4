// The constexpr cast of one value: at compile time, against the oracle, and through typed spans.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "core/option_sets.h"
#include "core/source_codes.h"
#include "oracle/cast.h"

namespace tensorcast::testing {
namespace {

constexpr CastOptions kSaturateIntegers = {.integer_overflow = IntegerOverflow::kSaturate};
constexpr CastOptions kNoSaturate = {.saturate = false};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

static_assert(CastValue<float16>(1.5f).bits == 0x3E00);
static_assert(CastValue<float16>(65520.0f).bits == 0x7C00);
static_assert(CastValue<float8e4m3fn>(1.0625 + 0x1p-40).bits == 0x39);
static_assert(CastValue<bfloat16>(std::int64_t{16973823}).bits == 0x4B81);
static_assert(CastValue<float8e4m3fn>(480.0f, kNoSaturate).bits == 0x7F);
static_assert(CastValue<float8e4m3fnuz>(-1e-9f).bits == 0x00);
static_assert(CastValue<float8e5m2>(61440.0f, kNoSaturate).bits == 0x7C);
static_assert(CastValue<float8e5m2fnuz>(kNan).bits == 0x80);
static_assert(CastValue<float8e8m0>(0x1p-128f).bits == 0x00);
static_assert(CastValue<std::int32_t>(3e9f) == -1294967296);
static_assert(CastValue<std::int32_t>(3e9f, kSaturateIntegers) == 2147483647);
static_assert(CastValue<std::uint8_t>(kNan) == 0);
static_assert(CastValue<std::int8_t>(std::int16_t{200}) == -56);
static_assert(CastValue<bool>(kNan));
static_assert(!CastValue<bool>(-0.0));
static_assert(CastValue<float>(float8e8m0{0x00}) == 0x1p-127f);
static_assert(CastValue<double>(float16{0x0001}) == 0x1p-24);
static_assert(CastValue<float>(std::uint64_t{0xFFFFFFFFFFFFFFFF}) == 0x1p64f);
static_assert(CastBits(DataType::kFloat32, DataType::kFloat6E2M3, 0xB089705F) == 0x20);

TEST(ConstexprCast, EveryPairAgainstTheOracle) {
  for (const TypeInfo& from : FixedWidthTypes()) {
    for (const TypeInfo& to : FixedWidthTypes()) {
      std::vector<std::uint64_t> codes = MixedCodes(from, to, Scaled(3000), 41);
      if (from.bits <= 8) codes = AllCodes(from);
      const oracle::Row& from_row = oracle::RowOf(static_cast<int>(from.type));
      const oracle::Row& to_row = oracle::RowOf(static_cast<int>(to.type));
      for (const CastOptions& options : OptionSets(from, to)) {
        const oracle::Options asked = ToOracle(options);
        for (const std::uint64_t code : codes) {
          ASSERT_EQ(CastBits(from.type, to.type, code, options),
                    oracle::Cast(from_row, to_row, asked, code))
              << from.name << " " << std::hex << code << " -> " << to.name << ", "
              << Describe(options);
        }
      }
    }
  }
}

TEST(TypedSpans, CastAndRefuse) {
  const std::array<float, 5> source = {1.0f, -2.5f, 1e10f, kNan, 0.1f};
  std::array<float8e4m3fn, 5> small = {};
  ASSERT_TRUE(Cast(std::span<const float>(source), std::span<float8e4m3fn>(small)).ok());
  for (std::size_t i = 0; i < source.size(); ++i) {
    EXPECT_EQ(small[i].bits, CastValue<float8e4m3fn>(source[i]).bits) << i;
  }
  std::array<float8e4m3fn, 4> short_one = {};
  EXPECT_EQ(Cast(std::span<const float>(source), std::span<float8e4m3fn>(short_one)).code(),
            StatusCode::kBufferTooSmall);
  std::array<double, 9> longer = {};
  ASSERT_TRUE(Cast(std::span<const float>(source), std::span<double>(longer)).ok());
  EXPECT_EQ(longer[1], -2.5);
  EXPECT_EQ(longer[5], 0.0);
}

}  // namespace
}  // namespace tensorcast::testing
