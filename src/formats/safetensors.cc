// Reads and writes safetensors files: dense data needs nothing but an offset.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/formats.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/little_endian.h"
#include "core/shape.h"
#include "files/error.h"
#include "files/system.h"
#include "formats/reading_code.h"
#include "formats/safetensors_dtype.h"
#include "formats/safetensors_header.h"
#include "json/json_text.h"
#include "words/utf8.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::uint64_t kDataAlignment = 8;  // of the data in the file

class SafetensorsReader final : public TensorReader {
 public:
  explicit SafetensorsReader(std::unique_ptr<files::ByteSource> source)
      : source_(std::move(source)), header_(ReadSafetensorsHeader(*source_)) {}

  const FileContents& contents() const override { return header_.contents; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    source_->Read(header_.offsets.at(tensor) + offset, out);
  }
  std::shared_ptr<std::byte> Map(std::size_t tensor) const override {
    return source_->Map(header_.offsets.at(tensor), header_.contents.tensors[tensor].bytes);
  }
  std::uint64_t file_bytes() const override { return source_->size(); }
  void CheckUnchanged() const override { source_->CheckUnchanged(); }

 private:
  std::unique_ptr<files::ByteSource> source_;
  SafetensorsHeader header_;
};

// ---------------------------------------------------------------------------------- writing

// How one tensor is stored.
struct Stored {
  std::size_t rank = 0;  // of its dtype in the table; past its end: a dtype that is not in it
  std::uint64_t bytes = 0;
  bool packed = false;  // as U8, its type in __metadata__
};

struct SafetensorsPlacement {
  std::vector<std::uint32_t> order;    // of the tensors in the file
  std::uint64_t header_bytes = 0;      // length, JSON and padding
  std::vector<std::uint64_t> offsets;  // of each tensor's data in the file, as given
  std::uint64_t file_bytes = 0;
  bool any_packed = false;
};

class SafetensorsPlacementMaker {
 public:
  SafetensorsPlacementMaker(const std::string& path, const FileContents& contents)
      : path_(path), contents_(contents) {}

