// The files of a model whose weights are stored in another type: data outside the model, outputs
// that must not be inputs, runs that end before they are done.
//
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>

#include "files/system.h"
#include "formats/onnx_tensors.h"
#include "model_bytes.h"
#include "onnx/store/data_journal.h"
#include "onnx/store/storage_model.h"
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
    options.all_chosen = all_chosen_;
    options.overwrite = overwrite;
    options.interrupted = &interrupted_;
    options.allow_hard_links = allow_hard_links_;
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

  // What a model calls its data files.
  Listing LocationsOf(const std::string& name) const {
    const formats::OnnxTensorReader model(std::make_unique<files::InputFile>(Path(name)));
    Listing locations;
    for (const auto& [location, file] : model.external_files()) locations.push_back(location);
    return locations;
  }

  // A writer of in.onnx with all stored as float16, and its values: all but the commit.
  std::unique_ptr<formats::TensorWriter> Prepare(const formats::OnnxTensorReader& model,
                                                 const formats::FileContents& contents,
                                                 const files::CreateOptions& options) const {
    auto writer = CreateStorageModel(Path("out.onnx"), model, contents, options);
    for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
      if (!writer->Wants(i)) continue;
      const std::string values(contents.tensors[i].bytes, 'v');
      writer->Write(i, 0, std::as_bytes(std::span(values)));
    }
    return writer;
  }

  static formats::FileContents Halved(const formats::OnnxTensorReader& model) {
    formats::FileContents contents = model.contents();
    for (formats::TensorInfo& info : contents.tensors) {
      info.type = DataType::kFloat16;
      info.bytes /= 2;
    }
    return contents;
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
  bool allow_hard_links_ = false;
  const bool all_chosen_ = true;
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
  // Where one of their names is taken the data goes to a new file.
  ASSERT_EQ(Convert("in.onnx", "other/new.onnx", true, "none"), "done");
  EXPECT_EQ(LocationsOf("other/new.onnx"), Listing{"new.onnx.data"});
  EXPECT_EQ(ReadBytes(Path("other/in.data")), ReadBytes(Path("in.data")));
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
  allow_hard_links_ = true;
  EXPECT_EQ(Convert("in.onnx", "same.onnx", true),
            "23 same.onnx: the output is the input in.onnx; name another file");
  EXPECT_EQ(Convert("in.onnx", "data.onnx", true),
            "23 data.onnx: the output is the input in.data; name another file");
  // Nor is its data: the names are taken.
  link("in.data", "other.onnx.data");
  std::filesystem::create_symlink(Path("in.onnx"), Path("model.onnx.data"));
  ASSERT_EQ(Convert("in.onnx", "other.onnx", true), "done");
  EXPECT_EQ(LocationsOf("other.onnx"), Listing{"other.ec926a4fcaf96487.onnx.data"});
  ASSERT_EQ(Convert("in.onnx", "model.onnx", true), "done");
  EXPECT_EQ(LocationsOf("model.onnx"), Listing{"model.ec926a4fcaf96487.onnx.data"});
  EXPECT_EQ(ReadBytes(Path("in.onnx")), model);
  EXPECT_EQ(ReadBytes(Path("in.data")), data);
}

// The digests are those that the Python package xxhash gives of the data expected.
TEST_F(StoredFiles, TheDataNeverReplacesAFile) {
  WriteModel();
  for (const bool overwrite : {false, true}) {
    WriteBytes(Path("out.onnx.data"), "old");
    ASSERT_EQ(Convert("in.onnx", "out.onnx", overwrite), "done");
    EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", "out.ec926a4fcaf96487.onnx.data", "out.onnx",
                                "out.onnx.data"}));
    EXPECT_EQ(ReadBytes(Path("out.onnx.data")), "old");
    EXPECT_EQ(ReadBytes(Path("out.ec926a4fcaf96487.onnx.data")),
              Halves(kOne, 1000) + std::string(2096, '\0') + Halves(kMinusTwo, 700));
    EXPECT_EQ(LocationsOf("out.onnx"), Listing{"out.ec926a4fcaf96487.onnx.data"});
  }
}

