// Strings in npy files: every form that numpy has, in and out, and what it cannot hold.
//
// SPDX-License-Identifier: Apache-2.0
#include "test_files.h"

namespace tensorcast::io {
namespace {

using NpyStrings = FileTest;

// UCS-4 of some characters, filled up to `width`.
std::string Row(std::initializer_list<std::uint32_t> points, std::size_t width, bool big = false) {
  std::string row;
  for (const std::uint32_t point : points) {
    std::string unit = LittleEndian(point, 4);
    if (big) std::reverse(unit.begin(), unit.end());
    row += unit;
  }
  row.resize(4 * width, '\0');
  return row;
}

std::vector<std::string> Texts(const formats::TensorReader& reader, std::uint64_t first,
                               std::uint64_t n) {
  const text::StringPiece piece = reader.ReadStrings(0, first, n);
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < piece.view().size(); ++i) {
    texts.emplace_back(piece.view()[i]);
  }
  return texts;
}

std::vector<std::string> Texts(const formats::TensorReader& reader) {
  return Texts(reader, 0, reader.contents().tensors.at(0).elements);
}

text::StringPiece Piece(const std::vector<std::string>& texts) {
  text::StringPiece piece;
  for (const std::string& text : texts) piece.Append(text);
  return piece;
}

TEST_F(NpyStrings, ReadsUcs4OfEitherByteOrder) {
  const std::string path = Path("x.npy");
  const std::vector<std::string> wanted = {
      "a", "", "\u00e9\u4e2d\U0001F600", std::string("a\0b", 3), " \n", "\U0010FFFF"};
  for (const bool big : {false, true}) {
    const std::string rows = Row({'a'}, 3, big) + Row({}, 3, big) +
                             Row({0xE9, 0x4E2D, 0x1F600}, 3, big) + Row({'a', 0, 'b'}, 3, big) +
                             Row({' ', '\n'}, 3, big) + Row({0x10FFFF}, 3, big);
    WriteBytes(path, Npy(NpyDict(big ? ">U3" : "<U3", "(2, 3)"), rows));
    const std::shared_ptr<const formats::TensorReader> reader = Open(path);
    const formats::TensorInfo& info = reader->contents().tensors.at(0);
    EXPECT_EQ(info.type, DataType::kString);
    EXPECT_EQ(info.dtype, big ? ">U3" : "<U3");
    EXPECT_EQ(info.elements, 6u);
    EXPECT_EQ(info.bytes, 72u);
    EXPECT_EQ(Texts(*reader), wanted);
    EXPECT_EQ(Texts(*reader, 2, 3), (std::vector<std::string>(&wanted[2], &wanted[5])));
    EXPECT_TRUE(Texts(*reader, 6, 0).empty());
  }
}

TEST_F(NpyStrings, ReadsBytesAsTheyAre) {
  const std::string path = Path("x.npy");
  WriteBytes(path, Npy(NpyDict("|S3", "(4,)"), std::string("abc"
                                                           "a\0b"
                                                           "\xFF\0\0"
                                                           "\0\0\0",
                                                           12)));
  EXPECT_EQ(Texts(*Open(path)),
            (std::vector<std::string>{"abc", std::string("a\0b", 3), "\xFF", ""}));
}

TEST_F(NpyStrings, ReadsStringsWithoutACharacter) {
  const std::string path = Path("x.npy");
  for (const std::string descr : {"<U0", "|U0", "|S0"}) {
    WriteBytes(path, Npy(NpyDict(descr, "(3,)")));
    EXPECT_EQ(Texts(*Open(path)), (std::vector<std::string>{"", "", ""}));
    WriteBytes(path, Npy(NpyDict(descr, "(0, 3)")));
    EXPECT_TRUE(Texts(*Open(path)).empty());
  }
}

TEST_F(NpyStrings, SaysWhichIsNoUnicode) {
  const std::string path = Path("x.npy");
  const auto error = [&](const std::string& order, std::uint32_t point) {
    WriteBytes(path, Npy(NpyDict("<U2", "(2, 3)", order),
                         std::string(32, '\0') + Row({'a', point}, 2) + std::string(8, '\0')));
    return ReplaceAll(ErrorOf([&] { Texts(*Open(path)); }), path, "FILE");
  };
  EXPECT_EQ(error("False", 0xD800),
            "3 FILE: tensor \"x\" holds 0x0000D800, which is not a Unicode character, at [1,1]");
  EXPECT_EQ(error("True", 0xDFFF),
            "3 FILE: tensor \"x\" holds 0x0000DFFF, which is not a Unicode character, at [0,2]");
  EXPECT_EQ(error("False", 0x110000),
            "3 FILE: tensor \"x\" holds 0x00110000, which is not a Unicode character, at [1,1]");
  EXPECT_EQ(error("False", 0xFFFFFFFF),
            "3 FILE: tensor \"x\" holds 0xFFFFFFFF, which is not a Unicode character, at [1,1]");
}

TEST_F(NpyStrings, WritesTheWidthOfTheWidest) {
  const std::string path = Path("x.npy");
  formats::FileContents contents;
  contents.tensors = {Tensor("t", DataType::kString, {2, 2})};
  contents.tensors[0].fortran_order = true;
  contents.tensors[0].text.most_code_points = 2;
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, contents, {});
  writer->WriteStrings(0, 0, Piece({"\u00e9\U0001F600"}).view());
  writer->WriteStrings(0, 1, Piece({"", "b", "\n"}).view());
  writer->Commit();
  EXPECT_EQ(ReadBytes(path),
            Npy(NpyDict("<U2", "(2, 2)", "True"),
                Row({0xE9, 0x1F600}, 2) + Row({}, 2) + Row({'b'}, 2) + Row({'\n'}, 2)));
}