  SafetensorsPlacement Make() {
    stored_.reserve(contents_.tensors.size());
    for (const TensorInfo& info : contents_.tensors) stored_.push_back(Store(info));
    SafetensorsPlacement placement;
    placement.order = Order();
    placement.any_packed =
        std::any_of(stored_.begin(), stored_.end(), [](const Stored& one) { return one.packed; });
    placement.offsets.resize(placement.order.size());
    std::uint64_t end = 0;
    for (const std::uint32_t i : placement.order) {
      placement.offsets[i] = end;
      end += stored_[i].bytes;
    }
    std::uint64_t length = 0;
    ForEachPiece(placement, [&](const std::string& piece) { length += piece.size(); });
    if (length > kMostHeaderBytes) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(path_) + ": its header would take " + std::to_string(length) +
                      " bytes; safetensors allows " + std::to_string(kMostHeaderBytes),
                  path_);
    }
    placement.header_bytes = kHeaderLengthBytes + length;
    if (end > UINT64_MAX - placement.header_bytes) TooLarge();
    for (std::uint64_t& offset : placement.offsets) offset += placement.header_bytes;
    placement.file_bytes = placement.header_bytes + end;
    return placement;
  }

  // Writes the header that Make has measured, some of it at a time: that of a checkpoint of many
  // tensors is long.
  void WriteHeader(const SafetensorsPlacement& placement, files::OutputFile& file) const {
    constexpr std::size_t kAtOnce = std::size_t{1} << 20;
    const std::uint64_t length = placement.header_bytes - kHeaderLengthBytes;
    std::string text;
    core::AppendLittle(text, length, kHeaderLengthBytes);
    std::uint64_t written = 0;
    const auto write = [&] {
      file.Write(written, std::as_bytes(std::span(text)));
      written += text.size();
      text.clear();
    };
    ForEachPiece(placement, [&](const std::string& piece) {
      text += piece;
      if (text.size() >= kAtOnce) write();
    });
    write();
  }

 private:
  [[noreturn]] void Fail(const TensorInfo& info, ErrorKind kind, const std::string& why) const {
    throw Error(kind, words::PathText(path_) + ": tensor " + words::Quoted(info.name) + " " + why,
                path_);
  }
  [[noreturn]] void TooLarge() const {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(path_) + ": its tensors take 2^64 bytes or more", path_);
  }

  Stored Store(const TensorInfo& info) {
    if (info.name == "__metadata__") {
      Fail(info, ErrorKind::kUnsupported, "cannot have that name in a safetensors file");
    }
    if (info.IsColumnMajor()) {
      Fail(info, ErrorKind::kUnsupported,
           "is in Fortran order, which safetensors does not have; write an .npy file");
    }
    Stored stored;
    const std::optional<std::uint64_t> elements = core::CheckedProduct(info.shape);
    if (!elements) {
      Fail(info, ErrorKind::kContents,
           "has the shape " + words::ShapeText(info.shape) + ": more than 2^64 - 1 elements");
    }
    const SafetensorsDtype* row = nullptr;
    if (info.type == DataType::kUndefined) {
      row = FindDtype(info.dtype);
      stored.bytes = info.bytes;
      if (row != nullptr && row->type != DataType::kUndefined) {
        Fail(info, ErrorKind::kArguments, "has the dtype " + info.dtype + " but no type");
      }
    } else {
      stored.packed = NeedsPacking(info.type, *elements);
      row = stored.packed ? FindDtype(DataType::kUint8) : FindDtype(info.type);
      const std::optional<std::uint64_t> bytes = StorageBytes(info.type, *elements);
      if (row == nullptr) {
        Fail(info, ErrorKind::kUnsupported,
             "is " + std::string(TypeName(info.type)) +
                 ", which safetensors does not hold; write an .npz file");
      }
      if (!bytes) TooLarge();
      stored.bytes = *bytes;
    }
    stored.rank = row == nullptr ? std::size(kSafetensorsDtypes)
                                 : static_cast<std::size_t>(row - kSafetensorsDtypes);
    if (total_ > UINT64_MAX - stored.bytes) TooLarge();
    total_ += stored.bytes;
    return stored;
  }

  // Widest dtype first, then by name, as the reference library writes; dtypes that are not in the
  // table, whose width is not known, come last.
  std::vector<std::uint32_t> Order() const {
    const std::vector<TensorInfo>& tensors = contents_.tensors;
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      const std::size_t unknown = std::size(kSafetensorsDtypes);
      const std::size_t rank_a = stored_[a].rank, rank_b = stored_[b].rank;
      if (rank_a != rank_b) return rank_b == unknown || (rank_a != unknown && rank_a > rank_b);
      return tensors[a].name < tensors[b].name;
    };
    std::vector<std::uint32_t> order(tensors.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return tensors[a].name < tensors[b].name; });
    const auto twice = std::adjacent_find(
        order.begin(), order.end(),
        [&](std::uint32_t a, std::uint32_t b) { return tensors[a].name == tensors[b].name; });
    if (twice != order.end()) {
      Fail(tensors[*twice], ErrorKind::kArguments, "would be in the file twice");
    }
    std::sort(order.begin(), order.end(), before);
    return order;
  }

  // `text` as a JSON string, quotes included.
  std::string Utf8Json(const std::string& text) const {
    if (words::IsUtf8(text)) return json::JsonString(text);
    throw Error(ErrorKind::kUnsupported,
                words::PathText(path_) + ": " + words::Quoted(text) +
                    " is not UTF-8, as safetensors needs it",
                path_);
  }

  static std::string JsonShape(std::span<const std::uint64_t> shape) {
    std::string text = "[";
    for (const std::uint64_t n : shape) text += std::to_string(n) + ',';
    if (text.back() == ',') text.pop_back();
    return text + ']';
  }

  // The header's JSON and its padding, one entry at a time.
  template <class Take> void ForEachPiece(const SafetensorsPlacement& placement, Take take) const {
    std::uint64_t bytes = kHeaderLengthBytes;
    std::string piece = "{";
    const auto give = [&] {
      bytes += piece.size();
      take(piece);
      piece.clear();
    };
    const std::string metadata = Metadata(placement);
    piece += metadata;
    give();
    bool is_first = metadata.empty();
    std::uint64_t begin = 0;
    for (const std::uint32_t i : placement.order) {
      if (!is_first) piece += ',';
      is_first = false;
      piece += Entry(i, begin);
      give();
      begin += stored_[i].bytes;
    }
    piece = "}";
    piece.append((kDataAlignment - (bytes + 1) % kDataAlignment) % kDataAlignment, ' ');
    give();
  }

  // The member __metadata__; empty if there is no metadata.
  std::string Metadata(const SafetensorsPlacement& placement) const {
    std::string packed;
    for (const std::uint32_t i : placement.order) {
      if (!stored_[i].packed) continue;
      const TensorInfo& info = contents_.tensors[i];
      packed += packed.empty() ? '{' : ',';
      packed += Utf8Json(info.name) + R"(:{"dtype":")" +
                std::string(FindType(info.type)->onnx_name) + R"(","shape":)" +
                JsonShape(info.shape) + '}';
    }
    std::string entries;
    const auto append = [&](const std::string& key, const std::string& value) {
      entries += Utf8Json(key) + ':' + Utf8Json(value) + ',';
    };
    // What an input said of its own packed tensors does not hold for these.
    for (const auto& [key, value] : contents_.metadata) {
      if (key != kPackedTypesKey) append(key, value);
    }
    if (placement.any_packed) append(std::string(kPackedTypesKey), packed + '}');
    if (entries.empty()) return {};
    entries.back() = '}';
    return R"("__metadata__":{)" + entries;
  }

  std::string Entry(std::uint32_t i, std::uint64_t begin) const {
    const TensorInfo& info = contents_.tensors[i];
    const Stored& stored = stored_[i];
    const bool is_known = stored.rank < std::size(kSafetensorsDtypes);
    return Utf8Json(info.name) + R"(:{"dtype":)" +
           (is_known ? '"' + std::string(kSafetensorsDtypes[stored.rank].name) + '"'
                     : Utf8Json(info.dtype)) +
           R"(,"shape":)" +
           (stored.packed ? '[' + std::to_string(stored.bytes) + ']' : JsonShape(info.shape)) +
           R"(,"data_offsets":[)" + std::to_string(begin) + ',' +
           std::to_string(begin + stored.bytes) + "]}";
  }

  const std::string& path_;
  const FileContents& contents_;
  std::vector<Stored> stored_;  // as the contents' tensors
  std::uint64_t total_ = 0;
};

