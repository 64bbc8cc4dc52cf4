// Values of a TensorProto that are decoded as they are read: any piece of the dense form, however
// the message lays the values out, without a temporary file.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "protobuf/tensor_proto_message.h"
#include "protobuf/tensor_proto_values.h"
#include "test_files.h"
#include "wire_bytes.h"

namespace tensorcast::io {
namespace {

// More than two entries of the index, and no whole byte at the end of any packed type.
constexpr std::uint64_t kElements = 70'001;

// What a message holds, and what it must give.
struct Typed {
  std::vector<std::string> values;  // each as its field has it, without a tag
  std::string dense;
};

// Codes that count up by a prime, so that neighbours differ in every byte.
Typed MakeTyped(const TypeInfo& info) {
  Typed typed;
  const int bits = info.bits;
  const protobuf::TensorProtoField field = protobuf::ValueFieldOf(info.type);
  const bool is_packed_byte = bits == 2 || bits == 4;
  const std::uint64_t n =
      is_packed_byte ? (kElements * static_cast<unsigned>(bits) + 7) / 8 : kElements;
  std::uint64_t pending = 0;
  int pending_bits = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t code = i * 0x9E3779B97F4A7C15u;
    const int width = bits == 6 ? 6 : std::max(8, bits);
    if (width < 64) code &= (std::uint64_t{1} << width) - 1;
    if (field == protobuf::kFloatData || field == protobuf::kDoubleData) {
      typed.values.push_back(LittleEndian(code, bits / 8));
    } else {
      typed.values.push_back(Varint(code));
    }
    if (bits != 6) {
      typed.dense += LittleEndian(code, width / 8);
      continue;
    }
    pending |= code << pending_bits;
    for (pending_bits += 6; pending_bits >= 8; pending_bits -= 8, pending >>= 8) {
      typed.dense += static_cast<char>(pending & 0xFF);
    }
  }
  if (pending_bits > 0) typed.dense += static_cast<char>(pending);
  return typed;
}

// `most` values to a payload, unknown fields between; 1: each in a field of its own, not packed.
std::string Message(const TypeInfo& info, const Typed& typed, std::size_t most) {
  const protobuf::TensorProtoField field = protobuf::ValueFieldOf(info.type);
  const int wire_type = field == protobuf::kFloatData ? 5 : field == protobuf::kDoubleData ? 1 : 0;
  std::string bytes = VarintField(protobuf::kDims, kElements) +
                      VarintField(protobuf::kDataType, static_cast<std::uint64_t>(info.type));
  for (std::size_t i = 0; i < typed.values.size();) {
    if (most == 1) {
      bytes += Tag(field, wire_type) + typed.values[i++];
      continue;
    }
    std::string payload;
    for (std::size_t j = 0; j < most && i < typed.values.size(); ++j) payload += typed.values[i++];
    bytes += BytesField(field, payload) + BytesField(99, "unknown");
  }
  return bytes;
}

TEST(TensorProtoPieces, AnyPieceOfAnyLayoutOfEveryType) {
  std::mt19937_64 random(1);
  for (const TypeInfo& info : Types()) {
    if (info.type == DataType::kString) continue;
    const Typed typed = MakeTyped(info);
    for (const std::size_t most : {std::size_t{1}, std::size_t{1001}, std::size_t{kElements}}) {
      const MemorySource source(Message(info, typed, most));
      const protobuf::TensorProtoMessage message =
          protobuf::ReadTensorProtoMessage(source, 0, source.size());
      const protobuf::TensorProtoValues values(source, message, info.type, kElements);
      ASSERT_EQ(values.bytes(), typed.dense.size()) << info.name;
      std::string whole(typed.dense.size(), '?');
      values.Read(0, std::as_writable_bytes(std::span(whole)));
      ASSERT_EQ(whole, typed.dense) << info.name << ", " << most << " to a payload";
      for (int i = 0; i < 50; ++i) {
        const std::size_t offset = random() % typed.dense.size();
        std::string piece(random() % std::min<std::size_t>(typed.dense.size() - offset, 5000), '?');
        values.Read(offset, std::as_writable_bytes(std::span(piece)));
        ASSERT_EQ(piece, typed.dense.substr(offset, piece.size()))
            << info.name << ", " << most << " to a payload, offset " << offset;
      }
      std::string last(1, '?');
      values.Read(typed.dense.size() - 1, std::as_writable_bytes(std::span(last)));
      ASSERT_EQ(last[0], typed.dense.back()) << info.name;
      std::string beyond(2, '?');
      EXPECT_THROW(values.Read(typed.dense.size() - 1, std::as_writable_bytes(std::span(beyond))),
                   std::out_of_range);
    }
  }
}

// Reading a piece costs what lies between two entries of the index, not what lies before it.
TEST(TensorProtoPieces, APieceNearTheEndIsReadFromNearby) {
  const TypeInfo& info = *FindType(DataType::kInt64);
  const Typed typed = MakeTyped(info);
  const MemorySource source(Message(info, typed, kElements));
  const protobuf::TensorProtoMessage message =
      protobuf::ReadTensorProtoMessage(source, 0, source.size());
  const protobuf::TensorProtoValues values(source, message, info.type, kElements);
  const std::uint64_t before = source.bytes_read();
  std::string piece(16, '?');
  values.Read(typed.dense.size() - 16, std::as_writable_bytes(std::span(piece)));
  EXPECT_EQ(piece, typed.dense.substr(typed.dense.size() - 16));
  EXPECT_LT(source.bytes_read() - before, source.size() / 4);
  EXPECT_LE(source.most_at_once(), std::size_t{64} << 10);
}

}  // namespace
}  // namespace tensorcast::io
