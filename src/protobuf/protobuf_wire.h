// Walks a protobuf message that lies in a range of a ByteSource: field by field, through a window
// of bounded size, whatever the message's own. Knows nothing of what the fields mean.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_PROTOBUF_PROTOBUF_WIRE_H_
#define TENSORCAST_SRC_PROTOBUF_PROTOBUF_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/byte_source.h"
#include "protobuf/onnx_fields.h"

namespace tensorcast::protobuf {

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t offset = 0;  // of its tag in the source
  std::uint64_t value = 0;   // of kVarint, kFixed64 and kFixed32
  // Where the payload lies in the source; of kBytes what follows the length.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
};

// Payloads are passed over, not read, so a message of gigabytes costs a few reads. A message within
// a message is another reader on [begin, end) of its field.
class WireReader {
 public:
  WireReader(const files::ByteSource& source, std::uint64_t begin, std::uint64_t end);

  // Goes on where another reader of the same message stood: at `at`, which is a field's tag or, up
  // to `payload_end`, a varint of a packed payload.
  WireReader(const files::ByteSource& source, std::uint64_t at, std::uint64_t payload_end,
             std::uint64_t end);

  // The next field, or false at the message's end. Throws Error where the bytes are no field, or
  // one that reaches beyond the message.
  bool Next(WireField* field);

  // Reads the field that Next gave last, of type kBytes, as packed varints: gives the next one, or
  // false at the payload's end.
  bool NextVarint(std::uint64_t* value);

  // Bytes of the payload of the field that Next gave last, from `offset` in the source on.
  void ReadPayload(std::uint64_t offset, std::span<std::byte> out);

  // The payload of the field that Next gave last, of type kBytes, as text. The caller limits it.
  std::string ReadText(const WireField& field);

  // Where NextVarint, or after a payload Next, goes on.
  std::uint64_t offset() const { return at_; }

 private:
  [[noreturn]] void Fail(const std::string& why) const;
  [[noreturn]] void FailField(const WireField& field, const std::string& why) const;
  std::string CutShort(std::uint64_t end) const;
  // Bytes of the source from at_ on: at least `wanted` of them, or all up to `end`.
  std::span<const std::byte> Window(std::size_t wanted, std::uint64_t end);
  std::uint64_t Varint(std::uint64_t end, const char* what);
  std::uint64_t Fixed(std::size_t bytes);

  const files::ByteSource& source_;
  const std::uint64_t end_;
  std::uint64_t at_;
  std::uint64_t payload_end_;  // of the field that Next gave last
  std::vector<std::byte> window_;
  std::uint64_t window_begin_;
  std::uint64_t window_end_;
  std::size_t next_window_;
};

}  // namespace tensorcast::protobuf

#endif  // TENSORCAST_SRC_PROTOBUF_PROTOBUF_WIRE_H_
