// safetensors as it should be: what is read, and exactly which bytes are written.
//
// SPDX-License-Identifier: Apache-2.0
#include "test_files.h"

namespace tensorcast::io {
namespace {

using SafetensorsFile = FileTest;

TEST_F(SafetensorsFile, ReadsEntriesInTheOrderOfTheirData) {
  const std::string path = Path("x.safetensors");
  WriteBytes(path, Safetensors(R"({"late":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
                               R"("empty":{"shape":[7,0],"data_offsets":[8,8],"dtype":"F64"},)"
                               R"("__metadata__":{"format":"pt","":"\u00e9"},)"
                               R"("first":{"data_offsets":[0,8],"dtype":"F32","shape":[2,1]},)"
                               R"("scalar":{"dtype":"I16","shape":[],"data_offsets":[11,13]}}   )",
                               "ABCDEFGHabcXY"));
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  EXPECT_EQ(TensorNames(*reader), (std::vector<std::string>{"first", "empty", "late", "scalar"}));
  const std::vector<formats::TensorInfo>& tensors = reader->contents().tensors;
  EXPECT_EQ(tensors[0].type, DataType::kFloat32);
  EXPECT_EQ(tensors[0].dtype, "F32");
  EXPECT_EQ(tensors[0].shape, (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(tensors[1].elements, 0u);
  EXPECT_EQ(tensors[3].elements, 1u);
  EXPECT_EQ(ReadTensor(*reader, "first"), "ABCDEFGH");
  EXPECT_EQ(ReadTensor(*reader, "empty"), "");
  EXPECT_EQ(ReadTensor(*reader, "late"), "abc");
  EXPECT_EQ(ReadTensor(*reader, "scalar"), "XY");
  EXPECT_EQ(reader->contents().metadata,
            (std::map<std::string, std::string>{{"format", "pt"}, {"", "\u00e9"}}));
}

TEST_F(SafetensorsFile, ReadsAFileWithoutTensors) {
  const std::string path = Path("x.safetensors");
  WriteBytes(path, Safetensors("{}"));
  EXPECT_TRUE(Open(path)->contents().tensors.empty());
}

TEST_F(SafetensorsFile, KnowsEveryDtypeOfTheFormat) {
  const std::pair<std::string, DataType> dtypes[] = {{"BOOL", DataType::kBool},
                                                     {"F4", DataType::kFloat4E2M1},
                                                     {"F6_E2M3", DataType::kFloat6E2M3},
                                                     {"F6_E3M2", DataType::kFloat6E3M2},
                                                     {"U8", DataType::kUint8},
                                                     {"I8", DataType::kInt8},
                                                     {"F8_E5M2", DataType::kFloat8E5M2},
                                                     {"F8_E4M3", DataType::kFloat8E4M3FN},
                                                     {"F8_E8M0", DataType::kFloat8E8M0},
                                                     {"F8_E4M3FNUZ", DataType::kFloat8E4M3FNUZ},
                                                     {"F8_E5M2FNUZ", DataType::kFloat8E5M2FNUZ},
                                                     {"I16", DataType::kInt16},
                                                     {"U16", DataType::kUint16},
                                                     {"F16", DataType::kFloat16},
                                                     {"BF16", DataType::kBfloat16},
                                                     {"I32", DataType::kInt32},
                                                     {"U32", DataType::kUint32},
                                                     {"F32", DataType::kFloat32},
                                                     {"C64", DataType::kUndefined},
                                                     {"F64", DataType::kFloat64},
                                                     {"I64", DataType::kInt64},
                                                     {"U64", DataType::kUint64}};
  const std::string path = Path("x.safetensors");
  for (const auto& [dtype, type] : dtypes) {
    const std::uint64_t bytes = type == DataType::kUndefined ? 32 : *StorageBytes(type, 4);
    WriteBytes(path,
               Safetensors(R"({"a":{"dtype":")" + dtype + R"(","shape":[4],"data_offsets":[0,)" +
                               std::to_string(bytes) + "]}}",
                           std::string(bytes, 'x')));
    const std::shared_ptr<const formats::TensorReader> reader = Open(path);
    EXPECT_EQ(reader->contents().tensors[0].type, type) << dtype;
    EXPECT_EQ(reader->contents().tensors[0].bytes, bytes) << dtype;
  }
}

// Names are any text: they come back as they are, and are only escaped where they are shown.
TEST_F(SafetensorsFile, KeepsNamesThatAreTraps) {
  formats::FileContents contents;
  for (const std::string& name :
       {std::string("a\0b", 3), std::string("new\nline"), std::string("\x1b[2J"),
        std::string("../../etc/passwd"), std::string("/dev/null"), std::string(), std::string("\""),
        std::string("\\"), std::string("caf\u00e9 \U0001F600")}) {
    contents.tensors.push_back(Tensor(name, DataType::kUint8, {1}));
  }
  const std::string path = Path("x.safetensors");
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, contents, {});
  for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
    WriteTensor(*writer, i, std::string(1, static_cast<char>('A' + i)));
  }
  writer->Commit();
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
    EXPECT_EQ(ReadTensor(*reader, contents.tensors[i].name),
              std::string(1, static_cast<char>('A' + i)));
  }
  EXPECT_EQ(Names(), (std::vector<std::string>{"x.safetensors"}));
}

TEST_F(SafetensorsFile, WritesWideTypesFirstThenByName) {
  formats::FileContents contents;
  contents.tensors = {Tensor("b", DataType::kBool, {1}), Tensor("z", DataType::kFloat32, {1}),
                      Tensor("a", DataType::kFloat32, {2}), Tensor("i", DataType::kInt64, {1})};
  formats::TensorInfo unknown;
  unknown.name = "0";
  unknown.dtype = "F3_E1M1";
  unknown.shape = {5};
  unknown.bytes = 3;
  contents.tensors.push_back(unknown);
  contents.metadata = {{"format", "pt"}};
  const std::string path = Path("x.safetensors");
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, contents, {});
  WriteTensor(*writer, 0, "B");
  WriteTensor(*writer, 1, "zzzz");
  WriteTensor(*writer, 2, "aaaaAAAA");
  WriteTensor(*writer, 3, "iiiiIIII");
  WriteTensor(*writer, 4, "???");
  writer->Commit();
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                       R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                       R"("z":{"dtype":"F32","shape":[1],"data_offsets":[16,20]},)"
                       R"("b":{"dtype":"BOOL","shape":[1],"data_offsets":[20,21]},)"
                       R"("0":{"dtype":"F3_E1M1","shape":[5],"data_offsets":[21,24]}})";
  while (header.size() % 8 != 0) header += ' ';
  EXPECT_EQ(ReadBytes(path), Safetensors(header, "iiiiIIIIaaaaAAAAzzzzB???"));