class SafetensorsWriter final : public TensorWriter {
 public:
  SafetensorsWriter(const std::string& path, const SafetensorsPlacementMaker& maker,
                    SafetensorsPlacement placement, std::string reading_hint,
                    const files::CreateOptions& options)
      : file_(path, placement.file_bytes, options),
        file_bytes_(placement.file_bytes),
        reading_hint_(std::move(reading_hint)) {
    if (options.begun.empty()) maker.WriteHeader(placement, file_);
    offsets_ = std::move(placement.offsets);
  }

  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    file_.Write(offsets_.at(tensor) + offset, data);
  }
  std::string temporary() const override { return file_.temporary(); }
  void SyncPart() override { file_.SyncPart(); }
  std::uint64_t file_bytes() const override { return file_bytes_; }
  std::vector<std::string> notes() const override { return file_.notes(); }
  std::string reading_hint() const override { return reading_hint_; }

 private:
  void DoSync() override { file_.Sync(); }
  void DoCommit() override { file_.Commit(); }

  files::OutputFile file_;
  std::vector<std::uint64_t> offsets_;
  std::uint64_t file_bytes_;
  const std::string reading_hint_;
};

}  // namespace

bool LooksLikeSafetensors(std::span<const std::byte> head) {
  if (head.size() <= kHeaderLengthBytes) return false;
  return core::LoadLittle(head.data(), kHeaderLengthBytes) <= kMostHeaderBytes &&
         head[kHeaderLengthBytes] == std::byte{'{'};
}

OpenedTensors OpenSafetensors(std::unique_ptr<files::ByteSource> source, const OpenOptions&) {
  return {std::make_unique<SafetensorsReader>(std::move(source))};
}

std::unique_ptr<TensorWriter> CreateSafetensors(const std::string& path, FileContents contents,
                                                const files::CreateOptions& options) {
  SafetensorsPlacementMaker maker(path, contents);
  SafetensorsPlacement placement = maker.Make();
  // A checkpoint may have many tensors: of the list only the offsets stay.
  return std::make_unique<SafetensorsWriter>(path, maker, std::move(placement),
                                             SafetensorsReadingHint(contents.tensors), options);
}

std::uint64_t MeasureSafetensors(const std::string& path, const FileContents& contents) {
  return SafetensorsPlacementMaker(path, contents).Make().file_bytes;
}

}  // namespace tensorcast::formats
