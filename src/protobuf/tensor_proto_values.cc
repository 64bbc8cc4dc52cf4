// Finds, checks and decodes the values of a TensorProto.
//
// SPDX-License-Identifier: Apache-2.0
#include "protobuf/tensor_proto_values.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "files/error.h"
#include "protobuf/protobuf_wire.h"

namespace tensorcast::protobuf {

using core::ErrorKind;
using files::Error;
namespace {

// Strings between two entries of the index: reading begins at most so many before the wanted one.
constexpr std::uint64_t kStringStep = 1024;
// Varints between two entries of the index, and bytes between two of repeated pieces at least.
constexpr std::uint64_t kVarintStep = 32 * 1024;  // a multiple of 4, for codes of 6 bits
constexpr std::uint64_t kPieceStep = 256 * 1024;

std::string TypeText(DataType type) { return std::string(FindType(type)->onnx_name); }

bool IsFixed(TensorProtoField field) { return field == kFloatData || field == kDoubleData; }

// The values of a field of varints, one after the other.
class VarintWalk {
 public:
  VarintWalk(const WireReader& at, std::uint32_t field, bool is_in_payload)
      : fields_(at), field_(field), is_in_payload_(is_in_payload) {}

  struct Varint {
    std::uint64_t value = 0;
    std::uint64_t at = 0;           // where it stands, for messages and
    std::uint64_t resume_at = 0;    // for another walk to begin with it
    std::uint64_t payload_end = 0;  // of the packed field that it is in; else resume_at
  };
  bool Next(Varint* varint) {
    for (;;) {
      if (is_in_payload_) {
        const std::uint64_t at = fields_.offset();
        if (fields_.NextVarint(&varint->value)) {
          varint->at = varint->resume_at = at;
          varint->payload_end = current_.end;
          return true;
        }
        is_in_payload_ = false;
      }
      if (!fields_.Next(&current_)) return false;
      if (current_.number != field_) continue;
      if (current_.type == WireType::kVarint) {
        *varint = {current_.value, current_.begin, current_.offset, current_.offset};
        return true;
      }
      is_in_payload_ = true;
    }
  }

 private:
  WireReader fields_;
  const std::uint32_t field_;
  bool is_in_payload_;
  WireField current_;
};

// How a type's values stand in varints: a value of 2 and 4 bits is a packed byte.
int VarintWidth(DataType type) { return std::max(8, FindType(type)->bits); }

// int32_data carries bits: a value may be filled up with zeros or, being an int32, with its sign.
struct VarintRange {
  std::int64_t least;
  std::int64_t most;
  bool is_all;  // of 64 bits

