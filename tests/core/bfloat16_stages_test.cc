// Where the processor's own instruction makes bfloat16 the stages that it stands in for are
// compiled too, for others of the same target; of every code both give what the scalar target
// gives.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "core/kernels.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {
namespace {

TEST(Bfloat16Stages, AreThoseTheyStandInFor) {
  constexpr std::size_t kCodes = 65536;
  std::vector<std::uint16_t> codes(kCodes);
  std::iota(codes.begin(), codes.end(), std::uint16_t{0});
  const auto to = static_cast<std::size_t>(detail::RowIndex(DataType::kBfloat16));
  std::size_t compared = 0;
  for (const Kernels* kernels : AllKernels()) {
    for (std::size_t row = 0; row < kRows; ++row) {
      const Stage instead = kernels->instead_of_bfloat16[row];
      if (instead == nullptr) continue;
      ++compared;
      const DataType from = detail::kTypeTable[row].type;
      ASSERT_EQ(detail::kTypeTable[row].bits, 16);
      std::vector<std::uint16_t> expected(kCodes), results(kCodes);
      CastPlan scalar;
      ASSERT_TRUE(CastPlan::Bind(from, DataType::kBfloat16, {}, &scalar, Target::kScalar).ok());
      ASSERT_TRUE(scalar
                      .Run(std::as_bytes(std::span(codes)), 0,
                           std::as_writable_bytes(std::span(expected)), 0, kCodes)
                      .ok());
      for (const Stage stage : {kernels->direct[row][to], instead}) {
        std::fill(results.begin(), results.end(), std::uint16_t{0});
        stage(reinterpret_cast<const std::byte*>(codes.data()),
              reinterpret_cast<std::byte*>(results.data()), kCodes, EncodeArgs());
        EXPECT_EQ(results, expected) << TypeName(from);
        // Of any length, at any place, and nothing beside it.
        for (std::size_t n = 0; n < 300; ++n) {
          const std::size_t first = 211 * n;
          std::vector<std::uint16_t> few(n + 2, 0xABCD);
          stage(reinterpret_cast<const std::byte*>(codes.data() + first),
                reinterpret_cast<std::byte*>(few.data() + 1), n, EncodeArgs());
          EXPECT_EQ(few.front(), 0xABCD);
          EXPECT_EQ(few.back(), 0xABCD);
          EXPECT_EQ(std::memcmp(few.data() + 1, expected.data() + first, 2 * n), 0)
              << TypeName(from) << ", " << n;
        }
      }
    }
  }
  if (compared == 0) GTEST_SKIP() << "this processor has no instruction for bfloat16";
}

}  // namespace
}  // namespace tensorcast::core
