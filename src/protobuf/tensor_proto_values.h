// A TensorProto's values in dense form, whichever of its fields they stand in.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_PROTOBUF_TENSOR_PROTO_VALUES_H_
#define TENSORCAST_SRC_PROTOBUF_TENSOR_PROTO_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_source.h"
#include "protobuf/tensor_proto_message.h"
#include "tensorcast/tensorcast.hpp"
#include "text/string_piece.h"

namespace tensorcast::protobuf {

// Values that lie in the source as they are needed are read there. All others (varints, repeated
// fields in many pieces) are decoded as they are read; an index of every so many of them, made once
// when they are checked, says where reading begins.
class TensorProtoValues {
 public:
  // Checks the values against the type and the shape, a type of ours and its product. `source`
  // outlives this. Throws Error.
  TensorProtoValues(const files::ByteSource& source, const TensorProtoMessage& message,
                    DataType type, std::uint64_t elements);

  // The size of the dense form; of strings, their bytes.
  std::uint64_t bytes() const { return bytes_; }
  // As TensorReader's, of this tensor.
  void Read(std::uint64_t offset, std::span<std::byte> out) const;
  text::StringPiece ReadStrings(std::uint64_t first, std::uint64_t n) const;

 private:
  [[noreturn]] void Fail(const TensorProtoMessage& message, const std::string& why) const;
  void CheckCount(const TensorProtoMessage& message, std::uint64_t found, std::uint64_t expected,
                  std::string_view what) const;
  void IndexStrings(const TensorProtoMessage& message);
  void IndexPieces(const TensorProtoMessage& message);
  // Checks `expected` values and notes every kVarintStep-th; returns how many there are.
  std::uint64_t IndexVarints(const TensorProtoMessage& message, std::uint64_t expected);
  void ReadPieces(std::uint64_t offset, std::span<std::byte> out) const;
  void ReadVarints(std::uint64_t offset, std::span<std::byte> out) const;

  // How the dense form is had.
  enum class Form : std::uint8_t { kInPlace, kPieces, kVarints };
  // Where a reader goes on: see WireReader.
  struct Place {
    std::uint64_t at = 0;
    std::uint64_t payload_end = 0;
    std::uint64_t dense = 0;  // of kPieces: the offset of its first byte in the dense form
  };

  const files::ByteSource* source_;
  DataType type_;
  std::uint64_t elements_;
  std::uint64_t bytes_ = 0;
  Form form_ = Form::kInPlace;
  std::uint32_t field_ = 0;  // whose values they are
  std::uint64_t begin_ = 0;  // of kInPlace: where they lie
  std::vector<Place> places_;
  std::vector<std::uint64_t> string_offsets_;  // of the tags of every kStringStep-th string
  std::uint64_t end_ = 0;                      // of the message
};

}  // namespace tensorcast::protobuf

#endif  // TENSORCAST_SRC_PROTOBUF_TENSOR_PROTO_VALUES_H_
