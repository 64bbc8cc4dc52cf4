// Types below a byte stand in numpy's files one element a byte, so reading packs and writing
// unpacks; big-endian elements are turned round.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/npy_array.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "files/error.h"
#include "formats/npy_strings.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

// Elements that are packed or unpacked at a time; a multiple of 4, so that each piece of a type
// below a byte takes whole bytes.
constexpr std::uint64_t kPiece = 16 * 1024;
// Bytes of strings' rows that are turned at a time, or one row.
constexpr std::uint64_t kRowBytes = 256 * 1024;
// Strings without a character take no byte of the file, which then bounds nothing.
constexpr std::uint64_t kMostEmptyStrings = 1'000'000;

// The pieces are of the right size.
void Check(Status status) {
  if (!status.ok()) throw std::logic_error(std::string(status.message()));
}

// Calls piece(first element, elements, bytes of the packed form from the start) for each piece of
// the packed bytes [offset, offset + size) of a tensor.
template <class Function>
void ForPieces(const TensorInfo& info, std::uint64_t offset, std::uint64_t size, Function piece) {
  const auto bits = static_cast<std::uint64_t>(FindType(info.type)->bits);
  const std::uint64_t begin = offset * 8 / bits;
  const std::uint64_t end = std::min(info.elements, (offset + size) * 8 / bits);
  for (std::uint64_t first = begin; first < end; first += kPiece) {
    piece(first, std::min(kPiece, end - first), (first - begin) * bits / 8);
  }
}

}  // namespace

NpyArray::NpyArray(const files::ByteSource& source, std::string name,
                   std::optional<DataType> assume_type) {
  NpyHeader header = ReadNpyHeader(source);
  dtype_ = UnderstandDescr(source.path(), header.descr, assume_type);
  data_begin_ = header.data_begin;
  CheckSize(source, header);
  info_.name = std::move(name);
  info_.dtype = std::move(header.descr);
  info_.type = dtype_.type;
  info_.shape = std::move(header.shape);
  info_.elements = *core::CheckedProduct(info_.shape);
  info_.is_big_endian = dtype_.big_endian;
  info_.bytes = info_.type == DataType::kString ? info_.elements * dtype_.item_bytes
                                                : *StorageBytes(info_.type, info_.elements);
  info_.fortran_order = header.fortran_order;
}

// The data must be all that follows the header.
void NpyArray::CheckSize(const files::ByteSource& source, const NpyHeader& header) const {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kContents, words::PathText(source.path()) + ": " + why, source.path());
  };
  const std::uint64_t there = source.size() - header.data_begin;
  const std::uint64_t item = dtype_.item_bytes;
  const std::optional<std::uint64_t> elements = core::CheckedProduct(header.shape);
  if (!elements || (item != 0 && *elements > UINT64_MAX / item)) {
    fail("has the shape " + words::ShapeText(header.shape) + " of " +
         words::EscapeName(header.descr) + ": more than 2^64 - 1 bytes");
  }
  const std::uint64_t expected = *elements * item;
  const std::string what =
      words::CountText(*elements, "element") + " of " + words::EscapeName(header.descr) + ", " +
      words::CountText(expected, "byte") + ", from offset " + std::to_string(header.data_begin);
  if (there < expected) {
    fail("has " + what + ", but only " + std::to_string(there) + " follow; the file is cut short");
  }
  if (there > expected) {
    fail("has " + what + ", and " + words::CountText(there - expected, "byte") +
         " after them; expected none");
  }
  if (item == 0 && *elements > kMostEmptyStrings) {
    fail("has " + what + "; at most " + std::to_string(kMostEmptyStrings) +
         " strings without a character are read");
  }
}

void NpyArray::Read(const files::ByteSource& source, std::uint64_t offset,
                    std::span<std::byte> out) const {
  if (info_.type == DataType::kString) throw std::logic_error("strings are read as strings");
  if (FindType(info_.type)->is_packed()) {
    ReadPacked(source, offset, out);
  } else if (dtype_.big_endian) {
    ReadSwapped(source, offset, out);
  } else {
    source.Read(data_begin_ + offset, out);
  }
}

std::optional<std::uint64_t> NpyArray::DenseBegin() const {
  const TypeInfo* const type = FindType(info_.type);
  const bool is_dense = info_.type != DataType::kString && !dtype_.big_endian &&
                        (type == nullptr || !type->is_packed());
  return is_dense ? std::optional(data_begin_) : std::nullopt;
}

void NpyArray::ReadPacked(const files::ByteSource& source, std::uint64_t offset,
                          std::span<std::byte> out) const {
  std::vector<std::byte> codes(kPiece);
  if (!out.empty()) out.back() = std::byte{0};  // pad bits, which packing leaves alone
  ForPieces(info_, offset, out.size(), [&](std::uint64_t first, std::uint64_t n, std::uint64_t at) {
    const auto piece = std::span(codes).first(static_cast<std::size_t>(n));
    source.Read(data_begin_ + first, piece);
    Check(Pack(info_.type, piece, out.subspan(static_cast<std::size_t>(at)), 0, n));
  });
}

void NpyArray::ReadSwapped(const files::ByteSource& source, std::uint64_t offset,
                           std::span<std::byte> out) const {
  const std::uint64_t item = dtype_.item_bytes;
  if (offset % item == 0 && out.size() % item == 0) {
    source.Read(data_begin_ + offset, out);
    Swap(out);
    return;
  }
  // The elements that the range cuts are read whole.
  const std::uint64_t begin = offset / item * item;
  const std::uint64_t end = (offset + out.size() + item - 1) / item * item;
  std::vector<std::byte> whole(static_cast<std::size_t>(end - begin));
  source.Read(data_begin_ + begin, whole);
  Swap(whole);
  std::memcpy(out.data(), whole.data() + (offset - begin), out.size());
}

