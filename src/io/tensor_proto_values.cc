// Finds, checks and decodes the values of a TensorProto.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/tensor_proto_values.h"

#include <algorithm>
#include <stdexcept>

#include "io/error_text.h"
#include "io/protobuf_wire.h"

namespace tensorcast::io {
namespace {

// Strings between two entries of the index: reading begins at most so many before the wanted one.
constexpr std::uint64_t kStringStep = 1024;
// Pieces in which values are decoded and copied.
constexpr std::size_t kPieceBytes = 64 * 1024;

std::string TypeText(DataType type) { return std::string(FindType(type)->onnx_name); }

bool IsFixed(TensorProtoField field) { return field == kFloatData || field == kDoubleData; }

// The dense form, appended to a spool file piece by piece.
class DenseWriter {
 public:
  explicit DenseWriter(SpoolFile& spool) : spool_(spool) { piece_.reserve(kPieceBytes + 8); }

  void Append(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) piece_.push_back(static_cast<std::byte>(value >> (8 * i)));
    if (piece_.size() >= kPieceBytes) Flush();
  }
  // The low bits of a code, behind those of the one before.
  void AppendBits(std::uint64_t code, int bits) {
    pending_ |= (code & ((1u << bits) - 1)) << pending_bits_;
    pending_bits_ += bits;
    if (pending_bits_ < 8) return;
    Append(pending_ & 0xFF, 1);
    pending_ >>= 8;
    pending_bits_ -= 8;
  }
  void End() {
    if (pending_bits_ > 0) Append(pending_, 1);
    Flush();
  }

 private:
  void Flush() {
    spool_.Append(piece_);
    piece_.clear();
  }

  SpoolFile& spool_;
  std::vector<std::byte> piece_;
  std::uint64_t pending_ = 0;
  int pending_bits_ = 0;
};

// Decodes a field of varints, value by value.
class VarintDecoder {
 public:
  VarintDecoder(const ByteSource& source, const TensorProtoMessage& message, DataType type,
                SpoolFile& spool)
      : source_(source),
        message_(message),
        bits_(FindType(type)->bits),
        is_unsigned_(message.values.number == kUint64Data),
        dense_(spool) {}

  // Appends `expected` values to the spool file; returns how many there are.
  std::uint64_t Decode(std::uint64_t expected) {
    const TensorProtoValueField& values = message_.values;
    WireReader fields(source_, values.offset, message_.end);
    for (WireField field; fields.Next(&field);) {
      if (field.number != values.number) continue;
      if (field.type == WireType::kVarint) {
        Take(field.value, field.begin, expected);
        continue;
      }
      std::uint64_t at = fields.offset();
      for (std::uint64_t value = 0; fields.NextVarint(&value); at = fields.offset()) {
        Take(value, at, expected);
      }
    }
    dense_.End();
    return taken_;
  }

 private:
  // What is beyond the expected number is counted, for the message.
  void Take(std::uint64_t value, std::uint64_t offset, std::uint64_t expected) {
    if (taken_++ >= expected) return;
    if (bits_ == 6) {  // a code for each value; the bits above it do not count
      CheckFits(value, 32, offset);
      dense_.AppendBits(value, 6);
    } else {  // whole bytes: of types of 2 and 4 bits each value is a packed byte
      const int width = std::max(8, bits_);
      CheckFits(value, width, offset);
      dense_.Append(value, width / 8);
    }
  }

  // int32_data carries bits: a value may be filled up with zeros or, being an int32, with its sign.
  void CheckFits(std::uint64_t value, int width, std::uint64_t offset) const {
    if (width == 64) return;
    const std::int64_t most = (std::int64_t{1} << width) - 1;
    const std::int64_t least = is_unsigned_ ? 0 : -(std::int64_t{1} << (width - 1));
    const auto number = static_cast<std::int64_t>(value);
    if (number >= least && number <= most) return;
    FailTensorProto(source_, message_, ErrorKind::kContents,
                    "has " + (is_unsigned_ ? std::to_string(value) : std::to_string(number)) +
                        " as value " + std::to_string(taken_ - 1) + " of " +
                        std::string(TensorProtoFieldName(message_.values.number)) + " at offset " +
                        std::to_string(offset) + "; expected " + std::to_string(least) + " to " +
                        std::to_string(most));
  }

  const ByteSource& source_;
  const TensorProtoMessage& message_;
  const int bits_;
  const bool is_unsigned_;
  DenseWriter dense_;
  std::uint64_t taken_ = 0;
};

// The message was checked once; a file that is changed meanwhile may say otherwise the second time.
[[noreturn]] void FailChanged(const ByteSource& source) {
  throw Error(ErrorKind::kSystem, PathText(source.path()) +
                                      ": changed while it was read; do not change a file that is "
                                      "being read");
}

// Appends the payloads of a field of fixed-width values, `bytes` in all, to the spool file.
void CopyPayloads(const ByteSource& source, const TensorProtoMessage& message, std::uint64_t bytes,
                  SpoolFile& spool) {
  std::vector<std::byte> piece;
  std::uint64_t left = bytes;
  WireReader fields(source, message.values.offset, message.end);
  for (WireField field; fields.Next(&field);) {
    if (field.number != message.values.number) continue;
    if (field.size() > left) FailChanged(source);
    left -= field.size();
    for (std::uint64_t at = field.begin; at < field.end;) {
      const auto there = static_cast<std::size_t>(
          std::min<std::uint64_t>(kPieceBytes - piece.size(), field.end - at));
      piece.resize(piece.size() + there);
      fields.ReadPayload(at, std::span(piece).last(there));
      at += there;
      if (piece.size() == kPieceBytes) {
        spool.Append(piece);
        piece.clear();
      }
    }
  }
  if (left > 0) FailChanged(source);
  spool.Append(piece);
}

}  // namespace

