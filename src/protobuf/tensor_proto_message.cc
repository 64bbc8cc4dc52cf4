// Walks a TensorProto's fields. The rules are protobuf's: any order, repeated fields packed, not
// packed or both, the last of several single values counts, unknown fields are passed over.
//
// SPDX-License-Identifier: Apache-2.0
#include "protobuf/tensor_proto_message.h"

#include <span>
#include <utility>

#include "core/shape.h"
#include "files/error.h"
#include "protobuf/protobuf_wire.h"

namespace tensorcast::protobuf {

using core::ErrorKind;
using files::Error;
namespace {

// Bytes of a name, and of the metadata together, that are kept in memory.
constexpr std::uint64_t kMostTextBytes = 1'000'000;

constexpr std::span<const OnnxField> kFields = FieldsOf("TensorProto");

// The row of a field; null where it is none of ours.
const OnnxField* FindField(std::uint32_t number) {
  for (const OnnxField& field : kFields) {
    if (field.number == number) return &field;
  }
  return nullptr;
}

class MessageReader {
 public:
  MessageReader(const files::ByteSource& source, std::uint64_t begin, std::uint64_t end)
      : source_(source), fields_(source, begin, end) {
    message_.begin = begin;
    message_.end = end;
  }

  TensorProtoMessage Read() {
    while (fields_.Next(&field_)) {
      const OnnxField* const row = FindField(field_.number);
      if (row == nullptr) continue;
      const bool is_packed = row->is_repeated && field_.type == WireType::kBytes;
      if (field_.type != row->type && !is_packed) {
        Fail(ErrorKind::kContents, "has " + Described() + " with the wire type " +
                                       TypeText(field_.type) + "; expected " + TypeText(row->type) +
                                       ", as in an ONNX TensorProto");
      }
      Take();
    }
    return std::move(message_);
  }

 private:
  [[noreturn]] void Fail(ErrorKind kind, const std::string& why) const {
    FailTensorProto(source_, message_, kind, why);
  }

  static std::string TypeText(WireType type) {
    switch (type) {
      case WireType::kVarint: return "0 (varint)";
      case WireType::kFixed64: return "1 (8 bytes)";
      case WireType::kBytes: return "2 (bytes)";
      case WireType::kFixed32: return "5 (4 bytes)";
    }
    return {};
  }

  // "dims at offset 5".
  std::string Described() const {
    return std::string(TensorProtoFieldName(field_.number)) + " at offset " +
           std::to_string(field_.offset);
  }

  void Take() {
    switch (static_cast<TensorProtoField>(field_.number)) {
      case kDims: TakeDims(); break;
      case kDataType: message_.data_type = field_.value; break;
      case kSegment: message_.is_segment = true; break;
      case kName:
        LimitText(field_.size());
        message_.name = fields_.ReadText(field_);
        break;
      case kDocString: message_.has_doc_string = field_.size() != 0; break;
      case kExternalData: break;  // counts only where data_location says so
      case kDataLocation:
        if (field_.value > static_cast<std::uint64_t>(OnnxDataLocation::kExternal)) {
          Fail(ErrorKind::kContents, "has " + Described() + " of " + std::to_string(field_.value) +
                                         "; expected 0 (in the message) or 1 (external)");
        }
        message_.is_external =
            field_.value == static_cast<std::uint64_t>(OnnxDataLocation::kExternal);
        break;
      case kMetadataProps: TakeMetadata(); break;
      case kFloatData: TakeValues(4); break;
      case kDoubleData: TakeValues(8); break;
      case kInt32Data:
      case kStringData:
      case kInt64Data:
      case kUint64Data:
      case kRawData: TakeValues(1); break;
    }
  }

  void TakeDims() {
    std::uint64_t dim = field_.value;
    if (field_.type == WireType::kVarint) {
      AddDim(dim);
    } else {
      while (fields_.NextVarint(&dim)) AddDim(dim);
    }
  }

  void AddDim(std::uint64_t dim) {
    if (static_cast<std::int64_t>(dim) < 0) {
      Fail(ErrorKind::kContents, "has the dimension " +
                                     std::to_string(static_cast<std::int64_t>(dim)) + " in " +
                                     Described() + "; expected 0 or more");
    }
    if (message_.dims.size() == core::kMostDimensions) {
      Fail(ErrorKind::kUnsupported,
           "has more than " + std::to_string(core::kMostDimensions) + " dimensions");
    }
    message_.dims.push_back(dim);
  }