  VarintRange(DataType type, std::uint32_t field) {
    const int bits = FindType(type)->bits;
    // A code of 6 bits for each value; the bits above it do not count.
    const int width = bits == 6 ? 32 : VarintWidth(type);
    is_all = width == 64;
    most = is_all ? 0 : (std::int64_t{1} << width) - 1;
    least = is_all || field == kUint64Data ? 0 : -(std::int64_t{1} << (width - 1));
  }
  bool Holds(std::uint64_t value) const {
    const auto number = static_cast<std::int64_t>(value);
    return is_all || (number >= least && number <= most);
  }
};

// The message was checked once; a file that is changed meanwhile may say otherwise the second time.
[[noreturn]] void FailChanged(const files::ByteSource& source) {
  throw Error(ErrorKind::kSystem,
              words::PathText(source.path()) +
                  ": changed while it was read; do not change a file that is "
                  "being read",
              source.path());
}

}  // namespace

TensorProtoValues::TensorProtoValues(const files::ByteSource& source,
                                     const TensorProtoMessage& message, DataType type,
                                     std::uint64_t elements)
    : source_(&source),
      type_(type),
      elements_(elements),
      field_(message.values.number),
      end_(message.end) {
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
  if (IsFixed(field)) {
    form_ = Form::kPieces;
    IndexPieces(message);
  } else {
    form_ = Form::kVarints;
    const int bits = FindType(type)->bits;
    const std::uint64_t expected = bits == 2 || bits == 4 ? bytes_ : elements;
    CheckCount(message, IndexVarints(message, expected), expected, "value");
  }
}

void TensorProtoValues::Read(std::uint64_t offset, std::span<std::byte> out) const {
  if (type_ == DataType::kString) throw std::logic_error("strings have no dense form");
  if (offset > bytes_ || out.size() > bytes_ - offset) {
    throw std::out_of_range("bytes beyond the tensor's last");
  }
  switch (form_) {
    case Form::kInPlace: return source_->Read(begin_ + offset, out);
    case Form::kPieces: return ReadPieces(offset, out);
    case Form::kVarints: return ReadVarints(offset, out);
  }
}

void TensorProtoValues::IndexPieces(const TensorProtoMessage& message) {
  std::uint64_t dense = 0;
  WireReader fields(*source_, message.values.offset, end_);
  for (WireField field; fields.Next(&field);) {
    if (field.number != field_) continue;
    if (places_.empty() || dense - places_.back().dense >= kPieceStep) {
      places_.push_back({field.offset, field.offset, dense});
    }
    dense += field.size();
  }
  if (dense != bytes_) FailChanged(*source_);
}

void TensorProtoValues::ReadPieces(std::uint64_t offset, std::span<std::byte> out) const {
  if (out.empty()) return;
  const auto after = std::upper_bound(
      places_.begin(), places_.end(), offset,
      [](std::uint64_t wanted, const Place& place) { return wanted < place.dense; });
  const Place& place = *std::prev(after);
  std::uint64_t dense = place.dense;
  WireReader fields(*source_, place.at, place.payload_end, end_);
  for (WireField field; !out.empty() && fields.Next(&field);) {
    if (field.number != field_) continue;
    const std::uint64_t size = field.size();
    if (offset < dense + size) {
      const std::uint64_t skipped = offset - dense;
      const auto there =
          static_cast<std::size_t>(std::min<std::uint64_t>(size - skipped, out.size()));
      fields.ReadPayload(field.begin + skipped, out.first(there));
      out = out.subspan(there);
      offset += there;
    }
    dense += size;
  }
  if (!out.empty()) FailChanged(*source_);
}

std::uint64_t TensorProtoValues::IndexVarints(const TensorProtoMessage& message,
                                              std::uint64_t expected) {
  const VarintRange range(type_, field_);
  std::uint64_t taken = 0;
  VarintWalk walk(WireReader(*source_, message.values.offset, end_), field_, false);
  for (VarintWalk::Varint varint; walk.Next(&varint); ++taken) {
    if (taken >= expected) continue;  // counted, for the message
    if (taken % kVarintStep == 0) places_.push_back({varint.resume_at, varint.payload_end, 0});
    if (range.Holds(varint.value)) continue;
    const bool is_unsigned = field_ == kUint64Data;
    Fail(message, "has " +
                      (is_unsigned ? std::to_string(varint.value)
                                   : std::to_string(static_cast<std::int64_t>(varint.value))) +
                      " as value " + std::to_string(taken) + " of " +
                      std::string(TensorProtoFieldName(field_)) + " at offset " +
                      std::to_string(varint.at) + "; expected " + std::to_string(range.least) +
                      " to " + std::to_string(range.most));
  }
  return taken;
}

void TensorProtoValues::ReadVarints(std::uint64_t offset, std::span<std::byte> out) const {
  if (out.empty()) return;
  // Whole values of whole bytes: four codes of 6 bits are three.
  const bool is_code = FindType(type_)->bits == 6;
  const std::uint64_t unit_values = is_code ? 4 : 1;
  const std::uint64_t unit_bytes = is_code ? 3 : static_cast<std::uint64_t>(VarintWidth(type_)) / 8;
  const std::uint64_t first = offset / unit_bytes * unit_values;
  std::uint64_t to_drop = offset % unit_bytes;  // bytes before the wanted
  const Place& place = places_[static_cast<std::size_t>(first / kVarintStep)];
  VarintWalk walk(WireReader(*source_, place.at, place.payload_end, end_), field_,
                  place.payload_end != place.at);
  std::size_t done = 0;
  const auto put = [&](const std::byte* bytes, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n && done < out.size(); ++i) {
      if (to_drop > 0) {
        --to_drop;
      } else {
        out[done++] = bytes[i];
      }
    }
  };
  const VarintRange range(type_, field_);
  std::uint64_t to_skip = first % kVarintStep;
  std::byte codes[3] = {};  // of 6 bits: up to four
  std::uint64_t held = 0;
  for (VarintWalk::Varint varint; done < out.size() && walk.Next(&varint);) {
    if (to_skip > 0) {
      --to_skip;
      continue;
    }
    if (!range.Holds(varint.value)) FailChanged(*source_);
    if (!is_code) {
      std::byte value[8] = {};
      detail::StoreCode(value, 0, 64, varint.value);
      put(value, unit_bytes);
      continue;
    }
    detail::StoreCode(codes, held, 6, varint.value);
    if (++held < unit_values) continue;
    put(codes, unit_bytes);
    std::fill(std::begin(codes), std::end(codes), std::byte{0});  // those after the last are zero
    held = 0;
  }
  put(codes, *StorageBytes(type_, held));  // the tensor's last codes
  if (done < out.size()) FailChanged(*source_);
}

