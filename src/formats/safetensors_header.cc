// What a safetensors header says, held against the format's rules and the file's size.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/little_endian.h"
#include "core/shape.h"
#include "files/error.h"
#include "formats/name_order.h"
#include "formats/safetensors_dtype.h"
#include "formats/safetensors_entries.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

[[noreturn]] void FailTensor(const files::ByteSource& file, const std::string& name,
                             const std::string& why) {
  files::FailFile(file, "tensor " + words::Quoted(name) + " " + why);
}

// Reads the header's length and checks it against the file; returns it.
std::uint64_t ReadLength(const files::ByteSource& file) {
  if (file.size() < kHeaderLengthBytes) {
    files::FailFile(file, "has " + words::CountText(file.size(), "byte") +
                              "; a safetensors file begins with the 8-byte length of its header");
  }
  std::array<std::byte, kHeaderLengthBytes> bytes;
  file.Read(0, bytes);
  const std::uint64_t length = core::LoadLittle(bytes.data(), bytes.size());
  if (length > kMostHeaderBytes) {
    files::FailFile(file, "gives its header " + std::to_string(length) +
                              " bytes at offset 0; expected at most " +
                              std::to_string(kMostHeaderBytes));
  }
  if (length > file.size() - kHeaderLengthBytes) {
    files::FailFile(file, "gives its header " + words::CountText(length, "byte") +
                              " at offset 0, but has only " +
                              std::to_string(file.size() - kHeaderLengthBytes) +
                              " after it; the file is cut short");
  }
  if (length == 0) files::FailFile(file, "has an empty header; expected '{' at offset 8");
  std::byte first{};
  file.Read(kHeaderLengthBytes, std::span(&first, 1));
  if (first != std::byte{'{'}) {
    const char text = static_cast<char>(first);
    files::FailFile(file, "has a header that begins with " + words::Quoted({&text, 1}) +
                              " at offset 8; expected '{'");
  }
  return length;
}

// The size of n elements, or nothing where its bits cannot be counted.
std::optional<std::uint64_t> BitCount(std::uint64_t n, int bits) {
  const auto width = static_cast<std::uint64_t>(bits);
  if (n > UINT64_MAX / width) return std::nullopt;
  return n * width;
}

TensorInfo CheckEntry(const files::ByteSource& file, TensorEntry&& entry) {
  TensorInfo info;
  const std::optional<std::uint64_t> elements = core::CheckedProduct(entry.shape);
  if (!elements) {
    FailTensor(file, entry.name,
               "has the shape " + words::ShapeText(entry.shape) + ": more than 2^64 - 1 elements");
  }
  if (entry.begin > entry.end) {
    FailTensor(file, entry.name,
               "has the data_offsets [" + std::to_string(entry.begin) + ", " +
                   std::to_string(entry.end) + "]: they end before they begin");
  }
  const std::uint64_t bytes = entry.end - entry.begin;
  if (const SafetensorsDtype* const dtype = FindDtype(entry.dtype)) {
    const std::optional<std::uint64_t> bits = BitCount(*elements, dtype->bits);
    const std::string what = words::CountText(*elements, "element") + " of " + entry.dtype;
    if (!bits) FailTensor(file, entry.name, "has " + what + ": more than 2^64 - 1 bits");
    if (*bits % 8 != 0) {
      FailTensor(file, entry.name,
                 "has " + what + ", " + std::to_string(*bits) + " bits; expected whole bytes");
    }
    const std::uint64_t expected = *bits / 8;
    if (expected != bytes) {
      FailTensor(file, entry.name,
                 "has " + what + ", " + words::CountText(expected, "byte") +
                     ", but its data_offsets [" + std::to_string(entry.begin) + ", " +
                     std::to_string(entry.end) + "] give " + std::to_string(bytes));
    }
    info.type = dtype->type;
  }
  info.name = std::move(entry.name);
  info.dtype = std::move(entry.dtype);
  info.shape = std::move(entry.shape);
  info.elements = *elements;
  info.bytes = bytes;
  return info;
}