  // `width`: the payload holds whole values of so many bytes.
  void TakeValues(std::uint64_t width) {
    if (field_.size() % width != 0) {
      Fail(ErrorKind::kContents, "has " + Described() + " with " +
                                     words::CountText(field_.size(), "byte") +
                                     "; expected a multiple of " + std::to_string(width));
    }
    const bool is_raw = field_.number == kRawData;
    // Readers that keep the last and readers that keep the first would see different tensors.
    if (is_raw && std::exchange(has_raw_, true)) {
      Fail(ErrorKind::kContents, "has " + Described() + " for the second time");
    }
    // A string may be empty; an empty payload of any other field holds no value.
    if (field_.size() == 0 && field_.number != kStringData) return;
    TensorProtoValueField& values = message_.values;
    if (values.number == 0) {
      values.number = field_.number;
      values.offset = field_.offset;
      values.begin = field_.begin;
    } else if (values.number != field_.number) {
      Fail(ErrorKind::kContents, "has values in " +
                                     std::string(TensorProtoFieldName(values.number)) +
                                     " at offset " + std::to_string(values.offset) + " and in " +
                                     Described() + "; a TensorProto has them in one field");
    }
    ++values.occurrences;
    values.bytes += field_.size();
  }

  void TakeMetadata() {
    LimitText(field_.size());
    const StringEntry entry = ReadStringEntry(source_, field_, [&](std::string_view part) {
      Fail(ErrorKind::kContents,
           "has " + Described() + " whose " + std::string(part) + " is not a string");
    });
    if (!message_.metadata.emplace(entry.key, entry.value).second) {
      Fail(ErrorKind::kContents, "has " + Described() + " with the key " +
                                     words::Quoted(entry.key) + " for the second time");
    }
  }

  // Texts are taken into memory, where a hostile file would have them fill it.
  void LimitText(std::uint64_t bytes) {
    text_bytes_ += bytes;
    if (bytes > kMostTextBytes || text_bytes_ > kMostTextBytes) {
      Fail(ErrorKind::kUnsupported,
           "has " + Described() + " with " + words::CountText(bytes, "byte") +
               "; names and metadata take at most " + std::to_string(kMostTextBytes) + " together");
    }
  }

  const files::ByteSource& source_;
  WireReader fields_;
  WireField field_;
  TensorProtoMessage message_;
  std::uint64_t text_bytes_ = 0;
  bool has_raw_ = false;
};

}  // namespace

StringEntry ReadStringEntry(const files::ByteSource& source, const WireField& field,
                            const std::function<void(std::string_view)>& not_a_string) {
  StringEntry entry;
  WireReader fields(source, field.begin, field.end);
  for (WireField part; fields.Next(&part);) {
    const bool is_key = part.number == FieldNumber("StringStringEntryProto.key");
    if (!is_key && part.number != FieldNumber("StringStringEntryProto.value")) continue;
    if (part.type != WireType::kBytes) not_a_string(is_key ? "key" : "value");
    (is_key ? entry.key : entry.value) = fields.ReadText(part);
  }
  return entry;
}

std::string_view TensorProtoFieldName(std::uint32_t number) {
  const OnnxField* const row = FindField(number);
  return row == nullptr ? std::string_view("an unknown field") : row->name;
}

TensorProtoField ValueFieldOf(DataType type) {
  switch (type) {
    case DataType::kFloat32: return kFloatData;
    case DataType::kFloat64: return kDoubleData;
    case DataType::kInt64: return kInt64Data;
    case DataType::kUint32:
    case DataType::kUint64: return kUint64Data;
    case DataType::kString: return kStringData;
    default: return kInt32Data;
  }
}

TensorProtoMessage ReadTensorProtoMessage(const files::ByteSource& source, std::uint64_t begin,
                                          std::uint64_t end) {
  return MessageReader(source, begin, end).Read();
}

void FailTensorProto(const files::ByteSource& source, const TensorProtoMessage& message,
                     ErrorKind kind, const std::string& why) {
  const bool is_whole = message.begin == 0 && message.end == source.size();
  throw Error(kind,
              words::PathText(source.path()) + ": " +
                  (is_whole ? "" : "tensor " + words::Quoted(message.name) + " ") + why,
              source.path());
}

}  // namespace tensorcast::protobuf
