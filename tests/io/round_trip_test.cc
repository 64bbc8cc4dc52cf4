// Every type through every format: random bytes come back as they were, read and written in
// pieces, by one thread or several.
//
// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <thread>

#include "test_files.h"

namespace tensorcast::io {
namespace {

using RoundTrip = FileTest;

// Random bytes of n elements; the pad bits are zero, as in everything that was written whole.
std::string RandomTensor(DataType type, std::uint64_t n, std::mt19937_64& random) {
  std::string bytes(*StorageBytes(type, n), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  const std::uint64_t used = n * static_cast<std::uint64_t>(FindType(type)->bits) % 8;
  if (used != 0) bytes.back() = static_cast<char>(bytes.back() & ((1 << used) - 1));
  return bytes;
}

std::vector<DataType> FixedWidthTypes() {
  std::vector<DataType> types;
  for (const TypeInfo& row : Types()) {
    if (row.bits != 0) types.push_back(row.type);
  }
  return types;
}

// The step in which ranges of a type's dense form may be cut.
std::uint64_t Grain(DataType type) { return FindType(type)->bits == 6 ? 3 : 8; }

void WriteInPieces(formats::TensorWriter& writer, std::size_t tensor, const std::string& bytes,
                   std::uint64_t piece) {
  for (std::uint64_t at = bytes.size() / piece * piece;; at -= piece) {  // backwards: any order
    const std::string_view part = std::string_view(bytes).substr(at, piece);
    writer.Write(tensor, at, std::as_bytes(std::span(part)));
    if (at == 0) break;
  }
}

std::string ReadInPieces(const formats::TensorReader& reader, std::size_t tensor,
                         std::uint64_t piece) {
  std::string bytes(reader.contents().tensors[tensor].bytes, '\xEE');
  for (std::uint64_t at = 0; at < bytes.size(); at += piece) {
    const std::uint64_t n = std::min<std::uint64_t>(piece, bytes.size() - at);
    reader.Read(tensor, at, std::as_writable_bytes(std::span(bytes).subspan(at, n)));
  }
  return bytes;
}

TEST_F(RoundTrip, EveryTypeInOneSafetensorsFile) {
  std::mt19937_64 random(20261120);
  formats::FileContents contents;
  std::vector<std::string> data;
  for (const DataType type : FixedWidthTypes()) {
    for (const std::uint64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 4099}) {
      contents.tensors.push_back(
          Tensor(std::string(TypeName(type)) + '.' + std::to_string(n), type, {n}));
      data.push_back(RandomTensor(type, n, random));
    }
    contents.tensors.push_back(Tensor(std::string(TypeName(type)) + ".scalar", type, {}));
    data.push_back(RandomTensor(type, 1, random));
    contents.tensors.push_back(Tensor(std::string(TypeName(type)) + ".cube", type, {3, 0, 5}));
    data.push_back("");
  }
  contents.metadata["format"] = "pt";

  const std::string path = Path("all.safetensors");
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, contents, {});
  for (std::size_t i = 0; i < data.size(); ++i) {
    WriteInPieces(*writer, i, data[i], 20 * Grain(contents.tensors[i].type));
  }
  writer->Commit();
  EXPECT_EQ(std::filesystem::file_size(path), writer->file_bytes());

  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  EXPECT_EQ(reader->contents().metadata, contents.metadata);
  ASSERT_EQ(reader->contents().tensors.size(), data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    const formats::TensorInfo& wanted = contents.tensors[i];
    SCOPED_TRACE(wanted.name);
    const auto& tensors = reader->contents().tensors;
    const auto found =
        std::find_if(tensors.begin(), tensors.end(),
                     [&](const formats::TensorInfo& info) { return info.name == wanted.name; });
    ASSERT_NE(found, tensors.end());
    EXPECT_EQ(found->type, wanted.type);
    EXPECT_EQ(found->shape, wanted.shape);
    EXPECT_EQ(found->elements, wanted.elements);
    EXPECT_EQ(found->bytes, wanted.bytes);
    const auto index = static_cast<std::size_t>(found - tensors.begin());
    EXPECT_EQ(ReadTensor(*reader, index), data[i]);
    EXPECT_EQ(ReadInPieces(*reader, index, Grain(wanted.type)), data[i]);
  }
}

TEST_F(RoundTrip, EveryTypeInOneNpz) {
  std::mt19937_64 random(20261123);
  for (const DataType type : FixedWidthTypes()) {
    SCOPED_TRACE(TypeName(type));
    formats::FileContents contents;
    std::vector<std::string> data;
    for (const std::uint64_t n : {40'003, 0, 1, 2, 3, 4, 5, 33, 16'384, 16'385}) {
      contents.tensors.push_back(
          Tensor("z." + std::to_string(n % 7) + "/" + std::to_string(n), type, {n, 1}));
      data.push_back(RandomTensor(type, n, random));
    }
    const std::string path = Path("x.npz");
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(path, contents, {.overwrite = true, .inputs = {}});
    for (std::size_t i = data.size(); i-- > 0;) {
      WriteInPieces(*writer, i, data[i], 2000 * Grain(type));
    }
    writer->Commit();
    EXPECT_EQ(std::filesystem::file_size(path), writer->file_bytes());

    formats::OpenOptions options;
    if (ReadBytes(path).find("'<V1'") != std::string::npos) options.assume_type = type;
    const std::shared_ptr<const formats::TensorReader> reader =
        checkpoint::OpenTensorFile(path, options).reader;
    ASSERT_EQ(reader->contents().tensors.size(), data.size());
    for (std::size_t i = 0; i < data.size(); ++i) {
      const formats::TensorInfo& info = reader->contents().tensors[i];
      EXPECT_EQ(info.name, contents.tensors[i].name);
      EXPECT_EQ(info.type, type);
      EXPECT_EQ(info.shape, contents.tensors[i].shape);
      EXPECT_EQ(info.bytes, data[i].size());
      EXPECT_EQ(ReadTensor(*reader, i), data[i]);
      EXPECT_EQ(ReadInPieces(*reader, i, 20 * Grain(type)), data[i]);
    }
  }
}

TEST_F(RoundTrip, EveryTypeInNpyFiles) {
  std::mt19937_64 random(20261121);
  for (const DataType type : FixedWidthTypes()) {
    for (const std::uint64_t n : {0, 1, 2, 3, 4, 5, 33, 16'384, 16'385, 40'003}) {
      const std::string path = Path("x.npy");
      SCOPED_TRACE(std::string(TypeName(type)) + " " + std::to_string(n));
      const std::string data = RandomTensor(type, n, random);
      formats::FileContents contents;
      contents.tensors.push_back(Tensor("whatever", type, {n, 1}));
      const std::unique_ptr<formats::TensorWriter> writer =
          formats::CreateTensorFile(path, contents, {.overwrite = true, .inputs = {}});
      WriteInPieces(*writer, 0, data, 2000 * Grain(type));
      writer->Commit();
      EXPECT_EQ(std::filesystem::file_size(path), writer->file_bytes());

      formats::OpenOptions options;
      if (ReadBytes(path).find("'<V1'") != std::string::npos) options.assume_type = type;
      const std::shared_ptr<const formats::TensorReader> reader =
          checkpoint::OpenTensorFile(path, options).reader;
      const formats::TensorInfo& info = reader->contents().tensors.at(0);
      EXPECT_EQ(info.name, "x");
      EXPECT_EQ(info.type, type);
      EXPECT_EQ(info.shape, (std::vector<std::uint64_t>{n, 1}));
      EXPECT_EQ(info.bytes, data.size());
      EXPECT_EQ(ReadTensor(*reader, 0), data);
      EXPECT_EQ(ReadInPieces(*reader, 0, 20 * Grain(type)), data);
    }
  }
}

TEST_F(RoundTrip, EveryTypeInTensorProtos) {
  std::mt19937_64 random(20261122);
  const std::string path = Path("x.pb");
  for (const DataType type : FixedWidthTypes()) {
    for (const std::uint64_t n : {0, 1, 2, 3, 4, 5, 33, 16'385, 40'003}) {
      SCOPED_TRACE(std::string(TypeName(type)) + " " + std::to_string(n));
      const std::string data = RandomTensor(type, n, random);
      formats::FileContents contents;
      contents.tensors.push_back(Tensor("its.name", type, {n, 1}));
      contents.metadata["key"] = "value";
      const std::unique_ptr<formats::TensorWriter> writer =
          formats::CreateTensorFile(path, contents, {.overwrite = true, .inputs = {}});
      WriteInPieces(*writer, 0, data, 2000 * Grain(type));
      writer->Commit();
      EXPECT_EQ(std::filesystem::file_size(path), writer->file_bytes());

      const std::shared_ptr<const formats::TensorReader> reader = Open(path);
      const formats::TensorInfo& info = reader->contents().tensors.at(0);
      EXPECT_EQ(info.name, "its.name");
      EXPECT_EQ(info.type, type);
      EXPECT_EQ(info.shape, (std::vector<std::uint64_t>{n, 1}));
      EXPECT_EQ(info.bytes, data.size());
      EXPECT_EQ(reader->contents().metadata, contents.metadata);
      EXPECT_EQ(ReadTensor(*reader, 0), data);
      EXPECT_EQ(ReadInPieces(*reader, 0, 20 * Grain(type)), data);
    }
  }
}

TEST_F(RoundTrip, FromSeveralThreads) {
  std::mt19937_64 random(7);
  for (const std::string ending : {".safetensors", ".npy", ".npz", ".pb"}) {
    const std::string path = Path("x" + ending);
    const std::uint64_t n = 100'003;
    const std::string data = RandomTensor(DataType::kFloat6E3M2, n, random);
    formats::FileContents contents;
    contents.tensors.push_back(Tensor("x", DataType::kFloat6E3M2, {n}));
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(path, contents, {});
    constexpr std::size_t kThreads = 4;
    const std::size_t part = 3 * 6'000;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t at = t * part; at < data.size(); at += kThreads * part) {
          const std::string_view piece = std::string_view(data).substr(at, part);
          writer->Write(0, at, std::as_bytes(std::span(piece)));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    writer->Commit();

    const std::shared_ptr<const formats::TensorReader> reader =
        checkpoint::OpenTensorFile(
            path, {.assume_type = ending.starts_with(".np") ? std::optional(DataType::kFloat6E3M2)
                                                            : std::nullopt})
            .reader;
    std::string back(data.size(), '\xEE');
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t at = t * part; at < back.size(); at += kThreads * part) {
          const std::size_t size = std::min(part, back.size() - at);
          reader->Read(0, at, std::as_writable_bytes(std::span(back).subspan(at, size)));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(back, data) << ending;
  }
}

}  // namespace
}  // namespace tensorcast::io
