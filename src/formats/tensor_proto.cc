// Reads and writes files of one TensorProto. Values are written as raw_data, fields in the order of
// their numbers: byte for byte what onnx.numpy_helper.from_array gives.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/formats.h"

#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "core/onnx_numbers.h"
#include "core/shape.h"
#include "files/error.h"
#include "files/system.h"
#include "protobuf/tensor_proto_message.h"
#include "protobuf/tensor_proto_values.h"
#include "words/utf8.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

// Protobuf's libraries take no longer message.
constexpr std::uint64_t kMostFileBytes = INT32_MAX;

class TensorProtoReader final : public TensorReader {
 public:
  explicit TensorProtoReader(std::unique_ptr<files::ByteSource> source)
      : source_(std::move(source)) {
    protobuf::TensorProtoMessage message =
        protobuf::ReadTensorProtoMessage(*source_, 0, source_->size());
    const auto fail = [&](ErrorKind kind, const std::string& why) {
      protobuf::FailTensorProto(*source_, message, kind, why);
    };
    if (message.is_segment) {
      fail(ErrorKind::kUnsupported, "holds a segment of a tensor; put its parts together first");
    }
    if (message.is_external) {
      fail(ErrorKind::kUnsupported,
           "has external data, which is read with its .onnx model and not by itself");
    }
    TensorInfo& info = contents_.tensors.emplace_back();
    info.type = TypeOf(message);
    info.dtype = FindType(info.type)->onnx_name;
    const std::optional<std::uint64_t> elements = core::CheckedProduct(message.dims);
    if (!elements || (info.type != DataType::kString && !StorageBytes(info.type, *elements))) {
      fail(ErrorKind::kContents, "has the shape " + words::ShapeText(message.dims) + " of " +
                                     info.dtype + ": more than 2^64 - 1 bits");
    }
    info.elements = *elements;
    values_.emplace(*source_, message, info.type, info.elements);
    info.bytes = values_->bytes();
    info.shape = std::move(message.dims);
    info.name = message.name.empty() ? std::filesystem::path(source_->path()).stem().string()
                                     : std::move(message.name);
    contents_.metadata = std::move(message.metadata);
    has_doc_string_ = message.has_doc_string;
  }

  const FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    if (tensor != 0) throw std::out_of_range("a TensorProto is one tensor");
    values_->Read(offset, out);
  }
  text::StringPiece ReadStrings(std::size_t tensor, std::uint64_t first,
                                std::uint64_t n) const override {
    if (tensor != 0) throw std::out_of_range("a TensorProto is one tensor");
    return values_->ReadStrings(first, n);
  }
  std::uint64_t file_bytes() const override { return source_->size(); }
  void CheckUnchanged() const override { source_->CheckUnchanged(); }
  std::vector<std::string> notes() const override {
    if (!has_doc_string_) return {};
    return {words::PathText(source_->path()) + ": its doc_string is not kept"};
  }

 private:
  DataType TypeOf(const protobuf::TensorProtoMessage& message) const {
    const std::uint64_t id = message.data_type;
    if (const DataType type = core::TypeOfNumber(id); type != DataType::kUndefined) return type;
    if (id == 0) {
      protobuf::FailTensorProto(
          *source_, message, ErrorKind::kContents,
          "has no data_type; expected an ONNX TensorProto, as onnx.save_tensor writes");
    }
    protobuf::FailTensorProto(*source_, message, ErrorKind::kUnsupported,
                              "has the data_type " + std::to_string(id) +
                                  (core::NameOfUnknownType(id).starts_with("COMPLEX")
                                       ? ": complex numbers are not cast; save their parts apart"
                                       : ", which is not a known type"));
  }

  std::unique_ptr<files::ByteSource> source_;
  std::optional<protobuf::TensorProtoValues> values_;
  FileContents contents_;
  bool has_doc_string_ = false;
};

// ---------------------------------------------------------------------------------- writing

// The file is head, values, tail.
struct TensorProtoPlacement {
  std::string head;
  std::string tail;
  bool is_string = false;
  std::uint64_t file_bytes = 0;  // of strings: the most there can be
};

void AppendTag(protobuf::TensorProtoField field, std::string& text) {
  constexpr auto kBytes = static_cast<std::uint32_t>(protobuf::WireType::kBytes);
  protozero::add_varint_to_buffer(&text, std::uint32_t{field} << 3 | kBytes);
}

