// Lengths, alignments and offsets: every pair on every target, between pages that may not be
// touched, with every bit outside the range of elements watched.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "core/forced_plan.h"
#include "core/guarded_buffer.h"
#include "core/option_sets.h"
#include "core/source_codes.h"
#include "oracle/packing.h"

namespace tensorcast::testing {
namespace {

enum class Place { kBegin, kEnd, kOffset };

struct Layout {
  std::uint64_t n;
  std::uint64_t source_first;
  std::uint64_t destination_first;
  Place source_place = Place::kEnd;
  Place destination_place = Place::kEnd;
  std::size_t source_offset = 0;  // bytes, where kOffset
  std::size_t destination_offset = 0;
};

// Casts stretches of one tensor of mixed codes and compares all memory around the destination.
class Stretches {
 public:
  Stretches(const TypeInfo& from, const TypeInfo& to, const CastOptions& options,
            std::size_t elements = 4200)
      : from_(from),
        to_(to),
        codes_(MixedCodes(from, to, elements, 5)),
        results_(elements),
        source_(elements * 8 + 4096),
        destination_(elements * 8 + 4096) {
    oracle::CastMany(oracle::RowOf(static_cast<int>(from.type)),
                     oracle::RowOf(static_cast<int>(to.type)), ToOracle(options), codes_,
                     results_.data());
    std::mt19937_64 random(3);
    noise_.resize(destination_.all().size());
    for (std::byte& byte : noise_) byte = static_cast<std::byte>(random());
    packed_ = oracle::Pack(codes_, from.bits);
  }

  // The buffers are as short as the call allows.
  bool Run(const ForcedPlan& plan, const Layout& layout) {
    const std::size_t source_size = *StorageBytes(from_.type, layout.source_first + layout.n);
    const std::size_t result_size = *StorageBytes(to_.type, layout.destination_first + layout.n);
    const auto source = PlaceIn(source_, source_size, layout.source_place, layout.source_offset);
    std::memcpy(source.data(), packed_.data(), source_size);
    const auto result =
        PlaceIn(destination_, result_size, layout.destination_place, layout.destination_offset);
    // What surrounds the destination, within reach of a stray store.
    const std::span<std::byte> all = destination_.all();
    const auto at = static_cast<std::size_t>(result.data() - all.data());
    const std::size_t low = at < 160 ? 0 : at - 160;
    const std::size_t high = std::min(all.size(), at + result_size + 160);
    std::memcpy(all.data() + low, noise_.data() + low, high - low);
    expected_.assign(noise_.begin() + static_cast<std::ptrdiff_t>(low),
                     noise_.begin() + static_cast<std::ptrdiff_t>(high));
    const auto stream = std::span(expected_).subspan(at - low);
    for (std::uint64_t i = 0; i < layout.n; ++i) {
      oracle::PutCode(stream, to_.bits, layout.destination_first + i,
                      results_[layout.source_first + i]);
    }
    plan.Run(source, layout.source_first, result, layout.destination_first, layout.n);
    if (std::memcmp(expected_.data(), all.data() + low, high - low) == 0) return true;
    std::size_t byte = 0;
    while (expected_[byte] == all[low + byte]) ++byte;
    ADD_FAILURE() << plan.Name() << ": n " << layout.n << " from element " << layout.source_first
                  << " to element " << layout.destination_first << ": byte "
                  << static_cast<std::ptrdiff_t>(byte + low) - static_cast<std::ptrdiff_t>(at)
                  << " of the destination's " << result_size << " is "
                  << std::to_integer<int>(all[low + byte]) << ", expected "
                  << std::to_integer<int>(expected_[byte]);
    return false;
  }

 private:
  static std::span<std::byte> PlaceIn(const GuardedBuffer& buffer, std::size_t size, Place place,
                                      std::size_t offset) {
    switch (place) {
      case Place::kBegin: return buffer.AtBegin(size);
      case Place::kEnd: return buffer.AtEnd(size);
      case Place::kOffset: break;
    }
    return buffer.AtOffset(size, offset);
  }

