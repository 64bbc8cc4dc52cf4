// Reads the values that stand in a model.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/run/constant.h"

#include <string>
#include <utility>

#include "core/range.h"
#include "core/shape.h"
#include "files/error.h"
#include "protobuf/tensor_proto_values.h"

namespace tensorcast::onnx {
namespace {

using io::ErrorKind;

}  // namespace

ConstantReader::ConstantReader(std::shared_ptr<const io::ByteSource> source,
                               std::span<const std::byte> memory, bool allow_hard_links)
    : source_(std::move(source)), memory_(memory) {
  if (memory.data() == nullptr) files_.emplace(source_->path(), allow_hard_links);
}

graph::Constant ConstantReader::Read(const io::TensorProtoMessage& message, DataType type) {
  const auto fail = [&](ErrorKind kind, const std::string& why) {
    io::FailTensorProto(*source_, message, kind, why);
  };
  graph::Constant constant;
  constant.type = type;
  constant.shape = message.dims;
  const auto elements = core::CheckedProduct(message.dims);
  if (!elements || (type != DataType::kString && !StorageBytes(type, *elements))) {
    fail(ErrorKind::kContents, "has the shape " + io::ShapeText(message.dims) + " of " +
                                   std::string(TypeName(type)) + ": more than 2^64 - 1 bits");
  }
  constant.elements = *elements;
  if (message.is_segment) fail(ErrorKind::kUnsupported, "holds a segment of a tensor");
  if (message.is_external) {
    if (!files_) {
      fail(
          ErrorKind::kUnsupported,
          "has external data, which a model in memory has no directory for; load it from its file");
    }
    const io::ExternalRange range = io::FindExternalValues(
        *files_, *source_, message, StorageBytes(type, *elements).value_or(0));
    const std::span<std::byte> data = constant.Allocate(range.bytes);
    range.file->Read(range.begin, data);
    range.file->CheckUnchanged();
    // Pad bits may hold anything in a file; results have them clean.
    core::ClearPadBits(*FindType(type), *elements, data);
    return constant;
  }
  const io::TensorProtoValues values(*source_, message, type, *elements);
  if (type == DataType::kString) {
    for (std::uint64_t done = 0; done < *elements;) {
      const text::StringPiece piece = values.ReadStrings(done, *elements - done);
      for (std::uint64_t i = 0; i < piece.view().size(); ++i) {
        constant.Append(piece.view()[i]);
      }
      done += piece.view().size();
    }
    return constant;
  }
  if (const std::byte* const in_memory = InMemory(message, type, *elements)) {
    constant.data = {in_memory, static_cast<std::size_t>(values.bytes())};
    return constant;
  }
  const std::span<std::byte> data = constant.Allocate(values.bytes());
  values.Read(0, data);
  // Pad bits may hold anything in a file; results have them clean.
  core::ClearPadBits(*FindType(type), *elements, data);
  return constant;
}

// Where a tensor's values stand in the model's bytes as a result would have them: in one piece,
// aligned, without pad bits.
const std::byte* ConstantReader::InMemory(const io::TensorProtoMessage& message, DataType type,
                                          std::uint64_t elements) const {
  const bool is_one_piece =
      message.values.number == io::kRawData && message.values.occurrences == 1;
  const auto bits = static_cast<std::uint64_t>(FindType(type)->bits);
  if (memory_.data() == nullptr || !is_one_piece || elements % 8 * bits % 8 != 0) return nullptr;
  const std::byte* const begin = memory_.data() + message.values.begin;
  const bool is_aligned = bits <= 8 || reinterpret_cast<std::uintptr_t>(begin) % (bits / 8) == 0;
  return is_aligned ? begin : nullptr;
}

}  // namespace tensorcast::onnx
