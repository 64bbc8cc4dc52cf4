// The files of a model whose weights are stored in another type: data outside the model, outputs
// that must not be inputs, runs that end before they are done.
//
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>

#include "io/onnx_tensors.h"
#include "io/system.h"
#include "model_bytes.h"
#include "onnx/storage_model.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::onnx {
namespace {

using io::ErrorOf;
using io::ReadBytes;
using io::ReplaceAll;
using io::WriteBytes;

using Listing = std::vector<std::string>;

std::string Entry(std::string_view key, std::string_view value) {
  return BytesField(13, BytesField(1, key) + BytesField(2, value));
}

std::string External(std::string_view location, std::uint64_t offset, std::uint64_t length,
                     const std::string& more = {}) {
  return Entry("location", location) + Entry("offset", std::to_string(offset)) +
         Entry("length", std::to_string(length)) + more + VarintField(14, 1);
}

std::string Head(std::string_view name, std::uint64_t type, std::uint64_t n) {
  return VarintField(1, n) + VarintField(2, type) + BytesField(8, name);
}

class StoredFiles : public io::FileTest {
 protected:
  std::string Convert(const std::string& input, const std::string& output, bool overwrite = false,
                      std::string_view only = {}) {
    StorageOptions options;
    options.overwrite = overwrite;
    options.interrupted = &interrupted_;
    std::string error;
    const Status status = ConvertStorage(
        Path(input), Path(output),
        [&](std::string_view name, DataType, std::span<const std::uint64_t>) {
          return only.empty() || name == only ? DataType::kFloat16 : DataType::kUndefined;
        },
        options, nullptr, &error);
    if (status.ok()) return "done";
    return std::to_string(static_cast<int>(status.code())) + ' ' +
           ReplaceAll(error, directory() + '/', "");
  }

  // Two large tensors and a small one in a data file, a large and a small one in the model.
  void WriteModel() {
    std::string data(10, 'x');
    data += FloatBytes(std::vector<float>(1000, 1.0F));
    data += FloatBytes(std::vector<float>(700, -2.0F));
    data += FloatBytes({1, -2});
    WriteBytes(Path("in.data"), data);
    WriteBytes(
        Path("in.onnx"),
        ModelBytes(BytesField(1, kUse) +
                   BytesField(5, Head("a", kFloat, 1000) +
                                     External("in.data", 10, 4000, Entry("checksum", "f"))) +
                   BytesField(5, Head("b", kFloat, 700) + BytesField(12, "doc") +
                                     External("in.data", 4010, 2800) + BytesField(999, "future")) +
                   BytesField(5, Head("c", kFloat, 2) + External("in.data", 6810, 8)) +
                   BytesField(5, TensorBytes("d", kFloat, 2, FloatBytes({1, -2})))));
  }

  std::string Cast(const std::string& name) const {
    return BytesField(1, CastBytes(name + "__float16", name, kFloat));
  }

  static std::string Halves(std::string_view code, std::size_t n) {
    std::string bytes;
    for (std::size_t i = 0; i < n; ++i) bytes += code;
    return bytes;
  }

