// The walk over a protobuf message: every wire type, every way the bytes can lie, and how little of
// a message is read. Expected values are those of protobuf's encoding guide.
//
// SPDX-License-Identifier: Apache-2.0
#include "protobuf/protobuf_wire.h"

#include "wire_bytes.h"

namespace tensorcast::io {
namespace {

// "number:type:value" of each field, its payload instead of a value where it has one.
std::string Walk(const MemorySource& source, std::uint64_t begin, std::uint64_t end) {
  std::string text;
  protobuf::WireReader reader(source, begin, end);
  for (protobuf::WireField field; reader.Next(&field);) {
    text += std::to_string(field.number) + ':' + std::to_string(static_cast<int>(field.type)) + ':';
    if (field.type == protobuf::WireType::kBytes) {
      std::string payload(field.size(), '?');
      reader.ReadPayload(field.begin, std::as_writable_bytes(std::span(payload)));
      text += payload;
    } else {
      text += std::to_string(field.value);
    }
    text += ' ';
  }
  return text;
}

std::string Walk(const std::string& bytes) {
  const MemorySource source(bytes);
  return Walk(source, 0, bytes.size());
}

std::string WalkError(const std::string& bytes) {
  return ErrorOf([&] { Walk(bytes); });
}

TEST(WireReader, GivesEveryWireType) {
  EXPECT_EQ(Walk(""), "");
  // The guide's own examples: 150 and "testing".
  EXPECT_EQ(Walk("\x08\x96\x01"), "1:0:150 ");
  EXPECT_EQ(Walk("\x12\x07testing"), "2:2:testing ");
  EXPECT_EQ(Walk(std::string("\x09\x01\0\0\0\0\0\0\x80\x15\x02\0\0\x40", 14)),
            "1:1:9223372036854775809 2:5:1073741826 ");
  EXPECT_EQ(Walk(std::string("\x12\x00\x08\x00", 4)), "2:2: 1:0:0 ");
  EXPECT_EQ(Walk(VarintField(536'870'911, 1)), "536870911:0:1 ");  // the highest number
}

TEST(WireReader, ReadsVarintsOfUpToTenBytes) {
  EXPECT_EQ(Walk(std::string("\x08") + std::string(9, '\xFF') + "\x01"),
            "1:0:18446744073709551615 ");
  // Longer than need be, as the encoding allows: 0 and the tag of field 1.
  EXPECT_EQ(Walk(std::string("\x08\x80\x80\x00\x88\x80\x00\x05", 8)), "1:0:0 1:0:5 ");
  EXPECT_EQ(WalkError(std::string("\x08") + std::string(10, '\x80') + "\x01"),
            "3 MEMORY: has a varint of more than 10 bytes at offset 1");
}

TEST(WireReader, SaysWhatIsWrong) {
  EXPECT_EQ(WalkError("\x08\x01\x03"),
            "3 MEMORY: field 0 at offset 2 has the number 0; protobuf counts from 1");
  EXPECT_EQ(WalkError("\x0B"), "3 MEMORY: field 1 at offset 0 is a group, which ONNX does not use");
  EXPECT_EQ(WalkError("\x0C"), "3 MEMORY: field 1 at offset 0 is a group, which ONNX does not use");
  EXPECT_EQ(WalkError("\x0E"),
            "3 MEMORY: field 1 at offset 0 has the wire type 6; protobuf has 0 to 5");
  EXPECT_EQ(WalkError("\x0F"),
            "3 MEMORY: field 1 at offset 0 has the wire type 7; protobuf has 0 to 5");
  EXPECT_EQ(WalkError("\x88\x80\x80\x80\x10\x01"),
            "3 MEMORY: has a field's tag of more than 32 bits at offset 0");
  EXPECT_EQ(WalkError("\x12\x07"
                      "testin"),
            "3 MEMORY: field 2 at offset 0 has 7 bytes, but only 6 follow; the file is cut short");
  EXPECT_EQ(WalkError(std::string("\x12") + Varint(UINT64_MAX) + "testing"),
            "3 MEMORY: field 2 at offset 0 has 18446744073709551615 bytes, but only 7 follow; the "
            "file is cut short");
  EXPECT_EQ(WalkError("\x12"),
            "3 MEMORY: has a field's length at offset 1 that does not end within its message; the "
            "file is cut short");
  EXPECT_EQ(
      WalkError("\x80"),
      "3 MEMORY: has a field's tag at offset 0 that does not end within its message; the file "
      "is cut short");
  EXPECT_EQ(
      WalkError("\x15\x01\x02\x03"),
      "3 MEMORY: has a value of 4 bytes at offset 1, but only 3 follow; the file is cut short");
  EXPECT_EQ(
      WalkError("\x11\x01\x02\x03"),
      "3 MEMORY: has a value of 8 bytes at offset 1, but only 3 follow; the file is cut short");
}

TEST(WireReader, StaysInItsRange) {
  const MemorySource source("xx\x12\x07testing\x08\x96\x01yy");
  EXPECT_EQ(Walk(source, 2, 14), "2:2:testing 1:0:150 ");
  EXPECT_EQ(Walk(source, 2, 2), "");
  // What follows belongs to another message: nothing of it is taken.
  EXPECT_EQ(ErrorOf([&] { Walk(source, 2, 13); }),
            "3 MEMORY: has a varint at offset 12 that does not end within its message");
  EXPECT_EQ(ErrorOf([&] { Walk(source, 2, 10); }),
            "3 MEMORY: field 2 at offset 2 has 7 bytes, but only 6 follow");
}

TEST(WireReader, ReadsPackedVarints) {
  const auto packed = [](const std::string& payload) {
    const MemorySource source(BytesField(5, payload) + VarintField(6, 7));
    protobuf::WireReader reader(source, 0, source.size());
    protobuf::WireField field;
    EXPECT_TRUE(reader.Next(&field));
    std::string text;
    for (std::uint64_t value = 0; reader.NextVarint(&value);) text += std::to_string(value) + ' ';
    EXPECT_TRUE(reader.Next(&field));
    EXPECT_EQ(field.number, 6u);
    EXPECT_EQ(field.value, 7u);
    EXPECT_FALSE(reader.Next(&field));
    return text;
  };
  EXPECT_EQ(packed("\x03\x8E\x02\x9E\xA7\x05"), "3 270 86942 ");  // the guide's example
  EXPECT_EQ(packed(""), "");
  EXPECT_EQ(ErrorOf([&] { packed("\x03\x8E"); }),
            "3 MEMORY: has a varint at offset 3 that does not end within its field");
}

TEST(WireReader, GoesOnBehindAPayloadThatWasReadInPart) {
  const MemorySource source(BytesField(5, "\x01\x02\x03") + VarintField(6, 7));
  protobuf::WireReader reader(source, 0, source.size());
  protobuf::WireField field;
  std::uint64_t value = 0;
  ASSERT_TRUE(reader.Next(&field));
  ASSERT_TRUE(reader.NextVarint(&value));
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.number, 6u);
  EXPECT_FALSE(reader.NextVarint(&value));  // it has no payload
}

TEST(WireReader, FieldsStandWhereTheyAre) {
  const MemorySource source(VarintField(1, 300) + BytesField(2, "abc"));
  protobuf::WireReader reader(source, 0, source.size());
  protobuf::WireField field;
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.offset, 0u);
  EXPECT_EQ(field.begin, 1u);
  EXPECT_EQ(field.end, 3u);
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.offset, 3u);
  EXPECT_EQ(field.begin, 5u);
  EXPECT_EQ(field.end, 8u);
}

