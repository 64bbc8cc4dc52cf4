// Fuzzes one format's reader: any bytes as a file of its name. It is refused in one
// printable line, or read, in pieces of any size to the same bytes; nothing outside the file is
// asked for, and no other exception than files::Error comes out.
//
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demand.h"
#include "files/byte_source.h"
#include "files/system.h"
#include "formats/gguf_keys.h"
#include "formats/tensor_file.h"
#include "fuzzers.h"
#include "zip_checksums.h"

namespace {

namespace files = tensorcast::files;
namespace formats = tensorcast::formats;
namespace text = tensorcast::text;

// No more of a tensor than this is read: a few bytes can declare, or inflate to, very many.
constexpr std::uint64_t kMostBytesRead = 1 << 18;
constexpr std::uint64_t kMostStrings = 2000;
constexpr std::size_t kMostTensors = 200;

class FuzzedFile final : public files::ByteSource {
 public:
  FuzzedFile(std::string_view path, std::span<const std::uint8_t> data)
      : data_(data.data()), size_(data.size()), path_(path) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return size_; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    Demand(offset <= size_ && out.size() <= size_ - offset, "a read outside the file");
    if (!out.empty()) std::memcpy(out.data(), data_ + offset, out.size());
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::string path_;
};

void CheckError(std::string_view file, const files::Error& error) {
  const std::string_view message = error.what();
  Demand(message.size() > file.size() + 1, "an error that says nothing");
  Demand(message.find(file) != std::string_view::npos, "an error that names no file");
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    Demand(byte >= 0x20 && byte != 0x7F, "a control character in an error");
  }
}

std::vector<std::byte> ReadInPieces(const formats::TensorReader& reader, std::size_t tensor,
                                    std::uint64_t size, std::uint64_t piece) {
  std::vector<std::byte> bytes(size);
  for (std::uint64_t at = 0; at < size; at += piece) {
    reader.Read(tensor, at, std::span(bytes).subspan(at, std::min(piece, size - at)));
  }
  return bytes;
}

void CheckNumbers(const formats::TensorReader& reader, std::size_t index,
                  const formats::TensorInfo& tensor) {
  if (tensor.type != tensorcast::DataType::kUndefined) {
    Demand(tensorcast::StorageBytes(tensor.type, tensor.elements) == tensor.bytes,
           "bytes that the elements do not take");
  }
  const std::uint64_t size = std::min(tensor.bytes, kMostBytesRead) / 24 * 24;
  const std::uint64_t whole = tensor.bytes <= kMostBytesRead ? tensor.bytes : size;
  const std::vector<std::byte> once =
      ReadInPieces(reader, index, whole, std::max<std::uint64_t>(whole, 1));
  // 24 bytes hold a whole number of elements of every type.
  Demand(once == ReadInPieces(reader, index, whole, std::max<std::uint64_t>(whole / 72 * 24, 24)),
         "other bytes in pieces");
}

bool IsUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if (lead >= 0x80 && (lead < 0xC2 || lead > 0xF4)) return false;
    if (text.size() - i <= more) return false;
    std::uint32_t point = more == 0 ? lead : lead & (0x3Fu >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next >> 6 != 2) return false;
      point = point << 6 | (next & 0x3F);
    }
    constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (point < kLeast[more] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) {
      return false;
    }
    i += more + 1;
  }
  return true;
}

std::vector<std::string> Texts(const formats::TensorReader& reader, std::size_t tensor,
                               std::uint64_t first, std::uint64_t n) {
  const text::StringPiece piece = reader.ReadStrings(tensor, first, n);
  const tensorcast::Strings view = piece.view();
  Demand(view.size() == n, "another number of strings than asked for");
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < n; ++i) {
    Demand(view.offsets[i] <= view.offsets[i + 1] && view.offsets[i + 1] <= view.bytes.size(),
           "bad offsets");
    texts.emplace_back(view[i]);
    // Of numpy's Unicode alone: its |S and the strings of a TensorProto are bytes.
    const bool unicode = reader.contents().tensors[tensor].dtype.find('U') != std::string::npos;
    Demand(!unicode || IsUtf8(texts.back()), "a string that is not UTF-8");
  }
  return texts;
}

void CheckStrings(const formats::TensorReader& reader, std::size_t index,
                  const formats::TensorInfo& tensor) {
  const std::uint64_t n = std::min(tensor.elements, kMostStrings);
  const std::vector<std::string> once = Texts(reader, index, 0, n);
  // Backwards and in two pieces: no reader may count on an order.
  std::vector<std::string> second = Texts(reader, index, n / 2, n - n / 2);
  std::vector<std::string> first = Texts(reader, index, 0, n / 2);
  first.insert(first.end(), second.begin(), second.end());
  Demand(once == first, "other strings in pieces");
}

