// npy: what is read, what is refused and in which words, exactly which bytes are written.
//
// SPDX-License-Identifier: Apache-2.0
#include "test_files.h"

namespace tensorcast::io {
namespace {

using NpyFile = FileTest;

std::string Version(char major, char minor, const std::string& length, const std::string& rest) {
  return std::string("\x93NUMPY") + major + minor + length + rest;
}

std::string Of(const std::string& descr) { return Npy(NpyDict(descr, "(1,)"), "1"); }
std::string OfShape(const std::string& shape) { return Npy(NpyDict("|u1", shape), "1"); }

std::vector<BadFile> BadNpyFiles() {
  const std::string dict = NpyDict("<f4", "(1,)");
  return {
      {"empty", "", "3 FILE: does not begin with \\x93NUMPY, as an npy file does"},
      {"another magic", "\x93NUMPX\x01",
       "3 FILE: does not begin with \\x93NUMPY, as an npy file "
       "does"},
      {"cut in the magic", "\x93NUM",
       "3 FILE: does not begin with \\x93NUMPY, as an npy file "
       "does"},
      {"cut in the version", "\x93NUMPY\x01",
       "3 FILE: ends inside its npy version; the file is cut short"},
      {"version 4.0", Version(4, 0, LittleEndian(0, 4), ""),
       "5 FILE: has the npy version 4.0; versions 1.0, 2.0 and 3.0 are known"},
      {"version 1.1", Version(1, 1, LittleEndian(0, 4), ""),
       "5 FILE: has the npy version 1.1; versions 1.0, 2.0 and 3.0 are known"},
      {"cut in the length", Version(2, 0, "abc", ""),
       "3 FILE: ends inside the length of its header; the file is cut short"},
      {"length beyond the file", Version(1, 0, LittleEndian(65'535, 2), "{}"),
       "3 FILE: gives its header 65535 bytes at offset 8, but has only 2 after it; the file is cut "
       "short"},
      {"length 2^32 - 1", Version(3, 0, LittleEndian(UINT32_MAX, 4), "{}"),
       "3 FILE: gives its header 4294967295 bytes at offset 8; expected at most 1000000"},

      // The dict.
      {"no dict", Npy("[]"), "3 FILE: its header has \"[\" where a dict is expected (offset 10)"},
      {"nothing", Version(1, 0, LittleEndian(0, 2), ""),
       "3 FILE: its header has its end where a dict is expected (offset 10)"},
      {"unclosed", Version(1, 0, LittleEndian(15, 2), "{'descr': '<f4'"),
       "3 FILE: its header has its end where ',' or '}' is expected (offset 25)"},
      {"unclosed string", Version(1, 0, LittleEndian(12, 2), "{'descr': '<"),
       "3 FILE: its header has its end where the end of a string is expected (offset 22)"},
      {"a key twice", Npy("{'descr': '<f4', 'descr': '<f4'}"),
       "3 FILE: its header has the key \"descr\" a second time (offset 27)"},
      {"an unknown key", Npy("{'order': 'C'}"),
       "3 FILE: its header has the unknown key \"order\"; expected descr, fortran_order and shape "
       "(offset 11)"},
      {"no shape", Npy("{'descr': '<f4', 'fortran_order': False, }"),
       "3 FILE: its header has no key \"shape\" (offset 52)"},
      {"no descr", Npy("{'shape': (), 'fortran_order': False}"),
       "3 FILE: its header has no key \"descr\" (offset 47)"},
      {"no order", Npy("{'shape': (), 'descr': '<f4'}"),
       "3 FILE: its header has no key \"fortran_order\" (offset 39)"},
      {"a number for the order", Npy(NpyDict("<f4", "(1,)", "0")),
       "3 FILE: its header has \"0\" where True or False is expected (offset 44)"},
      {"text after the dict", Npy(dict + "import os"),
       "3 FILE: its header has \"i\" where nothing after the dict is expected (offset 67)"},
      {"a NUL after the dict", Npy(dict + std::string(1, '\0')),
       "3 FILE: its header has \"\\x00\" where nothing after the dict is expected (offset 67)"},
      {"an expression", OfShape("(2*3,)"),
       "3 FILE: its header has \"*\" where ',' or ')' is expected (offset 62)"},
      {"a call", Npy("{'descr': open('x')}"),
       "3 FILE: its header has \"o\" where a dtype in quotes is expected (offset 20)"},
      {"an unknown escape", Npy("{'de\\u0073cr': 1}"),
       "3 FILE: its header has an escape other than \\\\ \\' \\\" \\n \\r \\t \\xHH "
       "(offset 14)"},
      {"a newline in a string", Npy("{'de\nscr': 1}"),
       "3 FILE: its header has \"\\x0A\" where the end of a string is expected (offset 14)"},
      {"ESC in a key", Npy("{'\x1b[2J': 1}"),
       "3 FILE: its header has the unknown key \"\\x1B[2J\"; expected descr, fortran_order and "
       "shape "
       "(offset 11)"},
      {"bytes that are no UTF-8", Npy("{'\xff': 1}"),
       "3 FILE: its header has the unknown key \"\\xFF\"; expected descr, fortran_order and shape "
       "(offset 11)"},
      {"deep nesting", Npy("{'shape': " + std::string(60'000, '(')),
       "3 FILE: its header has \"(\" where a dimension from 0 up, in digits is expected (offset "
       "21)"},

      // Dimensions.
      {"a number for the shape", OfShape("1"),
       "3 FILE: its header has \"1\" where a tuple of dimensions is expected (offset 60)"},
      {"a list for the shape", OfShape("[1]"),
       "3 FILE: its header has \"[\" where a tuple of dimensions is expected (offset 60)"},
      {"(1) is no tuple", OfShape("(1)"),
       "3 FILE: its header has a number in parentheses as its shape; expected a tuple, as (3,) "
       "(offset 62)"},
      {"(,)", OfShape("(,)"),
       "3 FILE: its header has \",\" where a dimension from 0 up, in digits is expected (offset "
       "61)"},
      {"negative", OfShape("(-1,)"),
       "3 FILE: its header has \"-\" where a dimension from 0 up, in digits is expected (offset "
       "61)"},
      {"True", OfShape("(True,)"),
       "3 FILE: its header has \"T\" where a dimension from 0 up, in digits is expected (offset "
       "61)"},
      {"1e2", OfShape("(1e2,)"),
       "3 FILE: its header has \"e\" where ',' or ')' is expected (offset 62)"},
      {"1.0", OfShape("(1.0,)"),
       "3 FILE: its header has \".\" where ',' or ')' is expected (offset 62)"},
      {"-0", OfShape("(-0,)"),
       "3 FILE: its header has \"-\" where a dimension from 0 up, in digits is expected (offset "
       "61)"},
      {"2^64", OfShape("(18446744073709551616,)"),
       "3 FILE: its header has a dimension of 2^64 or more (offset 61)"},
      {"a leading zero", OfShape("(01,)"),
       "3 FILE: its header has a dimension with a leading zero (offset 61)"},
      {"65 dimensions", OfShape("(" + ReplaceAll(std::string(65, '1'), "1", "1,") + ")"),
       "5 FILE: has more than 64 dimensions"},
      {"a product that overflows", OfShape("(4294967296, 4294967296)"),
       "3 FILE: has the shape [4294967296, 4294967296] of |u1: more than 2^64 - 1 bytes"},
      {"a product that would wrap to the right size", OfShape("(4294967297, 4294967297)"),
       "3 FILE: has the shape [4294967297, 4294967297] of |u1: more than 2^64 - 1 bytes"},
      {"a size that overflows", Npy(NpyDict("<f8", "(4611686018427387904,)")),
       "3 FILE: has the shape [4611686018427387904] of <f8: more than 2^64 - 1 bytes"},
      {"huge", OfShape("(18446744073709551615,)"),
       "3 FILE: has 18446744073709551615 elements of |u1, 18446744073709551615 bytes, from offset "
       "128, but only 1 follow; the file is cut short"},
      {"data too short", Npy(dict, "123"),
       "3 FILE: has 1 element of <f4, 4 bytes, from offset 128, but only 3 follow; the file is cut "
       "short"},
      {"a tail", Npy(dict, "12345"),
       "3 FILE: has 1 element of <f4, 4 bytes, from offset 128, and 1 byte after them; expected "
       "none"},
      {"zero-size with a tail", Npy(NpyDict("<f4", "(0, 3)"), "1"),
       "3 FILE: has 0 elements of <f4, 0 bytes, from offset 128, and 1 byte after them; expected "
       "none"},

      // Dtypes.
      {"object", Of("|O"),
       "5 FILE: has the dtype \"|O\": it is an object array, which is a pickle and could run code; "
       "it is "
       "never read"},
      {"strings without their byte order", Of("|U3"),
       "5 FILE: has the dtype \"|U3\": these are not strings: expected <U or |S and the number of "
       "characters"},
      {"strings without their width", Of("<U"),
       "5 FILE: has the dtype \"<U\": these are not strings: expected <U or |S and the number of "
       "characters"},
      {"strings of 2^64 characters", Of("<U18446744073709551616"),
       "5 FILE: has the dtype \"<U18446744073709551616\": these are not strings: expected <U or |S "
       "and the "
       "number of characters"},
      {"strings of any length", Of("|T16"),
       "5 FILE: has the dtype \"|T16\": strings of any length are a pickle in a file; save them "
       ".astype(\\x27U\\x27)"},
      {"one string that would fill the memory", Of("<U4194305"),
       "5 FILE: has the dtype \"<U4194305\": strings of 16777220 bytes each; at most 16777216 are "
       "read"},
      {"strings cut short", Of("<U3"),
       "3 FILE: has 1 element of <U3, 12 bytes, from offset 128, but only 1 follow; the file is "
       "cut short"},
      {"a billion strings in no byte", Npy(NpyDict("<U0", "(1000000000,)")),
       "3 FILE: has 1000000000 elements of <U0, 0 bytes, from offset 128; at most 1000000 strings "
       "without a character are read"},
      {"complex", Of("<c8"),
       "5 FILE: has the dtype \"<c8\": complex numbers are not cast; save .real and .imag "
       "apart"},
      {"datetime", Of("<M8[ns]"),
       "5 FILE: has the dtype \"<M8[ns]\": dates and times are not cast; save them "
       ".view(\\x27int64\\x27)"},
      {"long double", Of("<f16"), "5 FILE: has the dtype \"<f16\": no type has this size"},
      {"void", Of("|V3"), "5 FILE: has the dtype \"|V3\": raw records are not cast"},
      {"no byte order", Of("f4"),
       "5 FILE: has the dtype \"f4\": it does not say its byte order; expected '<' or '>' before "
       "it"},
      {"native byte order", Of("=i8"),
       "5 FILE: has the dtype \"=i8\": it does not say its byte order; expected '<' or '>' before "
       "it"},
      {"unknown", Of("<q8"), "5 FILE: has the dtype \"<q8\": no such dtype is known"},
      {"none", Of(""), "3 FILE: has the dtype \"\": it is empty"},
      {"steering the terminal", Of("\\x1b[2J"),
       "5 FILE: has the dtype \"\\x1B[2J\": no such dtype is known"},
      {"structured", Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"),
       "5 FILE: is a structured array (records with named fields); save each field as an array of "
       "its own"},
      {"<V1 without a type", Of("<V1"),
       "2 FILE: has the dtype \"<V1\": elements of one byte without a type, which may be "
       "float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float8e8m0, float6e2m3, "
       "float6e3m2, float4e2m1, int4, uint4, int2, uint2"},
      {"|V1 without a type", Of("|V1"),
       "2 FILE: has the dtype \"|V1\": elements of one byte without a type, which may be "
       "float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float8e8m0, float6e2m3, "
       "float6e3m2, float4e2m1, int4, uint4, int2, uint2"},
  };
}

TEST_F(NpyFile, SaysWhatIsWrong) {
  const std::string path = Path("x.npy");
  for (const BadFile& test : BadNpyFiles()) {
    SCOPED_TRACE(test.what);
    WriteBytes(path, test.bytes);
    EXPECT_EQ(ReplaceAll(ErrorOf([&] { Open(path); }), path, "FILE"),
              ReplaceAll(test.error, "\\x27", "'"));
  }
}

TEST_F(NpyFile, TruncatedAtEveryByte) {
  const std::string whole = Npy(NpyDict("<i2", "(2, 3)"), "123456789012");
  const std::string path = Path("x.npy");
  WriteBytes(path, whole);
  EXPECT_EQ(ReadTensor(*Open(path), 0), "123456789012");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    WriteBytes(path, std::string_view(whole).substr(0, size));
    const std::string error = ErrorOf([&] { Open(path); });
    EXPECT_TRUE(error.starts_with("3 " + path + ": ")) << error;
    EXPECT_TRUE(error.ends_with("the file is cut short") ||
                (size < 6 && error.ends_with("as an npy file does")))
        << size << ": " << error;
  }
}

TEST_F(NpyFile, ShrinksWhileItIsRead) {
  const std::string path = Path("x.npy");
  WriteBytes(path, Npy(NpyDict(">i2", "(50,)"), std::string(100, 'x')));
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  std::filesystem::resize_file(path, 128 + 60);
  EXPECT_EQ(ErrorOf([&] { ReadTensor(*reader, 0); }),
            "4 " + path +
                ": shrank while it was read: nothing at offset 188, it had 228 "
                "bytes; do not change a file that is being read");
}

TEST_F(NpyFile, ReadsTheLiteralInItsVariants) {
  const std::string path = Path("x.npy");
  for (const std::string& dict :
       {std::string("{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2), }"),
        std::string("{\"shape\":(3,2),\"fortran_order\":False,\"descr\":\"<i4\"}"),
        std::string("{'descr': '<i4', 'fortran_order': False, 'shape': (3L, 2L), }"),
        std::string(
            "  {\n'descr' : '\\x3ci4' ,\t'fortran_order': False, 'shape': ( 3 , 2 , ) } ")}) {
    WriteBytes(path, Npy(dict, "aaaabbbbccccddddeeeeffff"));
    const std::shared_ptr<const formats::TensorReader> reader = Open(path);
    const formats::TensorInfo& info = reader->contents().tensors.at(0);
    EXPECT_EQ(info.name, "x");
    EXPECT_EQ(info.dtype, "<i4");
    EXPECT_EQ(info.type, DataType::kInt32);
    EXPECT_EQ(info.shape, (std::vector<std::uint64_t>{3, 2}));
    EXPECT_FALSE(info.fortran_order);
    EXPECT_EQ(ReadTensor(*reader, 0), "aaaabbbbccccddddeeeeffff");
    EXPECT_TRUE(reader->notes().empty());
  }
}

TEST_F(NpyFile, ReadsEveryVersion) {
  const std::string path = Path("x.npy");
  const std::string dict = NpyDict("|u1", "()") + '\n';
  WriteBytes(path, Version(1, 0, LittleEndian(dict.size(), 2), dict + "A"));
  EXPECT_EQ(ReadTensor(*Open(path), 0), "A");
  WriteBytes(path, Version(2, 0, LittleEndian(dict.size(), 4), dict + "B"));
  EXPECT_EQ(ReadTensor(*Open(path), 0), "B");
  WriteBytes(path, Version(3, 0, LittleEndian(dict.size(), 4), dict + "C"));
  EXPECT_EQ(ReadTensor(*Open(path), 0), "C");
}

TEST_F(NpyFile, TurnsBigEndianRound) {
  const std::string path = Path("x.npy");
  WriteBytes(path, Npy(NpyDict(">u4", "(3,)"), "abcdefghijkl"));
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  EXPECT_EQ(reader->contents().tensors[0].dtype, ">u4");
  EXPECT_EQ(ReadTensor(*reader, 0), "dcbahgfelkji");
  // Ranges that cut elements.
  for (std::size_t begin = 0; begin < 12; ++begin) {
    for (std::size_t end = begin; end <= 12; ++end) {
      std::string part(end - begin, '\0');
      reader->Read(0, begin, std::as_writable_bytes(std::span(part)));
      EXPECT_EQ(part, std::string("dcbahgfelkji").substr(begin, end - begin));
    }
  }
  WriteBytes(path, Npy(NpyDict(">f2", "(1,)"), "ab"));
  EXPECT_EQ(ReadTensor(*Open(path), 0), "ba");
  WriteBytes(path, Npy(NpyDict(">f8", "(1,)"), "abcdefgh"));
  EXPECT_EQ(ReadTensor(*Open(path), 0), "hgfedcba");
}

TEST_F(NpyFile, KeepsFortranOrder) {
  const std::string path = Path("x.npy");
  WriteBytes(path, Npy(NpyDict("|i1", "(2, 3)", "True"), "abcdef"));
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  EXPECT_TRUE(reader->contents().tensors[0].fortran_order);
  EXPECT_EQ(ReadTensor(*reader, 0), "abcdef");

  const std::string out = Path("y.npy");
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(out, reader->contents(), {});
  WriteTensor(*writer, 0, "abcdef");
  writer->Commit();
  EXPECT_EQ(ReadBytes(out), ReadBytes(path));
}

TEST_F(NpyFile, SaysHowVoidWasRead) {
  const std::string path = Path("x.npy");
  const auto read = [&](const std::string& descr, const std::string& data,
                        std::optional<DataType> assume) {
    WriteBytes(path, Npy(NpyDict(descr, "(2,)"), data));
    const std::shared_ptr<const formats::TensorReader> reader =
        checkpoint::OpenTensorFile(path, {.assume_type = assume}).reader;
    const auto notes = reader->notes();
    return std::string(TypeName(reader->contents().tensors[0].type)) + ' ' +
           ReadTensor(*reader, 0) + ' ' +
           (notes.size() == 1 ? ReplaceAll(notes[0], path, "FILE") : "no note");
  };
  EXPECT_EQ(read("<V2", "abcd", {}),
            "bfloat16 abcd FILE: dtype \"<V2\" is read as bfloat16; another type can be assumed");
  EXPECT_EQ(read("|V2", "abcd", {}),
            "bfloat16 abcd FILE: dtype \"|V2\" is read as bfloat16; another type can be assumed");
  EXPECT_EQ(read("<V2", "abcd", DataType::kFloat16),
            "float16 abcd FILE: dtype \"<V2\" is read as float16, as assumed");
  EXPECT_EQ(read("<f1", "ab", {}),
            "float8e5m2 ab FILE: dtype \"<f1\" is read as float8e5m2; another type can be assumed");
  EXPECT_EQ(read("|f1", "ab", {}),
            "float8e5m2 ab FILE: dtype \"|f1\" is read as float8e5m2; another type can be assumed");
  EXPECT_EQ(read("<V1", "ab", DataType::kFloat8E4M3FN),
            "float8e4m3fn ab FILE: dtype \"<V1\" is read as float8e4m3fn, as assumed");
  // One element a byte; the high bits are ignored.
  EXPECT_EQ(read("|V1", "\xF1\x02", DataType::kInt4),
            "int4 \x21 FILE: dtype \"|V1\" is read as int4, as assumed");
}

TEST_F(NpyFile, RefusesAnAssumedTypeThatDoesNotFit) {
  const std::string path = Path("x.npy");
  const auto error = [&](const std::string& descr, DataType assume) {
    WriteBytes(path, Npy(NpyDict(descr, "(0,)")));
    return ReplaceAll(ErrorOf([&] { checkpoint::OpenTensorFile(path, {.assume_type = assume}); }),
                      path, "FILE");
  };
  EXPECT_EQ(
      error("<V1", DataType::kFloat16),
      "2 FILE: has the dtype \"<V1\": elements of 1 byte, which the assumed type float16 does "
      "not fit");
  EXPECT_EQ(
      error("<V2", DataType::kInt4),
      "2 FILE: has the dtype \"<V2\": elements of 2 bytes, which the assumed type int4 does not "
      "fit");
  EXPECT_EQ(error("<f1", DataType::kString),
            "2 FILE: has the dtype \"<f1\": elements of 1 byte, which the assumed type string does "
            "not fit");
  EXPECT_EQ(error("<f4", DataType::kFloat32),
            "2 FILE: has the dtype \"<f4\": float32; a type is assumed only of |V1, <V2 and <f1, "
            "which do not name theirs");
}

// ---------------------------------------------------------------------------------- writing

std::string Written(const std::string& path, const formats::TensorInfo& info,
                    const std::string& data) {
  formats::FileContents contents;
  contents.tensors = {info};
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, contents, {.overwrite = true, .inputs = {}});
  WriteTensor(*writer, 0, data);
  writer->Commit();
  return writer->reading_hint();
}

TEST_F(NpyFile, WritesWhatNumpyWrites) {
  const std::string path = Path("x.npy");
  EXPECT_EQ(Written(path, Tensor("w", DataType::kFloat32, {1, 2}), "abcdefgh"), "");
  EXPECT_EQ(ReadBytes(path), std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }" +
                                 std::string(58, ' ') + "\nabcdefgh");
  Written(path, Tensor("w", DataType::kBool, {}), "a");
  EXPECT_EQ(ReadBytes(path), Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "a"));
  Written(path, Tensor("w", DataType::kInt8, {1}), "a");
  EXPECT_EQ(ReadBytes(path), Npy("{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }", "a"));
  Written(path, Tensor("w", DataType::kUint64, {0, 7}), "");
  EXPECT_EQ(ReadBytes(path), Npy("{'descr': '<u8', 'fortran_order': False, 'shape': (0, 7), }"));
}

TEST_F(NpyFile, WritesVoidAsMlDtypesDoes) {
  const std::string path = Path("it's.npy");
  const std::string load = "numpy.load('" + ReplaceAll(path, "'", "\\'") + "').view(ml_dtypes.";
  const auto dict = [](const std::string& size) {
    return "{'descr': '<V" + size + "', 'fortran_order': False, 'shape': (3,), }";
  };
  EXPECT_EQ(Written(path, Tensor("w", DataType::kBfloat16, {3}), "aabbcc"), load + "bfloat16)");
  EXPECT_EQ(ReadBytes(path), Npy(dict("2"), "aabbcc"));
  const std::pair<DataType, std::string> one_byte[] = {
      {DataType::kFloat8E4M3FN, "float8_e4m3fn"},
      {DataType::kFloat8E4M3FNUZ, "float8_e4m3fnuz"},
      {DataType::kFloat8E5M2, "float8_e5m2"},
      {DataType::kFloat8E5M2FNUZ, "float8_e5m2fnuz"},
      {DataType::kFloat8E8M0, "float8_e8m0fnu"}};
  for (const auto& [type, name] : one_byte) {
    EXPECT_EQ(Written(path, Tensor("w", type, {3}), "abc"), load + name + ")");
    EXPECT_EQ(ReadBytes(path), Npy(dict("1"), "abc"));
  }
  const std::pair<DataType, std::string> four_bits[] = {{DataType::kFloat4E2M1, "float4_e2m1fn"},
                                                        {DataType::kInt4, "int4"},
                                                        {DataType::kUint4, "uint4"}};
  for (const auto& [type, name] : four_bits) {
    EXPECT_EQ(Written(path, Tensor("w", type, {3}), "\xA9\xFB"), load + name + ")");
    EXPECT_EQ(ReadBytes(path), Npy(dict("1"), "\x09\x0A\x0B"));  // the high bits are zero
  }
  const std::pair<DataType, std::string> two_bits[] = {{DataType::kInt2, "int2"},
                                                       {DataType::kUint2, "uint2"}};
  for (const auto& [type, name] : two_bits) {
    EXPECT_EQ(Written(path, Tensor("w", type, {3}), "\xDB"), load + name + ")");
    EXPECT_EQ(ReadBytes(path), Npy(dict("1"), "\x03\x02\x01"));
  }
  const std::pair<DataType, std::string> six_bits[] = {{DataType::kFloat6E2M3, "float6_e2m3fn"},
                                                       {DataType::kFloat6E3M2, "float6_e3m2fn"}};
  for (const auto& [type, name] : six_bits) {
    // 0x3F, 0x01, 0x20: bits 0-5, 6-11, 12-17.
    EXPECT_EQ(Written(path, Tensor("w", type, {3}), std::string("\x7F\x00\xFE", 3)),
              load + name + ")");
    EXPECT_EQ(ReadBytes(path), Npy(dict("1"), "\x3F\x01\x20"));
  }
}

TEST_F(NpyFile, HoldsOneTensor) {
  formats::FileContents contents;
  const std::string path = Path("x.npy");
  EXPECT_EQ(ErrorOf([&] { formats::CreateTensorFile(path, contents, {}); }),
            "2 " + path + ": an .npy file holds one tensor, not 0");
  contents.tensors = {Tensor("a", DataType::kInt8, {}), Tensor("b", DataType::kInt8, {})};
  EXPECT_EQ(ErrorOf([&] { formats::CheckTensorFile(path, contents, {}); }),
            "2 " + path + ": an .npy file holds one tensor, not 2");
  EXPECT_TRUE(Names().empty());
}

TEST_F(NpyFile, RefusesWhatNumpyDoesNotHold) {
  const std::string path = Path("x.npy");
  const auto error = [&](const formats::TensorInfo& info) {
    formats::FileContents contents;
    contents.tensors = {info};
    return ReplaceAll(ErrorOf([&] { formats::CreateTensorFile(path, contents, {}); }), path,
                      "FILE");
  };
  formats::TensorInfo complex;
  complex.name = "z";
  complex.dtype = "C64";
  EXPECT_EQ(error(complex), "5 FILE: tensor \"z\" is C64, which is not written to .npy files");
  formats::TensorInfo text = Tensor("s", DataType::kString, {});
  text.text.most_code_points = (std::uint64_t{4} << 20) + 1;
  EXPECT_EQ(error(text),
            "5 FILE: tensor \"s\" has a text of 4194305 characters; at most 4194304 are written "
            "to an array");
  EXPECT_EQ(error(Tensor("a", DataType::kInt8, std::vector<std::uint64_t>(65, 1))),
            "5 FILE: tensor \"a\" has 65 dimensions; numpy has at most 64");
  EXPECT_EQ(error(Tensor("a", DataType::kInt64, {1ull << 61})),
            "5 FILE: tensor \"a\" has the shape [2305843009213693952]: more than 2^64 - 1 bytes");
}

TEST_F(NpyFile, SaysThatMetadataIsLost) {
  formats::FileContents contents;
  contents.tensors = {Tensor("a", DataType::kInt8, {0})};
  contents.metadata["format"] = "pt";
  const std::string path = Path("x.npy");
  EXPECT_EQ(formats::CreateTensorFile(path, contents, {})->notes(),
            std::vector<std::string>{path + ": the input's __metadata__ has no place in .npy"});
}

}  // namespace
}  // namespace tensorcast::io
