// Tensors are placed one behind the other, and the header is made twice: to measure it, and to give
// it.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors_placement.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "core/little_endian.h"
#include "core/shape.h"
#include "files/error.h"
#include "formats/name_order.h"
#include "formats/safetensors_dtype.h"
#include "formats/safetensors_header.h"
#include "json/json_text.h"
#include "words/utf8.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::uint64_t kDataAlignment = 8;  // of the data in the file

std::string JsonShape(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (const std::uint64_t n : shape) text += std::to_string(n) + ',';
  if (text.back() == ',') text.pop_back();
  return text + ']';
}

}  // namespace

SafetensorsPlacement SafetensorsPlacer::Place() {
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
  GivePieces(placement, [&](std::string_view piece) { length += piece.size(); });
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

void SafetensorsPlacer::GiveHeader(const SafetensorsPlacement& placement,
                                   const std::function<void(std::string_view piece)>& take) const {
  std::string length;
  core::AppendLittle(length, placement.header_bytes - kHeaderLengthBytes, kHeaderLengthBytes);
  take(length);
  GivePieces(placement, take);
}

void SafetensorsPlacer::Fail(const TensorInfo& info, ErrorKind kind, const std::string& why) const {
  throw Error(kind, words::PathText(path_) + ": tensor " + words::Quoted(info.name) + " " + why,
              path_);
}

void SafetensorsPlacer::TooLarge() const {
  throw Error(ErrorKind::kUnsupported,
              words::PathText(path_) + ": its tensors take 2^64 bytes or more", path_);
}

SafetensorsPlacer::Stored SafetensorsPlacer::Store(const TensorInfo& info) {
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

std::vector<std::uint32_t> SafetensorsPlacer::Order() const {
  const std::vector<TensorInfo>& tensors = contents_.tensors;
  if (const auto twice = NameOrder<TensorInfo>(tensors).Twice()) {
    Fail(tensors[twice->first], ErrorKind::kArguments, "would be in the file twice");
  }
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  if (order_ == SafetensorsOrder::kAsGiven) return order;
  // Dtypes that are not in the table, whose width is not known, come last.
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::size_t unknown = std::size(kSafetensorsDtypes);
    const std::size_t rank_a = stored_[a].rank, rank_b = stored_[b].rank;
    if (rank_a != rank_b) return rank_b == unknown || (rank_a != unknown && rank_a > rank_b);
    return tensors[a].name < tensors[b].name;
  });
  return order;
}

// `text` as a JSON string, quotes included.
std::string SafetensorsPlacer::Utf8Json(const std::string& text) const {
  if (words::IsUtf8(text)) return json::JsonString(text);
  throw Error(ErrorKind::kUnsupported,
              words::PathText(path_) + ": " + words::Quoted(text) +
                  " is not UTF-8, as safetensors needs it",
              path_);
}

// The header's JSON and its padding, one entry at a time.
void SafetensorsPlacer::GivePieces(const SafetensorsPlacement& placement,
                                   const std::function<void(std::string_view piece)>& take) const {
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
std::string SafetensorsPlacer::Metadata(const SafetensorsPlacement& placement) const {
  std::string packed;
  for (const std::uint32_t i : placement.order) {
    if (!stored_[i].packed) continue;
    const TensorInfo& info = contents_.tensors[i];
    packed += packed.empty() ? '{' : ',';
    packed += Utf8Json(info.name) + R"(:{"dtype":")" + std::string(FindType(info.type)->onnx_name) +
              R"(","shape":)" + JsonShape(info.shape) + '}';
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

std::string SafetensorsPlacer::Entry(std::uint32_t i, std::uint64_t begin) const {
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

}  // namespace tensorcast::formats