void CheckTensor(std::string_view file, const formats::TensorReader& reader, std::size_t index) {
  const formats::TensorInfo& tensor = reader.contents().tensors[index];
  std::uint64_t product = 1;
  for (const std::uint64_t length : tensor.shape) {
    if (length == 0) product = 0;
  }
  for (const std::uint64_t length : tensor.shape) {
    Demand(product == 0 || !__builtin_mul_overflow(product, length, &product), "a shape too large");
  }
  Demand(product == tensor.elements, "elements that are not the shape's");
  try {
    if (tensor.type == tensorcast::DataType::kString) {
      CheckStrings(reader, index, tensor);
    } else {
      CheckNumbers(reader, index, tensor);
    }
  } catch (const files::Error& error) {
    CheckError(file, error);
  }
}

// A GGUF file that can be written again has the same tensors, and all keys but the container's, and
// is as long as was said; what cannot is refused.
void CheckWrittenAgain(const formats::TensorReader& reader) {
  constexpr std::uint64_t kMostWritten = 1 << 20;
  const formats::FileContents& contents = reader.contents();
  if (reader.file_bytes() > kMostWritten) return;
  for (const formats::TensorInfo& info : contents.tensors) {
    if (info.bytes > kMostBytesRead) return;
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / ("written" + std::to_string(::getpid()) + ".gguf"))
          .string();
  std::unique_ptr<formats::TensorWriter> writer;
  try {
    const std::uint64_t measured = formats::CheckTensorFile(path, contents, {true, {}});
    writer = formats::CreateTensorFile(path, contents, {true, {}});
    Demand(writer->file_bytes() == measured, "another size than was said");
  } catch (const files::Error& error) {
    CheckError(path, error);
    return;
  }
  for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
    const std::uint64_t bytes = contents.tensors[i].bytes;
    if (bytes != 0) writer->Write(i, 0, ReadInPieces(reader, i, bytes, bytes));
  }
  writer->Commit();
  const auto again = formats::OpenTensorSource(std::make_unique<files::InputFile>(path), {}).reader;
  const formats::FileContents& found = again->contents();
  Demand(again->file_bytes() == writer->file_bytes(), "a file of another length");
  Demand(found.tensors.size() == contents.tensors.size(), "another number of tensors");
  for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
    const formats::TensorInfo &was = contents.tensors[i], &is = found.tensors[i];
    Demand(is.name == was.name && is.type == was.type && is.dtype == was.dtype &&
               is.shape == was.shape && is.bytes == was.bytes,
           "another tensor");
    const std::uint64_t bytes = was.bytes;
    Demand(bytes == 0 ||
               ReadInPieces(*again, i, bytes, bytes) == ReadInPieces(reader, i, bytes, bytes),
           "other values");
  }
  const auto keys_of = [](const formats::FileContents& of) {
    std::vector<std::string> keys;
    for (const formats::GgufKey& key : *of.gguf_keys) {
      if (std::ranges::count(formats::kContainerKeys, std::string_view(key.name)) != 0) continue;
      if (key.name.starts_with(formats::kShapeKey)) continue;
      keys.emplace_back(key.bytes, '\0');
      key.file->Read(key.begin, std::as_writable_bytes(std::span(keys.back())));
    }
    return keys;
  };
  Demand(keys_of(found) == keys_of(contents), "other keys");
  std::filesystem::remove(path);
}

void ReadFile(std::string_view file, std::span<const std::uint8_t> data) {
  try {
    formats::OpenOptions options;
    // What an npy leaves open, the length of half of them decides; other formats refuse to be told.
    const bool may_assume = file.find(".np") != std::string_view::npos;
    if (may_assume && data.size() % 2 != 0)
      options.assume_type = tensorcast::DataType::kFloat8E4M3FN;
    const auto reader =
        formats::OpenTensorSource(std::make_unique<FuzzedFile>(file, data), options).reader;
    const std::size_t count = std::min(reader->contents().tensors.size(), kMostTensors);
    for (std::size_t i = 0; i < count; ++i) CheckTensor(file, *reader, i);
    reader->notes();
    if (file.ends_with(".gguf")) CheckWrittenAgain(*reader);
  } catch (const files::Error& error) {
    CheckError(file, error);
  }
}

template <const char* kFile> void FuzzReader(const std::uint8_t* data, std::size_t size) {
  const std::string_view file = kFile;
  ReadFile(file, {data, size});
  if (file.ends_with(".npz")) ReadFile(file, WithRightChecksums({data, size}));
}

// A reader is chosen by the first bytes, then by the name.
constexpr char kSafetensors[] = "x.safetensors", kNpy[] = "x.npy", kNpz[] = "x.npz",
               kTensorProto[] = "x.pb", kOnnx[] = "x.onnx", kTorch[] = "x.pt", kGguf[] = "x.gguf";
const Fuzzer kReaderFuzzers[] = {
    {"safetensors", FuzzReader<kSafetensors>},
    {"npy", FuzzReader<kNpy>},
    {"npz", FuzzReader<kNpz>},
    {"tensor_proto", FuzzReader<kTensorProto>},
    {"onnx", FuzzReader<kOnnx>},
    {"torch", FuzzReader<kTorch>},
    {"gguf", FuzzReader<kGguf>},
};

}  // namespace
