// Every way a safetensors file can be wrong, with the words and the kind of the error.
//
// SPDX-License-Identifier: Apache-2.0
#include "test_files.h"

namespace tensorcast::io {
namespace {

using SafetensorsBadInput = FileTest;

std::string Entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + '}';
}

// One tensor "a" whose shape or offsets are given as text.
std::string WithShape(const std::string& shape) {
  return Safetensors('{' + Entry("a", "F32", shape, "[0,4]") + '}', "1234");
}
std::string WithOffsets(const std::string& offsets) {
  return Safetensors('{' + Entry("a", "F32", "[1]", offsets) + '}', "1234");
}
std::string WithTypes(const std::string& types_json, const std::string& entry, std::size_t bytes) {
  return Safetensors(R"({"__metadata__":{"tensorcast.types":")" +
                         ReplaceAll(types_json, "\"", "\\\"") + "\"}," + entry + '}',
                     std::string(bytes, 'x'));
}

std::vector<BadFile> Cases() {
  const std::string a = Entry("a", "F32", "[1]", "[0,4]");
  const std::string u8 = Entry("p", "U8", "[2]", "[0,2]");
  const std::string types = "3 FILE: __metadata__[\"tensorcast.types\"]";
  return {
      // The length of the header.
      {"empty file", "",
       "3 FILE: has 0 bytes; a safetensors file begins with the 8-byte length of its header"},
      {"seven bytes", "1234567",
       "3 FILE: has 7 bytes; a safetensors file begins with the 8-byte length of its header"},
      {"length 2^64 - 1", LittleEndian(UINT64_MAX, 8) + "{}",
       "3 FILE: gives its header 18446744073709551615 bytes at offset 0; expected at most "
       "100000000"},
      {"length beyond the format's limit", LittleEndian(100'000'001, 8) + "{}",
       "3 FILE: gives its header 100000001 bytes at offset 0; expected at most 100000000"},
      {"length beyond the file", LittleEndian(3, 8) + "{}",
       "3 FILE: gives its header 3 bytes at offset 0, but has only 2 after it; the file is cut "
       "short"},
      {"length 0", LittleEndian(0, 8), "3 FILE: has an empty header; expected '{' at offset 8"},
      {"first byte a space", Safetensors(" {}"),
       "3 FILE: has a header that begins with \" \" at offset 8; expected '{'"},
      {"first byte ESC", Safetensors("\x1b{}"),
       "3 FILE: has a header that begins with \"\\x1B\" at offset 8; expected '{'"},
      {"a byte order mark", Safetensors("\xEF\xBB\xBF{}"),
       "3 FILE: has a header that begins with \"\\xEF\" at offset 8; expected '{'"},
      {"an array", Safetensors("[]"),
       "3 FILE: has a header that begins with \"[\" at offset 8; expected '{'"},

      // JSON itself.
      {"unclosed", Safetensors("{"),
       "3 FILE: the header is not JSON at offset 9: unexpected end of input; expected string "
       "literal"},
      {"text after the object", Safetensors("{}x"),
       "3 FILE: the header is not JSON at offset 10: invalid literal"},
      {"a second object", Safetensors("{}{}"),
       "3 FILE: the header is not JSON at offset 10: unexpected '{'; expected end of input"},
      {"NUL after the object", Safetensors(std::string("{}\0x", 4)),
       "3 FILE: the header is not JSON: a NUL byte at offset 10"},
      {"NUL in a name", Safetensors(std::string("{\"a\0b\":1}", 9)),
       "3 FILE: the header is not JSON: a NUL byte at offset 11"},
      {"newline in a name", Safetensors("{\"a\nb\":1}"),
       "3 FILE: the header is not JSON at offset 11: invalid string: control character U+000A "
       "(LF) must be escaped to \\u000A or \\n"},
      {"invalid UTF-8 in a name", Safetensors("{\"a\xff\":1}"),
       "3 FILE: the header is not JSON at offset 11: invalid string: ill-formed UTF-8 byte"},
      {"overlong UTF-8 in a name", Safetensors("{\"\xc0\xaf\":1}"),
       "3 FILE: the header is not JSON at offset 10: invalid string: ill-formed UTF-8 byte"},
      {"a lone surrogate", Safetensors(R"({"\ud800":1})"),
       "3 FILE: the header is not JSON at offset 16: invalid string: surrogate U+D800..U+DBFF must "
       "be followed by U+DC00..U+DFFF"},
      {"a comment", Safetensors("{/**/}"),
       "3 FILE: the header is not JSON at offset 9: invalid literal"},
      {"NaN", WithShape("[NaN]"), "3 FILE: the header is not JSON at offset 37: invalid literal"},
      {"a trailing comma", Safetensors('{' + a + ",}", "1234"),
       "3 FILE: the header is not JSON at offset 62: unexpected '}'; expected string literal"},

      // The form of the header.
      {"deep nesting", Safetensors("{\"a\":" + std::string(100'000, '[')),
       "3 FILE: tensor \"a\" is an array; expected an object with dtype, shape and data_offsets"},
      {"deep nesting of objects", WithShape("{\"a\":{\"a\":{\"a\":0}}}"),
       "3 FILE: tensor \"a\" has an object as its shape; expected an array of whole numbers"},
      {"nesting in a shape", WithShape("[[1]]"),
       "3 FILE: tensor \"a\" has an array in its shape; expected whole numbers from 0 to 2^64 - 1, "
       "without point or exponent"},
      {"an entry that is null", Safetensors(R"({"a":null})"),
       "3 FILE: tensor \"a\" is null; expected an object with dtype, shape and data_offsets"},
      {"a dtype that is a number", Safetensors(R"({"a":{"dtype":5}})"),
       "3 FILE: tensor \"a\" has the number 5 as its dtype; expected a string"},
      {"a shape that is a string", WithShape("\"1\""),
       "3 FILE: tensor \"a\" has a string as its shape; expected an array of whole numbers"},
      {"a shape that is null", WithShape("null"),
       "3 FILE: tensor \"a\" has null as its shape; expected an array of whole numbers"},
      {"no dtype", Safetensors(R"({"a":{"shape":[],"data_offsets":[0,0]}})"),
       "3 FILE: tensor \"a\" has no \"dtype\""},
      {"no shape", Safetensors(R"({"a":{"dtype":"F32","data_offsets":[0,0]}})"),
       "3 FILE: tensor \"a\" has no \"shape\""},
      {"no data_offsets", Safetensors(R"({"a":{"dtype":"F32","shape":[]}})"),
       "3 FILE: tensor \"a\" has no \"data_offsets\""},
      {"an unknown key", Safetensors(R"({"a":{"dtype":"F32","strides":[]}})"),
       "3 FILE: tensor \"a\" has the unknown key \"strides\"; expected dtype, shape and "
       "data_offsets"},
      {"a key of an entry twice", Safetensors(R"({"a":{"dtype":"F32","dtype":"F16"}})"),
       "3 FILE: tensor \"a\" has the key \"dtype\" twice"},
      {"a tensor twice", Safetensors('{' + a + ',' + a + '}', "1234"),
       "3 FILE: tensor \"a\" is in the header twice"},
      {"a tensor twice, once escaped",
       Safetensors('{' + a + ',' + Entry("\\u0061", "F32", "[1]", "[4,8]") + '}', "12345678"),
       "3 FILE: tensor \"a\" is in the header twice"},
      {"one offset", WithOffsets("[0]"),
       "3 FILE: tensor \"a\": \"data_offsets\" holds 1 number; expected two"},
      {"no offset", WithOffsets("[]"),
       "3 FILE: tensor \"a\": \"data_offsets\" holds 0 numbers; expected two"},
      {"three offsets", WithOffsets("[0,4,8]"),
       "3 FILE: tensor \"a\": \"data_offsets\" holds more than two numbers"},
      {"65 dimensions", WithShape("[1" + ReplaceAll(std::string(64, '1'), "1", ",1") + ']'),
       "5 FILE: tensor \"a\": has more than 64 dimensions"},
      {"a name that would steer a terminal", Safetensors(R"({"a\u001b[2J\n\u0000":1})"),
       "3 FILE: tensor \"a\\x1B[2J\\x0A\\x00\" is the number 1; expected an object with dtype, "
       "shape and data_offsets"},
      {"a name of any length", Safetensors("{\"" + std::string(1000, 'n') + "\":1}"),
       "3 FILE: tensor \"" + std::string(80, 'n') + "…" + std::string(40, 'n') +
           "\" (1000 bytes) is the number 1; expected "
           "an object with dtype, shape and data_offsets"},

      // __metadata__.
      {"metadata null and once more", Safetensors(R"({"__metadata__":null,"__metadata__":{}})"),
       "3 FILE: __metadata__ is there twice"},
      {"metadata true", Safetensors(R"({"__metadata__":true})"),
       "3 FILE: __metadata__ is true; expected an object of strings"},
      {"metadata with a number", Safetensors(R"({"__metadata__":{"k":1}})"),
       "3 FILE: __metadata__ has the number 1 under the key \"k\"; expected a string"},
      {"metadata with an object", Safetensors(R"({"__metadata__":{"k":{}}})"),
       "3 FILE: __metadata__ has an object under the key \"k\"; expected a string"},
      {"a metadata key twice", Safetensors(R"({"__metadata__":{"k":"1","k":"1"}})"),
       "3 FILE: __metadata__ has the key \"k\" twice"},
      {"metadata twice", Safetensors(R"({"__metadata__":{},"__metadata__":{}})"),
       "3 FILE: __metadata__ is there twice"},

      // Numbers.
      {"1e2", WithShape("[1e2]"),
       "3 FILE: tensor \"a\" has the number 1e2 in its shape; expected whole numbers from 0 to "
       "2^64 - 1, without point or exponent"},
      {"1.0", WithShape("[1.0]"),
       "3 FILE: tensor \"a\" has the number 1.0 in its shape; expected whole numbers from 0 to "
       "2^64 - 1, without point or exponent"},
      {"-0", WithShape("[-0]"),
       "3 FILE: tensor \"a\" has the number -0 in its shape; expected whole numbers from 0 to "
       "2^64 - 1, without point or exponent"},
      {"-1", WithShape("[-1]"),
       "3 FILE: tensor \"a\" has the number -1 in its shape; expected whole numbers from 0 to "
       "2^64 - 1, without point or exponent"},
      {"2^64", WithShape("[18446744073709551616]"),
       "3 FILE: tensor \"a\" has the number 18446744073709551616 in its shape; expected whole "
       "numbers from 0 to 2^64 - 1, without point or exponent"},
      {"a very long number", WithShape('[' + std::string(100, '9') + ']'),
       "3 FILE: tensor \"a\" has the number " + std::string(100, '9') +
           " in its shape; expected whole numbers from 0 to 2^64 - 1, without point or exponent"},
      {"a longer number", WithShape('[' + std::string(1000, '9') + ']'),
       "3 FILE: the header has a number of more than 100 digits at offset 137; expected whole "
       "numbers from 0 to 2^64 - 1"},
      {"-2^63 - 1", WithOffsets("[-9223372036854775809,4]"),
       "3 FILE: tensor \"a\" has the number -9223372036854775809 in its data_offsets; expected "
       "whole numbers from 0 to 2^64 - 1, without point or exponent"},
      {"true", WithShape("[true]"),
       "3 FILE: tensor \"a\" has true in its shape; expected whole numbers from 0 to 2^64 - 1, "
       "without point or exponent"},
      {"a leading zero", WithShape("[01]"),
       "3 FILE: the header is not JSON at offset 38: unexpected number literal; expected ']'"},

      // Sizes.
      {"a product that overflows", WithShape("[4294967296,4294967296]"),
       "3 FILE: tensor \"a\" has the shape [4294967296, 4294967296]: more than 2^64 - 1 elements"},
      {"a size that overflows", WithShape("[18446744073709551615]"),
       "3 FILE: tensor \"a\" has 18446744073709551615 elements of F32: more than 2^64 - 1 bits"},
      {"a product that would wrap to the right size",
       Safetensors('{' + Entry("a", "U8", "[4294967297,4294967297]", "[0,1]") + '}', "1"),
       "3 FILE: tensor \"a\" has the shape [4294967297, 4294967297]: more than 2^64 - 1 elements"},
      {"an unknown dtype's product that overflows",
       Safetensors('{' + Entry("a", "X9", "[4294967296,4294967296]", "[0,1]") + '}', "1"),
       "3 FILE: tensor \"a\" has the shape [4294967296, 4294967296]: more than 2^64 - 1 elements"},
      {"a range too short", WithShape("[2]"),
       "3 FILE: tensor \"a\" has 2 elements of F32, 8 bytes, but its data_offsets [0, 4] give 4"},
      {"a range too long", WithShape("[0]"),
       "3 FILE: tensor \"a\" has 0 elements of F32, 0 bytes, but its data_offsets [0, 4] give 4"},
      {"a range of C64 that does not fit",
       Safetensors('{' + Entry("a", "C64", "[1]", "[0,4]") + '}', "1234"),
       "3 FILE: tensor \"a\" has 1 element of C64, 8 bytes, but its data_offsets [0, 4] give 4"},
      {"F4 with an odd count", Safetensors('{' + Entry("a", "F4", "[3]", "[0,2]") + '}', "12"),
       "3 FILE: tensor \"a\" has 3 elements of F4, 12 bits; expected whole bytes"},
      {"F6 with a count that is no multiple of 4",
       Safetensors('{' + Entry("a", "F6_E2M3", "[2]", "[0,2]") + '}', "12"),
       "3 FILE: tensor \"a\" has 2 elements of F6_E2M3, 12 bits; expected whole bytes"},
      {"a range that ends before it begins", WithOffsets("[4,0]"),
       "3 FILE: tensor \"a\" has the data_offsets [4, 0]: they end before they begin"},

      // Overlap, hole, tail.
      {"beyond the file", Safetensors('{' + a + '}', "123"),
       "3 FILE: tensor \"a\" ends at data offset 4, but the file has only 3 bytes of data; it is "
       "cut short"},
      {"far beyond the file",
       Safetensors(
           '{' + Entry("a", "U8", "[18446744073709551615]", "[0,18446744073709551615]") + '}',
           "123"),
       "3 FILE: tensor \"a\" has 18446744073709551615 elements of U8: more than 2^64 - 1 bits"},
      {"a tail", Safetensors('{' + a + '}', "12345"),
       "3 FILE: has 1 byte after its last tensor, from offset 66; expected none"},
      {"a tail and no tensor", Safetensors("{}", "12"),
       "3 FILE: has 2 bytes after its last tensor, from offset 10; expected none"},
      {"a hole", Safetensors('{' + a + ',' + Entry("b", "U8", "[1]", "[6,7]") + '}', "1234567"),
       "3 FILE: tensor \"b\" begins at data offset 6, leaving a hole of 2 bytes from 4"},
      {"a hole before the first", Safetensors('{' + Entry("b", "U8", "[1]", "[1,2]") + '}', "12"),
       "3 FILE: tensor \"b\" begins at data offset 1, leaving a hole of 1 byte from 0"},
      {"an overlap", Safetensors('{' + a + ',' + Entry("b", "U8", "[2]", "[3,5]") + '}', "12345"),
       "3 FILE: tensor \"b\" begins at data offset 3, inside tensor \"a\", which ends at 4"},
      {"two tensors on one range",
       Safetensors('{' + a + ',' + Entry("b", "F32", "[1]", "[0,4]") + '}', "1234"),
       "3 FILE: tensor \"b\" begins at data offset 0, inside tensor \"a\", which ends at 4"},
      {"an empty tensor inside another",
       Safetensors('{' + a + ',' + Entry("b", "F32", "[0]", "[2,2]") + '}', "1234"),
       "3 FILE: tensor \"b\" begins at data offset 2, inside tensor \"a\", which ends at 4"},

      // The map of packed types.
      {"types that are no JSON", WithTypes("{", u8, 2),
       types + " is not JSON at offset 1: unexpected end of input; expected string literal"},
      {"types with a NUL", Safetensors(R"({"__metadata__":{"tensorcast.types":"{}\u0000"}})"),
       types + " is not JSON: a NUL byte"},
      {"types that are an array", WithTypes("[]", u8, 2),
       types + " is an array; expected an object of tensors"},
      {"types of a tensor that is not there",
       WithTypes(R"({"q":{"dtype":"INT4","shape":[4]}})", u8, 2),
       types + ": tensor \"q\" is not in the file"},
      {"types with an unknown dtype", WithTypes(R"({"p":{"dtype":"INT8","shape":[2]}})", u8, 2),
       types + ": tensor \"p\" has the dtype \"INT8\"; expected INT4, UINT4, INT2, UINT2, "
               "FLOAT4E2M1, FLOAT6E2M3 or FLOAT6E3M2"},
      {"types of a tensor that is not U8",
       WithTypes(R"({"p":{"dtype":"INT4","shape":[4]}})", Entry("p", "I8", "[2]", "[0,2]"), 2),
       types + ": tensor \"p\" has the dtype \"I8\" itself; expected U8"},
      {"types with another size", WithTypes(R"({"p":{"dtype":"INT4","shape":[5]}})", u8, 2),
       types + ": tensor \"p\" has the shape [5] of INT4, packed 3 bytes, but is stored as U8 of "
               "shape [2]"},
      {"types with a size that overflows",
       WithTypes(R"({"p":{"dtype":"INT4","shape":[18446744073709551615]}})", u8, 2),
       types + ": tensor \"p\" has the shape [18446744073709551615] of INT4, packed more than "
               "2^64 - 1 bytes, but is stored as U8 of shape [2]"},
      {"types of a U8 that is not flat",
       WithTypes(R"({"p":{"dtype":"INT4","shape":[4]}})", Entry("p", "U8", "[1,2]", "[0,2]"), 2),
       types + ": tensor \"p\" has the shape [4] of INT4, packed 2 bytes, but is stored as U8 of "
               "shape [1, 2]"},
      {"types of a tensor twice",
       WithTypes(R"({"p":{"dtype":"INT4","shape":[4]},"p":{"dtype":"INT4","shape":[4]}})", u8, 2),
       types + ": tensor \"p\" is there twice"},
      {"types with a long number",
       WithTypes(R"({"p":{"dtype":"INT4","shape":[)" + std::string(1000, '9') + "]}}", u8, 2),
       types + " has a number of more than 100 digits at offset 130; expected whole numbers from 0 "
               "to 2^64 - 1"},
      {"types without a shape", WithTypes(R"({"p":{"dtype":"INT4"}})", u8, 2),
       types + ": tensor \"p\" has no \"shape\""},
      {"types with offsets", WithTypes(R"({"p":{"data_offsets":[0,2]}})", u8, 2),
       types + ": tensor \"p\" has the unknown key \"data_offsets\"; expected dtype and shape"},
      {"types with a number for a tensor", WithTypes(R"({"p":4})", u8, 2),
       types + ": tensor \"p\" is the number 4; expected an object with dtype and shape"},
  };
}

TEST_F(SafetensorsBadInput, SaysWhatIsWrong) {
  const std::string path = Path("x.safetensors");
  for (const BadFile& test : Cases()) {
    SCOPED_TRACE(test.what);
    WriteBytes(path, test.bytes);
    EXPECT_EQ(ReplaceAll(ErrorOf([&] { Open(path); }), path, "FILE"), test.error);
  }
}

TEST_F(SafetensorsBadInput, TooManyMetadataEntries) {
  std::string header = "{\"__metadata__\":{";
  for (int i = 0; i <= 65'536; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":\"\"";
  }
  const std::string path = Path("x.safetensors");
  WriteBytes(path, Safetensors(header + "}}"));
  EXPECT_EQ(ErrorOf([&] { Open(path); }),
            "5 " + path + ": __metadata__ has more than 65536 entries");
}

// A valid file, cut at every byte: each of them is refused as cut short or as no JSON.
TEST_F(SafetensorsBadInput, TruncatedAtEveryByte) {
  const std::string whole =
      Safetensors(R"({"__metadata__":{"format":"pt"},)" + Entry("a", "F32", "[1]", "[0,4]") + ',' +
                      Entry("b", "BF16", "[2,2]", "[4,12]") + "}  ",
                  "123456789012");
  const std::string path = Path("x.safetensors");
  WriteBytes(path, whole);
  EXPECT_EQ(Open(path)->contents().tensors.size(), 2u);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    WriteBytes(path, std::string_view(whole).substr(0, size));
    const std::string error = ErrorOf([&] { Open(path); });
    EXPECT_TRUE(error.starts_with("3 " + path + ": ")) << error;
    EXPECT_TRUE(error.ends_with("cut short") ||
                error.ends_with("begins with the 8-byte length of its header"))
        << size << ": " << error;
  }
}

// The same cuts with the length that would fit: what is left is no JSON, or lacks data.
TEST_F(SafetensorsBadInput, HeaderCutAtEveryByte) {
  const std::string header =
      R"({"__metadata__":{"k":"v"},)" + Entry("a", "F32", "[1]", "[0,4]") + '}';
  const std::string path = Path("x.safetensors");
  for (std::size_t size = 1; size < header.size(); ++size) {
    WriteBytes(path, Safetensors(std::string_view(header).substr(0, size), "1234"));
    const std::string error = ErrorOf([&] { Open(path); });
    EXPECT_TRUE(error.starts_with("3 " + path + ": the header is not JSON at offset ")) << error;
  }
}

TEST_F(SafetensorsBadInput, ShrinksWhileItIsRead) {
  const std::string path = Path("x.safetensors");
  WriteBytes(path,
             Safetensors('{' + Entry("a", "U8", "[100]", "[0,100]") + '}', std::string(100, 'x')));
  const std::uint64_t size = std::filesystem::file_size(path);
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  std::filesystem::resize_file(path, size - 40);
  EXPECT_EQ(ErrorOf([&] { ReadTensor(*reader, 0); }),
            "4 " + path + ": shrank while it was read: nothing at offset " +
                std::to_string(size - 40) + ", it had " + std::to_string(size) +
                " bytes; do not change a file that is being read");
}

}  // namespace
}  // namespace tensorcast::io