  // What is unknown passes through with its text and its bytes.
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  const formats::TensorInfo& last = reader->contents().tensors.back();
  EXPECT_EQ(last.dtype, "F3_E1M1");
  EXPECT_EQ(last.type, DataType::kUndefined);
  EXPECT_EQ(last.elements, 5u);
  EXPECT_EQ(last.bytes, 3u);
  EXPECT_EQ(ReadTensor(*reader, "0"), "???");
}

TEST_F(SafetensorsFile, PacksWhatHasNoDtypeIntoU8) {
  formats::FileContents contents;
  contents.tensors = {
      Tensor("i4", DataType::kInt4, {3, 1}), Tensor("even", DataType::kFloat4E2M1, {2}),
      Tensor("odd", DataType::kFloat4E2M1, {3}), Tensor("six", DataType::kFloat6E2M3, {4}),
      Tensor("6", DataType::kFloat6E3M2, {5})};
  // An entry of the input's map: its tensor is no longer packed.
  contents.metadata["tensorcast.types"] = R"({"even":{"dtype":"INT4","shape":[2]}})";
  const std::string path = Path("x.safetensors");
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, contents, {});
  WriteTensor(*writer, 0, "\x21\x03");
  WriteTensor(*writer, 1, "\x54");
  WriteTensor(*writer, 2, "\x76\x01");
  WriteTensor(*writer, 3, "abc");
  WriteTensor(*writer, 4, "defg");
  // tests/peers/check_reading_code.py runs the code.
  const std::string hint = writer->reading_hint();
  EXPECT_EQ(hint.substr(0, hint.find('\n')),
            "the Python code below: safetensors 0.8 does not unpack F4, F6_E2M3, FLOAT4E2M1, "
            "FLOAT6E3M2, INT4");
  EXPECT_NE(hint.find("\"INT4\": (4, ml_dtypes.int4)"), std::string::npos);
  writer->Commit();
  std::string header =
      R"({"__metadata__":{"tensorcast.types":"{\"6\":{\"dtype\":\"FLOAT6E3M2\",\"shape\":[5]},)"
      R"(\"i4\":{\"dtype\":\"INT4\",\"shape\":[3,1]},)"
      R"(\"odd\":{\"dtype\":\"FLOAT4E2M1\",\"shape\":[3]}}"},)"
      R"("6":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
      R"("i4":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},)"
      R"("odd":{"dtype":"U8","shape":[2],"data_offsets":[6,8]},)"
      R"("six":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[8,11]},)"
      R"("even":{"dtype":"F4","shape":[2],"data_offsets":[11,12]}})";
  while (header.size() % 8 != 0) header += ' ';
  EXPECT_EQ(ReadBytes(path), Safetensors(header,
                                         "defg\x21\x03\x76\x01"
                                         "abc\x54"));

  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  EXPECT_TRUE(reader->contents().metadata.empty());  // the map is in the types now
  const formats::TensorInfo& info = reader->contents().tensors[1];
  EXPECT_EQ(info.name, "i4");
  EXPECT_EQ(info.dtype, "U8");
  EXPECT_EQ(info.type, DataType::kInt4);
  EXPECT_EQ(info.shape, (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(info.elements, 3u);
  EXPECT_EQ(info.bytes, 2u);
}

TEST_F(SafetensorsFile, DropsTheMapWithItsLastPackedTensor) {
  formats::FileContents contents;
  contents.tensors = {Tensor("a", DataType::kInt8, {1})};
  contents.metadata["tensorcast.types"] = R"({"a":{"dtype":"INT4","shape":[2]}})";
  const std::string path = Path("x.safetensors");
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, contents, {});
  WriteTensor(*writer, 0, "A");
  EXPECT_EQ(writer->reading_hint(), "");
  writer->Commit();
  EXPECT_EQ(ReadBytes(path).find("tensorcast"), std::string::npos);
}

