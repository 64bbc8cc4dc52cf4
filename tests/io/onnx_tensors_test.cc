// Models as tensor files: which tensors there are, what they are called, and what stands in them;
// models that are damaged, and models that ask for more than they should.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/onnx_tensors.h"

#include <sys/stat.h>

#include <filesystem>

#include "../onnx/model_bytes.h"

namespace tensorcast::io {
namespace {

using onnx::AttributeGraph;
using onnx::AttributeTensor;
using onnx::FloatBytes;
using onnx::kFloat;
using onnx::ModelBytes;
using onnx::NodeBytes;
using onnx::OpsetBytes;
using onnx::TensorBytes;

class ModelFile : public FileTest {
 protected:
  std::shared_ptr<const formats::TensorReader> OpenBytes(const std::string& bytes) {
    WriteBytes(Path("x.onnx"), bytes);
    return Open(Path("x.onnx"));
  }
  std::string Error(const std::string& bytes) {
    return ReplaceAll(ErrorOf([&] { OpenBytes(bytes); }), Path("x.onnx"), "FILE");
  }
  static std::string Initializer(const std::string& tensor) { return BytesField(5, tensor); }
};

const std::string kFloats = FloatBytes({1, -2});

std::string Weight(std::string_view name) { return TensorBytes(name, kFloat, 2, kFloats); }

std::vector<std::string> NamesOf(const formats::TensorReader& reader) {
  std::vector<std::string> names;
  for (const formats::TensorInfo& info : reader.contents().tensors) names.push_back(info.name);
  return names;
}

TEST_F(ModelFile, NamesItsTensorsByWhereTheyStand) {
  const auto constant = [](const std::string& output) {
    return BytesField(1,
                      NodeBytes("Constant", {}, {output}, {AttributeTensor("value", Weight(""))}));
  };
  const std::string branch = constant("c") + BytesField(5, Weight("w"));
  const std::string graph =
      BytesField(1, NodeBytes("If", {"b"}, {"y"}, {AttributeGraph("then_branch", branch)}, "if")) +
      BytesField(5, Weight("w")) + constant("c") + BytesField(5, Weight("w")) +
      BytesField(5, Weight("")) +
      BytesField(
          1, NodeBytes("ConstantOfShape", {"n"}, {"z"}, {AttributeTensor("value", Weight("v"))}));
  const std::string function =
      BytesField(1, "f") + BytesField(10, "own") +
      BytesField(7, NodeBytes("Constant", {}, {"c"}, {AttributeTensor("value", Weight(""))})) +
      BytesField(9, OpsetBytes(21));
  const auto reader = OpenBytes(ModelBytes(graph, 21, 10, BytesField(25, function)));
  EXPECT_EQ(NamesOf(*reader),
            (std::vector<std::string>{"w", "w#2", "initializer 2", "c", "z.value",
                                      "if.then_branch/w", "if.then_branch/c", "own.f/c"}));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(ReadTensor(*reader, i), kFloats);
    EXPECT_EQ(reader->contents().tensors[i].dtype, "FLOAT");
    EXPECT_EQ(reader->contents().tensors[i].shape, std::vector<std::uint64_t>{2});
  }
}

TEST_F(ModelFile, ReadsTypedFieldsAndStrings) {
  const std::string head = VarintField(1, 2) + VarintField(2, 7) + BytesField(8, "i");
  const auto reader =
      OpenBytes(ModelBytes(Initializer(head + BytesField(7, Varint(3) + Negative(-1))) +
                           Initializer(VarintField(1, 2) + VarintField(2, 8) + BytesField(8, "s") +
                                       BytesField(6, "a") + BytesField(6, "bc")) +
                           Initializer(TensorBytes("z", 14, 1, "12345678"))));
  EXPECT_EQ(ReadTensor(*reader, 0), LittleEndian(3, 8) + std::string(8, '\xFF'));
  EXPECT_EQ(reader->contents().tensors[1].type, DataType::kString);
  EXPECT_EQ(reader->ReadStrings(1, 0, 2).view()[1], "bc");
  EXPECT_EQ(reader->contents().tensors[2].type, DataType::kUndefined);
  EXPECT_EQ(reader->contents().tensors[2].dtype, "COMPLEX64");
  EXPECT_EQ(ReadTensor(*reader, 2), "12345678");
}

TEST_F(ModelFile, SaysWhatItPassesOver) {
  const auto reader = OpenBytes(
      ModelBytes(BytesField(15, "") + BytesField(15, ""), 21, 10,
                 BytesField(20, "") + BytesField(14, BytesField(1, "k") + BytesField(2, "v"))));
  ASSERT_EQ(reader->notes().size(), 2u);
  EXPECT_NE(reader->notes()[0].find("2 sparse initializers"), std::string::npos);
  EXPECT_NE(reader->notes()[1].find("training_info"), std::string::npos);
  EXPECT_EQ(reader->contents().metadata.at("k"), "v");
}

TEST_F(ModelFile, RefusesWhatIsNoModel) {
  EXPECT_EQ(Error(""), "3 FILE: has no graph; expected an ONNX ModelProto, as onnx.save writes");
  EXPECT_EQ(Error(ModelBytes("") + BytesField(7, "")).substr(0, 7), "3 FILE:");
  EXPECT_EQ(Error(ModelBytes(Initializer(VarintField(2, kFloat) + VarintField(1, 3) +
                                         BytesField(8, "a\nb") + BytesField(9, "1234"))))
                .find("tensor \"a\\x0Ab\""),
            8u);
  const std::string huge = VarintField(1, std::uint64_t{1} << 62) + VarintField(1, 8) +
                           VarintField(2, kFloat) + BytesField(8, "w");
  EXPECT_NE(Error(ModelBytes(Initializer(huge))).find("more than 2^64 - 1 bits"),
            std::string::npos);
  EXPECT_NE(Error(ModelBytes(Initializer(Weight("w") + BytesField(3, "")))).find("segment"),
            std::string::npos);
  WriteBytes(Path("x.onnx"), ModelBytes(""));
  EXPECT_EQ(ErrorOf([&] {
              checkpoint::OpenTensorFile(Path("x.onnx"), {DataType::kFloat8E5M2});
            }).substr(0, 2),
            "2 ");
}

// Graph in graph in graph: a stack that must end before that of the machine does.
TEST_F(ModelFile, NestedGraphs) {
  const auto nested = [](int depth) {
    std::string graph = BytesField(5, Weight("w"));
    for (int i = 0; i < depth; ++i) {
      graph = BytesField(1, NodeBytes("If", {"b"}, {"y"}, {AttributeGraph("g", graph)}));
    }
    return ModelBytes(graph);
  };
  EXPECT_EQ(ReadTensor(*OpenBytes(nested(60)), 0), kFloats);
  EXPECT_NE(Error(nested(70)).find("lies in more than 64 others"), std::string::npos);
  EXPECT_EQ(Error(nested(5000)).substr(0, 2), "5 ");
}

// A small file must not fill the memory.
TEST_F(ModelFile, ManyEmptyMessagesAreRefused) {
  std::string graph;
  for (int i = 0; i < 1'000'000; ++i) graph += BytesField(5, "");
  EXPECT_NE(Error(ModelBytes(graph)).find("the structure of the model takes more than"),
            std::string::npos);
  // One long name in front of many tensors.
  std::string inner;
  for (int i = 0; i < 1000; ++i) inner += BytesField(5, Weight("w"));
  const std::string node =
      NodeBytes("If", {"b"}, {"y"}, {AttributeGraph("g", inner)}, std::string(1'000'000, 'n'));
  EXPECT_NE(Error(ModelBytes(BytesField(1, node))).find("the names of its tensors"),
            std::string::npos);
}

TEST_F(ModelFile, CutShortAtEveryByte) {
  const std::string whole = ModelBytes(
      BytesField(1, NodeBytes("Constant", {}, {"c"}, {AttributeTensor("value", Weight("t"))})) +
      BytesField(5, Weight("w")) + BytesField(11, onnx::ValueBytes("x", kFloat)));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::string error = Error(whole.substr(0, i));
    // What is cut off may be the opset, which reading tensors does not need.
    const bool may_be_read = i >= whole.size() - 8;
    EXPECT_TRUE(error.starts_with("3 FILE:") || (may_be_read && error == "no error"))
        << i << ' ' << error;
  }
}