TensorProtoPlacement PlaceTensorProto(const std::string& path, const FileContents& contents) {
  if (contents.tensors.size() != 1) {
    throw Error(ErrorKind::kArguments,
                words::PathText(path) + ": a .pb file holds one tensor, not " +
                    std::to_string(contents.tensors.size()),
                Remedy::kChooseOneTensor, path);
  }
  const TensorInfo& info = contents.tensors[0];
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(path) + ": tensor " + words::Quoted(info.name) + ' ' + why, path);
  };
  if (info.type == DataType::kUndefined) {
    fail("is " + words::EscapeName(info.dtype) + ", which is not written to .pb files");
  }
  if (info.IsColumnMajor()) {
    fail("is in Fortran order, which a TensorProto does not have; write an .npy file");
  }
  const auto check_text = [&](const std::string& text) {
    if (!words::IsUtf8(text)) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(path) + ": " + words::Quoted(text) +
                      " is not UTF-8, as a TensorProto needs it",
                  path);
    }
  };
  check_text(info.name);

  TensorProtoPlacement placement;
  placement.is_string = info.type == DataType::kString;
  protozero::pbf_writer head(placement.head);
  for (const std::uint64_t dim : info.shape) {
    if (dim > static_cast<std::uint64_t>(INT64_MAX)) {
      fail("has the shape " + words::ShapeText(info.shape) +
           "; a TensorProto's dimensions end at 2^63 - 1");
    }
    head.add_int64(protobuf::kDims, static_cast<std::int64_t>(dim));
  }
  head.add_int32(protobuf::kDataType, static_cast<std::int32_t>(info.type));
  protozero::pbf_writer tail(placement.tail);
  (placement.is_string ? tail : head).add_string(protobuf::kName, info.name);
  for (const auto& [key, value] : contents.metadata) {
    check_text(key);
    check_text(value);
    std::string entry;
    protozero::pbf_writer(entry).add_string(protobuf::FieldNumber("StringStringEntryProto.key"),
                                            key);
    protozero::pbf_writer(entry).add_string(protobuf::FieldNumber("StringStringEntryProto.value"),
                                            value);
    tail.add_message(protobuf::kMetadataProps, entry);
  }

  // Every size that is added is below 2^32 or so, or is refused before.
  const auto check_size = [&](std::uint64_t bytes) {
    if (bytes > kMostFileBytes) {
      fail("would take " + std::to_string(bytes) + " bytes as a TensorProto; protobuf allows " +
           std::to_string(kMostFileBytes) + "; write a .safetensors or .npy file");
    }
    return bytes;
  };
  const std::optional<std::uint64_t> elements = core::CheckedProduct(info.shape);
  if (!elements)
    fail("has the shape " + words::ShapeText(info.shape) + ": more than 2^64 - 1 elements");
  std::uint64_t values = 0;
  if (placement.is_string) {
    const auto length =
        static_cast<std::uint64_t>(protozero::length_of_varint(info.text.most_bytes));
    check_size(info.text.total_bytes);
    check_size(*elements);
    values = info.text.total_bytes + *elements * (1 + length);
  } else {
    values = check_size(StorageBytes(info.type, *elements).value_or(UINT64_MAX));
    AppendTag(protobuf::kRawData, placement.head);
    protozero::add_varint_to_buffer(&placement.head, values);
  }
  placement.file_bytes = check_size(placement.head.size() + values + placement.tail.size());
  return placement;
}

class TensorProtoWriter final : public TensorWriter {
 public:
  TensorProtoWriter(const std::string& path, TensorProtoPlacement placement,
                    const files::CreateOptions& options)
      : file_(path, placement.file_bytes, options), placement_(std::move(placement)) {
    file_.Write(0, std::as_bytes(std::span(placement_.head)));
    strings_end_ = placement_.head.size();
    if (!placement_.is_string) {
      file_.Write(placement_.file_bytes - placement_.tail.size(),
                  std::as_bytes(std::span(placement_.tail)));
    }
  }

  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    if (tensor != 0 || placement_.is_string) throw std::out_of_range("a .pb file holds one tensor");
    file_.Write(placement_.head.size() + offset, data);
  }
  void WriteStrings(std::size_t tensor, std::uint64_t, const Strings& texts) override {
    if (tensor != 0 || !placement_.is_string)
      throw std::out_of_range("a .pb file holds one tensor");
    std::string fields;
    for (std::uint64_t i = 0; i < texts.size(); ++i) {
      AppendTag(protobuf::kStringData, fields);
      protozero::add_varint_to_buffer(&fields, texts[i].size());
      fields += texts[i];
    }
    file_.Write(strings_end_, std::as_bytes(std::span(fields)));
    strings_end_ += fields.size();
  }
  std::string temporary() const override { return file_.temporary(); }
  void SyncPart() override { file_.SyncPart(); }
  std::uint64_t file_bytes() const override { return placement_.file_bytes; }
  std::vector<std::string> notes() const override { return file_.notes(); }

 private:
  void DoSync() override {
    if (placement_.is_string) {
      file_.Write(strings_end_, std::as_bytes(std::span(placement_.tail)));
      placement_.file_bytes = strings_end_ + placement_.tail.size();
      file_.Truncate(placement_.file_bytes);
    }
    file_.Sync();
  }
  void DoCommit() override { file_.Commit(); }

  files::OutputFile file_;
  TensorProtoPlacement placement_;
  std::uint64_t strings_end_ = 0;
};

}  // namespace

OpenedTensors OpenTensorProto(std::unique_ptr<files::ByteSource> source, const OpenOptions&) {
  return {std::make_unique<TensorProtoReader>(std::move(source))};
}

std::unique_ptr<TensorWriter> CreateTensorProto(const std::string& path, FileContents contents,
                                                const files::CreateOptions& options) {
  return std::make_unique<TensorProtoWriter>(path, PlaceTensorProto(path, contents), options);
}

std::uint64_t MeasureTensorProto(const std::string& path, const FileContents& contents) {
  return PlaceTensorProto(path, contents).file_bytes;
}

}  // namespace tensorcast::formats