TEST_F(StoredFiles, TheDataOfTheModelThatIsReplacedGoes) {
  WriteModel();
  ASSERT_EQ(Convert("in.onnx", "out.onnx"), "done");
  const std::string model = ReadBytes(Path("out.onnx")), data = ReadBytes(Path("out.onnx.data"));
  ASSERT_EQ(Convert("in.onnx", "out.onnx", true, "b"), "done");
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", "out.3b934eb26a3688ee.onnx.data", "out.onnx"}));
  EXPECT_EQ(LocationsOf("out.onnx"), Listing{"out.3b934eb26a3688ee.onnx.data"});
  // The same folder as at the first run, but for what is replaced: the same bytes.
  ASSERT_EQ(Convert("in.onnx", "out.onnx", true), "done");
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", "out.onnx", "out.onnx.data"}));
  EXPECT_EQ(ReadBytes(Path("out.onnx")), model);
  EXPECT_EQ(ReadBytes(Path("out.onnx.data")), data);
  // With one without data too.
  WriteBytes(Path("inline.onnx"), ModelBytes(BytesField(1, kUse)));
  ASSERT_EQ(Convert("inline.onnx", "out.onnx", true), "done");
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", "inline.onnx", "out.onnx"}));
}

TEST_F(StoredFiles, WhatAnotherModelMayUseStays) {
  WriteModel();
  const std::string small = "small.onnx";
  const auto replace = [&] {
    ASSERT_EQ(Convert("in.onnx", small), "done");
    ASSERT_EQ(Convert("in.onnx", "copy.onnx", true, "none"), "done");
  };
  replace();
  // A copy, made by us or with cp.
  ASSERT_EQ(Convert(small, "copy.onnx", true, "none"), "done");
  ASSERT_EQ(LocationsOf("copy.onnx"), Listing{"small.onnx.data"});
  ASSERT_EQ(Convert("in.onnx", small, true, "b"), "done");
  EXPECT_TRUE(std::filesystem::exists(Path("small.onnx.data")));
  EXPECT_EQ(LocationsOf("copy.onnx"), Listing{"small.onnx.data"});
  // The input itself, which is stored anew under the name whose data it names.
  ASSERT_EQ(Convert("copy.onnx", small, true), "done");
  EXPECT_EQ(LocationsOf("copy.onnx"), Listing{"small.onnx.data"});
  // A model that cannot be read.
  std::filesystem::remove(Path("copy.onnx"));
  std::filesystem::remove(Path(small));
  std::filesystem::remove(Path("small.onnx.data"));
  ASSERT_EQ(Convert("in.onnx", small), "done");
  WriteBytes(Path("broken.onnx"), "\xFF");
  ASSERT_EQ(Convert("in.onnx", small, true, "b"), "done");
  EXPECT_TRUE(std::filesystem::exists(Path("small.onnx.data")));
  // A link: the model it leads to lives on.
  std::filesystem::remove(Path("broken.onnx"));
  std::filesystem::remove(Path(small));
  std::filesystem::create_directory(Path("blobs"));
  std::filesystem::remove(Path("small.onnx.data"));
  ASSERT_EQ(Convert("in.onnx", small), "done");
  std::filesystem::rename(Path(small), Path("blobs/1"));
  std::filesystem::create_symlink("blobs/1", Path(small));
  ASSERT_EQ(Convert("in.onnx", small, true, "b"), "done");
  EXPECT_TRUE(std::filesystem::exists(Path("small.onnx.data")));
}

TEST_F(StoredFiles, OnlyDataOfOurNamesGoes) {
  WriteModel();
  // out.onnx has its data in weights.bin, which no other model names.
  const std::string model =
      ModelBytes(BytesField(5, Head("a", kFloat, 2) + External("weights.bin", 0, 8)));
  WriteBytes(Path("weights.bin"), FloatBytes({1, 2}));
  WriteBytes(Path("out.onnx"), model);
  ASSERT_EQ(Convert("in.onnx", "out.onnx", true), "done");
  EXPECT_TRUE(std::filesystem::exists(Path("weights.bin")));
}