// ------------------------------------------------------------------------- external data

class ExternalDataFile : public FileTest {
 protected:
  static std::string Entry(std::string_view key, std::string_view value) {
    return BytesField(13, BytesField(1, key) + BytesField(2, value));
  }
  static std::string Model(const std::string& entries, std::uint64_t type = kFloat) {
    return ModelBytes(BytesField(5, VarintField(1, 2) + VarintField(2, type) + BytesField(8, "w") +
                                        entries + VarintField(14, 1)));
  }
  static std::string At(std::string_view location) { return Entry("location", location); }

  // The values, or the error with the directory's name as DIR.
  std::string Read(const std::string& model, const std::string& name = "x.onnx") {
    if (!std::filesystem::exists(Path(name))) WriteBytes(Path(name), model);
    std::string values;
    const std::string error = ErrorOf(
        [&] { values = ReadTensor(*checkpoint::OpenTensorFile(Path(name), {}).reader, 0); });
    std::filesystem::remove(Path(name));
    if (error == "no error") return values;
    return ReplaceAll(ReplaceAll(error, Path("x.onnx"), "FILE"), directory(), "DIR");
  }
};

TEST_F(ExternalDataFile, IsReadFromWhereTheEntriesSay) {
  WriteBytes(Path("w.bin"), "abc" + kFloats + "tail");
  EXPECT_EQ(Read(Model(At("w.bin") + Entry("offset", "3"))), kFloats);
  EXPECT_EQ(Read(Model(At("w.bin") + Entry("offset", "3") + Entry("length", "8") +
                       Entry("checksum", "da39a3ee") + Entry("basepath", "/etc"))),
            kFloats);
  std::filesystem::create_directories(Path("a/b"));
  WriteBytes(Path("a/b/w.bin"), kFloats);
  EXPECT_EQ(Read(Model(At("a/b/w.bin"))), kFloats);
  EXPECT_EQ(Read(Model(At("./a/b/w.bin"))), kFloats);
}