// Fields of all sizes about the window's: nothing is lost where it moves on.
TEST(WireReader, AcrossItsWindow) {
  std::string bytes, expected;
  for (std::uint64_t i = 0; i < 3'000; ++i) {
    const std::uint64_t value = i * i * i * i * i;
    bytes += VarintField(1, value);
    expected += "1:0:" + std::to_string(value) + ' ';
    const std::string payload(i % 97 == 0 ? i * 7 : i % 13, static_cast<char>('a' + i % 26));
    bytes += BytesField(2, payload);
    expected += "2:2:" + payload + ' ';
  }
  EXPECT_EQ(Walk(bytes), expected);
}

TEST(WireReader, PassesOverPayloads) {
  std::string bytes;
  for (int i = 0; i < 10; ++i) bytes += BytesField(9, std::string(10'000'000, 'x')) + "\x08\x01";
  const MemorySource source(bytes);
  protobuf::WireReader reader(source, 0, source.size());
  int fields = 0;
  for (protobuf::WireField field; reader.Next(&field);) ++fields;
  EXPECT_EQ(fields, 20);
  EXPECT_LE(source.reads(), 12u);
  EXPECT_LE(source.bytes_read(), 12u * 4'096);
}

TEST(WireReader, ReadsSmallFieldsInLargePieces) {
  std::string bytes;
  for (int i = 0; i < 1'000'000; ++i) bytes += "\x32\x05hello";
  const MemorySource source(bytes);
  EXPECT_EQ(Walk(source, 0, source.size()).size(), 1'000'000 * std::string("6:2:hello ").size());
  EXPECT_LE(source.bytes_read(), source.size() * 11 / 10);
  EXPECT_LE(source.reads(), 2 * source.size() / 65'536 + 10);
  EXPECT_LE(source.most_at_once(), 65'536u);
}

TEST(WireReader, EveryCutIsRefusedOrBetweenFields) {
  const std::string bytes = VarintField(1, 300) + BytesField(2, "abc") + Tag(3, 5) + "abcd" +
                            Tag(4, 1) + "abcdefgh" + VarintField(1'000, UINT64_MAX);
  const std::vector<std::size_t> ends = {0, 3, 8, 13, 22, bytes.size()};
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const bool is_end = std::find(ends.begin(), ends.end(), size) != ends.end();
    const std::string error = WalkError(bytes.substr(0, size));
    EXPECT_EQ(error == "no error", is_end) << size << ": " << error;
    EXPECT_EQ(error.ends_with("; the file is cut short"), !is_end) << error;
  }
}

}  // namespace
}  // namespace tensorcast::io