TEST_F(NpyStrings, WritesAtLeastOneCharacter) {
  const std::string path = Path("x.npy");
  formats::FileContents contents;
  contents.tensors = {Tensor("t", DataType::kString, {1})};
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, contents, {});
  writer->WriteStrings(0, 0, Piece({""}).view());
  writer->Commit();
  EXPECT_EQ(ReadBytes(path), Npy(NpyDict("<U1", "(1,)"), Row({}, 1)));
}

// A file's own dtype is kept, so that a copy is one.
TEST_F(NpyStrings, KeepsAFilesOwnDtype) {
  const std::string path = Path("x.npy");
  const auto written = [&](const std::string& dtype) {
    formats::FileContents contents;
    contents.tensors = {Tensor("t", DataType::kString, {2})};
    contents.tensors[0].dtype = dtype;
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(path, contents, {.overwrite = true, .inputs = {}});
    writer->WriteStrings(0, 0, Piece({"a", "b"}).view());
    writer->Commit();
    return ReadBytes(path);
  };
  EXPECT_EQ(written("|S2"), Npy(NpyDict("|S2", "(2,)"), std::string("a\0b\0", 4)));
  EXPECT_EQ(written(">U2"), Npy(NpyDict("<U2", "(2,)"), Row({'a'}, 2) + Row({'b'}, 2)));
}

TEST_F(NpyStrings, RefusesWhatNumpyWouldCutOrNotHold) {
  const std::string path = Path("x.npy");
  const auto error = [&](const std::string& dtype, const std::string& text) {
    formats::FileContents contents;
    contents.tensors = {Tensor("t", DataType::kString, {2, 2})};
    contents.tensors[0].dtype = dtype;
    contents.tensors[0].text.most_code_points = 2;
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(path, contents, {});
    return ReplaceAll(ErrorOf([&] {
                        writer->WriteStrings(0, 1, Piece({"a", text}).view());
                      }),
                      path, "FILE");
  };
  EXPECT_EQ(
      error("STRING", std::string("a\0", 2)),
      "5 FILE: tensor \"t\" holds a text that ends with NUL, which numpy would cut, at [1,0]");
  EXPECT_EQ(
      error("|S2", std::string("a\0", 2)),
      "5 FILE: tensor \"t\" holds a text that ends with NUL, which numpy would cut, at [1,0]");
  EXPECT_EQ(error("STRING", "\xff"),
            "5 FILE: tensor \"t\" holds the text \"\\xFF\", which is not UTF-8, as <U needs it, at "
            "[1,0]");
  EXPECT_EQ(error("STRING", "abc"),
            "4 FILE: tensor \"t\" has become longer while it was read, at [1,0]");
  EXPECT_EQ(error("|S2", "abc"),
            "4 FILE: tensor \"t\" has become longer while it was read, at [1,0]");
  EXPECT_TRUE(Names().empty());
}

}  // namespace
}  // namespace tensorcast::io
