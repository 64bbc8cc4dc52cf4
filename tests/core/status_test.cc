// What is refused, with which code, and that a refusal writes nothing.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "core/option_sets.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {
namespace {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

TEST(Bind, RefusesWhatIsNoType) {
  CastPlan plan;
  const int behind_the_last = static_cast<int>(Types().back().type) + 1;
  for (const int id : {-1, 0, 14, 15, behind_the_last, 1000}) {
    const auto type = static_cast<DataType>(id);
    EXPECT_EQ(CastPlan::Bind(type, DataType::kFloat32, {}, &plan).code(), StatusCode::kInvalidType);
    EXPECT_EQ(CastPlan::Bind(DataType::kFloat32, type, {}, &plan).code(), StatusCode::kInvalidType);
    std::byte byte{};
    EXPECT_EQ(Cast(type, {&byte, 1}, DataType::kInt8, {&byte, 1}, 1).code(),
              StatusCode::kInvalidType);
  }
}

TEST(Bind, TakesStringsWhichRunDoesNot) {
  for (const TypeInfo& row : Types()) {
    for (const bool to_string : {true, false}) {
      CastPlan plan;
      ASSERT_TRUE(CastPlan::Bind(to_string ? row.type : DataType::kString,
                                 to_string ? DataType::kString : row.type, {}, &plan)
                      .ok());
      std::byte bytes[16] = {};
      EXPECT_EQ(plan.Run(bytes, 0, bytes, 0, 1).code(), StatusCode::kWrongCall);
    }
  }
}

// Whether it applies or not, an option's value is checked.
TEST(Bind, ChecksEveryOption) {
  const std::vector<CastOptions> wrong = InvalidOptions();
  for (const TypeInfo& from : FixedWidthTypes()) {
    for (const TypeInfo& to : FixedWidthTypes()) {
      for (const CastOptions& options : wrong) {
        CastPlan plan;
        EXPECT_EQ(CastPlan::Bind(from.type, to.type, options, &plan).code(),
                  StatusCode::kInvalidOption);
      }
    }
  }
}

TEST(Run, AnUnboundPlanRefuses) {
  const CastPlan plan;
  std::byte bytes[8] = {};
  EXPECT_FALSE(plan.Run(bytes, 0, bytes, 0, 1).ok());
}

class RunRefuses : public ::testing::Test {
 protected:
  // Every pair: `check(plan, from, to)`.
  template <class Check> void ForEveryPair(Check check) {
    for (const TypeInfo& from : FixedWidthTypes()) {
      for (const TypeInfo& to : FixedWidthTypes()) {
        CastPlan plan;
        ASSERT_TRUE(CastPlan::Bind(from.type, to.type, {}, &plan).ok());
        destination_.assign(2048, std::byte{0x5C});
        check(plan, from, to);
        if (HasFailure()) FAIL() << from.name << " -> " << to.name;
        for (const std::byte byte : destination_) ASSERT_EQ(byte, std::byte{0x5C});
      }
    }
  }
  std::vector<std::byte> source_ = std::vector<std::byte>(2048, std::byte{0x21});
  std::vector<std::byte> destination_;
};

TEST_F(RunRefuses, NullPointers) {
  ForEveryPair([&](const CastPlan& plan, const TypeInfo&, const TypeInfo&) {
    EXPECT_EQ(plan.Run({}, 0, destination_, 0, 1).code(), StatusCode::kNullPointer);
    EXPECT_EQ(plan.Run(source_, 0, {}, 0, 1).code(), StatusCode::kNullPointer);
    EXPECT_EQ(plan.Run({}, 0, {}, 0, 0).code(), StatusCode::kOk);
  });
}

TEST_F(RunRefuses, ShortBuffers) {
  ForEveryPair([&](const CastPlan& plan, const TypeInfo& from, const TypeInfo& to) {
    for (const std::uint64_t first : {0, 1, 5}) {
      const std::size_t in = *StorageBytes(from.type, first + 77);
      const std::size_t out = *StorageBytes(to.type, first + 77);
      const std::span<const std::byte> source(source_);
      const std::span<std::byte> destination(destination_);
      EXPECT_EQ(plan.Run(source.first(in - 1), first, destination, 0, 77).code(),
                StatusCode::kBufferTooSmall);
      EXPECT_EQ(plan.Run(source, 0, destination.first(out - 1), first, 77).code(),
                StatusCode::kBufferTooSmall);
      EXPECT_EQ(plan.Run(source, 0, destination, 1u << 20, 1).code(), StatusCode::kBufferTooSmall);
    }
  });
}

TEST_F(RunRefuses, SizesThatDoNotFit) {
  ForEveryPair([&](const CastPlan& plan, const TypeInfo& from, const TypeInfo&) {
    EXPECT_EQ(plan.Run(source_, kHuge, destination_, 0, 1).code(), StatusCode::kSizeOverflow);
    EXPECT_EQ(plan.Run(source_, 0, destination_, kHuge - 1, 2).code(), StatusCode::kSizeOverflow);
    EXPECT_EQ(plan.Run(source_, kHuge / 2, destination_, 0, kHuge / 2 + 2).code(),
              StatusCode::kSizeOverflow);
    EXPECT_EQ(plan.Run(source_, 0, destination_, 0, kHuge).code(), StatusCode::kSizeOverflow);
    // Bits that wrap round to a small number.
    const std::uint64_t wraps = kHuge / static_cast<std::uint64_t>(from.bits) + 2;
    EXPECT_EQ(plan.Run(source_, 0, destination_, 0, wraps).code(), StatusCode::kSizeOverflow);
    EXPECT_EQ(plan.Run(source_, wraps, destination_, 0, 1).code(), StatusCode::kSizeOverflow);
  });
}

TEST(Run, LossMismatch) {
  CastPlan plan;
  ASSERT_TRUE(CastPlan::Bind(DataType::kFloat32, DataType::kInt8, {}, &plan).ok());
  std::byte source[4] = {};
  std::byte destination[1] = {};
  CastOptions other;
  other.integer_overflow = IntegerOverflow::kSaturate;
  LossMeter wrong_from(DataType::kFloat64, DataType::kInt8);
  LossMeter wrong_to(DataType::kFloat32, DataType::kUint8);
  LossMeter wrong_options(DataType::kFloat32, DataType::kInt8, other);
  for (LossMeter* meter : {&wrong_from, &wrong_to, &wrong_options}) {
    RunOptions run;
    run.loss = meter;
    EXPECT_EQ(plan.Run(source, 0, destination, 0, 1, run).code(), StatusCode::kLossMismatch);
    EXPECT_EQ(meter->Report().elements, 0u);
  }
}

TEST(Status, EveryCodeHasItsOwnSentence) {
  std::set<std::string_view> sentences;
  for (int code = 0; code <= static_cast<int>(StatusCode::kNoThreads); ++code) {
    const std::string_view text = Status(static_cast<StatusCode>(code)).message();
    EXPECT_GT(text.size(), 1u) << code;
    EXPECT_TRUE(sentences.insert(text).second) << text;
  }
}

// The one-shot cast of a whole tensor writes the pad bits as zero.
TEST(WholeTensor, PadBitsAreZero) {
  for (const TypeInfo& from : FixedWidthTypes()) {
    for (const TypeInfo& to : FixedWidthTypes()) {
      for (std::uint64_t n = 1; n < 10; ++n) {
        std::vector<std::byte> source(*StorageBytes(from.type, n), std::byte{0xFF});
        std::vector<std::byte> destination(*StorageBytes(to.type, n) + 1, std::byte{0xFF});
        ASSERT_TRUE(Cast(from.type, source, to.type, destination, n).ok());
        const std::uint64_t used = n * static_cast<std::uint64_t>(to.bits) % 8;
        if (used != 0) {
          EXPECT_EQ(std::to_integer<unsigned>(destination[destination.size() - 2]) >> used, 0u)
              << from.name << " -> " << to.name << " n " << n;
        }
        EXPECT_EQ(destination.back(), std::byte{0xFF});
      }
    }
  }
}

}  // namespace
}  // namespace tensorcast::testing
