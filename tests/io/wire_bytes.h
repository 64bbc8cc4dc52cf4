// Protobuf messages put together by hand, byte by byte as its encoding guide says.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_IO_WIRE_BYTES_H_
#define TENSORCAST_TESTS_IO_WIRE_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "files/byte_source.h"
#include "test_files.h"

namespace tensorcast::io {

inline std::string Varint(std::uint64_t value) {
  std::string text;
  for (; value > 127; value >>= 7) text += static_cast<char>(128 + value % 128);
  text += static_cast<char>(value);
  return text;
}

// A negative int32 or int64: ten bytes.
inline std::string Negative(std::int64_t value) {
  return Varint(static_cast<std::uint64_t>(value));
}

inline std::string Tag(std::uint64_t number, int wire_type) {
  return Varint(number * 8 + static_cast<std::uint64_t>(wire_type));
}

inline std::string VarintField(std::uint64_t number, std::uint64_t value) {
  return Tag(number, 0) + Varint(value);
}

inline std::string BytesField(std::uint64_t number, std::string_view payload) {
  std::string field = Tag(number, 2);
  field.append(Varint(payload.size())).append(payload);
  return field;
}

// A source of bytes in memory that counts how they are read.
class MemorySource final : public files::ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return bytes_.size(); }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    ASSERT_LE(offset, bytes_.size());
    ASSERT_LE(out.size(), bytes_.size() - offset);
    std::copy_n(std::as_bytes(std::span(bytes_)).data() + offset, out.size(), out.data());
    ++reads_;
    bytes_read_ += out.size();
    most_at_once_ = std::max(most_at_once_, out.size());
  }

  std::uint64_t reads() const { return reads_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::size_t most_at_once() const { return most_at_once_; }

 private:
  std::string bytes_;
  std::string path_ = "MEMORY";
  mutable std::uint64_t reads_ = 0;
  mutable std::uint64_t bytes_read_ = 0;
  mutable std::size_t most_at_once_ = 0;
};

}  // namespace tensorcast::io

#endif  // TENSORCAST_TESTS_IO_WIRE_BYTES_H_
