// A protobuf message with changes, as a list of pieces: ranges of the source that stay, new bytes,
// and room for values that are written later. Lengths of the enclosing messages are made right.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_MODEL_EDIT_H_
#define TENSORCAST_SRC_ONNX_MODEL_EDIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protobuf/protobuf_wire.h"

namespace tensorcast::onnx {

inline constexpr std::uint64_t kMostModelBytes = INT32_MAX;  // protobuf's libraries take no more

// A part of the new message; exactly one kind of it is there.
struct ModelPiece {
  std::uint64_t at = 0;  // in the new message
  std::uint64_t size = 0;
  std::optional<std::uint64_t> source;  // copied from this offset of the source
  std::optional<std::size_t> tensor;    // the values of this tensor
  std::string bytes;                    // new
};

// Collects the changes of one message; they must not overlap. What it takes depends on the number
// of changes, not on the size of the message.
class ModelEdit {
 public:
  // Puts `bytes`, and behind them `values` bytes of a tensor, in the place of bytes [begin, end) of
  // the source; begin == end inserts. `path`: the fields whose payloads hold that place, outermost
  // first. Of insertions at one place those in the innermost message come first, then as they came.
  void Replace(std::span<const protobuf::WireField> path, std::uint64_t begin, std::uint64_t end,
               std::string bytes);
  void ReplaceByValues(std::span<const protobuf::WireField> path, std::uint64_t begin,
                       std::uint64_t end, std::string bytes, std::size_t tensor,
                       std::uint64_t values);

  // The new message, for a source of so many bytes. Call once.
  std::vector<ModelPiece> Finish(std::uint64_t source_size);

 private:
  struct Change {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t depth = 0;
    std::string bytes;
    std::optional<std::size_t> tensor;
    std::uint64_t values = 0;
  };
  // A field whose length may change; by the offset of its tag.
  struct Enclosing {
    protobuf::WireField field;
    std::size_t depth = 0;
    std::optional<std::uint64_t> parent;
    std::int64_t growth = 0;  // of its payload
  };

  void Grow(std::span<const protobuf::WireField> path, const Change& change);
  void RewriteLengths();

  std::vector<Change> changes_;
  std::unordered_map<std::uint64_t, Enclosing> enclosing_;
};

// The bytes of single fields.
std::string WireVarint(std::uint64_t value);
std::string VarintFieldBytes(std::uint32_t number, std::uint64_t value);
std::string BytesFieldHead(std::uint32_t number, std::uint64_t size);  // the tag and the length
std::string BytesFieldBytes(std::uint32_t number, std::string_view payload);
// A field whose payload is this and so many bytes behind it, which are written later.
std::string FieldWithValues(std::uint32_t number, std::string_view payload, std::uint64_t values);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_MODEL_EDIT_H_
