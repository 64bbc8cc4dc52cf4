// What happens to a file while it is read: rewritten at the same size it is refused, in every
// format, also where the time of writing is put back; without its name it is as good as before.
//
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include "convert/runner.h"
#include "files/system.h"
#include "wire_bytes.h"

namespace tensorcast::io {
namespace {

class InputTest : public FileTest {
 protected:
  // A file of each format with one tensor of four bytes, by the writers of the project; a model
  // with its data outside.
  std::vector<std::string> WriteAll() const {
    std::vector<std::string> paths;
    for (const char* const name : {"x.safetensors", "x.npy", "x.npz", "x.pb"}) {
      formats::FileContents contents;
      contents.tensors = {Tensor("a", DataType::kUint8, {4})};
      paths.push_back(Path(name));
      const auto writer = formats::CreateTensorFile(paths.back(), contents, {});
      WriteTensor(*writer, 0, "1234");
      writer->Commit();
    }
    const auto entry = [](std::string_view key, std::string_view value) {
      return BytesField(13, BytesField(1, key) + BytesField(2, value));
    };
    constexpr std::uint64_t kUint8 = 2;
    const std::string tensor = VarintField(1, 4) + VarintField(2, kUint8) + BytesField(8, "a") +
                               entry("location", "x.data") + VarintField(14, 1);
    WriteBytes(Path("x.onnx"), VarintField(1, 10) + BytesField(7, BytesField(5, tensor)));
    WriteBytes(Path("x.data"), "1234");
    paths.push_back(Path("x.onnx"));
    return paths;
  }

  static std::string Measure(const formats::TensorReader& reader) {
    const convert::TensorJob job{0, 0, {DataType::kInt8}};
    return ErrorOf([&] { convert::RunJobs(reader, std::span(&job, 1), nullptr, {}); });
  }