// What a run leaves that was killed between the two names: its data under the name of its digest.
TEST_F(StoredFiles, DataThatIsThereAlreadyIsUsed) {
  WriteModel();
  WriteBytes(Path("out.onnx.data"), "old");
  ASSERT_EQ(Convert("in.onnx", "out.onnx"), "done");
  const std::string model = ReadBytes(Path("out.onnx"));
  std::filesystem::remove(Path("out.onnx"));
  ASSERT_EQ(Convert("in.onnx", "out.onnx"), "done");
  EXPECT_EQ(ReadBytes(Path("out.onnx")), model);
  EXPECT_EQ(Names().size(), 5u);
  // Other bytes under that name.
  const std::string name = "out.ec926a4fcaf96487.onnx.data";
  std::filesystem::remove(Path("out.onnx"));
  std::string data = ReadBytes(Path(name));
  data.back() ^= 1;
  WriteBytes(Path(name), data);
  EXPECT_EQ(Convert("in.onnx", "out.onnx"),
            "23 " + name +
                ": the data of the model belongs here, and another file has the name; remove it, "
                "or name another output");
  EXPECT_EQ(ReadBytes(Path(name)), data);
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", name, "out.onnx.data"}));
}

// The input calls its data what the output is called: a copy would be overwritten by the model.
TEST_F(StoredFiles, TheModelDoesNotReplaceItsOwnData) {
  const std::string data = FloatBytes(std::vector<float>(1000, 1.0F));
  WriteBytes(Path("out.onnx"), data);
  WriteBytes(Path("in.onnx"),
             ModelBytes(BytesField(5, Head("a", kFloat, 1000) + External("out.onnx", 0, 4000))));
  std::filesystem::create_directory(Path("other"));
  ASSERT_EQ(Convert("in.onnx", "other/out.onnx", false, "none"), "done");
  EXPECT_EQ(LocationsOf("other/out.onnx"), Listing{"out.onnx.data"});
  EXPECT_EQ(ReadBytes(Path("other/out.onnx.data")), data);
  EXPECT_EQ(Convert("in.onnx", "out.onnx", true, "none"),
            "23 out.onnx: the output is the input out.onnx; name another file");
}

TEST_F(StoredFiles, AModelThatGetsNoNameTakesItsDataAway) {
  WriteModel();
  const formats::OnnxTensorReader model(std::make_unique<files::InputFile>(Path("in.onnx")));
  const formats::FileContents contents = Halved(model);
  {
    const auto writer = Prepare(model, contents, {});
    writer->Sync();
    std::filesystem::create_directory(Path("out.onnx"));
    EXPECT_EQ(ErrorOf([&] { writer->Commit(); }),
              "2 " + Path("out.onnx") +
                  ": the output appeared while it was written; name another file, or replace it");
  }
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", "out.onnx"}));
  std::filesystem::remove(Path("out.onnx"));
  {
    const auto writer = Prepare(model, contents, {.overwrite = true, .inputs = {}});
    std::filesystem::create_directory(Path("out.onnx"));
    EXPECT_EQ(ErrorOf([&] { writer->Commit(); }).substr(0, 2), "4 ");
  }
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", "out.onnx"}));
}