TensorProtoValues::TensorProtoValues(const ByteSource& source, const TensorProtoMessage& message,
                                     DataType type, std::uint64_t elements,
                                     std::unique_ptr<SpoolFile>& spool)
    : source_(&source), type_(type), elements_(elements), data_(&source), end_(message.end) {
  const TensorProtoValueField& values = message.values;
  const TensorProtoField field = ValueFieldOf(type);
  if (values.number != 0 && values.number != field &&
      (values.number != kRawData || type == DataType::kString)) {
    Fail(message, "has its values in " + std::string(TensorProtoFieldName(values.number)) +
                      "; expected " + (type == DataType::kString ? "" : "raw_data or ") +
                      std::string(TensorProtoFieldName(field)) + " for " + TypeText(type));
  }
  if (type == DataType::kString) {
    CheckCount(message, values.occurrences, elements, "string");
    bytes_ = values.bytes;
    IndexStrings(message);
    return;
  }
  bytes_ = *StorageBytes(type, elements);
  if (values.number == 0 || values.number == kRawData || IsFixed(field)) {
    CheckCount(message, values.bytes, bytes_, "byte");
    begin_ = values.begin;
    if (values.occurrences <= 1) return;
  }
  if (spool == nullptr) spool = std::make_unique<SpoolFile>(source.path());
  data_ = spool.get();
  begin_ = spool->size();
  if (IsFixed(field)) {
    CopyPayloads(source, message, bytes_, *spool);
  } else {
    const int bits = FindType(type)->bits;
    const std::uint64_t expected = bits == 2 || bits == 4 ? bytes_ : elements;
    CheckCount(message, VarintDecoder(source, message, type, *spool).Decode(expected), expected,
               "value");
  }
}

void TensorProtoValues::Read(std::uint64_t offset, std::span<std::byte> out) const {
  if (type_ == DataType::kString) throw std::logic_error("strings have no dense form");
  data_->Read(begin_ + offset, out);
}

StringPiece TensorProtoValues::ReadStrings(std::uint64_t first, std::uint64_t n) const {
  if (first > elements_ || n > elements_ - first) {
    throw std::out_of_range("strings beyond the tensor's last");
  }
  StringPiece piece;
  if (n == 0) return piece;
  WireReader fields(*source_, string_offsets_[static_cast<std::size_t>(first / kStringStep)], end_);
  std::uint64_t to_skip = first % kStringStep;
  for (WireField field; n > 0 && fields.Next(&field);) {
    if (field.number != kStringData) continue;
    if (to_skip > 0) {
      --to_skip;
      continue;
    }
    if (field.size() > kMostStringBytes) FailChanged(*source_);
    const std::size_t before = piece.bytes.size();
    piece.bytes.resize(before + static_cast<std::size_t>(field.size()));
    fields.ReadPayload(field.begin, std::as_writable_bytes(std::span(piece.bytes).subspan(before)));
    piece.offsets.push_back(piece.bytes.size());
    --n;
    if (piece.bytes.size() > kStringPieceBytes && piece.view().size() % 4 == 0) return piece;
  }
  if (n > 0) FailChanged(*source_);
  return piece;
}

void TensorProtoValues::Fail(const TensorProtoMessage& message, const std::string& why) const {
  FailTensorProto(*source_, message, ErrorKind::kContents, why);
}

// `what`: the unit of both counts.
void TensorProtoValues::CheckCount(const TensorProtoMessage& message, std::uint64_t found,
                                   std::uint64_t expected, std::string_view what) const {
  if (found == expected) return;
  const std::string name(TensorProtoFieldName(message.values.number));
  Fail(message, (message.values.number == 0 ? "has no values"
                                            : "has " + CountText(found, what) + " in " + name) +
                    "; " + TypeText(type_) + " of the shape " + ShapeText(message.dims) +
                    " takes " + CountText(expected, what));
}

void TensorProtoValues::IndexStrings(const TensorProtoMessage& message) {
  if (elements_ == 0) return;
  std::uint64_t i = 0;
  WireReader fields(*source_, message.values.offset, end_);
  for (WireField field; fields.Next(&field);) {
    if (field.number != kStringData) continue;
    if (field.size() > kMostStringBytes) {
      FailTensorProto(*source_, message, ErrorKind::kUnsupported,
                      "has a string of " + CountText(field.size(), "byte") + " at offset " +
                          std::to_string(field.offset) + "; at most " +
                          std::to_string(kMostStringBytes) + " are read");
    }
    if (i++ % kStringStep == 0) string_offsets_.push_back(field.offset);
  }
  if (i != elements_) FailChanged(*source_);
}

}  // namespace tensorcast::io