TEST_F(SafetensorsFile, RefusesWhatItCannotHold) {
  const std::string path = Path("x.safetensors");
  const auto error = [&](formats::TensorInfo info) {
    formats::FileContents contents;
    contents.tensors = {std::move(info)};
    const std::string text = ErrorOf([&] { formats::CreateTensorFile(path, contents, {}); });
    EXPECT_EQ(ErrorOf([&] { formats::CheckTensorFile(path, contents, {}); }), text);
    return ReplaceAll(text, path, "FILE");
  };
  formats::TensorInfo column_major = Tensor("a", DataType::kFloat32, {2, 3});
  column_major.fortran_order = true;
  EXPECT_EQ(error(column_major),
            "5 FILE: tensor \"a\" is in Fortran order, which safetensors does not have; write an "
            ".npy file");
  EXPECT_EQ(error(Tensor("__metadata__", DataType::kFloat32, {})),
            "5 FILE: tensor \"__metadata__\" cannot have that name in a safetensors file");
  EXPECT_EQ(error(Tensor("\xff", DataType::kFloat32, {})),
            "5 FILE: \"\\xFF\" is not UTF-8, as safetensors needs it");
  EXPECT_EQ(error(Tensor("s", DataType::kString, {})),
            "5 FILE: tensor \"s\" is string, which safetensors does not hold; write an .npz file");
  EXPECT_EQ(error(Tensor("a", DataType::kFloat32, {1ull << 32, 1ull << 32})),
            "3 FILE: tensor \"a\" has the shape [4294967296, 4294967296]: more than 2^64 - 1 "
            "elements");
  EXPECT_EQ(error(Tensor("a", DataType::kFloat32, {1ull << 63})),
            "5 FILE: its tensors take 2^64 bytes or more");
  formats::FileContents twice;
  twice.tensors = {Tensor("a", DataType::kInt8, {}), Tensor("a", DataType::kInt16, {})};
  EXPECT_EQ(ErrorOf([&] { formats::CreateTensorFile(path, twice, {}); }),
            "2 " + path + ": tensor \"a\" would be in the file twice");
  EXPECT_TRUE(Names().empty());
}

TEST_F(SafetensorsFile, NamesItsTypesItself) {
  const std::string path = Path("x.safetensors");
  WriteBytes(path, Safetensors("{}"));
  EXPECT_EQ(ErrorOf([&] { checkpoint::OpenTensorFile(path, {.assume_type = DataType::kInt4}); }),
            "2 " + path +
                ": is a safetensors file, which names its types; a type is assumed only of .npy "
                "files that do not");
}

}  // namespace
}  // namespace tensorcast::io
