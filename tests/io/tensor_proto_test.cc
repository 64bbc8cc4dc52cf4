// pb files: every field and encoding that values may stand in, and exactly which bytes are written.
// The messages are put together by hand from onnx.proto and protobuf's encoding guide.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <random>

#include "formats/formats.h"
#include "protobuf/tensor_proto_message.h"
#include "protobuf/tensor_proto_values.h"
#include "wire_bytes.h"

namespace tensorcast::io {
namespace {

class TensorProtoFile : public FileTest {
 protected:
  std::shared_ptr<const formats::TensorReader> OpenBytes(const std::string& bytes) {
    const std::string path = Path("x.pb");
    WriteBytes(path, bytes);
    return Open(path);
  }
  // The dense form of a tensor of n elements whose values stand in `fields`.
  std::string Dense(DataType type, std::uint64_t n, const std::string& fields) {
    return ReadTensor(*OpenBytes(Head(type, n) + fields), 0);
  }
  static std::string Head(DataType type, std::uint64_t n) {
    return VarintField(protobuf::kDims, n) +
           VarintField(protobuf::kDataType, static_cast<std::uint64_t>(type));
  }
};

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

TEST_F(TensorProtoFile, SaysWhatItHolds) {
  const auto reader =
      OpenBytes(VarintField(protobuf::kDims, 2) + VarintField(protobuf::kDims, 3) +
                VarintField(protobuf::kDataType, 1) + BytesField(protobuf::kName, "layer.weight") +
                BytesField(protobuf::kRawData, "abcdefghijklmnopqrstuvwx"));
  ASSERT_EQ(reader->contents().tensors.size(), 1u);
  const formats::TensorInfo& info = reader->contents().tensors[0];
  EXPECT_EQ(info.name, "layer.weight");
  EXPECT_EQ(info.dtype, "FLOAT");
  EXPECT_EQ(info.type, DataType::kFloat32);
  EXPECT_EQ(info.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(info.elements, 6u);
  EXPECT_EQ(info.bytes, 24u);
  EXPECT_FALSE(info.fortran_order);
  EXPECT_TRUE(reader->contents().metadata.empty());
  EXPECT_TRUE(reader->notes().empty());
  EXPECT_EQ(ReadTensor(*reader, 0), "abcdefghijklmnopqrstuvwx");
}

TEST_F(TensorProtoFile, WithoutANameIsCalledAsItsFile) {
  const std::string bytes = Head(DataType::kUint8, 1) + BytesField(protobuf::kRawData, "a");
  EXPECT_EQ(OpenBytes(bytes)->contents().tensors[0].name, "x");
  EXPECT_EQ(OpenBytes(BytesField(protobuf::kName, "") + bytes)->contents().tensors[0].name, "x");
  WriteBytes(Path("input.0.PB"), bytes);
  EXPECT_EQ(Open(Path("input.0.PB"))->contents().tensors[0].name, "input.0");
}

TEST_F(TensorProtoFile, ScalarsAndEmptyTensors) {
  const auto scalar =
      OpenBytes(VarintField(protobuf::kDataType, 2) + BytesField(protobuf::kRawData, "a"));
  EXPECT_TRUE(scalar->contents().tensors[0].shape.empty());
  EXPECT_EQ(ReadTensor(*scalar, 0), "a");
  for (const std::string& values :
       {std::string(), BytesField(protobuf::kRawData, ""), BytesField(protobuf::kFloatData, ""),
        BytesField(protobuf::kInt64Data, "")}) {
    const auto empty = OpenBytes(VarintField(protobuf::kDims, 3) + VarintField(protobuf::kDims, 0) +
                                 VarintField(protobuf::kDataType, 1) + values);
    EXPECT_EQ(empty->contents().tensors[0].elements, 0u);
    EXPECT_EQ(ReadTensor(*empty, 0), "");
  }
}

TEST_F(TensorProtoFile, RawDataIsTakenAsItIs) {
  for (const TypeInfo& row : Types()) {
    if (row.bits == 0) continue;
    std::string data(*StorageBytes(row.type, 5), '\xA5');
    EXPECT_EQ(Dense(row.type, 5, BytesField(protobuf::kRawData, data)), data) << row.name;
  }
}

TEST_F(TensorProtoFile, Int32DataHoldsIntegersByValue) {
  using enum DataType;
  const std::string minus_one = Negative(-1);
  EXPECT_EQ(
      Dense(kInt32, 3,
            BytesField(protobuf::kInt32Data, std::string("\x05") + minus_one + Varint(0x7FFFFFFF))),
      Bytes({5, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 127}));
  EXPECT_EQ(Dense(kInt16, 2, BytesField(protobuf::kInt32Data, Negative(-2) + Varint(0x1234))),
            Bytes({0xFE, 0xFF, 0x34, 0x12}));
  EXPECT_EQ(Dense(kUint16, 2, BytesField(protobuf::kInt32Data, Varint(65'535) + Varint(1))),
            Bytes({255, 255, 1, 0}));
  EXPECT_EQ(Dense(kInt8, 2, BytesField(protobuf::kInt32Data, Negative(-128) + Varint(127))),
            Bytes({128, 127}));
  EXPECT_EQ(Dense(kUint8, 2, BytesField(protobuf::kInt32Data, Varint(255) + Varint(0))),
            Bytes({255, 0}));
  EXPECT_EQ(Dense(kBool, 3, BytesField(protobuf::kInt32Data, Bytes({0, 1, 2}))), Bytes({0, 1, 2}));
}

TEST_F(TensorProtoFile, Int32DataHoldsTheBitsOfSmallFloats) {
  using enum DataType;
  for (const DataType type : {kFloat16, kBfloat16}) {
    EXPECT_EQ(Dense(type, 2, BytesField(protobuf::kInt32Data, Varint(0x3C00) + Varint(0xFBFF))),
              Bytes({0x00, 0x3C, 0xFF, 0xFB}));
  }
  for (const DataType type :
       {kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2, kFloat8E5M2FNUZ, kFloat8E8M0}) {
    EXPECT_EQ(Dense(type, 2, BytesField(protobuf::kInt32Data, Varint(0x38) + Varint(0xFE))),
              Bytes({0x38, 0xFE}));
  }
}

// Some writers extend the sign of the byte or the 16 bits that an entry carries; some cut the
// varint of a negative int32 after 32 bits.
TEST_F(TensorProtoFile, Int32DataMayBeSignExtended) {
  using enum DataType;
  for (const DataType type : {kUint8, kInt8, kFloat8E4M3FN, kFloat8E8M0}) {
    EXPECT_EQ(Dense(type, 2, BytesField(protobuf::kInt32Data, Negative(-1) + Varint(255))),
              "\xFF\xFF");
    EXPECT_EQ(Dense(type, 1, BytesField(protobuf::kInt32Data, Negative(-128))), "\x80");
  }
  for (const DataType type : {kUint4, kInt4, kFloat4E2M1}) {
    EXPECT_EQ(Dense(type, 2, BytesField(protobuf::kInt32Data, Negative(-16))), "\xF0");
  }
  for (const DataType type : {kUint16, kInt16, kFloat16, kBfloat16}) {
    EXPECT_EQ(Dense(type, 2, BytesField(protobuf::kInt32Data, Negative(-1) + Varint(0xFFFF))),
              "\xFF\xFF\xFF\xFF");
  }
  EXPECT_EQ(Dense(kInt32, 1, BytesField(protobuf::kInt32Data, Varint(0xFFFFFFFF))),
            "\xFF\xFF\xFF\xFF");
}

TEST_F(TensorProtoFile, Int32DataHoldsAPackedByteOfTypesOfTwoAndFourBits) {
  using enum DataType;
  for (const DataType type : {kUint4, kInt4, kFloat4E2M1}) {
    EXPECT_EQ(Dense(type, 5,
                    BytesField(protobuf::kInt32Data, Varint(0x21) + Varint(0xF3) + Varint(0x05))),
              Bytes({0x21, 0xF3, 0x05}));
  }
  for (const DataType type : {kUint2, kInt2}) {
    EXPECT_EQ(Dense(type, 5, BytesField(protobuf::kInt32Data, Varint(0xE4) + Varint(0x01))),
              Bytes({0xE4, 0x01}));
  }
}

// x0 | x1 << 6 | x2 << 12 | x3 << 18 in three bytes, low first; bits 6 and up of an entry are no
// part of the code.
TEST_F(TensorProtoFile, Int32DataHoldsACodeForEachFloat6) {
  using enum DataType;
  for (const DataType type : {kFloat6E2M3, kFloat6E3M2}) {
    EXPECT_EQ(Dense(type, 4, BytesField(protobuf::kInt32Data, Bytes({0x01, 0x02, 0x03, 0x3F}))),
              Bytes({0x81, 0x30, 0xFC}));
    EXPECT_EQ(
        Dense(type, 5, BytesField(protobuf::kInt32Data, Bytes({0x01, 0x02, 0x03, 0x3F, 0x2A}))),
        Bytes({0x81, 0x30, 0xFC, 0x2A}));
    EXPECT_EQ(Dense(type, 2, BytesField(protobuf::kInt32Data, Bytes({0x7F}) + Negative(-64))),
              Bytes({0x3F, 0x00}));
  }
}

TEST_F(TensorProtoFile, TheOtherFields) {
  using enum DataType;
  EXPECT_EQ(
      Dense(kInt64, 3,
            BytesField(protobuf::kInt64Data, Negative(INT64_MIN) + Varint(INT64_MAX) + "\x07")),
      LittleEndian(1ULL << 63, 8) + LittleEndian(INT64_MAX, 8) + LittleEndian(7, 8));
  EXPECT_EQ(Dense(kUint64, 2, BytesField(protobuf::kUint64Data, Varint(UINT64_MAX) + "\x01")),
            LittleEndian(UINT64_MAX, 8) + LittleEndian(1, 8));
  EXPECT_EQ(Dense(kUint32, 2, BytesField(protobuf::kUint64Data, Varint(UINT32_MAX) + "\x01")),
            LittleEndian(UINT32_MAX, 4) + LittleEndian(1, 4));
  EXPECT_EQ(Dense(kFloat32, 2, BytesField(protobuf::kFloatData, "abcdefgh")), "abcdefgh");
  EXPECT_EQ(Dense(kFloat64, 2, BytesField(protobuf::kDoubleData, "abcdefghijklmnop")),
            "abcdefghijklmnop");
}

// Protobuf has a reader take repeated fields packed, not packed, and cut in any way.
TEST_F(TensorProtoFile, RepeatedFieldsComeInAnyEncoding) {
  using enum DataType;
  EXPECT_EQ(
      Dense(kInt64, 4,
            VarintField(protobuf::kInt64Data, 1) + BytesField(protobuf::kInt64Data, "\x02\x03") +
                BytesField(protobuf::kInt64Data, "") + VarintField(protobuf::kInt64Data, 4)),
      LittleEndian(1, 8) + LittleEndian(2, 8) + LittleEndian(3, 8) + LittleEndian(4, 8));
  EXPECT_EQ(
      Dense(kUint8, 3,
            VarintField(protobuf::kInt32Data, 7) + BytesField(protobuf::kInt32Data, "\x08\x09")),
      "\x07\x08\x09");
  EXPECT_EQ(Dense(kFloat32, 1, Tag(protobuf::kFloatData, 5) + "abcd"), "abcd");
  EXPECT_EQ(
      Dense(kFloat32, 4,
            Tag(protobuf::kFloatData, 5) + "abcd" + BytesField(protobuf::kFloatData, "efghijkl") +
                Tag(protobuf::kFloatData, 5) + "mnop"),
      "abcdefghijklmnop");
  EXPECT_EQ(Dense(kFloat64, 2,
                  BytesField(protobuf::kDoubleData, "abcdefgh") + Tag(protobuf::kDoubleData, 1) +
                      "ijklmnop"),
            "abcdefghijklmnop");
  // Shapes too.
  const auto reader =
      OpenBytes(BytesField(protobuf::kDims, "\x02\x03") + VarintField(protobuf::kDims, 1) +
                VarintField(protobuf::kDataType, 2) + BytesField(protobuf::kRawData, "abcdef"));
  EXPECT_EQ(reader->contents().tensors[0].shape, (std::vector<std::uint64_t>{2, 3, 1}));
}

TEST_F(TensorProtoFile, FieldsComeInAnyOrderAndTheLastOfASingleOneCounts) {
  const auto reader =
      OpenBytes(BytesField(protobuf::kRawData, "abcd") + BytesField(protobuf::kName, "first") +
                VarintField(protobuf::kDataType, 7) + VarintField(protobuf::kDataLocation, 1) +
                VarintField(protobuf::kDataType, 3) + VarintField(protobuf::kDims, 4) +
                BytesField(protobuf::kName, "second") + VarintField(protobuf::kDataLocation, 0));
  const formats::TensorInfo& info = reader->contents().tensors[0];
  EXPECT_EQ(info.name, "second");
  EXPECT_EQ(info.type, DataType::kInt8);
  EXPECT_EQ(ReadTensor(*reader, 0), "abcd");
}

TEST_F(TensorProtoFile, PassesOverWhatItDoesNotKnow) {
  const std::string unknown = VarintField(15, 1) + BytesField(17, "what") + Tag(18, 5) + "abcd" +
                              Tag(536'870'911, 1) + "abcdefgh";
  const auto reader =
      OpenBytes(unknown + VarintField(protobuf::kDims, 2) + unknown +
                VarintField(protobuf::kDataType, 7) + VarintField(protobuf::kInt64Data, 5) +
                unknown + VarintField(protobuf::kInt64Data, 6) + unknown);
  EXPECT_EQ(ReadTensor(*reader, 0), LittleEndian(5, 8) + LittleEndian(6, 8));
}

TEST_F(TensorProtoFile, Strings) {
  const auto reader =
      OpenBytes(VarintField(protobuf::kDims, 2) + VarintField(protobuf::kDims, 2) +
                VarintField(protobuf::kDataType, 8) + BytesField(protobuf::kStringData, "one") +
                BytesField(protobuf::kStringData, "") + BytesField(protobuf::kName, "words") +
                BytesField(protobuf::kStringData, "caf\xC3\xA9\n") +
                BytesField(protobuf::kStringData, std::string("\0\xFF", 2)));
  const formats::TensorInfo& info = reader->contents().tensors[0];
  EXPECT_EQ(info.type, DataType::kString);
  EXPECT_EQ(info.dtype, "STRING");
  EXPECT_EQ(info.elements, 4u);
  EXPECT_EQ(info.bytes, 11u);
  const text::StringPiece all = reader->ReadStrings(0, 0, 4);
  ASSERT_EQ(all.view().size(), 4u);
  EXPECT_EQ(all.view()[0], "one");
  EXPECT_EQ(all.view()[1], "");
  EXPECT_EQ(all.view()[2], "caf\xC3\xA9\n");
  EXPECT_EQ(all.view()[3], std::string("\0\xFF", 2));
  EXPECT_EQ(reader->ReadStrings(0, 2, 1).view()[0], "caf\xC3\xA9\n");
  EXPECT_EQ(reader->ReadStrings(0, 4, 0).view().size(), 0u);
  EXPECT_THROW(reader->ReadStrings(0, 4, 1), std::out_of_range);
}

TEST_F(TensorProtoFile, ManyStringsFromAnywhere) {
  constexpr std::uint64_t kStrings = 10'000;
  std::string bytes = Head(DataType::kString, kStrings);
  const auto text = [](std::uint64_t i) {
    return std::to_string(i) + std::string(i % 300 == 0 ? 5'000 : i % 7, 'x');
  };
  for (std::uint64_t i = 0; i < kStrings; ++i) {
    bytes += BytesField(protobuf::kStringData, text(i));
    if (i % 1'000 == 500) bytes += BytesField(17, "between");  // unknown: passed over
  }
  const auto reader = OpenBytes(bytes);
  std::mt19937_64 random(1);
  for (int times = 0; times < 100; ++times) {
    const std::uint64_t first = random() % kStrings;
    const std::uint64_t n = random() % std::min<std::uint64_t>(kStrings - first + 1, 2'000);
    const text::StringPiece piece = reader->ReadStrings(0, first, n);
    ASSERT_EQ(piece.view().size(), n);
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(piece.view()[i], text(first + i));
  }
}

// Many short strings and a few long ones: a piece ends, after a multiple of 4, where it is large.
TEST_F(TensorProtoFile, LongStringsInPieces) {
  constexpr std::uint64_t kStrings = 1'030;
  constexpr std::uint64_t kLong = std::uint64_t{1} << 20;
  std::string bytes = Head(DataType::kString, kStrings);
  const auto length = [](std::uint64_t i) { return i < 1'000 ? 1 : kLong; };
  for (std::uint64_t i = 0; i < kStrings; ++i) {
    bytes += BytesField(protobuf::kStringData, std::string(length(i), 'x'));
  }
  const auto reader = OpenBytes(bytes);
  std::uint64_t pieces = 0;
  for (std::uint64_t first = 0; first < kStrings; ++pieces) {
    const text::StringPiece piece = reader->ReadStrings(0, first, kStrings - first);
    const Strings texts = piece.view();
    ASSERT_GT(texts.size(), 0u);
    ASSERT_TRUE(texts.size() % 4 == 0 || first + texts.size() == kStrings);
    ASSERT_LE(texts.bytes.size(), text::kStringPieceBytes + 4 * kLong);
    for (std::uint64_t i = 0; i < texts.size(); ++i) ASSERT_EQ(texts[i].size(), length(first + i));
    first += texts.size();
  }
  EXPECT_EQ(pieces, 3u);  // 12, 12 and 6 of the long ones
}

TEST_F(TensorProtoFile, RefusesAStringOfMoreThan16Mebibytes) {
  const std::string most(text::kMostStringBytes, 'x');
  EXPECT_EQ(OpenBytes(Head(DataType::kString, 1) + BytesField(protobuf::kStringData, most))
                ->ReadStrings(0, 0, 1)
                .view()
                .bytes.size(),
            text::kMostStringBytes);
  EXPECT_EQ(ErrorOf([&] {
              OpenBytes(Head(DataType::kString, 1) + BytesField(protobuf::kStringData, most + 'x'));
            }),
            "5 " + Path("x.pb") +
                ": has a string of 16777217 bytes at offset 4; at most 16777216 are read");
}

TEST_F(TensorProtoFile, StringsOfAFileThatChanges) {
  const auto reader =
      OpenBytes(Head(DataType::kString, 2) + BytesField(protobuf::kStringData, "one") +
                BytesField(protobuf::kStringData, "two"));
  {  // the same file, of the same size: its second string becomes a field that is not known
    std::fstream file(Path("x.pb"), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(9);
    file << Tag(15, 2);
  }
  EXPECT_EQ(
      ErrorOf([&] { reader->ReadStrings(0, 0, 2); }),
      "4 " + Path("x.pb") + ": changed while it was read; do not change a file that is being read");
}

// Gives other bytes from its n-th reading on, as a file that is rewritten in place does.
class ChangingSource final : public files::ByteSource {
 public:
  ChangingSource(std::string before, std::string after, int readings)
      : before_(std::move(before)), after_(std::move(after)), readings_(readings) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return before_.size(); }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::string& bytes = readings_-- > 0 ? before_ : after_;
    std::memcpy(out.data(), bytes.data() + offset, out.size());
  }

 private:
  std::string path_ = "x.pb";
  std::string before_, after_;
  mutable int readings_;
};

// Values are counted in one pass and taken in the next.
TEST_F(TensorProtoFile, ChangesBetweenTwoPasses) {
  constexpr std::uint64_t kStrings = 3000;
  std::string strings, none, long_string;
  for (std::uint64_t i = 0; i < kStrings; ++i) strings += BytesField(protobuf::kStringData, "abc");
  none = BytesField(15, std::string(strings.size() - 3, 'x'));
  long_string = BytesField(protobuf::kStringData, std::string(strings.size() - 3, 'x'));
  std::string floats, fewer, more;
  for (int i = 0; i < 2; ++i) floats += BytesField(protobuf::kFloatData, "12345678");
  floats += BytesField(15, "12345678");
  fewer = BytesField(protobuf::kFloatData, "12345678") + BytesField(15, "12345678") +
          BytesField(15, "12345678");
  more = BytesField(protobuf::kFloatData, "12345678") +
         BytesField(protobuf::kFloatData, "12345678") +
         BytesField(protobuf::kFloatData, "12345678");
  struct Case {
    std::string before, after;
  };
  const std::string text_head = Head(DataType::kString, kStrings);
  const std::string float_head = Head(DataType::kFloat32, 4);
  for (const Case& c : {Case{text_head + strings, text_head + none},
                        Case{text_head + strings, text_head + long_string},
                        Case{float_head + floats, float_head + fewer},
                        Case{float_head + floats, float_head + more}}) {
    int changed = 0;
    for (int readings = 1; readings < 12; ++readings) {
      const std::string error = ErrorOf([&] {
        const auto reader = formats::OpenTensorProto(
                                std::make_unique<ChangingSource>(c.before, c.after, readings), {})
                                .reader;
        const formats::TensorInfo& info = reader->contents().tensors[0];
        if (info.type != DataType::kString) {
          ReadTensor(*reader, 0);
          return;
        }
        for (std::uint64_t first = kStrings; first > 0;) reader->ReadStrings(0, --first, 1);
      });
      changed += error == "4 x.pb: changed while it was read; do not change a file that is being "
                          "read"
                     ? 1
                     : 0;
    }
    EXPECT_GT(changed, 0) << c.after.size();
  }
}

TEST_F(TensorProtoFile, MetadataIsKeptAndADocStringIsNot) {
  const auto entry = [](const std::string& key, const std::string& value) {
    return BytesField(protobuf::kMetadataProps, BytesField(1, key) + BytesField(2, value));
  };
  const auto reader =
      OpenBytes(Head(DataType::kUint8, 1) + BytesField(protobuf::kRawData, "a") + entry("k", "v") +
                entry("", "") + BytesField(protobuf::kMetadataProps, BytesField(1, "only a key")) +
                BytesField(protobuf::kDocString, "# about"));
  EXPECT_EQ(reader->contents().metadata,
            (std::map<std::string, std::string>{{"k", "v"}, {"", ""}, {"only a key", ""}}));
  ASSERT_EQ(reader->notes().size(), 1u);
  EXPECT_EQ(reader->notes()[0], Path("x.pb") + ": its doc_string is not kept");
}

// Protobuf's own libraries end at 2 GiB; nothing here does.
TEST_F(TensorProtoFile, BeyondFourGigabytes) {
  constexpr std::uint64_t kBytes = (1ULL << 32) + 10;
  const std::string head =
      Head(DataType::kUint8, kBytes) + Tag(protobuf::kRawData, 2) + Varint(kBytes);
  const std::string path = Path("x.pb");
  WriteBytes(path, head);
  std::filesystem::resize_file(path, head.size() + kBytes);  // zeros that take no room
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(head.size() + kBytes - 1));
    file << 'z';
  }
  const auto reader = Open(path);
  EXPECT_EQ(reader->contents().tensors[0].bytes, kBytes);
  std::string end(2, '?');
  reader->Read(0, kBytes - 2, std::as_writable_bytes(std::span(end)));
  EXPECT_EQ(end, std::string("\0z", 2));
  std::filesystem::resize_file(path, head.size() + kBytes - 1);
  EXPECT_EQ(ErrorOf([&] { Open(path); }),
            "3 " + path +
                ": field 9 at offset 8 has 4294967306 bytes, but only 4294967305 follow; the file "
                "is cut short");
}

// As the initializers of a model will: the message is a range of a larger source.
TEST_F(TensorProtoFile, ATensorProtoWithinAnotherMessage) {
  const std::string small =
      Head(DataType::kInt64, 2) + BytesField(protobuf::kInt64Data, "\x05\x06");
  const std::string large =
      Head(DataType::kInt64, 2) + BytesField(protobuf::kInt64Data, "\x07\x08");
  const std::string texts = Head(DataType::kString, 2) + BytesField(protobuf::kStringData, "ab") +
                            BytesField(protobuf::kStringData, "cd") +
                            BytesField(protobuf::kName, "t");
  const MemorySource source("before" + small + large + texts +
                            BytesField(protobuf::kStringData, "not mine"));
  std::uint64_t end = 6;
  const auto next = [&](const std::string& bytes) {
    const std::uint64_t begin = end;
    end += bytes.size();
    return protobuf::ReadTensorProtoMessage(source, begin, end);
  };
  const protobuf::TensorProtoValues five_six(source, next(small), DataType::kInt64, 2);
  const protobuf::TensorProtoValues seven_eight(source, next(large), DataType::kInt64, 2);
  const protobuf::TensorProtoMessage message = next(texts);
  const protobuf::TensorProtoValues strings(source, message, DataType::kString, 2);
  std::string bytes(16, '?');
  five_six.Read(0, std::as_writable_bytes(std::span(bytes)));
  EXPECT_EQ(bytes, LittleEndian(5, 8) + LittleEndian(6, 8));
  seven_eight.Read(8, std::as_writable_bytes(std::span(bytes).first(8)));
  EXPECT_EQ(bytes, LittleEndian(8, 8) + LittleEndian(6, 8));
  EXPECT_EQ(strings.ReadStrings(1, 1).view()[0], "cd");
  // Errors name the tensor, as there are others.
  EXPECT_EQ(ErrorOf([&] { protobuf::TensorProtoValues(source, message, DataType::kString, 3); }),
            "3 MEMORY: tensor \"t\" has 2 strings in string_data; STRING of the shape [2] takes 3 "
            "strings");
}

// ---------------------------------------------------------------------------------- writing

class TensorProtoWriting : public TensorProtoFile {
 protected:
  std::string Written(const formats::FileContents& contents, std::string_view data) {
    const std::string path = Path("out.pb");
    const files::CreateOptions options{.overwrite = true, .inputs = {}};
    const std::uint64_t checked = formats::CheckTensorFile(path, contents, options);
    const auto writer = formats::CreateTensorFile(path, contents, options);
    EXPECT_EQ(writer->file_bytes(), checked);
    EXPECT_EQ(writer->reading_hint(), "");
    WriteTensor(*writer, 0, data);
    writer->Commit();
    return ReadBytes(path);
  }
  std::string Refusal(const formats::FileContents& contents) {
    const std::string path = Path("out.pb");
    const std::string error = ErrorOf([&] { formats::CheckTensorFile(path, contents, {}); });
    EXPECT_EQ(ErrorOf([&] { formats::CreateTensorFile(path, contents, {}); }), error);
    EXPECT_EQ(Names(), std::vector<std::string>{});
    return ReplaceAll(error, path, "FILE");
  }
};

formats::FileContents One(formats::TensorInfo info) {
  formats::FileContents contents;
  contents.tensors.push_back(std::move(info));
  return contents;
}

TEST_F(TensorProtoWriting, ExactBytes) {
  EXPECT_EQ(
      Written(One(Tensor("w", DataType::kFloat16, {2, 300})), std::string(1'200, 'x')),
      std::string("\x08\x02\x08\xAC\x02\x10\x0A\x42\x01w\x4A\xB0\x09") + std::string(1'200, 'x'));
  EXPECT_EQ(Written(One(Tensor("s", DataType::kFloat6E3M2, {})), "\x1F"),
            "\x10\x1C\x42\x01s\x4A\x01\x1F");
  EXPECT_EQ(Written(One(Tensor("e", DataType::kUint2, {0, 3})), ""),
            std::string("\x08\x00\x08\x03\x10\x19\x42\x01"
                        "e\x4A\x00",
                        11));
  formats::FileContents contents = One(Tensor("m", DataType::kUint8, {1}));
  contents.metadata = {{"key", "value"}, {"", ""}};
  EXPECT_EQ(Written(contents, "!"), std::string("\x08\x01\x10\x02\x42\x01m\x4A\x01!"
                                                "\x82\x01\x04\x0A\x00\x12\x00"
                                                "\x82\x01\x0C\x0A\x03key\x12\x05value",
                                                32));
}

TEST_F(TensorProtoWriting, Strings) {
  const std::vector<std::string> texts = {"a", "", std::string(130, 'b'), "caf\xC3\xA9"};
  formats::TensorInfo info = Tensor("t", DataType::kString, {2, 2});
  info.text = {.most_code_points = 130, .most_bytes = 130, .total_bytes = 136};
  const std::string path = Path("out.pb");
  const auto writer = formats::CreateTensorFile(path, One(info), {});
  text::StringPiece piece;
  piece.Append(texts[0]);
  writer->WriteStrings(0, 0, piece.view());
  piece = {};
  for (int i = 1; i < 4; ++i) piece.Append(texts[static_cast<std::size_t>(i)]);
  writer->WriteStrings(0, 1, piece.view());
  writer->Commit();
  const std::string expected = std::string(
                                   "\x08\x02\x08\x02\x10\x08\x32\x01"
                                   "a\x32\x00",
                                   11) +
                               "\x32\x82\x01" + texts[2] + "\x32\x05" + texts[3] + "\x42\x01t";
  EXPECT_EQ(ReadBytes(path), expected);
  EXPECT_EQ(writer->file_bytes(), expected.size());

  const auto reader = Open(path);
  const text::StringPiece back = reader->ReadStrings(0, 0, 4);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(back.view()[i], texts[i]);
  // No string at all.
  info = Tensor("t", DataType::kString, {0});
  const auto none = formats::CreateTensorFile(path, One(info), {.overwrite = true, .inputs = {}});
  none->Commit();
  EXPECT_EQ(ReadBytes(path), std::string("\x08\x00\x10\x08\x42\x01t", 7));
}

TEST_F(TensorProtoWriting, RefusesWhatATensorProtoCannotSay) {
  formats::FileContents two = One(Tensor("a", DataType::kInt8, {1}));
  two.tensors.push_back(Tensor("b", DataType::kInt8, {1}));
  EXPECT_EQ(Refusal(two), "2 FILE: a .pb file holds one tensor, not 2");
  EXPECT_EQ(Refusal({}), "2 FILE: a .pb file holds one tensor, not 0");

  formats::TensorInfo other = Tensor("z", DataType::kUndefined, {1});
  other.dtype = "C64";
  EXPECT_EQ(Refusal(One(other)), "5 FILE: tensor \"z\" is C64, which is not written to .pb files");

  formats::TensorInfo fortran = Tensor("f", DataType::kInt8, {2, 2});
  fortran.fortran_order = true;
  EXPECT_EQ(Refusal(One(fortran)),
            "5 FILE: tensor \"f\" is in Fortran order, which a TensorProto does not have; write an "
            ".npy file");
  fortran.shape = {4};  // of one dimension both orders are one
  EXPECT_EQ(Written(One(fortran), "abcd").substr(0, 4), "\x08\x04\x10\x03");
  std::filesystem::remove(Path("out.pb"));

  EXPECT_EQ(Refusal(One(Tensor("\xFF", DataType::kInt8, {1}))),
            "5 FILE: \"\\xFF\" is not UTF-8, as a TensorProto needs it");
  formats::FileContents metadata = One(Tensor("m", DataType::kInt8, {1}));
  metadata.metadata["k"] = "\xC3";
  EXPECT_EQ(Refusal(metadata), "5 FILE: \"\\xC3\" is not UTF-8, as a TensorProto needs it");
  EXPECT_EQ(Refusal(One(Tensor("d", DataType::kInt8, {0, 1ULL << 63}))),
            "5 FILE: tensor \"d\" has the shape [0, 9223372036854775808]; a TensorProto's "
            "dimensions end at 2^63 - 1");
  EXPECT_EQ(Refusal(One(Tensor("o", DataType::kInt8, {1ULL << 62, 8}))),
            "5 FILE: tensor \"o\" has the shape [4611686018427387904, 8]: more than 2^64 - 1 "
            "elements");
}

// Protobuf's own libraries read no longer message.
TEST_F(TensorProtoWriting, EndsAtTwoGigabytes) {
  constexpr std::uint64_t kMost = 2'147'483'647;
  // dims, data_type, name, the tag and length of raw_data: 6 + 2 + 3 + 6 bytes.
  EXPECT_EQ(
      formats::CheckTensorFile(Path("out.pb"), One(Tensor("w", DataType::kInt8, {kMost - 17})), {}),
      kMost);
  EXPECT_EQ(Refusal(One(Tensor("w", DataType::kInt8, {kMost - 16}))),
            "5 FILE: tensor \"w\" would take 2147483648 bytes as a TensorProto; protobuf allows "
            "2147483647; write a .safetensors or .npy file");
  EXPECT_EQ(Refusal(One(Tensor("w", DataType::kInt64, {1ULL << 40}))),
            "5 FILE: tensor \"w\" would take 8796093022208 bytes as a TensorProto; protobuf allows "
            "2147483647; write a .safetensors or .npy file");
  formats::TensorInfo strings = Tensor("w", DataType::kString, {1'000'000'000});
  strings.text = {.most_code_points = 1, .most_bytes = 1, .total_bytes = 1'000'000'000};
  EXPECT_EQ(Refusal(One(strings)),
            "5 FILE: tensor \"w\" would take 3000000011 bytes as a TensorProto; protobuf allows "
            "2147483647; write a .safetensors or .npy file");
}

}  // namespace
}  // namespace tensorcast::io