TEST_F(ExternalDataFile, RefusesLocationsThatAreNone) {
  const std::string where = "3 FILE: tensor \"w\" has its data in ";
  const std::string advice = "; a location is a path below the model's directory";
  EXPECT_EQ(Read(Model("")),
            "3 FILE: tensor \"w\" has external data without a location: the file that holds it is "
            "not named");
  EXPECT_EQ(Read(Model(At(""))), where + "\"\", which is empty" + advice);
  EXPECT_EQ(Read(Model(At("/etc/passwd"))), where + "\"/etc/passwd\", which is absolute" + advice);
  for (const std::string location : {"..", "../w.bin", "a/../../w.bin", "a/..", "a/../w.bin"}) {
    EXPECT_EQ(Read(Model(At(location))),
              where + '"' + location + "\", which has '..' in it" + advice);
  }
  EXPECT_EQ(Read(Model(At(std::string("w\0x", 3)))),
            where + "\"w\\x00x\", which has a NUL byte" + advice);
  EXPECT_EQ(Read(Model(At("none.bin"))),
            "4 FILE: tensor \"w\" has its data in DIR/none.bin: cannot be opened: No such file or "
            "directory");
  EXPECT_EQ(Read(Model(At("a\nb"))).find('\n'), std::string::npos);
}

TEST_F(ExternalDataFile, RefusesWhatLeadsOutOfTheDirectory) {
  // The model in one directory, what it must not reach in another beside it.
  std::filesystem::create_directories(Path("model/sub"));
  std::filesystem::create_directories(Path("models"));
  WriteBytes(Path("secret.bin"), kFloats);
  WriteBytes(Path("models/secret.bin"), kFloats);
  const auto read = [&](const std::string& location) {
    WriteBytes(Path("model/x.onnx"), Model(At(location)));
    return Read("", "model/x.onnx");
  };
  std::filesystem::create_symlink("../secret.bin", Path("model/link.bin"));
  EXPECT_EQ(read("link.bin"),
            "3 DIR/model/x.onnx: tensor \"w\" has its data in DIR/model/link.bin: leads to "
            "DIR/secret.bin, outside the directory DIR/model");
  std::filesystem::create_directory_symlink("..", Path("model/up"));
  EXPECT_EQ(read("up/secret.bin").substr(0, 2), "3 ");
  // A directory whose name only begins as the model's does.
  std::filesystem::create_symlink("../models/secret.bin", Path("model/near.bin"));
  EXPECT_EQ(read("near.bin").substr(0, 2), "3 ");
  std::filesystem::create_symlink("link.bin", Path("model/twice.bin"));
  EXPECT_EQ(read("twice.bin").substr(0, 2), "3 ");
  std::filesystem::create_symlink("/proc/self/mem", Path("model/mem.bin"));
  EXPECT_EQ(read("mem.bin").substr(0, 2), "3 ");
  std::filesystem::create_symlink("loop.bin", Path("model/loop.bin"));
  EXPECT_EQ(read("loop.bin").substr(0, 2), "4 ");
  // A link that stays inside is none of these.
  WriteBytes(Path("model/sub/w.bin"), kFloats);
  std::filesystem::create_symlink("sub/w.bin", Path("model/inside.bin"));
  EXPECT_EQ(read("inside.bin"), kFloats);
}