void NpyArray::Swap(std::span<std::byte> elements) const {
  const auto item = static_cast<std::size_t>(dtype_.item_bytes);
  for (std::size_t i = 0; i < elements.size(); i += item) {
    std::reverse(elements.begin() + static_cast<std::ptrdiff_t>(i),
                 elements.begin() + static_cast<std::ptrdiff_t>(i + item));
  }
}

text::StringPiece NpyArray::ReadStrings(const files::ByteSource& source, std::uint64_t first,
                                        std::uint64_t n) const {
  if (info_.type != DataType::kString) throw std::logic_error("not a tensor of strings");
  text::StringPiece piece;
  const std::uint64_t item = dtype_.item_bytes;
  if (item == 0) {
    piece.offsets.resize(static_cast<std::size_t>(n) + 1);
    return piece;
  }
  piece.offsets.reserve(static_cast<std::size_t>(n) + 1);
  const std::uint64_t at_once = std::min(n, std::max<std::uint64_t>(1, kRowBytes / item));
  std::vector<std::byte> rows(static_cast<std::size_t>(at_once * item));
  for (std::uint64_t done = 0; done < n; done += at_once) {
    const std::uint64_t some = std::min(at_once, n - done);
    const auto part = std::span(rows).first(static_cast<std::size_t>(some * item));
    source.Read(data_begin_ + (first + done) * item, part);
    DecodeNpyStrings(words::PathText(source.path()), info_, dtype_, first + done, part, piece);
  }
  return piece;
}

// ---------------------------------------------------------------------------------- writing

NpyPlacement::NpyPlacement(std::string where, const TensorInfo& info)
    : where_(std::move(where)), info_(info) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kUnsupported,
                where_ + ": tensor " + words::Quoted(info_.name) + " " + why);
  };
  NpyHeader header;
  std::uint64_t item = 0;
  if (info_.type == DataType::kString) {
    // A file's own strings keep their width; of others it is that of the widest, at least 1.
    if (const std::optional<NpyDtype> own = StringsOf(info_.dtype)) {
      strings_ = *own;
      strings_.big_endian = false;
    } else {
      strings_.is_ucs4 = true;
      const std::uint64_t width = std::max<std::uint64_t>(1, info_.text.most_code_points);
      if (width > text::kMostStringBytes / 4) {
        fail("has a text of " + std::to_string(width) + " characters; at most " +
             std::to_string(text::kMostStringBytes / 4) + " are written to an array");
      }
      strings_.item_bytes = width * 4;
    }
    header.descr = DescrOf(strings_);
    item = strings_.item_bytes;
  } else {
    header.descr = DescrOf(info_.type);
    item = ItemBytes(info_.type);
  }
  if (header.descr.empty()) {
    fail("is " +
         (info_.type == DataType::kUndefined ? words::EscapeName(info_.dtype)
                                             : std::string(TypeName(info_.type))) +
         ", which is not written to .npy files");
  }
  if (info_.shape.size() > core::kMostDimensions) {
    fail("has " + std::to_string(info_.shape.size()) + " dimensions; numpy has at most " +
         std::to_string(core::kMostDimensions));
  }
  const std::optional<std::uint64_t> elements = core::CheckedProduct(info_.shape);
  header.fortran_order = info_.IsColumnMajor();
  header.shape = info_.shape;
  header_ = MakeNpyHeader(header);
  if (!elements || (item != 0 && *elements > (UINT64_MAX - header_.size()) / item)) {
    fail("has the shape " + words::ShapeText(info_.shape) + ": more than 2^64 - 1 bytes");
  }
  info_.elements = *elements;
  bytes_ = header_.size() + *elements * item;
}

void NpyPlacement::Write(std::uint64_t offset, std::span<const std::byte> data,
                         const NpySink& sink) const {
  const TypeInfo& type = *FindType(info_.type);
  if (!type.is_packed()) {
    sink(header_.size() + offset, data);
    return;
  }
  std::vector<std::byte> codes(kPiece);
  ForPieces(info_, offset, data.size(),
            [&](std::uint64_t first, std::uint64_t n, std::uint64_t at) {
              const auto piece = std::span(codes).first(static_cast<std::size_t>(n));
              Check(Unpack(info_.type, data.subspan(static_cast<std::size_t>(at)), 0, piece, n));
              sink(header_.size() + first, piece);
            });
}

void NpyPlacement::WriteStrings(std::uint64_t first, const Strings& texts,
                                const NpySink& sink) const {
  const std::uint64_t item = strings_.item_bytes;
  const std::uint64_t n = texts.size();
  if (item == 0 || n == 0) return;
  const std::uint64_t at_once = std::min(n, std::max<std::uint64_t>(1, kRowBytes / item));
  std::vector<std::byte> rows(static_cast<std::size_t>(at_once * item));
  for (std::uint64_t done = 0; done < n; done += at_once) {
    const std::uint64_t some = std::min(at_once, n - done);
    const auto part = std::span(rows).first(static_cast<std::size_t>(some * item));
    EncodeNpyStrings(where_, info_, strings_, first, texts, done, part);
    sink(header_.size() + (first + done) * item, part);
  }
}

}  // namespace tensorcast::formats