// Gives the tensors named in __metadata__["tensorcast.types"] their type and shape.
void ApplyPackedTypes(const files::ByteSource& file, const std::string& text,
                      const NameOrder<TensorInfo>& by_name, std::vector<TensorInfo>& tensors) {
  const std::string where = words::PathText(file.path()) + ": __metadata__[\"" +
                            std::string(kPackedTypesKey) + "\"]: tensor ";
  ParsePackedTypes(file.path(), text, [&](TensorEntry&& entry) {
    const auto fail = [&](const std::string& why) {
      throw Error(ErrorKind::kContents, where + words::Quoted(entry.name) + " " + why);
    };
    const std::optional<std::uint32_t> place = by_name.Find(entry.name);
    if (!place) fail("is not in the file");
    TensorInfo& info = tensors[*place];
    const TypeInfo* type = nullptr;
    for (const TypeInfo& row : Types()) {
      if (row.is_packed() && row.onnx_name == entry.dtype) type = &row;
    }
    if (type == nullptr) {
      fail("has the dtype " + words::Quoted(entry.dtype) +
           "; expected INT4, UINT4, INT2, UINT2, FLOAT4E2M1, FLOAT6E2M3 or FLOAT6E3M2");
    }
    if (info.dtype != "U8")
      fail("has the dtype " + words::Quoted(info.dtype) + " itself; expected U8");
    if (info.type != DataType::kUint8) fail("is there twice");
    const std::optional<std::uint64_t> elements = core::CheckedProduct(entry.shape);
    const std::optional<std::uint64_t> bytes =
        elements ? StorageBytes(type->type, *elements) : std::nullopt;
    if (!bytes || info.shape != std::vector<std::uint64_t>{*bytes}) {
      fail("has the shape " + words::ShapeText(entry.shape) + " of " + entry.dtype + ", packed " +
           (bytes ? words::CountText(*bytes, "byte") : std::string("more than 2^64 - 1 bytes")) +
           ", but is stored as U8 of shape " + words::ShapeText(info.shape));
    }
    info.type = type->type;
    info.shape = std::move(entry.shape);
    info.elements = *elements;
  });
}

// Brings the tensors, and beside them their offsets, into the given order.
void Reorder(std::vector<std::uint32_t>& order, std::vector<TensorInfo>& tensors,
             std::vector<std::uint64_t>& offsets) {
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    // Follow the cycle that begins here; a place that is done points to itself.
    std::uint32_t to = i;
    while (order[to] != i) {
      const std::uint32_t from = order[to];
      std::swap(tensors[to], tensors[from]);
      std::swap(offsets[to], offsets[from]);
      order[to] = to;
      to = from;
    }
    order[to] = to;
  }
}

// Taken by offset, each tensor begins where the one before ends, and the last ends with the file.
void CheckRanges(const files::ByteSource& file, std::uint64_t data_bytes,
                 const std::vector<TensorInfo>& tensors,
                 const std::vector<std::uint64_t>& offsets) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (offsets[i] < end) {
      FailTensor(file, tensors[i].name,
                 "begins at data offset " + std::to_string(offsets[i]) + ", inside tensor " +
                     words::Quoted(tensors[i - 1].name) + ", which ends at " + std::to_string(end));
    }
    if (offsets[i] > end) {
      FailTensor(file, tensors[i].name,
                 "begins at data offset " + std::to_string(offsets[i]) + ", leaving a hole of " +
                     words::CountText(offsets[i] - end, "byte") + " from " + std::to_string(end));
    }
    end = offsets[i] + tensors[i].bytes;
    if (end > data_bytes) {
      FailTensor(file, tensors[i].name,
                 "ends at data offset " + std::to_string(end) + ", but the file has only " +
                     words::CountText(data_bytes, "byte") + " of data; it is cut short");
    }
  }
  if (end != data_bytes) {
    files::FailFile(file, "has " + words::CountText(data_bytes - end, "byte") +
                              " after its last tensor, from offset " +
                              std::to_string(file.size() - (data_bytes - end)) + "; expected none");
  }
}

}  // namespace

SafetensorsHeader ReadSafetensorsHeader(const files::ByteSource& file) {
  const std::uint64_t length = ReadLength(file);
  const std::uint64_t data_begin = kHeaderLengthBytes + length;

  SafetensorsHeader header;
  std::vector<TensorInfo>& tensors = header.contents.tensors;
  std::vector<std::uint64_t>& offsets = header.offsets;
  // No entry is shorter than this one, so nothing is moved while the list grows; the room that is
  // not used is never touched.
  constexpr std::string_view kShortest = R"("":{"dtype":"","shape":[],"data_offsets":[0,0]},)";
  tensors.reserve(static_cast<std::size_t>(length / kShortest.size()) + 1);
  offsets.reserve(tensors.capacity());
  ParseHeaderEntries(
      file, kHeaderLengthBytes, length,
      [&](TensorEntry&& entry) {
        offsets.push_back(entry.begin);
        tensors.push_back(CheckEntry(file, std::move(entry)));
      },
      header.contents.metadata);

  const NameOrder<TensorInfo> by_name(tensors);
  if (const auto twice = by_name.Twice()) {
    FailTensor(file, tensors[twice->first].name, "is in the header twice");
  }
  const auto packed = header.contents.metadata.find(std::string(kPackedTypesKey));
  if (packed != header.contents.metadata.end()) {
    ApplyPackedTypes(file, packed->second, by_name, tensors);
    header.contents.metadata.erase(packed);
  }
  // Empty tensors stand before the one that begins where they do.
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return offsets[a] != offsets[b] ? offsets[a] < offsets[b] : tensors[a].bytes < tensors[b].bytes;
  });
  Reorder(order, tensors, offsets);
  CheckRanges(file, file.size() - data_begin, tensors, offsets);
  for (std::uint64_t& offset : offsets) offset += data_begin;
  return header;
}

}  // namespace tensorcast::formats