TEST_F(StoredFiles, TwoRunsAtOnceDoNotMix) {
  WriteModel();
  const formats::OnnxTensorReader model(std::make_unique<files::InputFile>(Path("in.onnx")));
  const formats::FileContents halved = Halved(model);
  formats::FileContents one = model.contents();
  one.tensors[1] = halved.tensors[1];
  {
    const files::CreateOptions options{.overwrite = false, .inputs = {}};
    const auto first = Prepare(model, halved, options);
    const auto second = Prepare(model, one, options);
    first->Commit();
    EXPECT_EQ(ErrorOf([&] { second->Commit(); }),
              "2 " + Path("out.onnx.data") +
                  ": appeared while the model was written; convert again when no other run "
                  "writes it");
  }
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", "out.onnx", "out.onnx.data"}));
  // Where they may replace each other's the last is there, whole, and nothing else.
  for (const bool is_first_last : {false, true}) {
    std::filesystem::remove(Path("out.onnx"));
    for (const std::string& name : Names()) {
      if (name.starts_with("out.")) std::filesystem::remove(Path(name));
    }
    {
      const files::CreateOptions options{.overwrite = true, .inputs = {}};
      const auto first = Prepare(model, halved, options);
      const auto second = Prepare(model, one, options);
      (is_first_last ? second : first)->Commit();
      (is_first_last ? first : second)->Commit();
    }
    const Listing locations = LocationsOf("out.onnx");
    ASSERT_EQ(locations.size(), 1u);
    EXPECT_EQ(Names(), (is_first_last ? Listing{"in.data", "in.onnx", "out.onnx", locations[0]}
                                      : Listing{"in.data", "in.onnx", locations[0], "out.onnx"}));
  }
  for (const std::string& name : Names()) {
    if (name.starts_with("out.")) std::filesystem::remove(Path(name));
  }
  // Over a pair: the last is there, whole, and nothing else.
  ASSERT_EQ(Convert("in.onnx", "out.onnx"), "done");
  {
    const files::CreateOptions options{.overwrite = true, .inputs = {}};
    const auto first = Prepare(model, halved, options);
    const auto second = Prepare(model, one, options);
    second->Commit();
    first->Commit();
  }
  const Listing locations = LocationsOf("out.onnx");
  ASSERT_EQ(locations.size(), 1u);
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", locations[0], "out.onnx"}));
}

TEST_F(StoredFiles, CopyingDataIsInterrupted) {
  WriteModel();
  std::filesystem::create_directory(Path("other"));
  const formats::OnnxTensorReader model(std::make_unique<files::InputFile>(Path("in.onnx")));
  interrupted_ = true;
  EXPECT_THROW(
      CreateStorageModel(Path("other/out.onnx"), model, model.contents(), {}, &interrupted_),
      files::Interrupted);
  EXPECT_TRUE(std::filesystem::is_empty(Path("other")));
}

TEST_F(StoredFiles, AChoiceThatThrowsIsTheCallers) {
  WriteModel();
  std::string error;
  const Status status = ConvertStorage(
      Path("in.onnx"), Path("out.onnx"),
      [](std::string_view, DataType, std::span<const std::uint64_t>) -> DataType {
        throw std::out_of_range("no type");
      },
      {}, nullptr, &error);
  EXPECT_EQ(status.code(), StatusCode::kCallbackFailed);
  EXPECT_EQ(error, "a callback threw: no type");
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx"}));
}

TEST_F(StoredFiles, AnInputThatIsRewrittenMeanwhileIsRefused) {
  WriteModel();
  for (const char* const name : {"in.onnx", "in.data"}) {
    const std::string bytes = ReadBytes(Path(name));
    StorageOptions options;
    std::string error;
    const Status status = ConvertStorage(
        Path("in.onnx"), Path("out.onnx"),
        [&](std::string_view, DataType, std::span<const std::uint64_t>) {
          WriteBytes(Path(name), bytes);
          const timespec times[2] = {{1, 0}, {1, 0}};  // whatever the clock's resolution
          utimensat(AT_FDCWD, Path(name).c_str(), times, 0);
          return DataType::kFloat16;
        },
        options, nullptr, &error);
    EXPECT_EQ(status.code(), StatusCode::kFileError);
    EXPECT_EQ(error, Path(name) +
                         ": was rewritten while it was read; do not change a file that "
                         "is being read");
    EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx"}));
  }
}

TEST_F(StoredFiles, DataWithHardLinksWantsLeave) {
  WriteModel();
  std::filesystem::create_hard_link(Path("in.data"), Path("elsewhere"));
  EXPECT_EQ(Convert("in.onnx", "out.onnx"),
            "21 in.onnx: tensor \"a\" has its data in in.data: has 2 hard links, so it may be "
            "a file from elsewhere: copy it, or allow hard links");
  allow_hard_links_ = true;
  EXPECT_EQ(Convert("in.onnx", "out.onnx"), "done");
  // A symbolic link, as in a cache of models, is none.
  std::filesystem::remove(Path("elsewhere"));
  std::filesystem::rename(Path("in.data"), Path("blob"));
  std::filesystem::create_symlink("blob", Path("in.data"));
  allow_hard_links_ = false;
  EXPECT_EQ(Convert("in.onnx", "out2.onnx"), "done");
}