text::StringPiece TensorProtoValues::ReadStrings(std::uint64_t first, std::uint64_t n) const {
  if (first > elements_ || n > elements_ - first) {
    throw std::out_of_range("strings beyond the tensor's last");
  }
  text::StringPiece piece;
  if (n == 0) return piece;
  WireReader fields(*source_, string_offsets_[static_cast<std::size_t>(first / kStringStep)], end_);
  std::uint64_t to_skip = first % kStringStep;
  for (WireField field; n > 0 && fields.Next(&field);) {
    if (field.number != kStringData) continue;
    if (to_skip > 0) {
      --to_skip;
      continue;
    }
    if (field.size() > text::kMostStringBytes) FailChanged(*source_);
    const std::size_t before = piece.bytes.size();
    piece.bytes.resize(before + static_cast<std::size_t>(field.size()));
    fields.ReadPayload(field.begin, std::as_writable_bytes(std::span(piece.bytes).subspan(before)));
    piece.offsets.push_back(piece.bytes.size());
    --n;
    if (piece.bytes.size() > text::kStringPieceBytes && piece.view().size() % 4 == 0) return piece;
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
  Fail(message,
       (message.values.number == 0 ? "has no values"
                                   : "has " + words::CountText(found, what) + " in " + name) +
           "; " + TypeText(type_) + " of the shape " + words::ShapeText(message.dims) + " takes " +
           words::CountText(expected, what));
}

void TensorProtoValues::IndexStrings(const TensorProtoMessage& message) {
  if (elements_ == 0) return;
  std::uint64_t i = 0;
  WireReader fields(*source_, message.values.offset, end_);
  for (WireField field; fields.Next(&field);) {
    if (field.number != kStringData) continue;
    if (field.size() > text::kMostStringBytes) {
      FailTensorProto(*source_, message, ErrorKind::kUnsupported,
                      "has a string of " + words::CountText(field.size(), "byte") + " at offset " +
                          std::to_string(field.offset) + "; at most " +
                          std::to_string(text::kMostStringBytes) + " are read");
    }
    if (i++ % kStringStep == 0) string_offsets_.push_back(field.offset);
  }
  if (i != elements_) FailChanged(*source_);
}

}  // namespace tensorcast::protobuf
