// pb: every way a TensorProto can lie, with the kind and the whole text of what is said of it.
//
// SPDX-License-Identifier: Apache-2.0
#include "protobuf/tensor_proto_message.h"
#include "wire_bytes.h"

namespace tensorcast::io {
namespace {

using TensorProtoBadInput = FileTest;

std::string Of(DataType type, const std::string& fields) {
  return VarintField(protobuf::kDims, 2) +
         VarintField(protobuf::kDataType, static_cast<std::uint64_t>(type)) + fields;
}

std::string OfDims(const std::string& dims) {
  return dims + VarintField(protobuf::kDataType, 2) + BytesField(protobuf::kRawData, "ab");
}

std::vector<BadFile> BadTensorProtos() {
  using enum DataType;
  const std::string raw = BytesField(protobuf::kRawData, "ab");
  return {
      {"empty", "",
       "3 FILE: has no data_type; expected an ONNX TensorProto, as onnx.save_tensor writes"},
      {"no data_type", VarintField(protobuf::kDims, 2) + raw,
       "3 FILE: has no data_type; expected an ONNX TensorProto, as onnx.save_tensor writes"},
      {"UNDEFINED", Of(kUndefined, raw),
       "3 FILE: has no data_type; expected an ONNX TensorProto, as onnx.save_tensor writes"},
      {"complex",
       Of(static_cast<DataType>(14), BytesField(protobuf::kFloatData, "abcdefghabcdefgh")),
       "5 FILE: has the data_type 14: complex numbers are not cast; save their parts "
       "apart"},
      {"complex of doubles", Of(static_cast<DataType>(15), ""),
       "5 FILE: has the data_type 15: complex numbers are not cast; save their parts "
       "apart"},
      {"a type of later", Of(static_cast<DataType>(29), raw),
       "5 FILE: has the data_type 29, which is not a known type"},
      {"a negative type",
       VarintField(protobuf::kDims, 2) + Tag(protobuf::kDataType, 0) + Negative(-1) + raw,
       "5 FILE: has the data_type 18446744073709551615, which is not a known type"},
      {"a type beyond 32 bits",
       VarintField(protobuf::kDims, 2) + VarintField(protobuf::kDataType, (1ULL << 32) + 2),
       "5 FILE: has the data_type 4294967298, which is not a known type"},
      {"a segment", Of(kUint8, BytesField(protobuf::kSegment, "\x08\x01\x10\x02") + raw),
       "5 FILE: holds a segment of a tensor; put its parts together first"},
      {"external",
       Of(kUint8, BytesField(protobuf::kExternalData,
                             BytesField(1, "location") + BytesField(2, "/etc/passwd")) +
                      VarintField(protobuf::kDataLocation, 1)),
       "5 FILE: has external data, which is read with its .onnx model and not by itself"},
      {"an unknown location", Of(kUint8, VarintField(protobuf::kDataLocation, 2) + raw),
       "3 FILE: has data_location at offset 4 of 2; expected 0 (in the message) or 1 (external)"},

      // Shapes.
      {"a negative dimension", OfDims(Tag(protobuf::kDims, 0) + Negative(-1)),
       "3 FILE: has the dimension -1 in dims at offset 0; expected 0 or more"},
      {"a negative dimension, packed",
       OfDims(BytesField(protobuf::kDims, std::string("\x01") + Negative(INT64_MIN))),
       "3 FILE: has the dimension -9223372036854775808 in dims at offset 0; expected 0 or more"},
      {"a product that overflows",
       OfDims(VarintField(protobuf::kDims, 1ULL << 32) + VarintField(protobuf::kDims, 1ULL << 32)),
       "3 FILE: has the shape [4294967296, 4294967296] of UINT8: more than 2^64 - 1 bits"},
      {"a size that overflows",
       VarintField(protobuf::kDims, 1ULL << 62) + VarintField(protobuf::kDataType, 11) + raw,
       "3 FILE: has the shape [4611686018427387904] of DOUBLE: more than 2^64 - 1 bits"},
      {"huge", OfDims(VarintField(protobuf::kDims, 1ULL << 60)),
       "3 FILE: has 2 bytes in raw_data; UINT8 of the shape [1152921504606846976] takes "
       "1152921504606846976 bytes"},
      {"many strings",
       VarintField(protobuf::kDims, INT64_MAX) + VarintField(protobuf::kDataType, 8),
       "3 FILE: has no values; STRING of the shape [9223372036854775807] takes 9223372036854775807 "
       "strings"},
      {"65 dimensions", OfDims(BytesField(protobuf::kDims, std::string(65, '\1'))),
       "5 FILE: has more than 64 dimensions"},
      {"a million dimensions", OfDims(BytesField(protobuf::kDims, std::string(1'000'000, '\1'))),
       "5 FILE: has more than 64 dimensions"},

      // Values that are too few, too many, in the wrong field or in two.
      {"no values", Of(kUint8, ""), "3 FILE: has no values; UINT8 of the shape [2] takes 2 bytes"},
      {"no values, of varints", Of(kInt64, ""),
       "3 FILE: has no values; INT64 of the shape [2] takes 16 bytes"},
      {"too short", Of(kUint8, BytesField(protobuf::kRawData, "a")),
       "3 FILE: has 1 byte in raw_data; UINT8 of the shape [2] takes 2 bytes"},
      {"too long", Of(kUint8, BytesField(protobuf::kRawData, "abc")),
       "3 FILE: has 3 bytes in raw_data; UINT8 of the shape [2] takes 2 bytes"},
      {"unpacked where it is packed", Of(kInt4, raw),
       "3 FILE: has 2 bytes in raw_data; INT4 of the shape [2] takes 1 byte"},
      {"too few floats", Of(kFloat32, BytesField(protobuf::kFloatData, "abcd")),
       "3 FILE: has 4 bytes in float_data; FLOAT of the shape [2] takes 8 bytes"},
      {"half a float", Of(kFloat32, BytesField(protobuf::kFloatData, "abcdef")),
       "3 FILE: has float_data at offset 4 with 6 bytes; expected a multiple of 4"},
      {"half a double", Of(kFloat64, BytesField(protobuf::kDoubleData, "abcdef")),
       "3 FILE: has double_data at offset 4 with 6 bytes; expected a multiple of 8"},
      {"too few varints", Of(kInt64, VarintField(protobuf::kInt64Data, 1)),
       "3 FILE: has 1 value in int64_data; INT64 of the shape [2] takes 2 values"},
      {"too many varints", Of(kInt64, BytesField(protobuf::kInt64Data, "\x01\x02\x03\x04")),
       "3 FILE: has 4 values in int64_data; INT64 of the shape [2] takes 2 values"},
      {"an entry for each int4", Of(kInt4, BytesField(protobuf::kInt32Data, "\x01\x02")),
       "3 FILE: has 2 values in int32_data; INT4 of the shape [2] takes 1 value"},
      {"an entry for two float6", Of(kFloat6E2M3, BytesField(protobuf::kInt32Data, "\x01")),
       "3 FILE: has 1 value in int32_data; FLOAT6E2M3 of the shape [2] takes 2 values"},
      {"too few strings", Of(kString, BytesField(protobuf::kStringData, "a")),
       "3 FILE: has 1 string in string_data; STRING of the shape [2] takes 2 strings"},
      {"strings in raw_data", Of(kString, raw),
       "3 FILE: has its values in raw_data; expected string_data for STRING"},
      {"numbers in string_data", Of(kUint8, BytesField(protobuf::kStringData, "ab")),
       "3 FILE: has its values in string_data; expected raw_data or int32_data for UINT8"},
      {"uint32 in int32_data", Of(kUint32, BytesField(protobuf::kInt32Data, "\x01\x02")),
       "3 FILE: has its values in int32_data; expected raw_data or uint64_data for UINT32"},
      {"float16 in float_data", Of(kFloat16, BytesField(protobuf::kFloatData, "abcdefgh")),
       "3 FILE: has its values in float_data; expected raw_data or int32_data for FLOAT16"},
      {"two fields", Of(kFloat32, BytesField(protobuf::kFloatData, "abcdefgh") + raw),
       "3 FILE: has values in float_data at offset 4 and in raw_data at offset 14; a TensorProto "
       "has them in one field"},
      {"raw_data twice", Of(kUint8, raw + raw),
       "3 FILE: has raw_data at offset 8 for the second time"},
      {"raw_data twice, once empty", Of(kUint8, BytesField(protobuf::kRawData, "") + raw),
       "3 FILE: has raw_data at offset 6 for the second time"},

      // Entries that no byte, no 16 bits, no 32 bits hold.
      {"300 as a byte",
       Of(kUint8, BytesField(protobuf::kInt32Data, std::string("\x01") + Varint(300))),
       "3 FILE: has 300 as value 1 of int32_data at offset 7; expected -128 to 255"},
      {"256 as a bool",
       Of(kBool, BytesField(protobuf::kInt32Data, std::string("\x01") + Varint(256))),
       "3 FILE: has 256 as value 1 of int32_data at offset 7; expected -128 to 255"},
      {"-129 as a byte", Of(kFloat8E5M2, Tag(protobuf::kInt32Data, 0) + Negative(-129)),
       "3 FILE: has -129 as value 0 of int32_data at offset 5; expected -128 to 255"},
      {"256 as two int4", Of(kInt4, VarintField(protobuf::kInt32Data, 256)),
       "3 FILE: has 256 as value 0 of int32_data at offset 5; expected -128 to 255"},
      {"65536 as a float16", Of(kFloat16, VarintField(protobuf::kInt32Data, 65'536)),
       "3 FILE: has 65536 as value 0 of int32_data at offset 5; expected -32768 to 65535"},
      {"2^32 as an int32", Of(kInt32, VarintField(protobuf::kInt32Data, 1ULL << 32)),
       "3 FILE: has 4294967296 as value 0 of int32_data at offset 5; expected -2147483648 to "
       "4294967295"},
      {"2^32 as a float6", Of(kFloat6E3M2, VarintField(protobuf::kInt32Data, 1ULL << 32)),
       "3 FILE: has 4294967296 as value 0 of int32_data at offset 5; expected -2147483648 to "
       "4294967295"},
      {"2^32 as a uint32", Of(kUint32, VarintField(protobuf::kUint64Data, 1ULL << 32)),
       "3 FILE: has 4294967296 as value 0 of uint64_data at offset 5; expected 0 to 4294967295"},
      {"-1 as a uint32", Of(kUint32, Tag(protobuf::kUint64Data, 0) + Negative(-1)),
       "3 FILE: has 18446744073709551615 as value 0 of uint64_data at offset 5; expected 0 to "
       "4294967295"},
      {"a cut varint in a payload",
       Of(kInt64, BytesField(protobuf::kInt64Data, "\x01\x80") + raw.substr(0, 0) +
                      BytesField(protobuf::kName, "n")),
       "3 FILE: has a varint at offset 7 that does not end within its field"},
      {"a varint of eleven bytes",
       Of(kInt64, BytesField(protobuf::kInt64Data, std::string(10, '\x80') + "\x01")),
       "3 FILE: has a varint of more than 10 bytes at offset 6"},

      // Wire types.
      {"data_type as bytes", BytesField(protobuf::kDataType, "\x01"),
       "3 FILE: has data_type at offset 0 with the wire type 2 (bytes); expected 0 (varint), as in "
       "an ONNX "
       "TensorProto"},
      {"a varint for the name", VarintField(protobuf::kName, 1),
       "3 FILE: has name at offset 0 with the wire type 0 (varint); expected 2 (bytes), as in an "
       "ONNX "
       "TensorProto"},
      {"a float among the integers", Tag(protobuf::kInt32Data, 5) + "abcd",
       "3 FILE: has int32_data at offset 0 with the wire type 5 (4 bytes); expected 0 (varint), as "
       "in an ONNX "
       "TensorProto"},
      {"a double among the floats", Tag(protobuf::kFloatData, 1) + "abcdefgh",
       "3 FILE: has float_data at offset 0 with the wire type 1 (8 bytes); expected 5 (4 bytes), "
       "as in an ONNX "
       "TensorProto"},
      {"a group", "\x23\x24", "3 FILE: field 4 at offset 0 is a group, which ONNX does not use"},
      {"field 0", std::string("\x00\x01", 2),
       "3 FILE: field 0 at offset 0 has the number 0; protobuf counts from 1"},
      {"text", "node {", "3 FILE: field 13 at offset 0 has the wire type 6; protobuf has 0 to 5"},
      {"a length of 2^64 - 1", Tag(protobuf::kRawData, 2) + Varint(UINT64_MAX) + "ab",
       "3 FILE: field 9 at offset 0 has 18446744073709551615 bytes, but only 2 follow; the file is "
       "cut short"},

      // Texts.
      {"a long name", Of(kUint8, BytesField(protobuf::kName, std::string(1'000'001, 'n')) + raw),
       "5 FILE: has name at offset 4 with 1000001 bytes; names and metadata take at most 1000000 "
       "together"},
      {"much metadata",
       Of(kUint8,
          BytesField(protobuf::kMetadataProps, BytesField(1, std::string(600'000, 'a'))) +
              BytesField(protobuf::kMetadataProps, BytesField(1, std::string(600'000, 'b')))),
       "5 FILE: has metadata_props at offset 600013 with 600004 bytes; names and metadata take at "
       "most 1000000 together"},
      {"metadata twice",
       Of(kUint8,
          BytesField(protobuf::kMetadataProps, BytesField(1, "\x1b[2J")) +
              BytesField(protobuf::kMetadataProps, BytesField(1, "\x1b[2J") + BytesField(2, "v"))),
       "3 FILE: has metadata_props at offset 13 with the key \"\\x1B[2J\" for the second time"},
      {"a number as metadata", Of(kUint8, BytesField(protobuf::kMetadataProps, VarintField(2, 1))),
       "3 FILE: has metadata_props at offset 4 whose value is not a string"},
      {"metadata that is cut",
       Of(kUint8, BytesField(protobuf::kMetadataProps, Tag(1, 2) + "\x05"
                                                                   "ab") +
                      raw),
       "3 FILE: field 1 at offset 7 has 5 bytes, but only 2 follow"},
  };
}

TEST_F(TensorProtoBadInput, SaysWhatIsWrong) {
  const std::string path = Path("x.pb");
  for (const BadFile& test : BadTensorProtos()) {
    SCOPED_TRACE(test.what);
    WriteBytes(path, test.bytes);
    EXPECT_EQ(ReplaceAll(ErrorOf([&] { Open(path); }), path, "FILE"), test.error);
  }
}

TEST_F(TensorProtoBadInput, NamesItsTypes) {
  const std::string path = Path("x.pb");
  WriteBytes(path, Of(DataType::kUint8, BytesField(protobuf::kRawData, "ab")));
  EXPECT_EQ(ErrorOf([&] { checkpoint::OpenTensorFile(path, {.assume_type = DataType::kInt8}); }),
            "2 " + path +
                ": is a TensorProto, which names its type; a type is assumed only of .npy files "
                "that do not");
}

// By its ending alone: first bytes of other formats win, and no other ending is tried.
TEST_F(TensorProtoBadInput, IsKnownByItsEnding) {
  const std::string bytes = Of(DataType::kUint8, BytesField(protobuf::kRawData, "ab"));
  WriteBytes(Path("x.dat"), bytes);
  EXPECT_TRUE(ErrorOf([&] { Open(Path("x.dat")); }).starts_with("5 "));
  WriteBytes(Path("x.pb"), Npy(NpyDict("|u1", "(1,)"), "1"));
  EXPECT_EQ(Open(Path("x.pb"))->contents().tensors[0].dtype, "|u1");
}

TEST_F(TensorProtoBadInput, TruncatedAtEveryByte) {
  const std::string path = Path("x.pb");
  const std::string head = VarintField(protobuf::kDims, 3) + VarintField(protobuf::kDataType, 7);
  const std::vector<std::string> files = {
      head + BytesField(protobuf::kName, "name") +
          BytesField(protobuf::kRawData, std::string(24, 'r')),
      head + BytesField(protobuf::kInt64Data, Negative(-5) + "\x01" + Varint(300)),
      head + VarintField(protobuf::kInt64Data, 300) + VarintField(protobuf::kInt64Data, 1) +
          VarintField(protobuf::kInt64Data, 70'000),
      VarintField(protobuf::kDims, 2) + VarintField(protobuf::kDataType, 8) +
          BytesField(protobuf::kStringData, "one") + BytesField(protobuf::kStringData, "two"),
      VarintField(protobuf::kDims, 1) + VarintField(protobuf::kDataType, 1) +
          BytesField(protobuf::kMetadataProps, BytesField(1, "k") + BytesField(2, "v")) +
          BytesField(protobuf::kFloatData, "abcd"),
  };
  for (const std::string& whole : files) {
    WriteBytes(path, whole);
    EXPECT_EQ(ErrorOf([&] { Open(path); }), "no error");
    for (std::size_t size = 0; size < whole.size(); ++size) {
      WriteBytes(path, std::string_view(whole).substr(0, size));
      const std::string error = ErrorOf([&] { Open(path); });
      EXPECT_TRUE(error.starts_with("3 " + path + ": has ") ||
                  error.starts_with("3 " + path + ": field "))
          << error;
      EXPECT_TRUE(error.ends_with("; the file is cut short") ||
                  error.find("has no data_type") != std::string::npos ||
                  error.find(" takes ") != std::string::npos)  // cut between two fields
          << error;
    }
  }
}

}  // namespace
}  // namespace tensorcast::io
