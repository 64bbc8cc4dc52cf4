// Runs larger than the caches, which are written past them: every pair, the targets by turns, from
// and to addresses where no vector begins.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/forced_plan.h"
#include "core/source_codes.h"
#include "oracle/packing.h"

namespace tensorcast::testing {
namespace {

constexpr std::uint64_t kPeriod = 4096;                // elements after which the codes repeat
constexpr std::size_t kBytes = std::size_t{72} << 20;  // in and out: above what any machine takes
constexpr std::byte kAround{0xA5};

// Memory for one side of every pair, so that its pages are asked for once.
class Periods {
 public:
  // Room for `count` periods after `offset` bytes and before 64 more, none of them written.
  std::span<std::byte> Clear(std::size_t period, std::uint64_t count, std::size_t offset) {
    const std::size_t size = offset + period * count + 64;
    if (bytes_.size() < size) bytes_.resize(size);
    std::fill_n(bytes_.begin(), size, kAround);
    return std::span(bytes_).first(size);
  }

 private:
  std::vector<std::byte> bytes_;
};

TEST(Streamed, EveryPair) {
  Periods sources, destinations;
  std::size_t turn = 0;
  for (const TypeInfo& from : FixedWidthTypes()) {
    for (const TypeInfo& to : FixedWidthTypes()) {
      ++turn;
      if (Sampled() && turn % 37 != 0) continue;
      // The scalar target, the last, has no such runs; what gets shorter has them on the first two.
      const std::size_t streaming =
          to.bits < from.bits ? 2 : std::max<std::size_t>(Targets().size() - 1, 1);
      const Target target = Targets()[turn % std::min(streaming, Targets().size())];
      const std::vector<std::uint64_t> codes = MixedCodes(from, to, kPeriod, 7);
      std::vector<std::uint64_t> results(kPeriod);
      oracle::CastMany(oracle::RowOf(static_cast<int>(from.type)),
                       oracle::RowOf(static_cast<int>(to.type)), {}, codes, results.data());
      const std::vector<std::byte> given = oracle::Pack(codes, from.bits);
      const std::vector<std::byte> expected = oracle::Pack(results, to.bits);
      const auto bits = static_cast<std::uint64_t>(from.bits + to.bits);
      const std::uint64_t count = kBytes * 8 / (bits * kPeriod) + 1;
      const std::size_t offset = turn % 3 * static_cast<std::size_t>(std::max(to.bits, 8)) / 8;
      const std::span<std::byte> source = sources.Clear(given.size(), count, 1).subspan(1);
      for (std::uint64_t i = 0; i < count; ++i) {
        std::memcpy(&source[i * given.size()], given.data(), given.size());
      }
      const std::span<std::byte> all = destinations.Clear(expected.size(), count, offset);
      const ForcedPlan plan(from.type, to.type, {}, target);
      plan.Run(source, 0, all.subspan(offset), 0, kPeriod * count);
      bool equal = true;
      for (std::uint64_t i = 0; i < count && equal; ++i) {
        const std::byte* const period = &all[offset + i * expected.size()];
        equal = std::memcmp(period, expected.data(), expected.size()) == 0;
      }
      ASSERT_TRUE(equal) << plan.Name();
      const auto untouched = [](std::byte byte) { return byte == kAround; };
      EXPECT_TRUE(
          std::all_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(offset), untouched) &&
          std::all_of(all.end() - 64, all.end(), untouched))
          << plan.Name();
    }
  }
}

}  // namespace
}  // namespace tensorcast::testing