  const TypeInfo& from_;
  const TypeInfo& to_;
  std::vector<std::uint64_t> codes_, results_;
  std::vector<std::byte> packed_, noise_, expected_;
  GuardedBuffer source_, destination_;
};

class Sizes : public ::testing::TestWithParam<DataType> {};

// The set that has most of the options that apply changed.
CastOptions ChangedOptions(const TypeInfo& from, const TypeInfo& to) {
  return MeaningfulOptions(from, to).back();
}

TEST_P(Sizes, EveryLengthBetweenGuardPages) {
  const TypeInfo& from = *FindType(GetParam());
  std::mt19937_64 random(11);
  const std::uint64_t step = Sampled() ? 7 : 1;
  for (const TypeInfo& to : FixedWidthTypes()) {
    Stretches stretches(from, to, {});
    for (const Target target : Targets()) {
      const ForcedPlan plan(from.type, to.type, {}, target);
      bool good = true;
      for (std::uint64_t n = 0; n <= 130 && good; n += step) {
        good = stretches.Run(plan, {n, 0, 0, Place::kEnd, Place::kEnd}) &&
               stretches.Run(plan, {n, 0, 0, Place::kBegin, Place::kBegin}) &&
               stretches.Run(plan, {n, random() % 40, random() % 40, Place::kEnd, Place::kEnd}) &&
               stretches.Run(plan, {n, random() % 40, random() % 40, Place::kBegin, Place::kEnd});
      }
    }
  }
}

TEST_P(Sizes, BlocksAndTheirEnds) {
  const TypeInfo& from = *FindType(GetParam());
  std::mt19937_64 random(12);
  for (const TypeInfo& to : FixedWidthTypes()) {
    const CastOptions options = ChangedOptions(from, to);
    Stretches stretches(from, to, options);
    for (const Target target : Targets()) {
      const ForcedPlan plan(from.type, to.type, options, target);
      for (const std::uint64_t n : {190, 203, 255, 256, 1023, 1024, 1025, 2047, 2049, 4100}) {
        if (Sampled() && n > 1025) continue;
        if (!stretches.Run(plan, {n, random() % 64, random() % 64})) break;
        if (!stretches.Run(plan, {n, 0, random() % 64, Place::kBegin, Place::kBegin})) break;
      }
    }
  }
}

TEST_P(Sizes, EveryByteOffset) {
  const TypeInfo& from = *FindType(GetParam());
  std::mt19937_64 random(13);
  for (const TypeInfo& to : FixedWidthTypes()) {
    const CastOptions options = ChangedOptions(from, to);
    Stretches stretches(from, to, options);
    for (const Target target : Targets()) {
      const ForcedPlan plan(from.type, to.type, options, target);
      bool good = true;
      for (std::size_t a = 0; a < 8; ++a) {
        for (std::size_t b = 0; b < 8 && good; b += Sampled() ? 3 : 1) {
          good = stretches.Run(plan, {60 + random() % 40, random() % 4, random() % 4,
                                      Place::kOffset, Place::kOffset, a, b});
        }
      }
    }
  }
}

// Long runs go from their ends to their beginnings where each load would wait for the store before
// it: where results begin a little behind their sources, but for whole pages.
TEST_P(Sizes, ResultsThatBeginALittleBehindTheirSources) {
  constexpr std::size_t kPage = 4096, kRun = 8 * kPage;
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    if (from.bits != to.bits || from.is_packed()) continue;
    const auto width = static_cast<std::size_t>(from.bits) / 8;
    Stretches stretches(from, to, {}, kRun + kPage);
    for (const Target target : Targets()) {
      const ForcedPlan plan(from.type, to.type, {}, target);
      bool good = true;
      for (const std::size_t behind : {8, 24, 64, 72, 128, 248, 256, 264}) {
        if (!good || (Sampled() && behind % 64 != 8)) continue;
        // Between pages that may not be touched on either side, and in the middle.
        const std::uint64_t more = (kRun + behind) / width, less = (kRun + kPage - behind) / width;
        good = stretches.Run(plan, {more, 0, 0, Place::kEnd, Place::kBegin}) &&
               stretches.Run(plan, {less, 0, 0, Place::kBegin, Place::kEnd}) &&
               stretches.Run(plan, {more, 1, 0, Place::kOffset, Place::kOffset, 3, 3 + behind});
      }
    }
  }
}

TEST_P(Sizes, EveryElementOffsetOfPackedData) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    if (!from.is_packed() && !to.is_packed()) continue;
    Stretches stretches(from, to, {});
    for (const Target target : Targets()) {
      const ForcedPlan plan(from.type, to.type, {}, target);
      bool good = true;
      for (std::uint64_t first = 0; first < 9; ++first) {
        for (std::uint64_t second = 0; second < 9 && good; ++second) {
          for (const std::uint64_t n : {1, 2, 3, 5, 9, 64, 101}) {
            if (Sampled() && n > 9 && second % 4 != 1) continue;
            good = good && stretches.Run(plan, {n, first, second});
          }
        }
      }
    }
  }
}

