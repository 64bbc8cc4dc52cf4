// Fuzzes one format's reader: any bytes as a file of its name. It is refused in one
// printable line, or read, in pieces of any size to the same bytes; nothing outside the file is
// asked for, and no other exception than files::Error comes out.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demand.h"
#include "files/byte_source.h"
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