TEST_F(StoredFiles, AnInterruptedRunLeavesNothing) {
  WriteModel();
  interrupted_ = true;
  EXPECT_EQ(Convert("in.onnx", "out.onnx"), "24 interrupted");
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx"}));
}

TEST_F(StoredFiles, AKilledRunLeavesNothingUnderTheFinalNames) {
  WriteModel();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const formats::OnnxTensorReader model(std::make_unique<files::InputFile>(Path("in.onnx")));
    const formats::FileContents contents = Halved(model);
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

// Of a run that was killed between the names of data and model: what its journal says goes, if it
// is the same file still and no model names it.
TEST_F(StoredFiles, DataOfAKilledRunGoes) {
  WriteModel();
  const auto kill_with = [&](const std::string& name) {
    const pid_t child = fork();
    if (child == 0) {
      const auto status = files::StatusOf(Path(name));
      const DataJournal journal(Path("out.onnx"), {{name, *status}});
      raise(SIGKILL);
    }
    int state = 0;
    waitpid(child, &state, 0);
    EXPECT_TRUE(WIFSIGNALED(state));
  };
  WriteBytes(Path("out.onnx.data"), "of the run that was killed");
  kill_with("out.onnx.data");
  EXPECT_EQ(Names().size(), 4u);  // with the journal
  EXPECT_EQ(Convert("in.onnx", "out.onnx"), "done");
  EXPECT_EQ(LocationsOf("out.onnx"), Listing{"out.onnx.data"});
  EXPECT_EQ(Names(), (Listing{"in.data", "in.onnx", "out.onnx", "out.onnx.data"}));

  // The model was named, the data before it was not removed: it is another model's now.
  kill_with("out.onnx.data");
  std::filesystem::rename(Path("out.onnx"), Path("other.onnx"));
  EXPECT_EQ(Convert("in.onnx", "out.onnx"), "done");
  EXPECT_EQ(LocationsOf("other.onnx"), Listing{"out.onnx.data"});
  const std::string digest = "out.ec926a4fcaf96487.onnx.data";
  EXPECT_EQ(Names(),
            (Listing{"in.data", "in.onnx", "other.onnx", digest, "out.onnx", "out.onnx.data"}));

  // Another file of the name, and one whose name is not made here.
  std::filesystem::remove(Path("other.onnx"));
  WriteBytes(Path("weights.bin"), "mine");
  kill_with("weights.bin");
  kill_with("out.onnx.data");
  WriteBytes(Path("new"), "mine too");
  std::filesystem::rename(Path("new"), Path("out.onnx.data"));
  EXPECT_EQ(Convert("in.onnx", "out.onnx", true), "done");
  EXPECT_EQ(Names(),
            (Listing{"in.data", "in.onnx", digest, "out.onnx", "out.onnx.data", "weights.bin"}));
}

// Without a journal: what has its digest in its name.
TEST_F(StoredFiles, LeftDataOfTheRightDigestGoes) {
  WriteModel();
  WriteBytes(Path("out.onnx.data"), "another program's");
  ASSERT_EQ(Convert("in.onnx", "out.onnx"), "done");
  const std::string left = "out.ec926a4fcaf96487.onnx.data";
  const std::string not_its = "out.0123456789abcdef.onnx.data";
  WriteBytes(Path(not_its), "another's");
  const std::string used = ReadBytes(Path("out.onnx"));
  std::filesystem::remove(Path("out.onnx"));
  WriteBytes(Path("other.onnx"), used);
  ASSERT_EQ(Convert("in.onnx", "out.onnx", true, "a"), "done");
  EXPECT_TRUE(std::filesystem::exists(Path(left)));  // other.onnx has it
  std::filesystem::remove(Path("other.onnx"));
  ASSERT_EQ(Convert("in.onnx", "out.onnx", true, "b"), "done");
  const Listing locations = LocationsOf("out.onnx");
  ASSERT_EQ(locations.size(), 1u);
  Listing expected{"in.data", "in.onnx", not_its, locations[0], "out.onnx", "out.onnx.data"};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(Names(), expected);
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