TEST_P(Sizes, ExactlyInPlace) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    if (from.bits != to.bits) continue;
    const std::vector<std::uint64_t> codes = MixedCodes(from, to, 3000, 6);
    const CastOptions sets[] = {{}, ChangedOptions(from, to)};
    for (const CastOptions& options : sets) {
      for (const Target target : Targets()) {
        const ForcedPlan plan(from.type, to.type, options, target);
        for (const std::uint64_t n : {0, 1, 2, 31, 64, 130, 1024, 2900}) {
          for (const std::uint64_t first : {0, 1, 3, 6}) {
            std::vector<std::byte> bytes = oracle::Pack(codes, from.bits);
            std::vector<std::byte> expected = bytes;
            for (std::uint64_t i = first; i < first + n; ++i) {
              oracle::PutCode(expected, to.bits, i,
                              oracle::Cast(oracle::RowOf(static_cast<int>(from.type)),
                                           oracle::RowOf(static_cast<int>(to.type)),
                                           ToOracle(options), codes[i]));
            }
            plan.Run(bytes, first, bytes, first, n);
            ASSERT_EQ(bytes, expected) << plan.Name() << " n " << n << " first " << first;
          }
        }
      }
    }
  }
}

// Anything else in common is refused, and nothing is written.
TEST_P(Sizes, OtherOverlapIsRefused) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    CastPlan plan;
    ASSERT_TRUE(CastPlan::Bind(from.type, to.type, {}, &plan).ok());
    std::vector<std::byte> memory(8192, std::byte{0x31});
    const std::vector<std::byte> before = memory;
    const std::span<std::byte> all(memory);
    const std::uint64_t n = 200;
    const std::size_t in = *StorageBytes(from.type, n);
    const std::size_t out = *StorageBytes(to.type, n);
    const auto run = [&](std::size_t source_at, std::size_t result_at) {
      return plan.Run(all.subspan(source_at, in), 0, all.subspan(result_at, out), 0, n).code();
    };
    EXPECT_EQ(run(1000, 1001), StatusCode::kOverlap) << from.name << " -> " << to.name;
    EXPECT_EQ(run(1000 + out - 1, 1000), StatusCode::kOverlap) << from.name << " -> " << to.name;
    EXPECT_EQ(run(1000, 1000 + in - 1), StatusCode::kOverlap) << from.name << " -> " << to.name;
    if (from.bits != to.bits) {
      EXPECT_EQ(run(1000, 1000), StatusCode::kOverlap) << from.name << " -> " << to.name;
    } else {
      // The same bytes, but an element further.
      EXPECT_EQ(plan.Run(all, 0, all, 1, n).code(), StatusCode::kOverlap)
          << from.name << " -> " << to.name;
    }
    EXPECT_EQ(memory, before);
    // Side by side is no overlap.
    EXPECT_EQ(run(1000, 1000 + in), StatusCode::kOk) << from.name << " -> " << to.name;
    EXPECT_EQ(run(1000 + out, 1000), StatusCode::kOk) << from.name << " -> " << to.name;
  }
}

INSTANTIATE_TEST_SUITE_P(From, Sizes, ::testing::ValuesIn(FixedWidthDataTypes()),
                         TypeParameterName);

}  // namespace
}  // namespace tensorcast::testing