  // The same number of bytes, at another time: whatever the clock's resolution.
  static void Rewrite(const std::string& path) {
    WriteBytes(path, ReadBytes(path));
    const timespec times[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  // As cp -p, rsync -t and tar write: the same size, and the same time of writing.
  static void RewriteQuietly(const std::string& path) {
    struct stat before {};
    struct stat now {};
    ASSERT_EQ(stat(path.c_str(), &before), 0);
    const std::string bytes = ReadBytes(path);
    const auto is_as_before = [&] {
      return now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
             now.st_ctim.tv_nsec == before.st_ctim.tv_nsec;
    };
    do {  // until the system's clock has gone on
      WriteBytes(path, bytes);
      const timespec times[2] = {before.st_atim, before.st_mtim};
      ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
      ASSERT_EQ(stat(path.c_str(), &now), 0);
    } while (is_as_before());
    ASSERT_EQ(now.st_ino, before.st_ino);
    ASSERT_EQ(now.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  }

  static std::string Rewritten(const std::string& path) {
    return "4 " + path +
           ": was rewritten while it was read; do not change a file that is being read";
  }
};

TEST_F(InputTest, RewrittenWhileItIsRead) {
  for (const std::string& path : WriteAll()) {
    const auto reader = Open(path);
    EXPECT_EQ(Measure(*reader), "no error") << path;
    Rewrite(path);
    EXPECT_EQ(Measure(*reader), Rewritten(path));
  }
  const auto model = Open(Path("x.onnx"));
  Rewrite(Path("x.data"));
  EXPECT_EQ(Measure(*model), Rewritten(Path("x.data")));
}

TEST_F(InputTest, RewrittenWithItsTimePutBack) {
  for (const std::string& path : WriteAll()) {
    const auto reader = Open(path);
    RewriteQuietly(path);
    EXPECT_EQ(Measure(*reader), Rewritten(path));
  }
  const auto model = Open(Path("x.onnx"));
  RewriteQuietly(Path("x.data"));
  EXPECT_EQ(Measure(*model), Rewritten(Path("x.data")));
}

// The files of a directory beside its weights: read when it is opened, and again when it is
// written.
TEST_F(InputTest, ACheckpointsOtherFilesRewritten) {
  const std::string shard = "model-00001-of-00001.safetensors";
  const std::string index = "model.safetensors.index.json";
  formats::FileContents contents;
  contents.tensors = {Tensor("a", DataType::kUint8, {4})};
  const auto writer = formats::CreateTensorFile(Path(shard), contents, {});
  WriteTensor(*writer, 0, "1234");
  writer->Commit();
  WriteBytes(Path(index), R"({"weight_map": {"a": ")" + shard + R"("}})");
  for (const char* const name : {"config.json", "hf_quant_config.json"}) {
    WriteBytes(Path(name), "{}");
  }
  for (const std::string& name :
       {shard, index, std::string("config.json"), std::string("hf_quant_config.json")}) {
    const auto reader = Open(directory());
    const std::string bytes = ReadBytes(Path(name));
    EXPECT_EQ(ErrorOf([&] { reader->CheckUnchanged(); }), "no error");
    RewriteQuietly(Path(name));
    EXPECT_EQ(ErrorOf([&] { reader->CheckUnchanged(); }), Rewritten(Path(name)));
    WriteBytes(Path(name), bytes);
  }
  // Another file under the name.
  const auto reader = Open(directory());
  WriteBytes(Path("new"), "{}");
  std::filesystem::rename(Path("new"), Path("config.json"));
  EXPECT_EQ(ErrorOf([&] { reader->CheckUnchanged(); }), Rewritten(Path("config.json")));
}

TEST_F(InputTest, LongerThanItWas) {
  for (const std::string& path : WriteAll()) {
    const auto reader = Open(path);
    WriteBytes(path, ReadBytes(path) + "more");
    EXPECT_EQ(Measure(*reader), Rewritten(path));
  }
}

TEST_F(InputTest, WithoutItsName) {
  for (const std::string& path : WriteAll()) {
    const auto reader = Open(path);
    std::filesystem::remove(path);
    WriteBytes(path, "another");
    EXPECT_EQ(Measure(*reader), "no error") << path;
  }
}

// More data files than are kept open: each is opened anew for every reading.
// A range of a file as memory, where the system has that.
TEST_F(InputTest, MappedRanges) {
  const std::string bytes = std::string(10'000, 'a') + std::string(10'000, 'b');
  const std::string path = Path("x");
  WriteBytes(path, bytes);
  std::shared_ptr<std::byte> first;
  {
    const files::InputFile file(path);
    first = file.Map(9'990, 20);
    if (first == nullptr) GTEST_SKIP() << "this system maps no files";
    const auto text = [](const std::shared_ptr<std::byte>& memory, std::size_t count) {
      return std::string(reinterpret_cast<const char*>(memory.get()), count);
    };
    EXPECT_EQ(text(first, 20), bytes.substr(9'990, 20));
    std::ranges::fill(std::span(first.get(), 20), std::byte{'x'});
    // Once more, partly, beside it on the same page, and when it has gone: as the file has it.
    const auto again = file.Map(9'990, 20);
    const auto part = file.Map(10'000, 5'000);
    const auto beside = file.Map(9'000, 990);
    EXPECT_EQ(text(again, 20), bytes.substr(9'990, 20));
    EXPECT_EQ(text(part, 5'000), bytes.substr(10'000, 5'000));
    EXPECT_EQ(text(beside, 990), bytes.substr(9'000, 990));
    EXPECT_EQ(text(first, 20), std::string(20, 'x'));
    first.reset();
    EXPECT_EQ(text(file.Map(9'990, 20), 20), bytes.substr(9'990, 20));
    first = file.Map(0, bytes.size());
  }
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(first.get()), bytes.size()), bytes);
  EXPECT_EQ(ReadBytes(path), bytes);
  const files::InputFile cut(path);
  std::filesystem::resize_file(path, 5'000);
  EXPECT_EQ(cut.Map(0, 100), nullptr);  // whose other pages could not be accessed
}

TEST_F(InputTest, OneOfManyDataFiles) {
  constexpr int kFiles = 300;
  std::string graph;
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = std::string("d").append(std::to_string(i));
    WriteBytes(Path(name), "1234");
    graph += BytesField(5, VarintField(1, 4) + VarintField(2, 2) + BytesField(8, name) +
                               BytesField(13, BytesField(1, "location") + BytesField(2, name)) +
                               VarintField(14, 1));
  }
  WriteBytes(Path("x.onnx"), VarintField(1, 10) + BytesField(7, graph));
  const auto reader = Open(Path("x.onnx"));
  const std::string last = "d299";
  EXPECT_EQ(ReadTensor(*reader, last), "1234");
  Rewrite(Path(last));
  EXPECT_EQ(ErrorOf([&] { ReadTensor(*reader, last); }), Rewritten(Path(last)));
  const auto again = Open(Path("x.onnx"));
  RewriteQuietly(Path(last));
  EXPECT_EQ(ErrorOf([&] { ReadTensor(*again, last); }), Rewritten(Path(last)));
  EXPECT_EQ(ErrorOf([&] { again->CheckUnchanged(); }), Rewritten(Path(last)));
}

TEST_F(InputTest, DataWithHardLinks) {
  WriteAll();
  std::filesystem::create_hard_link(Path("x.data"), Path("another"));
  EXPECT_EQ(ErrorOf([&] { Open(Path("x.onnx")); }),
            "3 " + Path("x.onnx") + ": tensor \"a\" has its data in " + Path("x.data") +
                ": has 2 hard links, so it may be a file from elsewhere: copy it, or allow "
                "hard links");
  formats::OpenOptions options;
  options.allow_hard_links = true;
  EXPECT_EQ(ReadTensor(*checkpoint::OpenTensorFile(Path("x.onnx"), options).reader, 0), "1234");
  // The model itself is what the user named.
  std::filesystem::remove(Path("another"));
  std::filesystem::create_hard_link(Path("x.onnx"), Path("y.onnx"));
  EXPECT_EQ(ReadTensor(*Open(Path("y.onnx")), 0), "1234");
}

}  // namespace
}  // namespace tensorcast::io
