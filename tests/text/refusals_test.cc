// What the string calls refuse, with which code: wrong calls, null pointers, short buffers, bad
// offsets, sizes that overflow, loss meters, options and types.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "core/option_sets.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {
namespace {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

CastPlan Bound(DataType from, DataType to) {
  CastPlan plan;
  EXPECT_TRUE(CastPlan::Bind(from, to, {}, &plan).ok()) << TypeName(from) << TypeName(to);
  return plan;
}

TEST(Refusals, CallsThatAreNotForThePlan) {
  std::vector<std::byte> bytes(64);
  std::vector<std::uint64_t> offsets = {0, 1, 2};
  const std::string text = "12";
  std::string out(64, ' ');
  std::uint64_t size = 0;
  for (const TypeInfo& type : FixedWidthTypes()) {
    const CastPlan parse = Bound(DataType::kString, type.type);
    EXPECT_EQ(parse.from(), DataType::kString);
    EXPECT_EQ(parse.Run(bytes, 0, bytes, 0, 1).code(), StatusCode::kWrongCall);
    EXPECT_EQ(parse.Print(bytes, 0, 1, offsets, out).code(), StatusCode::kWrongCall);
    EXPECT_EQ(parse.PrintedBytes(bytes, 0, 1, &size).code(), StatusCode::kWrongCall);
    const CastPlan print = Bound(type.type, DataType::kString);
    EXPECT_EQ(print.to(), DataType::kString);
    EXPECT_EQ(print.Run(bytes, 0, bytes, 0, 1).code(), StatusCode::kWrongCall);
    EXPECT_EQ(print.Parse({offsets, text}, 0, bytes, 0, 1).code(), StatusCode::kWrongCall);
    const CastPlan number = Bound(type.type, DataType::kFloat32);
    EXPECT_EQ(number.Parse({offsets, text}, 0, bytes, 0, 1).code(), StatusCode::kWrongCall);
    EXPECT_EQ(number.Print(bytes, 0, 1, offsets, out).code(), StatusCode::kWrongCall);
    EXPECT_EQ(number.PrintedBytes(bytes, 0, 1, &size).code(), StatusCode::kWrongCall);
    // The one-shot cast of numbers.
    EXPECT_EQ(Cast(DataType::kString, bytes, type.type, bytes, 1).code(), StatusCode::kWrongCall);
    EXPECT_EQ(Cast(type.type, bytes, DataType::kString, bytes, 1).code(), StatusCode::kWrongCall);
  }
  const CastPlan copy = Bound(DataType::kString, DataType::kString);
  EXPECT_EQ(copy.Run(bytes, 0, bytes, 0, 1).code(), StatusCode::kWrongCall);
}

TEST(Refusals, AnUnboundPlan) {
  const CastPlan plan;
  std::vector<std::byte> bytes(64);
  std::vector<std::uint64_t> offsets = {0, 1, 2};
  std::string out(64, '1');
  std::uint64_t size = 0;
  EXPECT_FALSE(plan.Parse({offsets, out}, 0, bytes, 0, 1).ok());
  EXPECT_FALSE(plan.Print(bytes, 0, 1, offsets, out).ok());
  EXPECT_FALSE(plan.PrintedBytes(bytes, 0, 1, &size).ok());
}

TEST(Refusals, TypesAndOptions) {
  std::vector<std::uint64_t> offsets = {0, 1};
  std::string text = "1";
  std::vector<std::byte> bytes(8);
  std::uint64_t code = 0;
  char buffer[kLongestPrinted];
  std::string_view view;
  std::uint64_t size = 0;
  for (const int id : {-1, 0, 14, 15, 29, 1000}) {
    const auto type = static_cast<DataType>(id);
    EXPECT_EQ(ParseValue("1", type, &code).code(), StatusCode::kInvalidType);
    EXPECT_EQ(PrintValue(type, 1, buffer, &view).code(), StatusCode::kInvalidType);
    EXPECT_EQ(ParseStrings({offsets, text}, type, bytes).code(), StatusCode::kInvalidType);
    EXPECT_EQ(PrintedStringBytes(type, bytes, 1, &size).code(), StatusCode::kInvalidType);
    EXPECT_EQ(PrintStrings(type, bytes, 1, offsets, text).code(), StatusCode::kInvalidType);
  }
  // A string is no element of fixed width: neither a value's code nor a buffer holds one.
  EXPECT_FALSE(ParseValue("1", DataType::kString, &code).ok());
  EXPECT_FALSE(PrintValue(DataType::kString, 1, buffer, &view).ok());
  EXPECT_FALSE(ParseStrings({offsets, text}, DataType::kString, bytes).ok());
  EXPECT_FALSE(PrintStrings(DataType::kString, bytes, 1, offsets, text).ok());

  const std::vector<CastOptions> wrong = InvalidOptions();
  for (const CastOptions& options : wrong) {
    for (const TypeInfo& type : FixedWidthTypes()) {
      CastPlan plan;
      EXPECT_EQ(CastPlan::Bind(DataType::kString, type.type, options, &plan).code(),
                StatusCode::kInvalidOption);
      EXPECT_EQ(CastPlan::Bind(type.type, DataType::kString, options, &plan).code(),
                StatusCode::kInvalidOption);
      EXPECT_EQ(ParseValue("1", type.type, &code, options).code(), StatusCode::kInvalidOption);
      EXPECT_EQ(PrintValue(type.type, 1, buffer, &view, options).code(),
                StatusCode::kInvalidOption);
    }
  }
}

TEST(Refusals, NullPointers) {
  std::vector<std::byte> bytes(8);
  std::vector<std::uint64_t> offsets = {0, 1};
  std::string text = "1";
  const CastPlan parse = Bound(DataType::kString, DataType::kFloat32);
  const CastPlan print = Bound(DataType::kFloat32, DataType::kString);
  EXPECT_EQ(parse.Parse({offsets, text}, 0, {}, 0, 1).code(), StatusCode::kNullPointer);
  EXPECT_EQ(parse.Parse({}, 0, bytes, 0, 1).code(), StatusCode::kNullPointer);
  EXPECT_EQ(print.Print({}, 0, 1, offsets, text).code(), StatusCode::kNullPointer);
  EXPECT_EQ(print.Print(bytes, 0, 1, {}, text).code(), StatusCode::kNullPointer);
  EXPECT_EQ(print.Print(bytes, 0, 1, offsets, {}).code(), StatusCode::kNullPointer);
  std::uint64_t size = 0;
  EXPECT_EQ(print.PrintedBytes({}, 0, 1, &size).code(), StatusCode::kNullPointer);
}

TEST(Refusals, ShortBuffers) {
  for (const TypeInfo& type : FixedWidthTypes()) {
    const std::uint64_t n = 77;
    std::vector<std::byte> bytes(*StorageBytes(type.type, n));
    const std::span<std::byte> all(bytes);
    std::vector<std::uint64_t> offsets(n + 1);
    for (std::uint64_t i = 0; i <= n; ++i) offsets[i] = i;
    std::string text(n, '1');
    const CastPlan parse = Bound(DataType::kString, type.type);
    const auto short_one = all.first(all.size() - 1);
    EXPECT_TRUE(parse.Parse({offsets, text}, 0, all, 0, n).ok());
    EXPECT_EQ(parse.Parse({offsets, text}, 0, short_one, 0, n).code(), StatusCode::kBufferTooSmall);
    // More texts than there are.
    EXPECT_EQ(parse.Parse({offsets, text}, 1, all, 0, n).code(), StatusCode::kBufferTooSmall);
    EXPECT_EQ(parse.Parse({std::span(offsets).first(n), text}, 0, all, 0, n).code(),
              StatusCode::kBufferTooSmall);
    const CastPlan print = Bound(type.type, DataType::kString);
    std::uint64_t size = 0;
    ASSERT_TRUE(print.PrintedBytes(all, 0, n, &size).ok());
    EXPECT_EQ(print.PrintedBytes(short_one, 0, n, &size).code(), StatusCode::kBufferTooSmall);
    std::string out(size, ' ');
    EXPECT_TRUE(print.Print(all, 0, n, offsets, out).ok());
    EXPECT_EQ(print.Print(short_one, 0, n, offsets, out).code(), StatusCode::kBufferTooSmall);
    EXPECT_EQ(print.Print(all, 0, n, std::span(offsets).first(n), out).code(),
              StatusCode::kBufferTooSmall);
    EXPECT_EQ(print.Print(all, 0, n, offsets, std::span(out).first(size - 1)).code(),
              StatusCode::kBufferTooSmall);
  }
  std::vector<std::uint64_t> offsets = {0, 1, 3};
  std::string text = "abc";
  std::string out(2, ' ');
  std::vector<std::uint64_t> copied(3);
  EXPECT_EQ(CopyStrings({offsets, text}, copied, out).code(), StatusCode::kBufferTooSmall);
  out.resize(3);
  EXPECT_EQ(CopyStrings({offsets, text}, std::span(copied).first(2), out).code(),
            StatusCode::kBufferTooSmall);
  EXPECT_TRUE(CopyStrings({offsets, text}, copied, out).ok());
}

TEST(Refusals, BadOffsets) {
  const std::string text = "1234567890";
  std::vector<std::byte> bytes(64);
  const std::vector<std::vector<std::uint64_t>> wrong = {
      {0, 2, 1, 3},      // decrease
      {0, 5, 4, 10},     //
      {11, 11, 11, 11},  // begin beyond the bytes
      {0, 1, 2, 11},     // end beyond them
      {0, 1, 2, kHuge},  //
      {0, kHuge, 2, 3},  // beyond, and then back
      {kHuge, 0, 1, 2},  //
      {5, 4, 3, 2},      //
      {1ull << 63, 1, 2, 3}};
  for (const std::vector<std::uint64_t>& offsets : wrong) {
    for (const TypeInfo& to : FixedWidthTypes()) {
      EXPECT_EQ(ParseStrings({offsets, text}, to.type, bytes).code(), StatusCode::kBadOffsets)
          << to.name << " " << offsets[1];
    }
    std::vector<std::uint64_t> copied(4);
    std::string out(64, ' ');
    EXPECT_EQ(CopyStrings({offsets, text}, copied, out).code(), StatusCode::kBadOffsets);
  }
  // A bad pair far behind, after texts that are not numberss: never read through.
  std::vector<std::uint64_t> many(50001);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i % 10;
  std::vector<std::byte> codes(4 * 50000);
  EXPECT_EQ(ParseStrings({many, text}, DataType::kFloat32, codes).code(), StatusCode::kBadOffsets);
  // Offsets that end with the bytes, and empty texts there, are none of this.
  const std::vector<std::uint64_t> right = {0, 5, 10};
  EXPECT_TRUE(ParseStrings({right, text}, DataType::kFloat32, bytes).ok());
  const std::vector<std::uint64_t> empty_at_end = {10, 10};
  EXPECT_EQ(ParseStrings({empty_at_end, text}, DataType::kFloat32, bytes).code(),
            StatusCode::kNotANumber);
}

TEST(Refusals, MisalignedOffsets) {
  std::vector<std::byte> storage(64);
  const std::string text = "11";
  std::vector<std::byte> bytes(64);
  std::string out(64, ' ');
  const CastPlan print = Bound(DataType::kUint8, DataType::kString);
  for (std::size_t shift = 1; shift < 8; ++shift) {
    const std::uint64_t offsets[3] = {0, 1, 2};
    std::memcpy(storage.data() + shift, offsets, sizeof offsets);
    auto* misaligned = reinterpret_cast<std::uint64_t*>(storage.data() + shift);
    EXPECT_EQ(ParseStrings({std::span(misaligned, 3), text}, DataType::kUint8, bytes).code(),
              StatusCode::kMisaligned);
    EXPECT_EQ(print.Print(bytes, 0, 2, std::span(misaligned, 3), out).code(),
              StatusCode::kMisaligned);
    std::vector<std::uint64_t> aligned = {0, 1, 2};
    EXPECT_EQ(CopyStrings({std::span(misaligned, 3), text}, aligned, out).code(),
              StatusCode::kMisaligned);
    EXPECT_EQ(CopyStrings({aligned, text}, std::span(misaligned, 3), out).code(),
              StatusCode::kMisaligned);
  }
}

TEST(Refusals, SizesThatOverflow) {
  const std::vector<std::uint64_t> offsets = {0, 1};
  std::vector<std::uint64_t> out_offsets(2);
  std::string text = "1";
  std::vector<std::byte> bytes(64);
  std::uint64_t size = 0;
  for (const TypeInfo& type : FixedWidthTypes()) {
    const CastPlan parse = Bound(DataType::kString, type.type);
    const CastPlan print = Bound(type.type, DataType::kString);
    for (const std::uint64_t n : {kHuge, kHuge - 1, kHuge / 2 + 1, kHuge / 8}) {
      EXPECT_FALSE(parse.Parse({offsets, text}, 0, bytes, 0, n).ok()) << type.name;
      EXPECT_FALSE(parse.Parse({offsets, text}, 0, bytes, n, 1).ok()) << type.name;
      EXPECT_FALSE(parse.Parse({offsets, text}, n, bytes, 0, 1).ok()) << type.name;
      EXPECT_FALSE(print.Print(bytes, 0, n, out_offsets, text).ok()) << type.name;
      EXPECT_FALSE(print.Print(bytes, n, 1, out_offsets, text).ok()) << type.name;
      EXPECT_FALSE(print.PrintedBytes(bytes, 0, n, &size).ok()) << type.name;
      EXPECT_FALSE(print.PrintedBytes(bytes, n, 2, &size).ok()) << type.name;
    }
    EXPECT_EQ(parse.Parse({offsets, text}, kHuge, bytes, 0, 1).code(), StatusCode::kSizeOverflow);
    EXPECT_EQ(parse.Parse({offsets, text}, 0, bytes, kHuge, 1).code(), StatusCode::kSizeOverflow);
    EXPECT_EQ(print.Print(bytes, kHuge, 1, out_offsets, text).code(), StatusCode::kSizeOverflow);
    EXPECT_EQ(print.PrintedBytes(bytes, 1, kHuge, &size).code(), StatusCode::kSizeOverflow);
  }
}

// No output may lie over an input or over another output.
// A table that claims more than is there is not read where another size shows the mistake.
TEST(Refusals, ATableThatIsNotThere) {
  const std::uint64_t offsets[] = {0, 1};
  const std::string text = "1";
  std::vector<std::byte> bytes(8);
  std::vector<std::uint64_t> out(2);
  std::string copy = "x";
  for (const std::uint64_t claimed : {kHuge / 2, kHuge / 4, kHuge / 8, kHuge / 16, kHuge / 1024}) {
    const Strings strings = {{offsets, static_cast<std::size_t>(claimed)}, text};
    const StatusCode code = ParseStrings(strings, DataType::kUint8, bytes).code();
    EXPECT_TRUE(code == StatusCode::kSizeOverflow || code == StatusCode::kBufferTooSmall)
        << claimed;
    const StatusCode copied = CopyStrings(strings, out, copy).code();
    EXPECT_TRUE(copied == StatusCode::kSizeOverflow || copied == StatusCode::kBufferTooSmall)
        << claimed;
  }
}

TEST(Refusals, NoStringsNeedNoTables) {
  EXPECT_TRUE(CopyStrings({}, {}, {}).ok());
  std::vector<std::uint64_t> offsets = {7};
  EXPECT_TRUE(CopyStrings({}, offsets, {}).ok());
  EXPECT_EQ(offsets[0], 0u);
}

TEST(Refusals, Overlaps) {
  alignas(8) std::byte storage[256] = {};
  const std::span<std::byte> bytes(storage);
  const std::span<char> chars(reinterpret_cast<char*>(storage), sizeof storage);
  const std::span<std::uint64_t> words(reinterpret_cast<std::uint64_t*>(storage), 32);
  std::vector<std::uint64_t> offsets = {0, 1, 2};
  std::string text = "12";
  std::vector<std::byte> codes(64);
  std::string out(64, ' ');

  std::memcpy(storage, "12", 2);
  EXPECT_EQ(ParseStrings({offsets, chars.first(2)}, DataType::kUint8, bytes.subspan(1)).code(),
            StatusCode::kOverlap);
  EXPECT_TRUE(ParseStrings({offsets, chars.first(2)}, DataType::kUint8, bytes.subspan(2)).ok());
  std::memcpy(storage, offsets.data(), 24);
  EXPECT_EQ(ParseStrings({words.first(3), text}, DataType::kUint8, bytes.subspan(16)).code(),
            StatusCode::kOverlap);
  EXPECT_TRUE(ParseStrings({words.first(3), text}, DataType::kUint8, bytes.subspan(24)).ok());

  const auto print = [&](std::span<const std::byte> source, std::span<std::uint64_t> to,
                         std::span<char> texts) {
    return PrintStrings(DataType::kUint8, source, 2, to, texts).code();
  };
  EXPECT_EQ(print(bytes.subspan(8), words.first(3), out), StatusCode::kOverlap);
  EXPECT_EQ(print(bytes.first(2), offsets, chars.subspan(1)), StatusCode::kOverlap);
  EXPECT_EQ(print(codes, words.first(3), chars.subspan(20)), StatusCode::kOverlap);
  EXPECT_EQ(print(bytes.subspan(24, 2), words.first(3), chars.subspan(26)), StatusCode::kOk);

  std::memcpy(storage, offsets.data(), 24);
  EXPECT_EQ(CopyStrings({words.first(3), text}, words.subspan(2, 3), out).code(),
            StatusCode::kOverlap);
  EXPECT_EQ(CopyStrings({offsets, chars.first(2)}, offsets, out).code(), StatusCode::kOverlap);
  std::vector<std::uint64_t> copied(3);
  EXPECT_EQ(CopyStrings({offsets, chars.first(2)}, copied, chars.subspan(1)).code(),
            StatusCode::kOverlap);
  EXPECT_EQ(CopyStrings({offsets, text}, words.first(3), chars.subspan(16)).code(),
            StatusCode::kOverlap);
  EXPECT_TRUE(CopyStrings({offsets, text}, words.first(3), chars.subspan(24)).ok());
}

TEST(Refusals, LossOfStrings) {
  const std::vector<std::uint64_t> offsets = {0, 1};
  std::vector<std::uint64_t> out_offsets(2);
  std::string text = "1";
  std::vector<std::byte> bytes(4);
  std::uint64_t size = 0;
  LossMeter meter(DataType::kFloat32, DataType::kFloat32);
  RunOptions run;
  run.loss = &meter;
  EXPECT_EQ(ParseStrings({offsets, text}, DataType::kFloat32, bytes, {}, run).code(),
            StatusCode::kUnsupported);
  EXPECT_EQ(PrintStrings(DataType::kFloat32, bytes, 1, out_offsets, text, {}, run).code(),
            StatusCode::kUnsupported);
  EXPECT_EQ(PrintedStringBytes(DataType::kFloat32, bytes, 1, &size, {}, run).code(),
            StatusCode::kUnsupported);
  EXPECT_EQ(meter.Report().elements, 0u);
}

}  // namespace
}  // namespace tensorcast::testing