// Hugging Face's cache: a directory of links into one of blobs.
TEST_F(ExternalDataFile, FollowsLinksOfTheModelItself) {
  std::filesystem::create_directories(Path("blobs"));
  std::filesystem::create_directories(Path("snapshots/1"));
  WriteBytes(Path("blobs/aa"), Model(At("w.bin")));
  WriteBytes(Path("blobs/bb"), kFloats);
  std::filesystem::create_symlink("../../blobs/aa", Path("snapshots/1/x.onnx"));
  std::filesystem::create_symlink("../../blobs/bb", Path("snapshots/1/w.bin"));
  EXPECT_EQ(Read("", "snapshots/1/x.onnx"), kFloats);
}

TEST_F(ExternalDataFile, RefusesWhatIsNoFile) {
  ASSERT_EQ(mkfifo(Path("pipe.bin").c_str(), 0600), 0);
  const std::string where = "3 FILE: tensor \"w\" has its data in DIR/";
  EXPECT_EQ(Read(Model(At("pipe.bin"))), where + "pipe.bin: is a pipe");
  std::filesystem::create_symlink("/dev/zero", Path("zero.bin"));
  EXPECT_EQ(Read(Model(At("zero.bin"))), where + "zero.bin: is a device");
  std::filesystem::create_directory(Path("dir"));
  EXPECT_EQ(Read(Model(At("dir"))), where + "dir: is a directory");
  EXPECT_EQ(Read(Model(At("."))), where + ".: is a directory");
}

TEST_F(ExternalDataFile, RefusesRangesThatDoNotFit) {
  WriteBytes(Path("w.bin"), "abc" + kFloats);
  const std::string where = "3 FILE: tensor \"w\" ";
  EXPECT_EQ(
      Read(Model(At("w.bin") + Entry("offset", "4"))),
      where + "has 8 bytes from offset 4 in \"w.bin\", but only 7 follow; the file is cut short");
  EXPECT_EQ(Read(Model(At("w.bin") + Entry("offset", "12"))),
            where + "begins at offset 12 in \"w.bin\", which has 11 bytes");
  EXPECT_EQ(Read(Model(At("w.bin") + Entry("length", "9"))),
            where + "has 9 bytes in \"w.bin\"; its type and shape take 8");
  for (const std::string text :
       {"", "-1", "+3", " 3", "3 ", "1e1", "0x3", "3.0", "18446744073709551616"}) {
    EXPECT_EQ(
        Read(Model(At("w.bin") + Entry("offset", text))),
        where + "has external data with the offset \"" + text + "\"; expected a number of bytes");
  }
  EXPECT_EQ(Read(Model(At("w.bin") + Entry("offset", "18446744073709551615"))).substr(0, 2), "3 ");
  EXPECT_EQ(Read(Model(At("w.bin") + At("x.bin"))),
            where + "has external data with the location for the second time");
  EXPECT_EQ(
      Read(Model(At("w.bin") + BytesField(9, kFloats))),
      where + "has values in raw_data and in external data; a TensorProto has them in one place");
  EXPECT_EQ(Read(Model(At("w.bin"), 8)),
            where + "has strings in external data; ONNX keeps them in the model");
}

// More files than a process may have open.
TEST_F(ExternalDataFile, OneFileForEachTensor) {
  std::string graph;
  constexpr int kFiles = 1500;
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = std::string("w").append(std::to_string(i));
    WriteBytes(Path(name), FloatBytes({static_cast<float>(i), 0}));
    graph += BytesField(5, VarintField(1, 2) + VarintField(2, kFloat) + BytesField(8, name) +
                               At(name) + VarintField(14, 1));
  }
  WriteBytes(Path("x.onnx"), ModelBytes(graph));
  const auto reader = Open(Path("x.onnx"));
  for (int i = 0; i < kFiles; ++i) {
    EXPECT_EQ(ReadTensor(*reader, static_cast<std::size_t>(i)),
              FloatBytes({static_cast<float>(i), 0}));
  }
}

}  // namespace
}  // namespace tensorcast::io
