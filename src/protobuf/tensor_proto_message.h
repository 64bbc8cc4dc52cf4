// An ONNX TensorProto without its values: what it says of them and where they stand.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_PROTOBUF_TENSOR_PROTO_MESSAGE_H_
#define TENSORCAST_SRC_PROTOBUF_TENSOR_PROTO_MESSAGE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_source.h"
#include "files/error.h"
#include "protobuf/onnx_fields.h"
#include "protobuf/protobuf_wire.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::protobuf {

// A StringStringEntryProto: of metadata and of external data.
struct StringEntry {
  std::string key;
  std::string value;
};

// Reads the one that a field holds; the caller has limited its size. `not_a_string` throws: its
// "key" or "value" is something else.
StringEntry ReadStringEntry(const files::ByteSource& source, const WireField& field,
                            const std::function<void(std::string_view)>& not_a_string);

// onnx.proto's name of a field.
std::string_view TensorProtoFieldName(std::uint32_t number);

// The field that holds the values of a type where raw_data does not.
TensorProtoField ValueFieldOf(DataType type);

// The one field that holds values. Protobuf may cut a repeated field into many occurrences.
struct TensorProtoValueField {
  std::uint32_t number = 0;       // 0: none holds any
  std::uint64_t offset = 0;       // of the tag of its first occurrence
  std::uint64_t occurrences = 0;  // those without a value not counted
  std::uint64_t bytes = 0;        // of all payloads together
  std::uint64_t begin = 0;        // of the first payload
};

struct TensorProtoMessage {
  std::uint64_t begin = 0;  // of the message in its source
  std::uint64_t end = 0;
  std::vector<std::uint64_t> dims;
  std::uint64_t data_type = 0;
  std::string name;
  std::map<std::string, std::string> metadata;  // metadata_props
  bool has_doc_string = false;
  bool is_segment = false;   // it is a part of a tensor
  bool is_external = false;  // the values are in another file
  TensorProtoValueField values;
};

// Reads the TensorProto that is bytes [begin, end) of a source, in bounded memory. Throws Error.
TensorProtoMessage ReadTensorProtoMessage(const files::ByteSource& source, std::uint64_t begin,
                                          std::uint64_t end);

// Throws an Error about a TensorProto; `why` begins with a verb. Where the source holds more than
// this one, the text names the tensor.
[[noreturn]] void FailTensorProto(const files::ByteSource& source,
                                  const TensorProtoMessage& message, core::ErrorKind kind,
                                  const std::string& why);

}  // namespace tensorcast::protobuf

#endif  // TENSORCAST_SRC_PROTOBUF_TENSOR_PROTO_MESSAGE_H_