  const std::string kUse = NodeBytes("Neg", {"a"}, {"y"});
  const std::string_view kOne{"\x00\x3C", 2};
  const std::string_view kMinusTwo{"\x00\xC0", 2};
  std::atomic<bool> interrupted_{false};
};

TEST_F(StoredFiles, DataGoesToOneNewFile) {
  WriteModel();
  ASSERT_EQ(Convert("in.onnx", "out.onnx"), "done");
  const std::string small = std::string(kOne) + std::string(kMinusTwo);
  EXPECT_EQ(
      ReadBytes(Path("out.onnx")),
      ModelBytes(
          Cast("a") + Cast("b") + Cast("c") + Cast("d") + BytesField(1, kUse) +
          BytesField(5, Head("a__float16", kFloat16, 1000) + External("out.onnx.data", 0, 2000)) +
          BytesField(5, VarintField(1, 700) + VarintField(2, kFloat16) +
                            BytesField(8, "b__float16") + BytesField(12, "doc") +
                            External("out.onnx.data", 4096, 1400) + BytesField(999, "future")) +
          BytesField(5, TensorBytes("c__float16", kFloat16, 2, small)) +
          BytesField(5, TensorBytes("d__float16", kFloat16, 2, small))));
  EXPECT_EQ(ReadBytes(Path("out.onnx.data")),
            Halves(kOne, 1000) + std::string(2096, '\0') + Halves(kMinusTwo, 700));
}

TEST_F(StoredFiles, WhatIsNotCastMovesToo) {
  WriteModel();
  ASSERT_EQ(Convert("in.onnx", "out.onnx", false, "b"), "done");
  EXPECT_EQ(ReadBytes(Path("out.onnx")),
            ModelBytes(Cast("b") + BytesField(1, kUse) +
                       BytesField(5, Head("a", kFloat, 1000) + External("out.onnx.data", 0, 4000)) +
                       BytesField(5, VarintField(1, 700) + VarintField(2, kFloat16) +
                                         BytesField(8, "b__float16") + BytesField(12, "doc") +
                                         External("out.onnx.data", 4096, 1400) +
                                         BytesField(999, "future")) +
                       BytesField(5, TensorBytes("c", kFloat, 2, FloatBytes({1, -2}))) +
                       BytesField(5, TensorBytes("d", kFloat, 2, FloatBytes({1, -2})))));
  EXPECT_EQ(ReadBytes(Path("out.onnx.data")), FloatBytes(std::vector<float>(1000, 1.0F)) +
                                                  std::string(96, '\0') + Halves(kMinusTwo, 700));
}

TEST_F(StoredFiles, WhereNothingIsCastBothModelsShareTheData) {
  WriteModel();
  ASSERT_EQ(Convert("in.onnx", "out.onnx", false, "none"), "done");
  EXPECT_EQ(ReadBytes(Path("out.onnx")), ReadBytes(Path("in.onnx")));
  EXPECT_FALSE(std::filesystem::exists(Path("out.onnx.data")));
  // Elsewhere it would not find them: they are copied.
  std::filesystem::create_directory(Path("other"));
  ASSERT_EQ(Convert("in.onnx", "other/out.onnx", false, "none"), "done");
  EXPECT_EQ(ReadBytes(Path("other/out.onnx")), ReadBytes(Path("in.onnx")));
  EXPECT_EQ(ReadBytes(Path("other/in.data")), ReadBytes(Path("in.data")));
  EXPECT_EQ(Convert("in.onnx", "other/new.onnx", false, "none"),
            "23 other/in.data: the output exists; name another file, or replace it with --force");
  EXPECT_FALSE(std::filesystem::exists(Path("other/new.onnx")));
  // In a directory of its own below the model's: not made anew, the data goes to the one new file.
  std::filesystem::create_directory(Path("data"));
  std::filesystem::rename(Path("in.data"), Path("data/in.data"));
  WriteBytes(Path("deep.onnx"), ModelBytes(BytesField(5, Head("a", kFloat, 1000) +
                                                             External("data/in.data", 10, 4000))));
  ASSERT_EQ(Convert("deep.onnx", "other/deep.onnx", false, "none"), "done");
  EXPECT_EQ(ReadBytes(Path("other/deep.onnx.data")), FloatBytes(std::vector<float>(1000, 1.0F)));
}

// All that was outside is small, and stands in the model then.
TEST_F(StoredFiles, SmallTensorsNeedNoDataFile) {
  WriteBytes(Path("in.data"), FloatBytes({1, -2}));
  WriteBytes(Path("in.onnx"),
             ModelBytes(BytesField(1, kUse) +
                        BytesField(5, Head("a", kFloat, 2) + External("in.data", 0, 8))));
  ASSERT_EQ(Convert("in.onnx", "out.onnx"), "done");
  EXPECT_EQ(ReadBytes(Path("out.onnx")),
            ModelBytes(Cast("a") + BytesField(1, kUse) +
                       BytesField(5, TensorBytes("a__float16", kFloat16, 2,
                                                 std::string(kOne) + std::string(kMinusTwo)))));
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", "out.onnx"}));
}

TEST_F(StoredFiles, NoOutputIsAnInputByAnyName) {
  WriteModel();
  const std::string model = ReadBytes(Path("in.onnx")), data = ReadBytes(Path("in.data"));
  const auto link = [&](const char* from, const char* to) {
    std::filesystem::create_hard_link(Path(from), Path(to));
  };
  link("in.onnx", "same.onnx");
  link("in.data", "data.onnx");
  link("in.data", "other.onnx.data");
  std::filesystem::create_symlink(Path("in.onnx"), Path("model.onnx.data"));
  EXPECT_EQ(Convert("in.onnx", "same.onnx", true),
            "23 same.onnx: the output is the input in.onnx; name another file");
  EXPECT_EQ(Convert("in.onnx", "data.onnx", true),
            "23 data.onnx: the output is the input in.data; name another file");
  EXPECT_EQ(Convert("in.onnx", "other.onnx", true),
            "23 other.onnx.data: the output is the input in.data; name another file");
  EXPECT_EQ(Convert("in.onnx", "model.onnx", true),
            "23 model.onnx.data: the output is the input in.onnx; name another file");
  EXPECT_EQ(ReadBytes(Path("in.onnx")), model);
  EXPECT_EQ(ReadBytes(Path("in.data")), data);
}

TEST_F(StoredFiles, AnOldDataFileIsReplacedOnlyWhereThatIsAsked) {
  WriteModel();
  WriteBytes(Path("out.onnx.data"), "old");
  EXPECT_EQ(Convert("in.onnx", "out.onnx"),
            "23 out.onnx.data: the output exists; name another file, or replace it with --force");
  EXPECT_EQ(ReadBytes(Path("out.onnx.data")), "old");
  EXPECT_FALSE(std::filesystem::exists(Path("out.onnx")));
  EXPECT_EQ(Convert("in.onnx", "out.onnx", true), "done");
  EXPECT_EQ(std::filesystem::file_size(Path("out.onnx.data")), 4096u + 1400u);
}

TEST_F(StoredFiles, AnInterruptedRunLeavesNothing) {
  WriteModel();
  interrupted_ = true;
  EXPECT_EQ(Convert("in.onnx", "out.onnx"), "24 interrupted by the caller");
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx"}));
}

TEST_F(StoredFiles, AKilledRunLeavesNothingUnderTheFinalNames) {
  WriteModel();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const io::OnnxTensorReader model(std::make_unique<io::InputFile>(Path("in.onnx")));
    io::FileContents contents = model.contents();
    for (io::TensorInfo& info : contents.tensors) {
      info.type = DataType::kFloat16;
      info.bytes /= 2;
    }
    const auto writer = CreateStorageModel(Path("out.onnx"), model, contents, {});
    raise(SIGKILL);
    _exit(0);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  ASSERT_TRUE(WIFSIGNALED(state));
  EXPECT_EQ(Names().size(), 4u);  // the inputs and two temporary files
  EXPECT_FALSE(std::filesystem::exists(Path("out.onnx")));
  EXPECT_FALSE(std::filesystem::exists(Path("out.onnx.data")));
  EXPECT_EQ(Convert("in.onnx", "out.onnx"), "done");
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", "out.onnx", "out.onnx.data"}));
}

TEST_F(StoredFiles, ErrorsOfTheInput) {
  EXPECT_EQ(Convert("none.onnx", "out.onnx"),
            "20 none.onnx: cannot be opened: No such file or directory");
  WriteBytes(Path("bad.onnx"), "\x3A\x7F");
  EXPECT_EQ(Convert("bad.onnx", "out.onnx").substr(0, 12), "21 bad.onnx:");
  EXPECT_EQ(Names(), Listing{"bad.onnx"});
}

}  // namespace
}  // namespace tensorcast::onnx
