// How a model is cut into pieces: insertions at one place, lengths of nested messages, and models
// that would be larger than protobuf allows. Nothing is written here.
//
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "files/system.h"
#include "formats/onnx_tensors.h"
#include "model_bytes.h"
#include "onnx/model_edit.h"
#include "onnx/store/storage_edit.h"

namespace tensorcast::onnx {
namespace {

using io::WriteBytes;

// The field at `offset` of a message.
protobuf::WireField FieldAt(const files::ByteSource& source, std::uint64_t offset) {
  protobuf::WireReader reader(source, offset, source.size());
  protobuf::WireField field;
  EXPECT_TRUE(reader.Next(&field));
  return field;
}

std::string Joined(const std::string& source, const std::vector<ModelPiece>& pieces) {
  std::string bytes;
  for (const ModelPiece& piece : pieces) {
    EXPECT_EQ(piece.at, bytes.size());
    if (piece.source) {
      bytes += source.substr(*piece.source, piece.size);
    } else if (piece.tensor) {
      bytes += std::string(piece.size, static_cast<char>('0' + *piece.tensor));
    } else {
      EXPECT_EQ(piece.bytes.size(), piece.size);
      bytes += piece.bytes;
    }
  }
  return bytes;
}

TEST(ModelEdit, WithoutAChangeIsTheSource) {
  const std::string message = BytesField(1, "abc");
  EXPECT_EQ(Joined(message, ModelEdit().Finish(message.size())), message);
  EXPECT_TRUE(ModelEdit().Finish(0).empty());
}

TEST(ModelEdit, InsertionsAtOnePlaceStandInnermostFirst) {
  const std::string before = BytesField(1, BytesField(2, "ab")) + BytesField(3, "next");
  const io::MemorySource source(before);
  const protobuf::WireField outer = FieldAt(source, 0), inner = FieldAt(source, outer.begin);
  const protobuf::WireField next = FieldAt(source, outer.end);
  ModelEdit edit;
  edit.Replace({}, outer.end, outer.end, "<first>");
  edit.Replace(std::vector{outer}, outer.end, outer.end, "<outer>");
  edit.Replace(std::vector{next}, next.begin, next.end, "N");
  edit.Replace(std::vector{outer, inner}, outer.end, outer.end, "<inner>");
  edit.Replace({}, outer.end, outer.end, "<second>");
  EXPECT_EQ(Joined(before, edit.Finish(before.size())),
            BytesField(1, BytesField(2, "ab<inner>") + "<outer>") + "<first><second>" +
                BytesField(3, "N"));
}

TEST(ModelEdit, LengthsGrowAndShrinkAroundAChange) {
  for (const std::size_t size : {0, 1, 126, 127, 128, 16383, 16384, 70000}) {
    for (const std::size_t wanted : {0, 1, 120, 127, 128, 16380, 16384, 70000}) {
      const auto message = [](const std::string& text) {
        return BytesField(7, BytesField(1, "x") + BytesField(5, BytesField(9, text))) + "\x08\x01";
      };
      const std::string before = message(std::string(size, 's'));
      const io::MemorySource source(before);
      const protobuf::WireField first = FieldAt(source, 0);
      const protobuf::WireField second = FieldAt(source, first.begin + 3);
      const protobuf::WireField text = FieldAt(source, second.begin);
      ModelEdit edit;
      edit.ReplaceByValues(std::vector{first, second}, text.offset, text.end,
                           BytesFieldHead(9, wanted), 3, wanted);
      EXPECT_EQ(Joined(before, edit.Finish(before.size())), message(std::string(wanted, '3')))
          << size << " to " << wanted;
    }
  }
}

TEST(ModelEdit, ALengthThatStaysIsNotWrittenAnew) {
  const std::string before(
      "\x0A\x83\x80\x00"
      "abc",
      7);  // a length of three bytes
  const io::MemorySource source(before);
  ModelEdit edit;
  edit.Replace(std::vector{FieldAt(source, 0)}, 5, 6, "B");
  EXPECT_EQ(Joined(before, edit.Finish(before.size())), std::string("\x0A\x83\x80\x00"
                                                                    "aBc",
                                                                    7));
}

TEST(ModelEdit, ChangesDoNotOverlap) {
  ModelEdit edit;
  edit.Replace({}, 1, 3, "");
  edit.Replace({}, 2, 4, "");
  EXPECT_THROW(edit.Finish(10), std::logic_error);
}

class LargeModel : public io::FileTest {
 protected:
  // A model whose last field has `size` bytes that the disk does not hold.
  void WriteSparse(const std::string& head, std::uint64_t size) {
    WriteBytes(Path("in.onnx"), head);
    std::filesystem::resize_file(Path("in.onnx"), head.size() + size);
  }
  formats::OnnxTensorReader OpenModel() {
    return formats::OnnxTensorReader(std::make_unique<files::InputFile>(Path("in.onnx")));
  }
};

TEST_F(LargeModel, WhatDoesNotFitGoesToADataFile) {
  constexpr std::uint64_t kElements = std::uint64_t{1} << 29;  // 1 GiB of float16, 2 of float32
  const std::string fields = VarintField(1, kElements) + VarintField(2, kFloat16) +
                             BytesField(8, "w") + BytesFieldHead(9, 2 * kElements);
  const std::string small = TensorBytes("s", kFloat, 2, FloatBytes({1, 2}));
  const std::string middle = TensorBytes("m", kFloat, 300, std::string(1200, 'm'));
  const std::string graph = BytesField(1, NodeBytes("Neg", {"w"}, {"y"})) + BytesField(5, small) +
                            BytesField(5, middle) +
                            BytesFieldHead(5, fields.size() + 2 * kElements) + fields;
  WriteSparse(VarintField(1, 10) + BytesField(8, OpsetBytes(21)) +
                  BytesFieldHead(7, graph.size() + 2 * kElements) + graph,
              2 * kElements);
  const formats::OnnxTensorReader model = OpenModel();
  formats::FileContents contents = model.contents();
  ASSERT_EQ(contents.tensors.size(), 3u);
  contents.tensors[2].type = DataType::kFloat32;
  contents.tensors[2].bytes = 4 * kElements;
  const StorageEdit edit = MakeStorageEdit(model, contents, "out.data", true);
  EXPECT_TRUE(edit.has_data);
  EXPECT_LT(edit.model_bytes, 1000u);
  EXPECT_EQ(edit.places[0].file, ValuePlace::File::kNone);
  EXPECT_EQ(edit.places[1].file, ValuePlace::File::kData);
  EXPECT_EQ(edit.places[1].offset, 0u);
  EXPECT_EQ(edit.places[2].file, ValuePlace::File::kData);
  EXPECT_EQ(edit.places[2].offset, 4096u);
  EXPECT_EQ(edit.data_bytes, 4096 + 4 * kElements);
}

TEST_F(LargeModel, WhatCannotGoThereIsRefused) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 31;
  const std::string graph = BytesField(5, TensorBytes("w", kFloat, 2, FloatBytes({1, 2})));
  WriteSparse(ModelBytes(graph) + BytesFieldHead(999, kSize), kSize);
  const formats::OnnxTensorReader model = OpenModel();
  formats::FileContents contents = model.contents();
  contents.tensors[0].type = DataType::kFloat16;
  contents.tensors[0].bytes = 4;
  const std::string error =
      io::ErrorOf([&] { MakeStorageEdit(model, contents, "out.data", true); });
  EXPECT_EQ(error.substr(0, 2), "5 ");
  EXPECT_NE(error.find("protobuf allows 2147483647"), std::string::npos) << error;
}

TEST_F(LargeModel, ValuesInTooManyPlacesAreRefused) {
  std::string tensor = VarintField(1, 70000) + VarintField(2, kFloat) + BytesField(8, "w");
  for (int i = 0; i < 70000; ++i) {
    tensor += io::Tag(4, 5) + std::string(4, '\0') + VarintField(99, 1);
  }
  WriteBytes(Path("in.onnx"), ModelBytes(BytesField(5, tensor)));
  const formats::OnnxTensorReader model = OpenModel();
  formats::FileContents contents = model.contents();
  contents.tensors[0].type = DataType::kFloat16;
  contents.tensors[0].bytes = 140000;
  const std::string error =
      io::ErrorOf([&] { MakeStorageEdit(model, contents, "out.data", true); });
  EXPECT_NE(error.find("tensor \"w\" has its values in more than 65536 places"), std::string::npos)
      << error;
}

}  // namespace
}  // namespace tensorcast::onnx
